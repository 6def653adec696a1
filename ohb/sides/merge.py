# SPDX-License-Identifier: Apache-2.0
"""The row mr.merge: one reducer's merge of many segments in a JVM, by the stock merge manager and by ours, in turns. Both read the
same records in the same order, or the row fails."""
import contextlib
import json
import os

from driver.procs import Failed, Process
from sides import hadoop

MAIN = "org.verbena.hadoop.shuffle.MergeLoad"
START, LIMIT = 120, 600  # seconds
SIDES = ("stock", "ours")
HEAP = "1g"
RECORD = 100  # bytes of a key and its value
WARM = 2  # rounds until both JVMs have compiled what they run


class Side:
    """A JVM. Not thread-safe."""

    def __init__(self, root, folder, side):
        java = hadoop.harness(root, "cluster.java")
        beside = f"{hadoop.jar(root)}:{java.plugin(root)}"
        spills = os.path.join(folder, side)
        argv = java.argv(MAIN, [side, spills], folder, beside, HEAP, options=["-XX:+UseSerialGC"])
        self._process = Process(f"the merge of {side}", argv, os.path.join(folder, f"{side}.log"), lines=True)
        try:
            self._process.line(START)
        except BaseException:
            self.stop()
            raise

    def ask(self, segments, records):
        """What it took and read."""
        self._process.send(f"merge {segments} {records}")
        answer = json.loads(self._process.line(LIMIT))
        if "error" in answer:
            raise Failed(f"{self._process.name}: {answer['error']}; its log is {self._process.log}")
        return answer

    def stop(self):
        self._process.stop()


@contextlib.contextmanager
def both(root, folder, params):
    """Both sides, running and warm: (stock, ours)."""
    os.makedirs(folder, exist_ok=True)
    with contextlib.ExitStack() as stack:
        sides = []
        for name in SIDES:
            sides.append(Side(root, folder, name))
            stack.callback(sides[-1].stop)
        for side in sides:
            for _ in range(WARM):
                side.ask(params["segments"], params["records"])
        yield tuple(sides)


def pairs(sides, params, index):
    """Both sides once; which comes first changes with the pair."""
    segments, records = params["segments"], params["records"]
    got = {side: sides[side].ask(segments, records) for side in ((0, 1) if index % 2 == 0 else (1, 0))}
    seen = [(got[side]["records"], got[side]["sum"]) for side in (0, 1)]
    if seen[0] != seen[1] or seen[0][0] != segments * records:
        raise Failed(f"{segments} segments of {records} records: stock read (records, sum) {seen[0]}, ours {seen[1]}")
    entry = {"row": "mr.merge", "transport": f"s{segments}", "size": segments * records * RECORD, "unit": "s"}
    return [{**entry, "metric": metric, "raw": got[0][key] / 1e9, "ours": got[1][key] / 1e9}
            for metric, key in (("cpu", "cpu_ns"), ("wall", "ns"))]
