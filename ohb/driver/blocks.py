# SPDX-License-Identifier: Apache-2.0
"""Blocks in the order A B B A A B B A ..., measured under the noise guard, and their reduction to ratios."""
import time

from driver import noise, stats
from driver.procs import Failed


def order(pairs):
    """Sides of all blocks in time order: each pair holds a and b, and every second pair is turned round."""
    return [side for pair in range(pairs) for side in ("ab" if pair % 2 == 0 else "ba")]


def measure(run, side, index, seed):
    """One block: run(side, seed) answers {metrics, ...}; adds time, noise and mark."""
    before, start = noise.Snapshot(), time.monotonic()
    answer = run(side, seed)
    seconds, after = time.monotonic() - start, noise.Snapshot()
    between = noise.between(before, after)
    return {"side": side, "index": index, "seed": seed, "seconds": round(seconds, 6), "errors": 0, **answer,
            "noise": between, "marked": noise.is_marked(between)}


def run_pairs(run, pairs, on_block):
    """Runs all pairs; calls on_block(block) after each; returns the blocks. Same seed for both halves of a pair."""
    blocks = []
    for index, side in enumerate(order(pairs)):
        block = measure(run, side, index, 1 + index // 2)
        blocks.append(block)
        on_block(block)
        if index % 2:
            same_content(blocks[-2], blocks[-1])
    return blocks


def same_content(first, second):
    """Both halves of a pair must have produced the very same data."""
    for key in ("records", "checksum"):
        if first.get(key) != second.get(key):
            raise Failed(f"the results differ: side {first['side']} has {key} {first.get(key)}, side "
                         f"{second['side']} has {key} {second.get(key)} (seed {first['seed']})")


def reduce(blocks):
    """{metric: summary} over complete pairs; pairs with a marked half are counted but left out of the ratio."""
    pairs = {}
    for block in blocks:
        pairs.setdefault(block["index"] // 2, {})[block["side"]] = block
    complete = [pair for pair in pairs.values() if len(pair) == 2]
    names = dict.fromkeys(name for pair in complete for name in pair["a"]["metrics"])  # some rows drop cells of a pair
    result = {}
    for name in names:
        halves = [(pair, pair["a"]["metrics"].get(name), pair["b"]["metrics"].get(name)) for pair in complete]
        usable = [(pair, a, b) for pair, a, b in halves if a and b is not None]
        quiet = [b / a for pair, a, b in usable if not (pair["a"]["marked"] or pair["b"]["marked"])]
        result[name] = stats.summary(quiet, len(usable) - len(quiet))
        every = [b / a for _, a, b in usable]
        result[name]["ratio_all"] = stats.median(every) if every else None
        result[name]["a_median"] = stats.median([a for _, a, _ in usable]) if usable else None
        result[name]["b_median"] = stats.median([b for _, _, b in usable]) if usable else None
    return result
