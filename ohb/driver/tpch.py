# SPDX-License-Identifier: Apache-2.0
"""The row of all TPC-H queries: in each pair every query runs on both sides in turn; a row for each, one of the sum.

Both sides run a query one after the other, not the whole set, so that a slow minute of the machine hits both.
"""
import json

from driver import blocks, noise, plan
from sides import spark

WARM_RUNS = 2  # of each query on each side, before the first pair
QUICK_WARM_RUNS = 1


class Queries:
    """All queries of the row, on one start of the sides or several."""

    def __init__(self, row, params, all_pairs, part):
        self._row, self._params, self._all_pairs, self._part = row, params, all_pairs, part
        self._queries = {name: plan.query(row, name) for name in plan.QUERIES}
        self.done = {name: [] for name in plan.QUERIES}

    def warm(self, sides, rounds):
        """Before the pairs of a start."""
        for round_ in range(rounds):
            spark.note(f"{self._row.name}: warming all {len(self._queries)} queries, round {round_ + 1}")
            for query in self._queries.values():
                if round_ == 0:
                    sides.warm(query, {**self._params, "query": query.params["query"]}, 0)
                else:
                    for side in "ab":
                        sides.block(query, side, 0)

    def measure(self, sides, pairs, start):
        """Adds the blocks of these pairs to `done`."""
        for pair in pairs:
            for name, query in self._queries.items():
                self._pair(query, sides, pair, start, self.done[name])
            sums = {block["side"]: block["metrics"]["wall_ms"] / 1000 for block in total(self.done)[-2:]}
            spark.note(f"{self._row.name}: pair {pair + 1} of {self._all_pairs}: stock {sums['a']:.1f} s, ours {sums['b']:.1f} s")
        for query in self._queries.values():
            sides.drop(query)

    def _pair(self, query, sides, pair, start, found):
        def on_block(block):
            found.append(block)
            self._part.write(json.dumps({"row": query.name, **block}) + "\n")
            self._part.flush()

        blocks.run_pair(lambda side, seed: sides.block(query, side, seed), pair, on_block, start)


def total(done):
    """Blocks of the sum of all queries: index by index."""
    return [_sum(same) for same in zip(*done.values())]


def _sum(same):
    """One block of many that ran in one half of a pair, one after the other."""
    seconds = sum(block["seconds"] for block in same)
    guard = {name: round(sum(block["noise"][name] * block["seconds"] for block in same) / max(seconds, 1e-9), 4)
             for name in ("idle", "steal", "foreign")}
    guard["runq"] = max(block["noise"]["runq"] for block in same)
    guard["switches"] = sum(block["noise"]["switches"] for block in same)
    metrics = {name: sum(block["metrics"].get(name, 0) for block in same) for name in same[0]["metrics"]}
    return {**{name: same[0][name] for name in ("side", "index", "start", "seed", "errors")}, "seconds": round(seconds, 6),
            "metrics": metrics, "records": sum(block["records"] for block in same),
            "checksum": f"{sum(int(block['checksum'], 16) for block in same) % (1 << 128):032x}", "details": {},
            "noise": guard, "marked": noise.is_marked(guard)}
