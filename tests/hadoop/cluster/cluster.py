# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the daemons, and knows what it started from a file, so that another command can end them."""
import json
import os
import secrets
import shutil
import subprocess

from . import conf, java, processes, ready
from .errors import Failed, PortTaken, tail
from .ports import free, greeting_offset

STATE = "cluster.json"
ATTEMPTS = 3  # when another process takes a chosen port first
HEAPS = {"namenode": "512m", "resourcemanager": "512m", "history": "384m"}
MAINS = {"namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
         "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
         "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
         "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
         "history": "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"}
PORTS = ["namenode", "namenode-http", "rm-rpc", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http", "history-rpc",
         "history-http", "history-admin"]


class Cluster:
    """NameNode and DataNodes; with nodemanagers > 0 YARN too. Everything is below the folder work."""

    def __init__(self, work, datanodes=3, nodemanagers=0, plugin=None, properties=None, own=None, quick=False, tied=False,
                 by_core=False):
        """plugin: a jar for the class path of daemons, clients and containers. by_core: HDFS' blocks travel by it.
        properties: {site: {name: value}} for all;
        own: {daemon: {site: {name: value}}} for one. quick: JVMs that start quickly. tied: daemons die with this process."""
        self.work, self._plugin, self._tied = os.path.abspath(work), plugin, tied
        self._by_core, self._key = by_core, None
        self._options = java.QUICK if quick else []
        self._properties, self._own = properties or {}, own or {}
        self._datanodes = [f"datanode{i}" for i in range(1, datanodes + 1)]
        self._nodemanagers = [f"nodemanager{i}" for i in range(1, nodemanagers + 1)]
        self.ports, self.daemons, self.identity = {}, {}, None

    # ------------------------------------------------------------------------------------------- folders

    def client_conf(self):
        return os.path.join(self.work, "conf", "client")

    def log(self, name):
        return os.path.join(self.work, "log", name + ".log")

    def _data(self):
        return os.path.join(self.work, "data")

    def local(self):
        """Where containers run; its name is unique, so that they are found again."""
        return os.path.join(self.work, "local-" + self.identity)

    # --------------------------------------------------------------------------------------------- start

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def names(self):
        yarn = ["resourcemanager", *self._nodemanagers, "history"] if self._nodemanagers else []
        return ["namenode", *self._datanodes, *yarn]

    def start(self):
        """Returns when every DataNode and NodeManager is registered. Fails with the cause, and then nothing is left."""
        running = self.load(self.work)
        if running is not None and running.running():
            raise Failed(f"a Hadoop is running in {self.work}: end it first (./verbena hadoop stop)")
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._start()
                return
            except PortTaken:
                self.stop()
                if attempt == ATTEMPTS:
                    raise
            except BaseException:
                self.stop(keep_logs=True)
                raise

    def _start(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(os.path.join(self.work, "log"))
        self.identity = secrets.token_hex(6)
        names = PORTS + [f"{name}{suffix}" for name in self._datanodes for suffix in ("", "-http", "-ipc")] \
            + [f"{name}{suffix}" for name in self._nodemanagers for suffix in ("", "-http", "-localizer")]
        self.ports = dict(zip(names, free(len(names))))
        self._key = self._new_key() if self._by_core else None
        for name in ["client", *self.names()]:
            conf.write(os.path.join(self.work, "conf", name), self._site(name))
        self._format()
        waves = [["namenode", *self._datanodes],
                 ["resourcemanager", *self._nodemanagers, "history"] if self._nodemanagers else []]
        for wave in waves:
            for name in wave:
                self.launch(name)
        ready.until(self.check_alive, lambda: ready.hdfs(self.ports, len(self._datanodes)), "HDFS", self.work)
        if self._nodemanagers:
            ready.until(self.check_alive, lambda: ready.yarn(self.ports, len(self._nodemanagers)), "YARN", self.work)

    def _new_key(self):
        path = os.path.join(self.work, "conf", "key")
        os.makedirs(os.path.dirname(path))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        return path

    def _site(self, name):
        tasks = ":".join([self.client_conf(), java.library() + "/*", *([self._plugin] if self._plugin else [])])
        parts = [conf.hdfs(self.ports, self._data())]
        if self._key is not None:
            parts.append(conf.blocks_by_core(self._key, greeting_offset(self.ports)))
        if self._nodemanagers:
            parts.append(conf.yarn(self.ports, self._data(), tasks, [*self._options, *java.OPENS]))
        kind, number = name.rstrip("0123456789"), name.lstrip("abcdefghijklmnopqrstuvwxyz")
        if kind == "datanode":
            parts.append(conf.datanode(int(number), self.ports, self._data()))
        elif kind == "nodemanager":
            parts.append(conf.nodemanager(int(number), self.ports, self.local()))
        return conf.merged(*parts, self._properties, self._own.get(name, {}))

    def _format(self):
        done = self.java(MAINS["namenode"], ["-format", "-force", "-nonInteractive"], self._conf("namenode"))
        if done.returncode != 0:
            raise Failed(f"the NameNode could not be formatted:\n{done.stderr[-2000:]}")

    def _conf(self, name):
        return os.path.join(self.work, "conf", name)

    def launch(self, name):
        """Starts one daemon, without waiting for it; also again after it was killed."""
        kind = name.rstrip("0123456789")
        temporary = os.path.join(self._data(), "tmp", name)  # Jetty unpacks its pages there
        os.makedirs(temporary, exist_ok=True)
        argv = java.argv(MAINS[kind], [], self._conf(name), self._plugin, HEAPS.get(kind, "512m"),
                         [*self._options, f"-Djava.io.tmpdir={temporary}"])
        self.daemons[name] = processes.spawn(argv, self.log(name), self.environment(self._conf(name)), self._tied)
        self._save()

    def environment(self, folder=None):
        hidden = ("HADOOP_", "YARN_", "HDFS_", "CLASSPATH")
        env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        return {**env, "HADOOP_CONF_DIR": folder or self.client_conf(),
                "JAVA_HOME": env.get("JAVA_HOME") or java.home()}

    def check_alive(self):
        for name, process in self.daemons.items():
            if not processes.alive(*process):
                text = tail(self.log(name))
                kind = PortTaken if "Address already in use" in tail(self.log(name), 200) else Failed
                raise kind(f"the {name} has ended; the last lines of its log {self.log(name)}:\n{text}")

    # ---------------------------------------------------------------------------------------------- use

    def argv(self, words, options=()):
        """The command line of a client: words are those of a release's command (hdfs dfs -ls /), or a class and arguments."""
        name, arguments = java.program(words)
        return java.argv(name, arguments, self.client_conf(), self._plugin, options=[*self._options, *options])

    def run(self, *words, timeout=300):
        """Runs a client and gives its CompletedProcess."""
        return self.java(*java.program(list(words)), timeout=timeout)

    def java(self, name, arguments, folder=None, timeout=300):
        argv = java.argv(name, arguments, folder or self.client_conf(), self._plugin, options=self._options)
        try:
            return subprocess.run(argv, env=self.environment(folder), capture_output=True, text=True, timeout=timeout,
                                  stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join([name, *arguments])} did not end within {timeout} s") from error

    def kill(self, name, number=processes.signal.SIGKILL):
        """Sends a signal to one daemon."""
        processes.kill(*self.daemons[name], number)

    # -------------------------------------------------------------------------------------- stop, status

    def running(self):
        return [name for name, process in self.daemons.items() if processes.alive(*process)]

    def stop(self, keep_logs=False):
        """Ends daemons and containers, YARN's first, and removes their data; logs too unless they are to be kept."""
        order = sorted(self.daemons, key=lambda name: name.startswith(("namenode", "datanode")))
        yarn = [self.daemons[name] for name in order if not name.startswith(("namenode", "datanode"))]
        processes.end(yarn)
        if self.identity:
            processes.end(processes.below(self.local()), grace=3)
        processes.end([process for process in self.daemons.values()])
        self.daemons = {}
        for folder in ["data", "conf", f"local-{self.identity}", *([] if keep_logs else ["log"])]:
            shutil.rmtree(os.path.join(self.work, folder), ignore_errors=True)
        if not keep_logs:
            shutil.rmtree(self.work, ignore_errors=True)
        elif os.path.exists(os.path.join(self.work, STATE)):
            os.unlink(os.path.join(self.work, STATE))

    def _save(self):
        kept = {"identity": self.identity, "ports": self.ports, "daemons": self.daemons, "plugin": self._plugin,
                "datanodes": len(self._datanodes), "nodemanagers": len(self._nodemanagers), "options": self._options}
        fresh = os.path.join(self.work, STATE + ".new")
        with open(fresh, "w") as file:
            json.dump(kept, file)
        os.replace(fresh, os.path.join(self.work, STATE))

    @classmethod
    def load(cls, work):
        """The cluster that another command started in a folder, or None."""
        try:
            with open(os.path.join(work, STATE)) as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return None
        cluster = cls(work, kept["datanodes"], kept["nodemanagers"], kept["plugin"])
        cluster.identity, cluster.ports, cluster._options = kept["identity"], kept["ports"], kept["options"]
        cluster.daemons = {name: tuple(process) for name, process in kept["daemons"].items()}
        return cluster
