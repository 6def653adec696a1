# SPDX-License-Identifier: Apache-2.0
"""HBase over the session's HDFS: ZooKeeper and a master on the first node, a region server on each."""
import os

from . import ask, places, sites
from .errors import Failed

QUORUM = "org.apache.hadoop.hbase.zookeeper.HQuorumPeer"
MASTER = "org.apache.hadoop.hbase.master.HMaster"
REGIONS = "org.apache.hadoop.hbase.regionserver.HRegionServer"
OURS = {"hbase.rpc.client.impl": "org.apache.hadoop.hbase.ipc.VbnRpcClient",
        "hbase.rpc.server.impl": "org.apache.hadoop.hbase.ipc.VbnRpcServer",
        "hbase.region.server.rpc.scheduler.factory.class": "org.verbena.hbase.InlineRpcSchedulerFactory"}
OPTIONS = ["--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
           "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true", *places.OPENS,
           "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED", "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED"]
SERVER = "Hadoop:service=HBase,name=Master,sub=Server"


class HBase:
    def __init__(self, at, hadoop):
        self._at, self._hadoop = at, hadoop
        home = at.options.hbase
        lib = os.path.join(home, "lib") if os.path.isdir(os.path.join(home, "lib")) else home
        if not (os.path.isdir(lib) and any(name.startswith("hbase-server") for name in os.listdir(lib))):
            raise Failed(f"--hbase {home} has no jars of HBase: give the folder of an unpacked release")
        beside = os.path.join(lib, "client-facing-thirdparty")
        self._path = f"{home}:{lib}/*" + (  # pages of the daemons lie in home
            f":{beside}/*" if os.path.isdir(beside) else "")
        self._jar = None if at.options.mode == "stock" else at.options.hbase_jar or places.built(
            "hbase-rdma/dist/target/hbase-rdma-*[0-9].jar", "the jar of hbase-rdma")

    def _site(self, node):
        at = self._at
        own = {} if node is None else {
            "hbase.regionserver.port": at.port(node, "rs"), "hbase.regionserver.hostname": at.address(node),
            "hbase.regionserver.ipc.address": at.address(node)}
        return {"hbase.cluster.distributed": "true", "hbase.rootdir": self._hadoop.root() + "/hbase",
                "hbase.tmp.dir": at.local(node or 0, "hbase"), "hbase.zookeeper.quorum": at.address(0),
                "hbase.zookeeper.property.clientPort": at.port(0, "zk"),
                "hbase.zookeeper.property.clientPortAddress": at.address(0),
                "hbase.zookeeper.property.dataDir": at.local(0, "zk"), "hbase.zookeeper.property.admin.enableServer": "false",
                "hbase.unsafe.stream.capability.enforce": "false", "hbase.wal.provider": "filesystem",
                "hbase.master.port": at.port(0, "hm"), "hbase.master.hostname": at.address(0),
                "hbase.master.ipc.address": at.address(0),
                "hbase.master.info.port": at.port(0, "hm-http"), "hbase.master.info.bindAddress": at.address(0),
                "hbase.regionserver.info.port": -1, **own,
                **({**OURS, "verbena.hbase.key.file": at.key} if self._jar else {})}

    def write(self):
        for node in (None, *self._at.indexes()):
            hadoop = {} if node is None else self._hadoop.sites(node)
            client = self._hadoop.sites(None) if node is None else hadoop
            files = {name: client[name] for name in ("core-site", "hdfs-site")}
            chosen = sites.chosen(self._at.options.set).get("hbase-site", {})
            folder = self._at.conf("hbase" if node is None else f"hbase{node}")
            for page in ("master", "static"):  # the master looks for its pages, which a folder of jars lacks
                os.makedirs(os.path.join(folder, "hbase-webapps", page), exist_ok=True)
            sites.write(folder, {**files, "hbase-site": {**self._site(node), **chosen}})

    def _daemon(self, kind, node, rank, main):
        conf = self._at.conf(f"hbase{node}")
        path = ":".join([conf, self._path, *([self._jar] if self._jar else []), *self._hadoop.jars()])
        argv = [self._at.java(), f"-Xmx{self._at.options.heap}m", *OPTIONS, "-cp", path, main, "start"]
        return self._at.daemon(f"{kind}-{node}", node, rank, argv)

    def daemons(self):
        return [self._daemon("zookeeper", 0, 4, QUORUM), self._daemon("hbase-master", 0, 5, MASTER),
                *(self._daemon("regionserver", node, 6, REGIONS) for node in self._at.indexes())]

    def lacks(self):
        state = ask.bean(self._at.at(0, "hm-http"), SERVER)
        count, seen = len(self._at.nodes), state.get("numRegionServers", 0)
        if seen < count:
            return f"{seen} of {count} region servers have registered" if state else "HBase's master does not answer"
        ready = state.get("tag.isActiveMaster") == "true" and state.get("masterFinishedInitializationTime", 0) > 0
        return None if ready else "HBase's master has not finished its start"

    def environment(self):
        return {"HBASE_CONF_DIR": self._at.conf("hbase"), **({"HBASE_CLASSPATH": self._jar} if self._jar else {})}

    def sentence(self):
        return f"HBase at {self._at.at(0, 'zk')}"
