# SPDX-License-Identifier: Apache-2.0
"""Blocks in the order A B B A A B B A ..., measured under the noise guard, and their reduction to ratios."""
import time

from driver import noise, stats
from driver.procs import Failed


def halves(pair):
    """(index, side) of both blocks of a pair in time order: every second pair is turned round."""
    return [(2 * pair + half, side) for half, side in enumerate("ab" if pair % 2 == 0 else "ba")]


def shares(pairs, starts):
    """The pair numbers that each start of the sides measures; their counts differ by one at most."""
    ends = [pairs * (start + 1) // starts for start in range(starts)]
    return [range(first, end) for first, end in zip([0, *ends], ends)]


def measure(run, side, index, seed):
    """One block: run(side, seed) answers {metrics, ...}; adds time, noise and mark."""
    before, start = noise.Snapshot(), time.monotonic()
    answer = run(side, seed)
    seconds, after = time.monotonic() - start, noise.Snapshot()
    between = noise.between(before, after)
    return {"side": side, "index": index, "seed": seed, "seconds": round(seconds, 6), "errors": 0, **answer,
            "noise": between, "marked": noise.is_marked(between)}


def run_pairs(run, pairs, on_block, start=0):
    """Runs the pairs of these numbers on one start of the sides; calls on_block(block) after each block."""
    for pair in pairs:
        run_pair(run, pair, on_block, start)


def run_pair(run, pair, on_block, start=0):
    """Both halves of a pair, with the same seed."""
    both = []
    for index, side in halves(pair):
        both.append({**measure(run, side, index, 1 + pair), "start": start})
        on_block(both[-1])
    same_content(*both)


def same_content(first, second):
    """Both halves of a pair must have produced the very same data."""
    for key in ("records", "checksum"):
        if first.get(key) != second.get(key):
            raise Failed(f"the results differ: side {first['side']} has {key} {first.get(key)}, side "
                         f"{second['side']} has {key} {second.get(key)} (seed {first['seed']})")


def _complete(blocks):
    """The pairs of which both halves are there."""
    pairs = {}
    for block in blocks:
        pairs.setdefault(block["index"] // 2, {})[block["side"]] = block
    return [pair for pair in pairs.values() if len(pair) == 2]


def _usable(complete, name):
    """(all, the quiet ones) of the pairs that have a metric: (pair, stock's value, ours)."""
    halves = [(pair, pair["a"]["metrics"].get(name), pair["b"]["metrics"].get(name)) for pair in complete]
    usable = [(pair, a, b) for pair, a, b in halves if a and b is not None]
    return usable, [half for half in usable if not (half[0]["a"]["marked"] or half[0]["b"]["marked"])]


def quiet_ratios(blocks, name):
    """The ratios of a metric that count."""
    return [b / a for _, a, b in _usable(_complete(blocks), name)[1]]


def reduce(blocks):
    """{metric: summary} over complete pairs; pairs with a marked half are counted but left out of ratio and
    medians, unless there are no others."""
    complete = _complete(blocks)
    names = dict.fromkeys(name for pair in complete for name in pair["a"]["metrics"])  # some rows drop cells of a pair
    result = {}
    for name in names:
        usable, quiet = _usable(complete, name)
        result[name] = stats.summary([b / a for _, a, b in quiet], len(usable) - len(quiet),
                                     [pair["a"].get("start", 0) for pair, _, _ in quiet])
        every = [b / a for _, a, b in usable]
        result[name]["ratio_all"] = stats.median(every) if every else None
        for place, key in ((1, "a_median"), (2, "b_median")):  # of the pairs that the ratio is of
            result[name][key] = stats.median([half[place] for half in quiet or usable]) if usable else None
    return result
