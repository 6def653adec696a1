# SPDX-License-Identifier: Apache-2.0
"""The row of all TPC-H queries: in each pair every query runs on both sides in turn; a row for each, one of the sum.

Both sides run a query one after the other, not the whole set, so that a slow minute of the machine hits both.
"""
import json

from driver import blocks, noise, plan
from sides import spark

WARM_RUNS = 2  # of each query on each side, before the first pair
QUICK_WARM_RUNS = 1


def measure(runner, row, sides, params, part):
    """Runs all pairs; gives {query name: blocks}."""
    queries = [plan.query(row, name) for name in plan.QUERIES]
    for round_ in range(QUICK_WARM_RUNS if runner.quick else WARM_RUNS):
        spark.note(f"{row.name}: warming all {len(queries)} queries, round {round_ + 1}")
        for query in queries:
            if round_ == 0:
                sides.warm(query, {**params, "query": query.params["query"]}, 0)
            else:
                for side in "ab":
                    sides.block(query, side, 0)
    done = {name: [] for name in plan.QUERIES}
    for pair in range(runner.pairs):
        for name, query in zip(plan.QUERIES, queries):
            _pair(query, sides, pair, done[name], part)
        sums = {block["side"]: block["metrics"]["wall_ms"] / 1000 for block in total(done)[-2:]}
        spark.note(f"{row.name}: pair {pair + 1} of {runner.pairs}: stock {sums['a']:.1f} s, ours {sums['b']:.1f} s")
    for query in queries:
        sides.drop(query)
    return done


def _pair(query, sides, pair, found, part):
    for index, side in list(enumerate(blocks.order(pair + 1)))[-2:]:
        block = blocks.measure(lambda which, seed: sides.block(query, which, seed), side, index, 1 + pair)
        found.append(block)
        part.write(json.dumps({"row": query.name, **block}) + "\n")
    part.flush()
    blocks.same_content(*found[-2:])


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
    return {**{name: same[0][name] for name in ("side", "index", "seed", "errors")}, "seconds": round(seconds, 6),
            "metrics": metrics, "records": sum(block["records"] for block in same),
            "checksum": f"{sum(int(block['checksum'], 16) for block in same) % (1 << 128):032x}", "details": {},
            "noise": guard, "marked": noise.is_marked(guard)}
