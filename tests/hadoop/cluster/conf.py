# SPDX-License-Identifier: Apache-2.0
"""Site files: one folder for clients and one for each daemon, which differs by its ports and folders."""
import os

from daemons.ports import HOST
from daemons.sites import LOG4J, site

FILES = ("core-site", "hdfs-site", "yarn-site", "mapred-site")
# What switches MapReduce's shuffle of hadoop-rdma on.
SHUFFLE_SERVICE = "org.verbena.hadoop.shuffle.VerbenaShuffleHandler"
SHUFFLE_CONSUMER = "org.verbena.hadoop.shuffle.VerbenaShuffle"
STOCK_CONSUMER = "org.apache.hadoop.mapreduce.task.reduce.Shuffle"
CONSUMER = "mapreduce.job.reduce.shuffle.consumer.plugin.class"
OURS = {"yarn-site": {"yarn.nodemanager.aux-services.mapreduce_shuffle.class": SHUFFLE_SERVICE},
        "mapred-site": {CONSUMER: SHUFFLE_CONSUMER}}
# What switches HDFS' data path on.
FACTORY = "hadoop.rpc.socket.factory.class.ClientProtocol"
# What lets a client write small files to all replicas at once.
PARALLEL = {"fs.hdfs.impl": "org.verbena.hadoop.hdfs.VerbenaFileSystem",
            "fs.AbstractFileSystem.hdfs.impl": "org.verbena.hadoop.hdfs.VerbenaHdfs"}
# Hadoop's code serves what travels by the core.
HADOOPS = {"verbena.hdfs.receiver": "stock", "verbena.hdfs.reader": "stock"}


def blocks_by_core(key, offset):
    """key: file with the key of clients and DataNodes. offset: from a DataNode's port to its greeting's."""
    return {"core-site": {FACTORY: "org.verbena.hadoop.hdfs.VerbenaSocketFactory", "verbena.hdfs.key.file": key,
                          "verbena.hdfs.port.offset": offset},
            "hdfs-site": {"dfs.datanode.plugins": "org.verbena.hadoop.hdfs.VerbenaDataNodePlugin"}}


def tiers(size, folder, mode="hhh"):
    """A mode. size: bytes of each DataNode's tier of memory, None: derived. folder: where these tiers are."""
    return {"hdfs-site": {"verbena.hdfs.mode": mode, "verbena.hdfs.memory.size": size, "verbena.hdfs.memory.dir": folder,
                          "dfs.datanode.fsdataset.factory": "org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory",
                          "dfs.block.replicator.classname": "org.verbena.hadoop.hdfs.tier.VerbenaPlacementPolicy",
                          "dfs.net.topology.impl": "org.verbena.hadoop.hdfs.tier.VerbenaTopology"}}


def lustre(root):
    """The file system lustre: over a folder."""
    return {"core-site": {"fs.lustre.impl": "org.verbena.hadoop.lustre.LustreFileSystem",
                          "fs.AbstractFileSystem.lustre.impl": "org.verbena.hadoop.lustre.LustreFs", "verbena.lustre.root": root}}


def write(folder, properties):
    """Writes {site: {name: value}} as site files, a log4j.properties, the age of metrics and YARN's queue into a folder."""
    os.makedirs(folder, exist_ok=True)
    texts = {name + ".xml": site(properties.get(name, {})) for name in FILES}
    texts["log4j.properties"] = LOG4J
    texts["hadoop-metrics2.properties"] = "*.period=1\n"  # seconds that the numbers at /jmx are old at most, else ten
    texts["capacity-scheduler.xml"] = site({
        "yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": 100,
        "yarn.scheduler.capacity.maximum-am-resource-percent": 0.5})
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def merged(*several):
    """One {site: {name: value}} out of several; the last one wins."""
    result = {}
    for properties in several:
        for name, values in properties.items():
            result.setdefault(name, {}).update(values)
    return result


def hdfs(ports, data):
    """What all daemons and clients of HDFS share."""
    return {
        "core-site": {"fs.defaultFS": f"hdfs://{HOST}:{ports['namenode']}",
                      "hadoop.tmp.dir": os.path.join(data, "tmp"), "ipc.client.connect.max.retries": 3},
        "hdfs-site": {"dfs.namenode.rpc-address": f"{HOST}:{ports['namenode']}",
                      "dfs.namenode.http-address": f"{HOST}:{ports['namenode-http']}",
                      "dfs.namenode.name.dir": f"file://{data}/name",
                      "dfs.namenode.datanode.registration.ip-hostname-check": "false",
                      # Of a replica that a DataNode was to make and has forgotten by a restart; Hadoop waits five minutes.
                      "dfs.namenode.reconstruction.pending.timeout-sec": 20,
                      "dfs.namenode.safemode.extension": 0, "dfs.heartbeat.interval": 1, "dfs.replication": 3}}


def datanode(number, ports, data):
    """What is one DataNode's own."""
    port = ports[f"datanode{number}"]
    return {"hdfs-site": {"dfs.datanode.data.dir": f"file://{data}/datanode{number}", "dfs.datanode.hostname": HOST,
                          "dfs.datanode.address": f"{HOST}:{port}",
                          "dfs.datanode.http.address": f"{HOST}:{ports[f'datanode{number}-http']}",
                          "dfs.datanode.ipc.address": f"{HOST}:{ports[f'datanode{number}-ipc']}"}}


def yarn(ports, data, tasks_path, task_options):
    """What YARN's daemons, MapReduce and their clients share. tasks_path: the class path of containers."""
    resource = {name: f"{HOST}:{ports['rm-' + suffix]}" for name, suffix in (
        ("address", "rpc"), ("scheduler.address", "scheduler"), ("resource-tracker.address", "tracker"),
        ("admin.address", "admin"), ("webapp.address", "http"))}
    options = " ".join(task_options)
    return {
        "yarn-site": {"yarn.resourcemanager.hostname": HOST, "yarn.nodemanager.aux-services": "mapreduce_shuffle",
                      **{"yarn.resourcemanager." + name: value for name, value in resource.items()},
                      "yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
                      "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
                      "yarn.scheduler.minimum-allocation-mb": 256, "yarn.nodemanager.resource.memory-mb": 4096,
                      "yarn.nodemanager.resource.cpu-vcores": 4, "yarn.nodemanager.delete.debug-delay-sec": 0,
                      "yarn.log-aggregation-enable": "false", "yarn.application.classpath": tasks_path,
                      "yarn.resourcemanager.connect.max-wait.ms": 30000, "yarn.nm.liveness-monitor.expiry-interval-ms": 20000,
                      "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200},
        "mapred-site": {"mapreduce.framework.name": "yarn", "mapreduce.application.classpath": tasks_path,
                        "mapreduce.jobhistory.address": f"{HOST}:{ports['history-rpc']}",
                        "mapreduce.jobhistory.webapp.address": f"{HOST}:{ports['history-http']}",
                        "mapreduce.jobhistory.admin.address": f"{HOST}:{ports['history-admin']}",
                        "yarn.app.mapreduce.am.staging-dir": "/tmp/hadoop-yarn/staging",
                        "yarn.app.mapreduce.am.resource.mb": 768, "yarn.app.mapreduce.am.command-opts": "-Xmx512m " + options,
                        "mapreduce.map.memory.mb": 1024, "mapreduce.reduce.memory.mb": 1024,
                        "mapreduce.map.java.opts": "-Xmx600m " + options,
                        "mapreduce.reduce.java.opts": "-Xmx600m " + options,
                        "mapreduce.shuffle.port": 0}}


def nodemanager(number, ports, local):
    """What is one NodeManager's own. local: folder of the containers."""
    return {"yarn-site": {"yarn.nodemanager.address": f"{HOST}:{ports[f'nodemanager{number}']}",
                          "yarn.nodemanager.localizer.address": f"{HOST}:{ports[f'nodemanager{number}-localizer']}",
                          "yarn.nodemanager.webapp.address": f"{HOST}:{ports[f'nodemanager{number}-http']}",
                          "yarn.resourcemanager.connect.max-wait.ms": 600_000,  # they start together, on a loaded machine, too
                          "yarn.nodemanager.local-dirs": os.path.join(local, f"nodemanager{number}"),
                          "yarn.nodemanager.log-dirs": os.path.join(local, f"logs{number}")}}
