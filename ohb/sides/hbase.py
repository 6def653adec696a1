# SPDX-License-Identifier: Apache-2.0
"""The row hbase: two released HBases on this host, each ZooKeeper, a master and a region server, one as it comes and one with our
jar; the same client asks both in turns and compares what it reads."""
import contextlib
import json
import os
import time

from driver.procs import Failed, Process
from sides import hadoop

ROWS, BYTES = 10_000, 1024
LIMIT = 600  # seconds for one answer
CLIENT = "org.verbena.ohb.hbase.CallLoad"
JAR = "ohb-hbase"
IDLE = "idle"
# (what, threads, calls of each thread); idle: for so many seconds
CELLS = [("exists", 1, 5000), ("get", 1, 5000), ("put", 1, 2000), ("scan", 1, 300), ("get", 8, 2000), ("put", 8, 500),
         (IDLE, 0, 10)]
# What Verbena's gain is made of: get by a thread that drives its event loop itself, aget by AsyncTable, whose answers come by the
# loop's own thread, as all answers of stock do.
PART_CELLS = [("get", 1, 5000), ("aget", 1, 5000), ("exists", 1, 5000), ("get", 8, 2000)]
QUICK_PART_CELLS = [("get", 1, 500), ("aget", 1, 500), ("exists", 1, 500), ("get", 8, 500)]
QUICK = [("exists", 1, 1000), ("get", 1, 1000), ("put", 1, 300), ("scan", 1, 50), ("get", 8, 500), (IDLE, 0, 5)]


SETS = {"all": CELLS, "quick": QUICK, "part": PART_CELLS, "quick part": QUICK_PART_CELLS}


def part(root, name):
    """How a cluster with a part of Verbena differs from one with all: transport has no short reads on event loops, inline has them
    with HBase's own TCP."""
    conf = hadoop.harness(root, "servers.conf")
    return {"all": {}, "transport": {"properties": {conf.SCHEDULER: None}},
            "inline": {"properties": {conf.SCHEDULER: conf.OURS[conf.SCHEDULER]}, "by_core": False}}[name]


def missing(root):
    """What the row lacks here, or None."""
    if not hadoop.jar(root, JAR):
        return "the load generator of HBase is not built: run ./verbena build"
    try:
        hadoop.harness(root, "servers.java").plugin(root)
    except hadoop.harness(root, "daemons.errors").Failed as failure:
        return str(failure)
    return None


class Side:
    """A running HBase and the client that asks it. Not thread-safe."""

    def __init__(self, root, folder, plugin, **part):
        """part: as from part()."""
        java, servers = hadoop.harness(root, "servers.java"), hadoop.harness(root, "servers.cluster")
        name = "ours" if plugin else "stock"
        self._cluster = servers.Cluster(os.path.join(folder, name), plugin=plugin, tied=True, **part)
        self._load = None
        try:
            self._cluster.start()
            argv = java.argv(CLIENT, [], self._cluster.client_conf(), plugin, "512m", beside=[hadoop.jar(root, JAR)])
            self._load = Process(f"the client of {name}", argv, os.path.join(folder, f"{name}-client.log"),
                                 env=self._cluster.environment(), lines=True)
            self.ask("fill", ROWS, BYTES)
        except BaseException:
            self.stop()
            raise

    def ask(self, *words):
        """The answer to a command, and the processor time of client and daemons in seconds."""
        before = self.processor_seconds()
        self._load.send(" ".join(map(str, words)))
        answer = json.loads(self._load.line(LIMIT))
        if "error" in answer:
            raise Failed(f"{self._load.name}: {answer['error']}; its log is {self._load.log}")
        return answer, self.processor_seconds() - before

    def processor_seconds(self):
        """Of client and daemons so far."""
        return hadoop.processor_seconds([self._load.pid, *(pid for pid, _ in self._cluster.daemons.values())])

    def said(self):
        """What the client's log says about the way of the calls, each line once."""
        with open(self._load.log, errors="replace") as log:
            return sorted({line[line.index("Verbena:"):].strip() for line in log if "Verbena:" in line})

    def stop(self):
        if self._load is not None:
            self._load.stop()
        self._cluster.stop()


@contextlib.contextmanager
def clusters(root, folder, name="all"):
    """Both sides, running: (stock, ours). name: of the part that ours has, see part()."""
    java, errors = hadoop.harness(root, "servers.java"), hadoop.harness(root, "daemons.errors")
    os.makedirs(folder, exist_ok=True)
    try:
        with contextlib.ExitStack() as stack:
            sides = []
            for plugin, more in ((None, {}), (java.plugin(root), part(root, name))):
                sides.append(Side(root, folder, plugin, **more))
                stack.callback(sides[-1].stop)
            yield tuple(sides)
    except errors.Failed as failure:
        raise Failed(str(failure)) from failure


def warm(sides, rounds=3, cells=QUICK):
    """Compilers have seen every kind of call, and the core is connected."""
    for _ in range(rounds):
        for what, threads, calls in cells:
            for side in sides if what != IDLE else ():
                side.ask(what, calls, threads)


def _measured(side, what, threads, calls):
    """{(metric, unit): value} of one cell at one side."""
    answer, processor = side.ask(what, calls, threads)
    if what == "put":
        side.ask("check", 0, 0)
    found = {("cpu", "s/M"): max(processor, 0.01) / answer["calls"] * 1e6}
    if threads == 1:
        found["latency", "us"] = answer["p50_ns"] / 1000
    else:
        found["throughput", "1/s"] = answer["calls"] / (answer["ns"] / 1e9)
    return found


def _idle(sides, seconds):
    """Processor time in milliseconds of both sides, which nobody calls meanwhile: {side: {(metric, unit): value}}."""
    before = [side.processor_seconds() for side in sides]
    time.sleep(seconds)
    return {index: {("cpu", "ms"): 1000 * max(side.processor_seconds() - before[index], 0.01)} for index, side in enumerate(sides)}


def pairs(sides, cells, index):
    """Every cell once: stock and ours, one after the other; which comes first changes with the pair. Idle are both at once."""
    entries = []
    for what, threads, calls in cells:
        got = _idle(sides, calls) if what == IDLE else {}
        for side in () if got else (0, 1) if index % 2 == 0 else (1, 0):
            got[side] = _measured(sides[side], what, threads, calls)
        entries += [{"row": f"hbase.{what}", "transport": f"t{threads}", "size": 0 if what in ("exists", IDLE) else BYTES,
                     "metric": metric,
                     "unit": unit, "raw": got[0][metric, unit], "ours": got[1][metric, unit]} for metric, unit in got[0]]
    return entries
