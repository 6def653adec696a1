# SPDX-License-Identifier: Apache-2.0
"""Spark's standalone master and workers, with Verbena's shuffle."""
import os

from . import ask, places, sites
from .errors import Failed

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class Spark:
    def __init__(self, at, hadoop):
        self._at, self._home, self._hadoop = at, at.options.spark, hadoop
        self._launch = os.path.join(self._home, "bin", "spark-class")
        if not os.access(self._launch, os.X_OK):
            raise Failed(f"--spark {self._home} has no bin/spark-class: give the folder of an unpacked release")
        self._jar = None if at.options.mode == "stock" else at.options.spark_jar or places.built(
            "spark-rdma-shuffle/dist/target/spark-rdma-shuffle-*[0-9].jar", "the jar of spark-rdma-shuffle")

    def _url(self):
        return "spark://" + self._at.at(0, "spark")

    def write(self):
        lines = {"spark.master": self._url(), "spark.driver.host": self._at.address(0)}
        if self._jar:
            lines.update({"spark.plugins": "org.verbena.spark.VerbenaPlugin", "spark.jars": self._jar})
        beside = ":".join(self._hadoop.jars()) if self._hadoop else ""  # classes that the site files of the session name
        lines.update({f"spark.{side}.extraClassPath": beside for side in ("driver", "executor") if beside})
        lines.update(one.split("=", 1) for one in self._at.options.spark_conf)
        text = "".join(f"{name} {value}\n" for name, value in lines.items())
        sites.write(self._at.conf("spark"), {}, [("spark-defaults.conf", text)])

    def _daemon(self, kind, node, rank, *words):
        environment = {"SPARK_HOME": self._home, "SPARK_CONF_DIR": self._at.conf("spark"),
                       "SPARK_LOCAL_DIRS": self._at.fast(node, "spark"), "SPARK_LOCAL_IP": self._at.address(node)}
        return self._at.daemon(f"{kind}-{node}", node, rank, [self._launch, *words], environment)

    def daemons(self):
        at = self._at
        found = [self._daemon("spark-master", 0, 2, MASTER, "--host", at.address(0), "--port", str(at.port(0, "spark")),
                              "--webui-port", str(at.port(0, "spark-http")))]
        for node in at.indexes():
            memory = at.options.containers or max(1024, at.nodes[node]["memory"] - 4096)
            found.append(self._daemon("spark-worker", node, 3, WORKER, "--host", at.address(node), "--webui-port",
                                      str(at.port(node, "worker-http")), "--cores", str(at.nodes[node]["processors"]), "--memory",
                                      f"{memory}M", "--work-dir", at.fast(node, "spark-work"), self._url()))
        return found

    def lacks(self):
        state = ask.ask(self._at.at(0, "spark-http"), "/json/")
        if state is None:
            return "Spark's master does not answer"
        alive = state.get("aliveworkers", 0)
        return f"{alive} of {len(self._at.nodes)} Spark workers have registered" if alive < len(self._at.nodes) else None

    def environment(self):
        return {"SPARK_HOME": self._home, "SPARK_CONF_DIR": self._at.conf("spark"), "MASTER": self._url(),
                "PATH": os.path.join(self._home, "bin") + ":" + os.environ.get("PATH", "")}

    def sentence(self):
        return f"Spark at {self._url()}"
