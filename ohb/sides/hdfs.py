# SPDX-License-Identifier: Apache-2.0
"""The row hdfs: two released Hadoops on this host, each a NameNode and three DataNodes, one as it comes and one with our jar in
clients and DataNodes; the same client writes, reads and deletes the same files in turns, and compares what it reads.

The client is on the host of the DataNodes, or on another one (sides/hosts.py). On the same host a stock client that has libhadoop
reads out of the DataNode's files ("short-circuit"). The Hadoop of the tests, from Maven Central, has no libhadoop: a stock side
with short-circuit reads has Hadoop's other reader of this kind, in Java."""
import contextlib
import getpass
import json
import os
import tempfile
import time

from driver.procs import Failed, Process
from sides import hadoop, hosts, slowdisk

MIB = 1 << 20
BYTES, FILES = 128 * MIB, 64  # a cell moves as much, unless one file is larger, in at most so many files
READS = 2000  # positioned ones
ROUNDS = 8  # how often small files are read: one round takes less time than the clock of processor time can tell
SMALL, SMALL_FILES = 64 << 10, 100  # of the warm-up
LARGE_FILES, LARGE_ROUNDS = 8, 2  # of 64 MiB, of each round of the warm-up: compilers work for so long on what a packet passes
LIMIT = 600  # seconds for one answer
HEAP = "512m"
DATANODES = 3
CLIENT = "org.verbena.ohb.hadoop.HdfsLoad"
# (size of a file, replicas, clients)
CELLS = [(size, replicas, clients) for size in (64 << 10, MIB, 64 * MIB) for replicas in (1, 2, 3) for clients in (1, 4)] \
    + [(1024 * MIB, replicas, 1) for replicas in (1, 3)]
QUICK = [(64 << 10, 3, 1), (64 * MIB, 1, 1), (64 * MIB, 3, 1)]
READ_CELLS = [(MIB, 1, 1), (64 * MIB, 1, 1), (64 * MIB, 1, 4), (64 * MIB, 3, 1), (1024 * MIB, 1, 1)]  # of rows about reads
QUICK_READ_CELLS = [(64 * MIB, 1, 1)]
SMALL_CELLS = [(size, 3, clients) for size in (64 << 10, MIB) for clients in (1, 4)]  # of the row about small files
QUICK_SMALL_CELLS = [(64 << 10, 3, 1), (MIB, 3, 1)]
WRITE_CELLS = [(64 << 10, 3, 1), (MIB, 3, 1), (64 * MIB, 1, 1), (64 * MIB, 3, 1), (64 * MIB, 3, 4), (1024 * MIB, 3, 1)]
MODE_CELLS = [(64 << 10, 3, 1), (64 * MIB, 3, 1), (1024 * MIB, 3, 1)]  # of rows about modes
MEMORY = 3 << 30  # bytes of each DataNode's tier: what was deleted a moment ago may still lie there
SHM = "/dev/shm"
SETS = {"all": CELLS, "quick": QUICK, "writes": WRITE_CELLS, "mode": MODE_CELLS, "reads": READ_CELLS,
        "quick reads": QUICK_READ_CELLS, "small": SMALL_CELLS, "quick small": QUICK_SMALL_CELLS}
RANGES = 16  # of a vectored read
# (what, bytes of a range, clients, reads of a client): of the row about positioned reads
PREAD_CELLS = [("positioned", 4096, 1, READS), ("positioned", 4096, 4, READS // 2), ("vectored", 4096, 1, READS // 4),
               ("positioned", 64 << 10, 1, READS)]
PREAD_SETS = {"pread": PREAD_CELLS, "quick pread": [cell for cell in PREAD_CELLS if cell[2] == 1]}
BY_TCP = {"core-site": {"verbena.core.tl.enable": "self,tcp"}}  # between hosts


def short_circuit():
    """Properties of clients and DataNodes with which stock reads blocks of its host out of the DataNode's files, in Java."""
    return {"hdfs-site": {"dfs.client.read.shortcircuit": "true", "dfs.client.use.legacy.blockreader.local": "true",
                          "dfs.block.local-path-access.user": getpass.getuser()}}


def parallel():
    """Properties of clients that write small files to all replicas at once, and whose small reads Verbena's reader serves."""
    return {"core-site": {"fs.hdfs.impl": "org.verbena.hadoop.hdfs.VerbenaFileSystem"}}


@contextlib.contextmanager
def moded(root, mode, memory=None):
    """Properties of a cluster in a mode of ours, with memory tiers that end with the block. memory: bytes of each tier."""
    memory = memory or MEMORY
    free = os.statvfs(SHM).f_bavail * os.statvfs(SHM).f_frsize
    if free < DATANODES * memory:
        raise Failed(f"{SHM} has {free >> 20} MiB free, and the memory of {DATANODES} DataNodes takes {DATANODES * memory >> 20}: "
                     "mount it with a larger size, or free some")
    with tempfile.TemporaryDirectory(prefix="verbena-bench-", dir=SHM) as folder:
        yield hadoop.harness(root, "cluster.conf").tiers(memory, os.path.join(folder, "tiers"), mode)


@contextlib.contextmanager
def disk(row, work):
    """The slow disk on which the DataNodes of both sides keep their blocks, if the row has one: as keywords of clusters. As much
    of the page cache as Linux allows waits to be written, a fifth."""
    if row.disk != "slow":
        yield {}
        return
    os.makedirs(work, exist_ok=True)
    with slowdisk.Disk(work, dirty=row.stock_cache // 5) as found:
        yield {"disk": found, "cache": row.stock_cache}


def reached_at(address, properties, host="127.0.0.1"):
    """{site: {name: value}} of a cluster on loopback, reached at another address of its host; its web pages stay."""
    return {site: {name: value.replace(host, address) if isinstance(value, str) and ".http" not in name else value
                   for name, value in values.items()} for site, values in properties.items()}


def _cluster(root, address, disk=None):
    """The class of a Hadoop that is reached at an address; None: at loopback's. With a mode DataNodes have a folder for SSDs. disk:
    where blocks are, if not among the cluster's data."""
    known = hadoop.harness(root, "cluster.cluster").Cluster

    class Placed(known):
        def blocks(self):
            """The folder of the DataNodes' folders."""
            return os.path.join(disk.folder, os.path.basename(self.work)) if disk else self.data()

        def site(self, name):
            site, folder = super().site(name), self.blocks()
            if name.startswith("datanode"):
                moded = "verbena.hdfs.mode" in site["hdfs-site"]
                site["hdfs-site"]["dfs.datanode.data.dir"] = \
                    f"[SSD]file://{folder}/ssd/{name},[DISK]file://{folder}/{name}" if moded else f"file://{folder}/{name}"
            return reached_at(address, site) if address else site

        def wrapper(self, name):
            return disk.enter() if disk and name.startswith("datanode") else super().wrapper(name)

    return Placed


class Side:
    """A running Hadoop and the client that asks it. Not thread-safe."""

    def __init__(self, root, folder, plugin, properties=None, address=None, before=(), notes=(), disk=None, cache=0):
        """properties: {site: {name: value}} of all of the side; address: of the daemons, if not loopback's; before: what stands
        before the client's command; notes: what a reader has to know; disk: a slow one of the DataNodes, whose page cache holds
        so many bytes while this side works."""
        java = hadoop.harness(root, "cluster.java")
        name = "ours" if plugin else "stock"
        self._notes, self._disk, self._cache = list(notes), disk, cache
        self._cluster = _cluster(root, address, disk)(os.path.join(folder, name), plugin=plugin, by_core=bool(plugin),
                                                properties=properties, tied=True)
        self._short_circuit = "dfs.client.read.shortcircuit" in (properties or {}).get("hdfs-site", {})
        self._load = None
        try:
            self._cluster.start()
            path = ":".join(filter(None, [hadoop.jar(root), plugin]))
            argv = [*before, *java.argv(CLIENT, [], self._cluster.client_conf(), path, HEAP)]
            self._load = Process(f"the client of {name}", argv, os.path.join(folder, f"{name}-client.log"),
                                 env=self._cluster.environment(), lines=True)
        except BaseException:
            self.stop()
            raise

    def ask(self, *words):
        """(seconds, bytes) of a command to the client, and the processor time of client and daemons in seconds."""
        if self._disk:
            self._disk.keep(self._cache)
        pids = [self._load.pid, *(pid for pid, _ in self._cluster.daemons.values())]
        before = hadoop.processor_seconds(pids)
        self._load.send(" ".join(map(str, words)))
        answer = json.loads(self._load.line(LIMIT))
        if "error" in answer:
            raise Failed(f"{self._load.name}: {answer['error']}; its log is {self._load.log}")
        if self._short_circuit and words[0] in ("read", "positioned", "vectored") and answer["short_circuit"] < answer["bytes"]:
            raise Failed(f"{self._load.name} read {answer['short_circuit']} of {answer['bytes']} bytes by short-circuit, not all: "
                         f"the reason is in its log, {self._load.log}")
        processor = hadoop.processor_seconds(pids) - before
        if self._disk and words[0] == "delete":
            self._cleared()
        return answer["ns"] / 1e9, answer["bytes"], processor

    def _cleared(self):
        """Waits until no DataNode has a block any more: they delete seconds after the client, and what lies in a small memory until
        then takes the place of what is written next."""
        memory = self._cluster.site("datanode1")["hdfs-site"].get("verbena.hdfs.memory.dir")
        folders = [self._disk.seen(self._cluster.blocks()), *([memory] if memory else [])]
        end = time.monotonic() + LIMIT
        while any(name.startswith("blk_") for folder in folders for _, _, names in os.walk(folder) for name in names):
            if time.monotonic() > end:
                raise Failed(f"DataNodes of {self._load.name} have blocks {LIMIT} s after the last file was deleted: one may have "
                             f"ended, or its disk hang; its log is below {self._cluster.work}")
            time.sleep(0.5)

    def said(self):
        """Notes, and what the client's log says about the way of the blocks, each line once."""
        with open(self._load.log, errors="replace") as log:
            return self._notes + sorted({line[line.index("Verbena:"):].strip() for line in log if "Verbena:" in line})

    def stop(self):
        if self._load is not None:
            self._load.stop()
        self._cluster.stop()


@contextlib.contextmanager
def clusters(root, folder, stock=None, network=None, ours=None, disk=None, cache=0):
    """Both sides, running: (stock, ours). stock, ours: properties of that side alone; network: the clients are on another host,
    behind a cable of this rate, or "unshaped"; disk: of all DataNodes, whose page cache holds so many bytes for the stock side and
    none for ours, which has memory of its own."""
    with contextlib.ExitStack() as stack:
        where, ours = {"disk": disk}, dict(ours or {})
        if network:
            two = stack.enter_context(hosts.Hosts(folder, None if network == "unshaped" else network))
            where |= {"address": hosts.ADDRESSES[0], "before": two.enter(), "notes": [two.note] if two.note else []}
            ours["core-site"] = {**BY_TCP["core-site"], **ours.get("core-site", {})}
        yield stack.enter_context(_both(root, folder, stock or {}, ours, where, cache))


@contextlib.contextmanager
def _both(root, folder, stock, ours, where, cache):
    errors = hadoop.harness(root, "daemons.errors")
    os.makedirs(folder, exist_ok=True)
    try:
        with contextlib.ExitStack() as stack:
            sides = []
            for plugin, properties, held in ((None, stock, cache), (hadoop.plugin(root), ours, 0)):
                sides.append(Side(root, folder, plugin, properties, cache=held, **where))
                stack.callback(sides[-1].stop)
            yield tuple(sides)
    except errors.Failed as failure:
        raise Failed(str(failure)) from failure


def warm(sides, rounds=3, large=LARGE_ROUNDS):
    """Both clients and their DataNodes have written and read so many large and small files that most of what they run is compiled,
    as in a DataNode that has run for a day. large: how often the large files of a round are written."""
    for side in sides:
        for seed in range(1, 1 + rounds):
            for _ in range(large):
                side.ask("write", 64 * MIB, LARGE_FILES, 3, 1, seed)
                side.ask("delete")
            side.ask("write", 16 * MIB, 2, 3, 1, seed)
            side.ask("read")
            side.ask("positioned", 500, 4096)
            side.ask("vectored", 50, RANGES, 4096)
            side.ask("delete")
            for clients in (1, 4):
                side.ask("write", SMALL, SMALL_FILES // clients, 3, clients, seed)
                for _ in range(ROUNDS):
                    side.ask("read")
                side.ask("delete")


def _read(side, rounds):
    """As one ask: (seconds, bytes, processor time)."""
    return tuple(map(sum, zip(*(side.ask("read") for _ in range(rounds)))))


def _measured(side, size, replicas, clients, seed, amount, reads):
    """{(row, metric, unit): value} of one cell at one side."""
    count = max(1, min(amount // size, FILES) // clients)
    found = {}
    rounds = max(1, min(ROUNDS, BYTES // (size * count * clients)))
    for row, done in (("write", side.ask("write", size, count, replicas, clients, seed)), ("read", _read(side, rounds))):
        seconds, moved, processor = done
        found[row, "throughput", "MiB/s"] = moved / MIB / seconds
        found[row, "cpu", "s/GiB"] = max(processor, 0.01) / (moved / MIB / 1024)
    if size == 64 * MIB and clients == 1 and reads:
        seconds, moved, _ = side.ask("positioned", reads, 4096)
        found["positioned", "latency", "us"] = seconds / (moved / 4096) * 1e6
    side.ask("delete")
    return found


def pairs(sides, cells, index, amount=BYTES, reads=READS):
    """Every cell once: stock and ours, one after the other; which comes first changes with the pair. amount: bytes of a cell;
    reads: how many positioned ones a cell of them has."""
    entries = []
    for number, (size, replicas, clients) in enumerate(cells):
        got = {}
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            got[side] = _measured(sides[side], size, replicas, clients, 1000 * index + number, amount, reads)
        entries += [{"row": f"hdfs.{row}", "transport": f"r{replicas}.c{clients}", "size": size, "metric": metric, "unit": unit,
                     "raw": got[0][row, metric, unit], "ours": got[1][row, metric, unit]} for row, metric, unit in got[0]]
    return entries


def _preads(side, cell, seed):
    """{(metric, unit): value} of one cell of positioned reads at one side."""
    what, size, clients, reads = cell
    side.ask("write", 64 * MIB, 1, 1, clients, seed)
    seconds, _, processor = side.ask(what, reads, *([RANGES] if what == "vectored" else []), size)
    side.ask("delete")
    return {("latency", "us"): seconds / reads * 1e6, ("cpu", "us"): max(processor, 0.01) / (reads * clients) * 1e6}


def pread_pairs(sides, cells, index):
    """As pairs, of positioned and vectored reads of files of 64 MiB with one replica; a latency is that of a call."""
    entries = []
    for number, cell in enumerate(cells):
        got = {}
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            got[side] = _preads(sides[side], cell, 1000 * index + number)
        entries += [{"row": f"hdfs.{cell[0]}", "transport": f"c{cell[2]}", "size": cell[1], "metric": metric, "unit": unit,
                     "raw": got[0][metric, unit], "ours": got[1][metric, unit]} for metric, unit in got[0]]
    return entries


def measured(name):
    """What measures each cell of a set once: a function of both sides and the number of the pair."""
    if name in PREAD_SETS:
        return lambda sides, index: pread_pairs(sides, PREAD_SETS[name], index)
    return lambda sides, index: pairs(sides, SETS[name], index)
