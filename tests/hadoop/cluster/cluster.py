# SPDX-License-Identifier: Apache-2.0
"""Starts and ends Hadoop's daemons."""
import os
import secrets
import subprocess

from daemons import key, processes
from daemons.errors import Failed
from daemons.group import Group
from daemons.ports import HOST, free
from daemons.ready import until

from . import conf, java, ready
from .ports import greeting_offset

HEAPS = {"namenode": "512m", "resourcemanager": "512m", "history": "384m"}
MAINS = {"namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
         "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
         "resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
         "nodemanager": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
         "history": "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer",
         "journal": "org.apache.hadoop.hdfs.qjournal.server.JournalNode",
         "zookeeper": "org.apache.zookeeper.server.ZooKeeperServerMain",
         "controller": "org.apache.hadoop.hdfs.tools.DFSZKFailoverController"}
PORTS = ["namenode", "namenode-http", "rm-rpc", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http", "history-rpc",
         "history-http", "history-admin"]


class Cluster(Group):
    """NameNode and DataNodes; with nodemanagers > 0 YARN too. Everything is below the folder work."""

    product, command = "Hadoop", "hadoop"

    def __init__(self, work, datanodes=3, nodemanagers=0, plugin=None, properties=None, own=None, quick=False, tied=False,
                 by_core=False, yarn_later=False, root=None):
        """plugin: a jar for the class path of daemons, clients and containers. by_core: HDFS' blocks travel by it.
        properties: {site: {name: value}} for all;
        own: {daemon: {site: {name: value}}} for one. quick: JVMs that start quickly. tied: daemons die with this
        process. yarn_later: YARN's daemons start with start_yarn(). root: in place of HDFS the file system lustre: over it."""
        super().__init__(work, tied)
        self.plugin = plugin
        self._by_core, self._key, self._yarn_later, self._root = by_core, None, yarn_later, root
        self._options = java.QUICK if quick else []
        self._properties, self._own = properties or {}, own or {}
        self._datanodes = [] if root else [f"datanode{i}" for i in range(1, datanodes + 1)]
        self._nodemanagers = [f"nodemanager{i}" for i in range(1, nodemanagers + 1)]
        self.identity = self.offset = None

    # ------------------------------------------------------------------------------------------- folders

    def local(self):
        """Where containers run; its name is unique, so that they are found again."""
        return os.path.join(self.work, "local-" + self.identity)

    # --------------------------------------------------------------------------------------------- start

    def names(self):
        return [*self._hdfs(), *self._yarn()]

    def _hdfs(self):
        return [] if self._root else ["namenode", *self._datanodes]

    def port_names(self):
        return PORTS + [f"{name}{suffix}" for name in self._datanodes for suffix in ("", "-http", "-ipc")] \
            + [f"{name}{suffix}" for name in self._nodemanagers for suffix in ("", "-http", "-localizer")]

    def launch_all(self):
        self.identity = secrets.token_hex(6)
        names = self.port_names()
        self.ports = dict(zip(names, free(len(names))))
        self.offset = greeting_offset(self.ports)  # once: when daemons greet, their ports are not free any more
        self._key = key.new(os.path.join(self.work, "conf", "key")) if self._by_core else None
        for name in ["client", *self.names()]:
            conf.write(self.conf(name), self.site(name))
        yarn = self._nodemanagers and not self._yarn_later
        if self._hdfs():
            self._format()
        for name in [*self._hdfs(), *(self._yarn() if yarn else [])]:
            self.launch(name)
        if self._hdfs():
            self.await_hdfs()
        if yarn:
            self._await_yarn()

    def _yarn(self):
        return ["resourcemanager", *self._nodemanagers, "history"] if self._nodemanagers else []

    def start_yarn(self):
        """Starts YARN's daemons beside a running HDFS, unless they are there."""
        for name in self._yarn():
            if name not in self.daemons:
                self.launch(name)
        self._await_yarn()

    def await_hdfs(self):
        until(self.check_alive, lambda: ready.hdfs(self.ports, len(self._datanodes), self.place), "HDFS", self.work)

    def _await_yarn(self):
        until(self.check_alive, lambda: ready.yarn(self.ports, len(self._nodemanagers)), "YARN", self.work)

    def site(self, name):
        tasks = ":".join([self.client_conf(), java.library() + "/*", *([self.plugin] if self.plugin else [])])
        parts = [conf.hdfs(self.ports, self.data())]
        if self._root:
            parts.append(conf.merged(conf.lustre(self._root), {"core-site": {"fs.defaultFS": "lustre:///"}}))
        if self._key is not None:
            parts.append(conf.blocks_by_core(self._key, self.offset))
        if self._nodemanagers:
            parts.append(conf.yarn(self.ports, self.data(), tasks, [*self._options, *java.OPENS]))
        kind, number = name.rstrip("0123456789"), name.lstrip("abcdefghijklmnopqrstuvwxyz")
        if kind == "datanode":
            parts.append(conf.datanode(int(number), self.ports, self.data()))
        elif kind == "nodemanager":
            parts.append(conf.nodemanager(int(number), self.ports, self.local()))
        return conf.merged(*parts, self.special(name), self._properties, self._own.get(name, {}))

    def special(self, name):
        """{site: {name: value}} of a special kind of cluster; None removes a property."""
        return {}

    def for_clients(self):
        """{name: value} of all site files of a client, for another system that uses this cluster."""
        return {name: value for part in self.site("client").values() for name, value in part.items()}

    def _format(self, name="namenode", *more):
        done = self.java(MAINS["namenode"], ["-format", "-force", "-nonInteractive", *more], self.conf(name))
        if done.returncode != 0:
            raise Failed(f"the {name} could not be formatted:\n{done.stderr[-2000:]}")

    def launch(self, name):
        """Starts one daemon, without waiting for it; also again after it was killed."""
        kind = name.rstrip("0123456789")
        temporary = os.path.join(self.data(), "tmp", name)  # Jetty unpacks its pages there
        os.makedirs(temporary, exist_ok=True)
        argv = java.argv(MAINS[kind], self.arguments(name), self.conf(name), self.plugin, HEAPS.get(kind, "512m"),
                         [*self._options, f"-Djava.io.tmpdir={temporary}"])
        self.spawn(name, [*self.wrapper(name), *argv], self.environment(self.conf(name)))

    def arguments(self, name):
        """Of a daemon's class."""
        return []

    def wrapper(self, name):
        """What stands before the command of a daemon or of a client ("client"): of another host, for one."""
        return []

    def place(self, name):
        """The address at which this process finds a daemon's page."""
        return HOST

    def environment(self, folder=None):
        hidden = ("HADOOP_", "YARN_", "HDFS_", "CLASSPATH")
        env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        return {**env, "HADOOP_CONF_DIR": folder or self.client_conf(),
                "JAVA_HOME": env.get("JAVA_HOME") or java.home()}

    # ---------------------------------------------------------------------------------------------- use

    def argv(self, words, options=()):
        """The command line of a client: words are those of a release's command (hdfs dfs -ls /), or a class and arguments."""
        name, arguments = java.program(words)
        return java.argv(name, arguments, self.client_conf(), self.plugin, options=[*self._options, *options])

    def options(self):
        """Of all JVMs."""
        return self._options

    def run(self, *words, timeout=300):
        """Runs a client and gives its CompletedProcess."""
        return self.java(*java.program(list(words)), timeout=timeout)

    def java(self, name, arguments, folder=None, timeout=300):
        argv = [*self.wrapper("client"),
                *java.argv(name, arguments, folder or self.client_conf(), self.plugin, options=self._options)]
        try:
            return subprocess.run(argv, env=self.environment(folder), capture_output=True, text=True, timeout=timeout,
                                  stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join([name, *arguments])} did not end within {timeout} s") from error

    # ---------------------------------------------------------------------------------------------- stop

    def stop(self, keep_logs=False):
        """Ends daemons and containers, YARN's first, and removes their data; logs too unless they are to be kept.
        NodeManagers take their leave of the ResourceManager, and would wait for one that has ended."""
        for kinds in ("nodemanager", ("resourcemanager", "history")):
            processes.end([self.daemons[name] for name in self.daemons if name.startswith(kinds)])
        if self.identity:
            processes.end(processes.below(self.local()), grace=3)
        processes.end([process for process in self.daemons.values()])
        self.remove([f"local-{self.identity}"], keep_logs)

    def kept(self):
        """What restored needs."""
        return {"identity": self.identity, "plugin": self.plugin, "datanodes": len(self._datanodes),
                "nodemanagers": len(self._nodemanagers), "options": self._options, "root": self._root}

    @classmethod
    def restored(cls, work, kept):
        cluster = cls(work, kept["datanodes"], kept["nodemanagers"], kept["plugin"], root=kept.get("root"))
        cluster.identity, cluster._options = kept["identity"], kept["options"]
        return cluster
