# SPDX-License-Identifier: Apache-2.0
"""The rows mr: jobs on one released Hadoop, in turns with the stock shuffle and with ours; the NodeManagers serve both. Its
NodeManagers are on this host, or on two (sides/hosts.py). The row lustre.jobs: a stock Hadoop over file: and ours over
lustre:, both without local disks in one shared directory. What the reducers saw, or wrote, is the same on both sides, or the row
fails."""
import contextlib
import dataclasses
import os
import time

from driver.procs import Failed
from sides import hadoop, hosts

BENCH = "org.verbena.ohb.hadoop.MrBench"
SEEN = "org.verbena.ohb.hadoop.MrBench$Seen"
FRAMEWORK, OURS = "Map-Reduce Framework", "Verbena Shuffle"
LIMIT = 900  # seconds for one job
KEY, VALUE, ROW = 16, 1000, 100  # bytes of a key, a value, a row of terasort
JOB = {"mapreduce.map.speculative": "false", "mapreduce.reduce.speculative": "false"}


@dataclasses.dataclass(frozen=True)
class Cell:
    """A job: how many maps and reducers; pairs of all maps, or rows to sort."""
    job: str
    maps: int
    reduces: int
    count: int
    snappy: bool = False  # map outputs are compressed

    def bytes(self):
        """What goes from maps to reducers."""
        return self.count * (ROW if self.job == "terasort" else KEY + VALUE)


CELLS = [*(Cell(spread, 4, 4, 1 << 19) for spread in ("avg", "rand", "skew")), Cell("terasort", 8, 8, 10_000_000)]
QUICK = [*(Cell(spread, 2, 2, 1 << 16) for spread in ("avg", "rand", "skew")), Cell("terasort", 2, 2, 1_000_000)]
# TeraSort: many maps and one reducer with a large part; more data than memory caches, over a cable.
SETS = {"all": CELLS, "quick": QUICK,
        "snappy": [Cell("terasort", 200, 1, 10_700_000, True)], "quick snappy": [Cell("terasort", 20, 1, 1_000_000, True)],
        "hosts": [Cell("terasort", 16, 8, 50_000_000)], "quick hosts": [Cell("terasort", 4, 2, 1_000_000)],
        "shared": CELLS[:2], "quick shared": QUICK[:2]}
GENERATORS = 8  # maps of teragen, at most


class Side:
    """The cluster as one of both shuffles sees it."""

    def __init__(self, root, cluster, ours):
        self._jobs, self._errors, self._java = (hadoop.harness(root, name) for name in ("jobs", "daemons.errors", "cluster.java"))
        self._cluster, self._ours = cluster, ours

    def _command(self, *words):
        """Seconds and what was printed."""
        start = time.monotonic()
        try:
            done = self._cluster.run(*map(str, words), timeout=LIMIT)
        except self._errors.Failed as failure:
            raise Failed(str(failure)) from failure
        seconds = time.monotonic() - start
        if done.returncode != 0:
            raise Failed(f"{words[0]} {words[1]} ended with status {done.returncode}:\n{(done.stderr + done.stdout)[-3000:]}")
        return seconds, done.stderr + done.stdout

    def _job(self, *words):
        """Seconds of a job from its client's start to its end, and its counters."""
        seconds, text = self._command(*words)
        counters = self._jobs.counters(text)
        if self._ours and OURS not in counters:
            raise Failed(f"{words[-2]} {words[-1]} ran with the stock shuffle: see the tasks' logs")
        return seconds, counters

    def run(self, cell):
        """Seconds, counters, and what the reducers saw or wrote."""
        more = {"mapreduce.job.maps": cell.maps, "mapreduce.job.reduces": cell.reduces}
        if cell.snappy:
            more.update({"mapreduce.input.fileinputformat.split.maxsize": -(-cell.bytes() // cell.maps),
                         "mapreduce.map.java.opts": self._quick(),
                         "mapreduce.map.output.compress": "true",
                         "mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.SnappyCodec"})
        return (self._sort if cell.job == "terasort" else self._pairs)(cell, self._jobs.side(self._ours, more))

    def _quick(self):
        """Of JVMs that start quickly: the start of hundreds of maps would hide all else."""
        return " ".join(["-Xmx600m", *self._java.QUICK, *self._java.OPENS])

    def _pairs(self, cell, options):
        pairs = cell.count // cell.maps
        seconds, counters = self._job(BENCH, *options, cell.job, cell.maps, cell.reduces, pairs, KEY, VALUE)
        return seconds, counters, counters[SEEN]

    def _sort(self, cell, options):
        seconds, counters = self._job("examples", "terasort", *options, f"/rows-{cell.count}", "/sorted")
        _, text = self._command("hdfs", "dfs", "-checksum", "/sorted/part-r-*")
        self._command("hdfs", "dfs", "-rm", "-r", "-skipTrash", "/sorted")
        return seconds, counters, sorted(line for line in text.splitlines() if line.startswith("/sorted/"))

    def generate(self, cell):
        """The input of TeraSort."""
        maps = min(cell.maps, GENERATORS)
        self._command("examples", "teragen", f"-Dmapreduce.job.maps={maps}", cell.count, f"/rows-{cell.count}")


def _cluster(kind, folder, plugin, *properties, **more):
    """A cluster of a kind; plugin: jars for daemons, tasks and clients."""
    merged = {"mapred-site": dict(JOB)}
    for some in properties:
        for site, values in some.items():
            merged.setdefault(site, {}).update(values)
    os.makedirs(folder, exist_ok=True)
    return kind(folder, nodemanagers=2, plugin=plugin, tied=True, properties=merged, **more)


def _jars(root):
    """Ours, and the generators."""
    return f"{hadoop.plugin(root)}:{hadoop.jar(root)}"


@contextlib.contextmanager
def sides(root, folder, network=None):
    """(stock, ours) of one running cluster. network: the rate of a cable between two hosts, each with a NodeManager and a
    DataNode."""
    ours, one = hadoop.harness(root, "cluster.conf").OURS, {"hdfs-site": {"dfs.replication": 1}}
    with contextlib.ExitStack() as stack:
        kind = hadoop.harness(root, "cluster.cluster").Cluster
        more = {}
        if network:
            pair = stack.enter_context(hosts.Hosts(folder, None if network == "unshaped" else network))
            kind, more = _two_hosts(root, folder, pair), {"core-site": {"verbena.core.tl.enable": "self,tcp"}}
        cluster = _cluster(kind, os.path.join(folder, "mr"), _jars(root), ours, one, more, datanodes=2 if network else 1)
        _started(root, stack, cluster)
        yield Side(root, cluster, False), Side(root, cluster, True)


def _two_hosts(root, folder, pair):
    """The class of a cluster on two hosts."""
    two = hadoop.harness(root, "cluster.twohosts")
    table = os.path.join(folder, "hosts")
    with open(table, "w") as file:
        file.write(two.table(hosts.ADDRESSES))
    return type("Pair", (two.TwoHosts,), {"pair": pair, "hosts": table})


def _started(root, stack, cluster):
    """Starts a cluster that ends with the stack."""
    errors = hadoop.harness(root, "daemons.errors")
    stack.callback(cluster.stop)
    try:
        cluster.start()
    except errors.Failed as failure:
        raise Failed(str(failure)) from failure


@contextlib.contextmanager
def shared(root, folder):
    """(stock, ours) without local disks: everything of both lies in one directory, of stock by file: and of ours by lustre:."""
    conf, known = hadoop.harness(root, "cluster.conf"), hadoop.harness(root, "cluster.cluster").Cluster
    root_of = os.path.join(folder, "shared")
    os.makedirs(root_of, exist_ok=True)
    kind = type("Diskless", (known,), {"local": lambda cluster: os.path.join(root_of, "yarn-" + cluster.identity)})
    stock = {"core-site": {"fs.defaultFS": "file:///", "fs.lustre.impl": None, "fs.AbstractFileSystem.lustre.impl": None,
                           "verbena.lustre.root": None},
             "mapred-site": {"yarn.app.mapreduce.am.staging-dir": os.path.join(root_of, "staging")}}
    with contextlib.ExitStack() as stack:
        both = []
        for ours, jars, properties in ((False, hadoop.jar(root), stock), (True, _jars(root), conf.OURS)):
            cluster = _cluster(kind, os.path.join(folder, "ours" if ours else "stock"), jars, properties, root=root_of)
            _started(root, stack, cluster)
            both.append(Side(root, cluster, ours))
        yield tuple(both)


def prepare(both, cells):
    """Input of the jobs that read some."""
    for cell in cells:
        if cell.job == "terasort":
            both[0].generate(cell)


def cpu(result):
    """Processor seconds of all tasks of a job."""
    return max(1, result[1][FRAMEWORK]["CPU time spent (ms)"]) / 1000


def _entries(cell, stock, ours):
    how = f"m{cell.maps}.r{cell.reduces}" + (".snappy" if cell.snappy else "")
    entry = {"row": f"mr.{cell.job}", "transport": how, "size": cell.bytes(), "unit": "s"}
    return [{**entry, "metric": "wall", "raw": stock[0], "ours": ours[0]},
            {**entry, "metric": "cpu", "raw": cpu(stock), "ours": cpu(ours)}]


def both_run(both, cell, first=0):
    """A job with each shuffle, one after the other: (stock, ours), whose results are the same."""
    got = {}
    for side in (first, 1 - first):
        got[side] = both[side].run(cell)
    if got[0][2] != got[1][2] or not got[1][2]:
        raise Failed(f"{cell.job}: the results differ: {got[0][2]} with the stock shuffle, {got[1][2]} with ours")
    return got[0], got[1]


def pairs(both, cells, index):
    """Every job once with each shuffle; which comes first changes with the pair."""
    return [entry for cell in cells for entry in _entries(cell, *both_run(both, cell, index % 2))]


def carried(counters):
    """What our shuffle says of its bytes."""
    return ", ".join(f"{name} {value}" for name, value in counters[OURS].items() if value)
