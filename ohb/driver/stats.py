# SPDX-License-Identifier: Apache-2.0
"""Statistics of paired blocks: median ratio, bootstrap interval, verdict.

The 95 % interval that is printed is the percentile bootstrap of the median. A verdict needs more: the bootstrap's 99 %
interval and the distribution-free interval between two order statistics (sign test) must both exclude 1, because with
nine pairs the bootstrap alone is too narrow. With fewer than eight pairs no 99 % interval exists, hence no verdict.

Pairs of one start of the sides share what the start decided (compiled code, the heap's sizes). Where there are several,
the bootstrap draws starts, and pairs of each (Davison and Hinkley, Bootstrap Methods and their Application, 3.8).
"""
import math
import random

RESAMPLES = 4000
VERDICT_LEVEL = 0.99
VERDICT_DISTANCE = 0.03
MIN_PAIRS_FOR_VERDICT = 8


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def quantile(ordered, share):
    """Linear interpolation between the order statistics of a sorted list."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def bootstrap(values, level, starts=None, seed=20260101):
    """Percentile bootstrap interval (lo, hi) of the median; the same input gives the same interval.

    starts: with which start of the sides each value was measured; None: all with the same."""
    groups = {}
    for value, start in zip(values, starts or [0] * len(values)):
        groups.setdefault(start, []).append(value)
    generator = random.Random(seed)
    medians = sorted(median(_resample(list(groups.values()), generator)) for _ in range(RESAMPLES))
    return quantile(medians, (1 - level) / 2), quantile(medians, (1 + level) / 2)


def _resample(groups, generator):
    drawn = generator.choices(groups, k=len(groups)) if len(groups) > 1 else groups
    return [value for group in drawn for value in generator.choices(group, k=len(group))]


def order_interval(values, level):
    """Narrowest (lo, hi) of order statistics that covers the median with at least level; None if there is none."""
    ordered, count = sorted(values), len(values)
    best, below = None, 0.0
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2 ** count  # P(fewer than rank + 1 values lie under the median)
        if 1 - 2 * below < level:
            break
        best = (ordered[rank], ordered[count - 1 - rank])
    return best


def interval(values, starts=None):
    """(lo, hi) of the median that a verdict judges: the wider ends of the bootstrap's interval and of that between order
    statistics, both at VERDICT_LEVEL; for fewer values than have one, their range. starts as for bootstrap."""
    lo, hi = bootstrap(values, VERDICT_LEVEL, starts)
    order_lo, order_hi = order_interval(values, VERDICT_LEVEL) or (min(values), max(values))
    return min(lo, order_lo), max(hi, order_hi)


def verdict(values, starts=None):
    """'lower', 'higher' or 'no difference shown' for ratios ours / stock; starts as for bootstrap."""
    if len(values) < MIN_PAIRS_FOR_VERDICT:
        return "no difference shown"
    return side_of_one(median(values), *interval(values, starts))


def side_of_one(middle, lo, hi):
    """The verdict of a median with its interval."""
    if abs(middle - 1) < VERDICT_DISTANCE or lo <= 1 <= hi:
        return "no difference shown"
    return "lower" if hi < 1 else "higher"


def sign_test(ratios):
    """The probability, both ways, of so many ratios on one side of 1 if each lay on either side by a fair coin; 1 for none. What
    load takes from a block hits both sides alike where their order changes, so the coin is fair on a busy machine, too."""
    fewer = min(sum(ratio <= 1 for ratio in ratios), sum(ratio >= 1 for ratio in ratios))  # 1 itself speaks for neither
    return min(1.0, 2 * sum(math.comb(len(ratios), rank) for rank in range(fewer + 1)) / 2 ** len(ratios))


def holm(probabilities, level):
    """Which of several hypotheses fall, so that the chance of one wrong fall among all is at most level (Holm 1979)."""
    fallen, left = [False] * len(probabilities), len(probabilities)
    for place in sorted(range(left), key=lambda place: probabilities[place]):
        if probabilities[place] > level / left:
            break
        fallen[place], left = True, left - 1
    return fallen


def summary(ratios, marked, starts=None):
    """Result entry of one metric: ratios of the pairs that count, how many were marked as noisy; starts as for bootstrap."""
    if not ratios:
        return {"ratio": None, "lo": None, "hi": None, "min": None, "max": None, "pairs": 0, "marked": marked,
                "verdict": "inconclusive"}
    lo, hi = bootstrap(ratios, 0.95, starts)
    return {"ratio": median(ratios), "lo": lo, "hi": hi, "min": min(ratios), "max": max(ratios),
            "pairs": len(ratios), "marked": marked, "verdict": verdict(ratios, starts)}
