# SPDX-License-Identifier: Apache-2.0
"""Spark on a real YARN (ResourceManager, two NodeManagers of a released Hadoop) that checks the memory of its containers."""
import glob
import json
import os
import subprocess
import sys
import unittest

from shared import FULL, HERE, ROOT, SparkTest, Shared, Application, await_true, gone, spark
from results import JOBS

sys.path[:0] = [os.path.join(ROOT, "tests", "hadoop"), os.path.join(ROOT, "tests", "lib")]

from cluster import java  # noqa: E402  (of tests/hadoop; needs the path above)
from cluster.cluster import Cluster as Hadoop  # noqa: E402
from yarn_sums import KEYS, NUMBERS  # noqa: E402

# One DataNode for what Spark uploads; YARN itself, and not control groups, ends containers that have more memory than they
# asked for, and looks often.
SITES = {"hdfs-site": {"dfs.replication": 1},
         "yarn-site": {"yarn.nodemanager.pmem-check-enabled": "true", "yarn.nodemanager.resource.memory.enforced": "false",
                       "yarn.nodemanager.container-monitor.interval-ms": 1000}}
# 1536 - 512 - 384 - 192 MiB are left for map outputs, and a quarter of the container is less.
SIZES = {"spark.executor.memory": "512m", "spark.executor.memoryOverhead": "1g", "spark.executor.instances": "2",
         "spark.yarn.am.memory": "512m", "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": spark.HOST,
         "spark.executorEnv.SPARK_LOCAL_IP": spark.HOST}
TOO_MUCH = 1700  # MiB
DYNAMIC = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
           "spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.maxExecutors": "2",
           "spark.dynamicAllocation.executorIdleTimeout": "2s", "spark.dynamicAllocation.shuffleTracking.timeout": "4s"}


@unittest.skipUnless(FULL, "runs with --full: a YARN of its own")
class OnYarn(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hadoop = Hadoop(os.path.join(Shared.folder.name, "yarn"), datanodes=1, nodemanagers=2, properties=SITES, tied=True)
        cls.hadoop.start()
        cls.addClassCleanup(cls.hadoop.stop)
        before = dict(os.environ)
        cls.addClassCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(HADOOP_CONF_DIR=cls.hadoop.client_conf(), JAVA_HOME=java.home())
        cls.sizes = {**SIZES, "spark.yarn.jars": f"local:{spark.home()}/jars/*"}

    def executors_say(self, app):
        """Logs of the application's containers but the master's."""
        return [text for text in self.logs(f"{app}/container_*") if "Verbena 0.1.0 on executor" in text]

    def logs(self, containers):
        """What containers wrote to standard error."""
        texts = []
        for path in sorted(glob.glob(f"{self.hadoop.local()}/logs*/{containers}/stderr")):
            with open(path, errors="replace") as file:
                texts.append(file.read())
        return texts

    def test_a_client_mode_with_executors_that_come_and_go(self):
        ours = Application({**self.sizes, **DYNAMIC}, master="yarn")
        self.addCleanup(gone, ours)
        self.addCleanup(ours.stop)
        for job in ("groupby", "smj"):
            self.assertEqual(self.right(ours, job, JOBS[job])["failed_tasks"], 0)
            ours.drop(job)
        logs = self.executors_say(ours.id)
        self.assertGreaterEqual(len(logs), 2)
        for text in logs:
            self.assertRegex(text, r"map outputs in memory, at most 384 MiB in /dev/shm")
        await_true(lambda: not ours.executors(), "executors without work and without outputs end")
        self.right(ours, "sortby", JOBS["sortby"])
        ours.stop()
        self.assertGreater(ours.total("from mapped memory of neighbours"), 1 << 20)
        self.assertRegex(ours.driver_log(), r"all [3-9] executors together")

    def test_b_cluster_mode_and_a_container_that_is_killed_for_its_memory(self):
        answer = os.path.join(Shared.folder.name, "yarn-answer")
        settings = {**spark.OURS, **self.sizes, "spark.pyspark.python": sys.executable, "spark.task.maxFailures": "4",
                    "spark.ui.enabled": "false", "spark.yarn.maxAppAttempts": "1"}
        argv = [os.path.join(spark.home(), "bin", "spark-submit"), "--master", "yarn", "--deploy-mode", "cluster",
                "--driver-memory", "512m", "--jars", spark.plugin_jar(ROOT), "--py-files", os.path.join(HERE, "yarn_sums.py")]
        for key, value in settings.items():
            argv += ["--conf", f"{key}={value}"]
        done = subprocess.run([*argv, os.path.join(HERE, "yarn_job.py"), answer, str(TOO_MUCH)], capture_output=True,
                              text=True, timeout=600, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        with open(answer) as file:
            found = json.load(file)
        wanted = [[key, sum(range(key, NUMBERS, KEYS))] for key in range(KEYS)]
        for name in ("pairs", "rows", "killed"):
            self.assertEqual(found[name], wanted, name)
        master = "".join(self.logs(f"{found['id']}/container_*_000001"))
        self.assertRegex(master, r"(?i)killed by YARN for exceeding (physical )?memory limits")
        self.assertRegex(master, r"Verbena, all [23] executors together: wrote [1-9]")  # the third one may come too late
        self.assertGreaterEqual(len(self.executors_say(found["id"])), 2)
        path = f"/dev/shm/verbena-{os.getuid()}/{found['id']}"
        await_true(lambda: not os.path.exists(path), f"{path} is removed after the application's end")
