# SPDX-License-Identifier: Apache-2.0
"""hbase-site.xml of a cluster, one folder for clients and one for each daemon."""
import os

from daemons.ports import HOST
from daemons.sites import LOG4J, site

# What switches the calls of clients, and of servers among each other, on.
CLIENT = "hbase.rpc.client.impl"
SERVER = "hbase.rpc.server.impl"
# Short reads on the event loops.
SCHEDULER = "hbase.region.server.rpc.scheduler.factory.class"
OURS = {CLIENT: "org.apache.hadoop.hbase.ipc.VbnRpcClient", SERVER: "org.apache.hadoop.hbase.ipc.VbnRpcServer",
        SCHEDULER: "org.verbena.hbase.InlineRpcSchedulerFactory"}


def write(folder, properties):
    """Writes {name: value} as hbase-site.xml, and a log4j.properties, into a folder."""
    os.makedirs(folder, exist_ok=True)
    for name, text in (("hbase-site.xml", site(properties)), ("log4j.properties", LOG4J)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def cluster(ports, data):
    """What all daemons and clients share."""
    return {"hbase.cluster.distributed": "true", "hbase.rootdir": f"file://{data}/hbase", "hbase.wal.dir": f"file://{data}/wal",
            "hbase.tmp.dir": f"{data}/tmp", "hbase.wal.provider": "filesystem",
            "hbase.unsafe.stream.capability.enforce": "false", "hbase.zookeeper.quorum": HOST,
            "hbase.zookeeper.property.clientPort": ports["zookeeper"], "hbase.zookeeper.property.clientPortAddress": HOST,
            "hbase.zookeeper.property.dataDir": f"{data}/zk", "hbase.zookeeper.property.admin.enableServer": "false",
            # What was flushed outlives a killed process; the file system with checksums, the default, keeps the last bytes back.
            "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
            "hbase.master.info.port": -1, "hbase.regionserver.info.port": -1, "hbase.master.port": ports["master"],
            "hbase.master.hostname": "localhost", "hbase.regionserver.hostname": "localhost",
            "hbase.master.ipc.address": HOST, "hbase.regionserver.ipc.address": HOST, "hbase.regionserver.handler.count": 10,
            "zookeeper.session.timeout": 20000, "hbase.zookeeper.property.tickTime": 1000,
            "hbase.master.wait.on.regionservers.timeout": 1000, "hbase.master.start.timeout.localHBaseCluster": 300000}


def regionserver(port):
    return {"hbase.regionserver.port": port}


def by_core(key):
    """key: file with the cluster's key."""
    return {**OURS, "verbena.hbase.key.file": key}
