# SPDX-License-Identifier: Apache-2.0
"""A standalone Spark on loopback (master and two workers, each in its own JVM) and generators submitted to it."""
import glob
import json
import os
import shutil
import socket
import sys
import time
import urllib.request

from driver.procs import Failed, Process, Scope, tail
from sides import hadoop

HOST = "127.0.0.1"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_TIMEOUT = 180  # seconds until master and workers are up
STOCK = {}  # properties of the stock side: none
PLUGIN = {"spark.plugins": "org.verbena.spark.VerbenaPlugin"}  # of ours: all that Spark 4 needs
OURS = {**PLUGIN, "spark.shuffle.manager": "org.verbena.spark.VerbenaShuffleManager"}  # of tests: what Spark 3.5 needs, too
# Of both sides. Tests want tasks on both executors and joins by shuffle: plan.DEFAULTS takes these two away from rows.
COMMON = {"spark.driver.host": HOST, "spark.driver.bindAddress": HOST, "spark.ui.enabled": "false",
          "spark.executor.cores": "1", "spark.cores.max": "2", "spark.executor.memory": "2g",
          "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "32",
          "spark.sql.autoBroadcastJoinThreshold": "1m", "spark.locality.wait": "0s",
          "spark.scheduler.minRegisteredResourcesRatio": "1.0",
          "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s"}


def home():
    """SPARK_HOME, checked."""
    path = os.environ.get("SPARK_HOME", "")
    if not os.access(os.path.join(path, "bin", "spark-submit"), os.X_OK):
        raise Failed("SPARK_HOME does not name an Apache Spark (no bin/spark-submit in "
                     f"'{path}'); ./verbena sets it, or set it to an unpacked Spark 4.2.0")
    return path


def _newest(folder, prefix):
    """The jar PREFIX<digit>*.jar of a folder, without sources or original- copies; None when not built."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    jars = [name for name in names if name.startswith(prefix) and name.endswith(".jar")
            and name[len(prefix)].isdigit() and "sources" not in name and "linux" not in name]
    return os.path.join(folder, max(jars)) if jars else None


def plugin_jar(root):
    """spark-rdma-shuffle's jar, or None when it is not built; $VERBENA_PLUGIN_JAR overrides."""
    return os.environ.get("VERBENA_PLUGIN_JAR") or built_plugin(root)


def built_plugin(checkout):
    """The jar that was built in a checkout, or None."""
    return _newest(os.path.join(checkout, "spark-rdma-shuffle", "dist", "target"), "spark-rdma-shuffle-")


def jobs_jar(root):
    """The jar of the generator; $VERBENA_OHB_SPARK_JAR overrides."""
    jar = os.environ.get("VERBENA_OHB_SPARK_JAR") or _newest(
        os.path.join(root, "ohb", "java", "ohb-spark", "target"), "ohb-spark-")
    if not jar or not os.path.isfile(jar):
        raise Failed("the Spark generator (ohb-spark jar) is not built: run ./verbena build")
    return jar


def free_ports(count):
    """Of loopback, and outside the range of which the kernel gives ports away: a daemon takes seconds to bind its own."""
    try:
        return hadoop.harness(ROOT, "daemons.ports").free(count)
    except hadoop.harness(ROOT, "daemons.errors").Failed as failure:
        raise Failed(str(failure)) from failure


def _environment(**more):
    hidden = ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_TESTING")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    env.update({"SPARK_HOME": home(), "SPARK_LOCAL_IP": HOST, **more})
    return env


def memory_folder():
    """A folder in shared memory for a cluster's local directories; those of drivers that were killed are removed."""
    prefix = f"/dev/shm/ohb-{os.getuid()}-"
    for folder in glob.glob(prefix + "*"):
        if not os.path.exists("/proc/" + folder.removeprefix(prefix)):
            shutil.rmtree(folder, ignore_errors=True)
    return prefix + str(os.getpid())


class Cluster(Scope):
    """Master and workers. Use as a context manager; everything it started is gone afterwards, files but logs too."""

    def __init__(self, work, workers=2, cores=2, memory="5g", wrapper=(), hosts=(HOST,), master=HOST, local=None,
                 properties=None):
        """wrapper: command that runs the workers, for example in a namespace of their own; or {host or number from 1: command}.

        hosts: addresses that the workers take in turn; to Spark each is a host of its own. master: the master's.
        local: folder for the executors' local directories, which otherwise are in work; removed at the end.
        properties: of Spark, for master and workers."""
        self.work, self._workers, self._cores, self._memory = os.path.abspath(work), workers, cores, memory
        self._wrapper, self._hosts, self._master = wrapper, hosts, master
        self._local = local
        self._options = " ".join(f"-D{key}={value}" for key, value in (properties or {}).items())
        self._processes = []
        self.url = None

    def start(self):
        os.makedirs(self.work, exist_ok=True)
        port, web, *workers_web = free_ports(2 + self._workers)
        self.url = f"spark://{self._master}:{port}"
        self._daemon("master", ["org.apache.spark.deploy.master.Master", "--host", self._master, "--port", str(port),
                                "--webui-port", str(web)], _environment(SPARK_LOCAL_IP=self._master))
        self._await_port(port)
        for number in range(1, self._workers + 1):
            folder = os.path.join(self.work, f"worker{number}")
            os.makedirs(folder, exist_ok=True)
            host = self._hosts[number % len(self._hosts)]
            self._daemon(f"worker{number}", [
                "org.apache.spark.deploy.worker.Worker", "--host", host, "--cores", str(self._cores),
                "--memory", self._memory, "--webui-port", str(workers_web[number - 1]), "--work-dir",
                os.path.join(folder, "work"), self.url],
                _environment(SPARK_LOCAL_IP=host, SPARK_WORKER_DIR=folder, SPARK_LOCAL_DIRS=self._local_folder(number)),
                self._wrapper.get(host, self._wrapper.get(number, ())) if isinstance(self._wrapper, dict) else self._wrapper)
        self._await_workers(web)

    def _local_folder(self, number):
        return os.path.join(self._local or self.work, f"worker{number}", "local")

    def _daemon(self, name, words, env, wrapper=()):
        env.setdefault("SPARK_DAEMON_MEMORY", "512m")
        env["SPARK_DAEMON_JAVA_OPTS"] = " ".join([env.get("SPARK_DAEMON_JAVA_OPTS", ""), self._options]).strip()
        argv = [*wrapper, os.path.join(home(), "bin", "spark-class"), *words]
        self._processes.append(Process(f"spark {name}", argv, os.path.join(self.work, name + ".log"), env=env))

    def _check_alive(self):
        for process in self._processes:
            if not process.alive():
                raise Failed(f"{process.name} ended while starting; its log is {process.log}\n" + tail(process.log))

    def _await_port(self, port):
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            self._check_alive()
            with socket.socket() as probe:
                if probe.connect_ex((self._master, port)) == 0:
                    return
            time.sleep(0.2)
        raise Failed(f"the Spark master did not open its port within {START_TIMEOUT} s; see {self.work}/master.log")

    def _await_workers(self, web):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            self._check_alive()
            try:
                with opener.open(f"http://{self._master}:{web}/json/", timeout=5) as answer:
                    if json.load(answer)["aliveworkers"] == self._workers:
                        return
            except (OSError, ValueError):
                pass  # the page is not up yet
            time.sleep(0.3)
        raise Failed(f"{self._workers} Spark workers did not register within {START_TIMEOUT} s; see {self.work}")

    def pids(self):
        return [process.pid for process in self._processes]

    def stop(self):
        for process in reversed(self._processes):
            process.stop(grace=3)
        self._processes.clear()
        for number in range(1, self._workers + 1):
            shutil.rmtree(self._local_folder(number), ignore_errors=True)
        if self._local:
            shutil.rmtree(self._local, ignore_errors=True)


def settings(properties, extra=None):
    """What an application gets: COMMON, extra and its side's properties, a later one instead of an earlier one of the same name;
    one whose value is None is left to Spark."""
    every = {**COMMON, **(extra or {}), **properties}
    return {key: value for key, value in every.items() if value is not None}


class Generator:
    """SparkJobs serve, submitted with the properties of one side."""

    def __init__(self, name, url, root, work, properties, extra=None, jar=True, plugin=None):
        """url: a master URL; properties, extra: as for settings(); jar: give the plugin's by --jars; plugin: that jar, else the
        root's."""
        self.name, self.properties = name, settings(properties, extra)
        argv = self.argv(url, root, jar, plugin)
        os.makedirs(work, exist_ok=True)
        self.command = " ".join(argv)
        self._process = Process(f"spark generator {name}", argv, os.path.join(work, f"generator-{name}.log"),
                                env=_environment(SPARK_LOCAL_IP=self.properties["spark.driver.host"],
                                                 SPARK_LOCAL_DIRS=os.path.join(work, f"driver-{name}")), lines=True)
        self.hello = None

    def argv(self, url, root, jar=True, plugin=None):
        argv = [os.path.join(home(), "bin", "spark-submit"), "--master", url,
                "--class", "org.verbena.ohb.spark.SparkJobs"]
        if jar and {"spark.plugins", "spark.shuffle.manager"} & set(self.properties):
            path = plugin or plugin_jar(root)
            if not path or not os.path.isfile(path):
                raise Failed("the Spark plugin is not built: run ./verbena build")
            argv += ["--jars", path]
        for key, value in self.properties.items():
            argv += ["--conf", f"{key}={value}"]
        return argv + [jobs_jar(root), "serve"]

    def await_ready(self, timeout=600):  # on a busy machine two drivers at once took more than two minutes
        self.hello = self._answer(timeout)
        return self.hello

    def ask(self, line, timeout=600):
        """Sends one line of the protocol and returns the answer."""
        self._process.send(line)
        return self._answer(timeout)

    def _answer(self, timeout):
        deadline = time.monotonic() + timeout
        while True:
            line = self._process.line(deadline - time.monotonic())
            if line.startswith("{"):
                break
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise Failed(f"{self._process.name} answered no JSON ({error}): {line[:200]}") from None
        if "error" in answer:
            raise Failed(f"{self._process.name}: {answer['error']}; its log is {self._process.log}\n"
                         + tail(self._process.log))
        return answer

    def warm(self, row, params, timeout=600):
        return self.ask(" ".join(["warm", row] + [f"{key}={value}" for key, value in params.items()]), timeout)

    def block(self, row, seed, timeout=600):
        return self.ask(f"block {row} {seed}", timeout)

    def stop(self):
        """Asks the generator to end, waits, then makes sure."""
        if self._process.alive():
            try:
                self._process.send("quit")
                self._process.wait(30)
            except Failed:
                pass  # it is ending already
        self._process.stop(grace=5)


def executor_logs(work, app_id):
    """Paths of the executors' standard error files of one application, in a Cluster's work folder."""
    found = []
    for folder, _, names in os.walk(work):
        if f"{os.sep}{app_id}{os.sep}" in folder + os.sep:
            found += [os.path.join(folder, name) for name in names if name == "stderr"]
    return sorted(found)


def generate_tpch(root, folder, scale, log):
    """Writes the TPC-H tables into folder, unless they are there; runs in one local JVM."""
    argv = [os.path.join(home(), "bin", "spark-submit"), "--master", "local[2]", "--driver-memory", "2g",
            "--conf", "spark.ui.enabled=false", "--conf", f"spark.driver.host={HOST}",
            "--conf", f"spark.driver.bindAddress={HOST}",
            "--class", "org.verbena.ohb.spark.SparkJobs", jobs_jar(root), "gen", folder, str(scale)]
    process = Process("TPC-H generator", argv, log, env=_environment())
    status = process.wait(900)
    process.stop()
    if status != 0:
        raise Failed(f"generating TPC-H data failed (status {status}); the log is {log}\n" + tail(log))


def note(text):
    """One progress line."""
    print(f"ohb: {text}", file=sys.stderr, flush=True)
