# SPDX-License-Identifier: Apache-2.0
"""HDFS in each mode, or the file system lustre:, and YARN."""
import os
import zipfile

from . import ask, hosts, places, sites
from .errors import Failed

MODES = ("stock", "off", "hhh", "hhh-m", "hhh-l", "lustre")
BUFFERED = "hhh-l-bb"  # HiBD's name: the mode lustre with a burst buffer
SHARED = ("hhh-l", "lustre")  # modes with a folder that all nodes see
RELEASE = ("common", "common/lib", "hdfs", "hdfs/lib", "yarn", "yarn/lib", "mapreduce")
FILES = ("core-site", "hdfs-site", "yarn-site", "mapred-site")
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
RESOURCES = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODES = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
HISTORY = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
BRIDGE = {"core-site": {"hadoop.rpc.socket.factory.class.ClientProtocol": "org.verbena.hadoop.hdfs.VerbenaSocketFactory"},
          "hdfs-site": {"dfs.datanode.plugins": "org.verbena.hadoop.hdfs.VerbenaDataNodePlugin"}}
SERVICE = "yarn.nodemanager.aux-services.mapreduce_shuffle.class"
SHUFFLE = {"yarn-site": {SERVICE: "org.verbena.hadoop.shuffle.VerbenaShuffleHandler"},
           "mapred-site": {"mapreduce.job.reduce.shuffle.consumer.plugin.class": "org.verbena.hadoop.shuffle.VerbenaShuffle"}}
ENGINE = "org.verbena.hadoop.rpc.VerbenaRpcEngine"
PROTOCOLS = "org/verbena/hadoop/rpc/protocols"  # of the jar; Hadoop has a property for each
OWN_MEMORY = 4096  # MiB of a node that containers do not get


def class_path(home):
    """What a release of Hadoop has, or a folder of its jars."""
    shares = [os.path.join(home, "share", "hadoop", part) for part in RELEASE]
    if os.path.isdir(shares[0]):
        return ":".join(f"{folder}/*" for folder in shares)
    if os.path.isdir(home) and any(name.startswith("hadoop-common") for name in os.listdir(home)):
        return f"{home}/*"
    raise Failed(f"--hadoop {home} has neither share/hadoop nor the jars of Hadoop: give the folder of an unpacked release")


def engines(jar):
    """The properties that let all protocols go by the core."""
    try:
        with zipfile.ZipFile(jar) as one:
            return {f"rpc.engine.{name}": ENGINE for name in one.read(PROTOCOLS).decode("ascii").split()}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise Failed(f"--rpc: {jar} has no list of protocols ({error}): --jar names the jar of hadoop-rdma") from error


class Hadoop:
    """The daemons of one session. Rank: those with the highest end first."""

    def __init__(self, at):
        self._at, self._options = at, at.options
        self._mode = at.options.mode
        self._jar = None if self._mode == "stock" else at.options.jar or places.built(
            "hadoop-rdma/dist/target/hadoop-rdma-*[0-9].jar", "the jar of hadoop-rdma")
        self.buffer = None  # of the mode lustre
        self._path = class_path(at.options.hadoop)
        self._user = {name: sites.read(at.options.conf, name) for name in FILES} if at.options.conf else {}
        self.shared = self._own_share()
        self._rpc = {**engines(self._jar), "verbena.rpc.key.file": at.key} if at.options.rpc else {}

    def _own_share(self):
        """The session's folder on the shared path, which is removed at the end: of blocks, or of what YARN writes beside the
        user's files; None: there is none."""
        hidden = {"hhh-l": "", "lustre": "."}.get(self._mode)
        if hidden is None or (hidden and not self._options.yarn):
            return None
        return os.path.join(self._options.shared, f"{hidden}verbena-{self._at.job.identity}-{self._options.token}")

    # ------------------------------------------------------------------------------------------------ site files

    def _hdfs(self, node):
        at, name = self._at, lambda port: self._at.at(0, port)
        disks = node is not None and f"[DISK]file://{at.local(node, 'disk')}"
        own = {} if node is None else {
            "dfs.datanode.hostname": at.address(node), "dfs.datanode.address": at.at(node, places.DATA),
            "dfs.datanode.http.address": at.at(node, "dn-http"), "dfs.datanode.ipc.address": at.at(node, "dn-ipc"),
            "dfs.datanode.data.dir": f"[SSD]file://{at.fast(node, 'ssd')},{disks}" if self._options.ssd else disks}
        return {"core-site": {"fs.defaultFS": f"hdfs://{name('nn')}"},
                "hdfs-site": {"dfs.namenode.rpc-address": name("nn"), "dfs.namenode.http-address": name("nn-http"),
                              "dfs.namenode.name.dir": f"file://{at.local(0, 'name')}", "dfs.namenode.safemode.extension": 0,
                              "dfs.namenode.datanode.registration.ip-hostname-check": "false", **own}}

    def _ours(self, node):
        """What switches the core and the mode on."""
        at, parts = self._at, []
        if self._mode == "stock":
            return {}
        if self._mode == "lustre":
            parts.append({"core-site": {"fs.lustre.impl": "org.verbena.hadoop.lustre.LustreFileSystem",
                                        "fs.AbstractFileSystem.lustre.impl": "org.verbena.hadoop.lustre.LustreFs",
                                        "verbena.lustre.root": self._options.shared, "fs.defaultFS": "lustre:///",
                                        **(self.buffer.site() if self.buffer else {})}})
        else:
            parts += [BRIDGE, {"core-site": {"verbena.hdfs.key.file": at.key, "verbena.hdfs.port.offset": hosts.OFFSET}}]
        if self._mode in ("hhh", "hhh-m", "hhh-l"):
            parts.append({"hdfs-site": {
                "verbena.hdfs.mode": self._mode, "verbena.hdfs.memory.dir": at.memory(node or 0),
                "verbena.hdfs.memory.size": self._options.memory, "verbena.hdfs.shared.dir": self.shared,
                "dfs.datanode.fsdataset.factory": "org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory",
                "dfs.block.replicator.classname": "org.verbena.hadoop.hdfs.tier.VerbenaPlacementPolicy",
                "dfs.net.topology.impl": "org.verbena.hadoop.hdfs.tier.VerbenaTopology"}})
        return sites.merged(*parts, {"core-site": self._rpc}, SHUFFLE if self._options.yarn else {})

    def _yarn(self, node, tasks):
        at, name = self._at, lambda port: self._at.at(0, port)
        facts = at.nodes[node or 0]
        own = {} if node is None else {
            "yarn.nodemanager.hostname": at.address(node), "yarn.nodemanager.address": at.at(node, "nm"),
            "yarn.nodemanager.localizer.address": at.at(node, "nm-localizer"),
            "yarn.nodemanager.webapp.address": at.at(node, "nm-http"),
            "yarn.nodemanager.local-dirs": at.fast(node, "containers"),
            "yarn.nodemanager.log-dirs": os.path.join(at.work, "log", "containers"),
            "yarn.nodemanager.resource.memory-mb": self._options.containers or max(1024, facts["memory"] - OWN_MEMORY),
            "yarn.nodemanager.resource.cpu-vcores": facts["processors"]}
        return {"yarn-site": {"yarn.resourcemanager.hostname": at.address(0), "yarn.nodemanager.aux-services": "mapreduce_shuffle",
                              "yarn.resourcemanager.address": name("rm"),
                              "yarn.resourcemanager.scheduler.address": name("rm-scheduler"),
                              "yarn.resourcemanager.resource-tracker.address": name("rm-tracker"),
                              "yarn.resourcemanager.admin.address": name("rm-admin"),
                              "yarn.resourcemanager.webapp.address": name("rm-http"), "yarn.application.classpath": tasks,
                              "yarn.nodemanager.vmem-check-enabled": "false", **own},
                "mapred-site": {"mapreduce.framework.name": "yarn", "mapreduce.application.classpath": tasks,
                                "mapreduce.shuffle.port": 0,
                                "mapreduce.jobhistory.address": name("jh"), "mapreduce.jobhistory.webapp.address": name("jh-http"),
                                "mapreduce.jobhistory.admin.address": name("jh-admin"),
                                "yarn.app.mapreduce.am.staging-dir": self._staging(),
                                **{f"mapreduce.{kind}.java.opts": " ".join(places.OPENS) for kind in ("map", "reduce")},
                                "yarn.app.mapreduce.am.command-opts": "-Xmx1024m " + " ".join(places.OPENS)}}

    def _staging(self):
        """Of jobs that run, and of the history of those that have ended."""
        return "/tmp/hadoop-yarn/staging" if self._has_hdfs() else f"/{os.path.basename(self.shared)}/staging"

    def sites(self, node):
        """{site: {name: value}} of a node's daemons, or of clients (None). A user's files give way to addresses and
        folders, and what --set says wins over all."""
        tasks = ":".join([self._at.conf("client"), self._path, *([self._jar] if self._jar else [])])
        parts = [{"core-site": {"hadoop.tmp.dir": self._at.local(0 if node is None else node, "tmp")}}]
        parts += [self._hdfs(node)] if self._has_hdfs() else []
        parts += [self._yarn(node, tasks)] if self._options.yarn else []
        return sites.merged({name: {} for name in FILES}, self._user, *parts, self._ours(node), sites.chosen(self._options.set))

    def _has_hdfs(self):
        return self._mode != "lustre"

    def write(self):
        """The folders of site files: client, and one for each node; and the session's folder on the shared path."""
        if self.shared:
            os.makedirs(self.shared, mode=0o700)
        queue = sites.text({"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": 100,
                            "yarn.scheduler.capacity.maximum-am-resource-percent": 0.5})
        for node in (None, *self._at.indexes()):
            folder = self._at.conf("client" if node is None else f"node{node}")
            sites.write(folder, self.sites(node), [("capacity-scheduler.xml", queue)])

    # ---------------------------------------------------------------------------------------------------- daemons

    def java(self, main, conf, heap=1024, *arguments):
        path = ":".join([conf, self._path, *([self._jar] if self._jar else [])])
        return [self._at.java(), f"-Xmx{heap}m", *places.OPENS, "-cp", path, main, *arguments]

    def _daemon(self, kind, node, rank, main, before=None):
        conf = self._at.conf(f"node{node}")
        temporary = self._at.local(node, "run", f"{kind}-{node}")
        argv = self.java(main, conf, self._options.heap)
        return self._at.daemon(f"{kind}-{node}", node, rank, [argv[0], f"-Djava.io.tmpdir={temporary}", *argv[1:]],
                               {"HADOOP_CONF_DIR": conf, "JAVA_HOME": os.path.dirname(os.path.dirname(self._at.java()))}, before)

    def daemons(self):
        nodes, found = self._at.indexes(), []
        if self._has_hdfs():
            found += [self._daemon("namenode", 0, 0, NAMENODE, self._format())]
            found += [self._daemon("datanode", node, 1, DATANODE) for node in nodes]
        if self._options.yarn:
            found += [self._daemon("resourcemanager", 0, 2, RESOURCES), self._daemon("history", 0, 2, HISTORY)]
            found += [self._daemon("nodemanager", node, 3, NODES) for node in nodes]
        return found

    def _format(self):
        return self.java(NAMENODE, self._at.conf("node0"), 512, "-format", "-force", "-nonInteractive")

    def lacks(self):
        """None when all daemons serve, else what is missing."""
        count = len(self._at.nodes)
        if self._has_hdfs():
            state = ask.bean(self._at.at(0, "nn-http"), "Hadoop:service=NameNode,name=FSNamesystemState")
            if state.get("NumLiveDataNodes", 0) < count:
                seen = state.get("NumLiveDataNodes", 0)
                return f"{seen} of {count} DataNodes have registered" if state else "the NameNode does not answer"
            if state.get("FSState") != "Operational":
                return "the NameNode is in safe mode"
        if self._options.yarn:
            metrics = (ask.ask(self._at.at(0, "rm-http"), "/ws/v1/cluster/metrics") or {}).get("clusterMetrics", {})
            if metrics.get("activeNodes", 0) < count:
                return f"{metrics['activeNodes']} of {count} NodeManagers have registered" if metrics else \
                    "the ResourceManager does not answer"
        return None

    def root(self):
        """The file system of the session."""
        return self.sites(None)["core-site"]["fs.defaultFS"].rstrip("/")

    def jars(self):
        """What another system needs for this file system beside its own jars of Hadoop."""
        return [self._jar] if self._jar else []

    def environment(self):
        """Of the user's commands."""
        client = self._at.conf("client")
        path = os.environ.get("HADOOP_CLASSPATH")
        return {"HADOOP_CONF_DIR": client, "YARN_CONF_DIR": client, "HADOOP_HOME": self._options.hadoop,
                **({"HADOOP_CLASSPATH": ":".join(filter(None, [self._jar, path]))} if self._jar else {})}

    def sentence(self):
        where = f"lustre: over {self._options.shared}" if self._mode == "lustre" else f"HDFS {self._mode} at {self._at.at(0, 'nn')}"
        return where + (f", YARN at {self._at.at(0, 'rm')}" if self._options.yarn else "")

    def copy(self, word, source, target):
        """A command that copies into the file system (-put) or out of it (-get)."""
        return self.java("org.apache.hadoop.fs.FsShell", self._at.conf("client"), 512, word, "-f", source, target)
