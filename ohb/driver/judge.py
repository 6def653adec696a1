# SPDX-License-Identifier: Apache-2.0
"""Which rows of a demonstration were won and lost, so that all verdicts together hold.

Values are costs (time, processor time): a ratio ours / stock below 1 is a gain. A row has one series of pairs for each of its
metrics. A series is won or lost where the rule of stats.verdict says so and Holm's, over all series of the demonstration, too.

Which pairs count: the quiet ones where those are enough for a verdict and at least half; else all. Their order changes from
pair to pair, so load hits both sides alike: it widens the interval and does not move it.
"""
import dataclasses
import math

from driver import stats

BETTER, WORSE, SAME, FEW = "better", "worse", "same", "few"
UNSURE = "unsure"  # alone it would be won or lost, among all series it is not
TOGETHER = 0.05  # at most this probability that any verdict of a demonstration is wrong


@dataclasses.dataclass(frozen=True)
class Pair:
    """Both sides, measured one after the other; marked: beside other load."""
    stock: float
    ours: float
    marked: bool = False

    @property
    def ratio(self):
        return self.ours / self.stock


@dataclasses.dataclass(frozen=True)
class Judged:
    """A series: the outcome, the pair in the middle of those that count, their ratio with its interval, the least
    and the most, how many there are."""
    outcome: str
    stock: float
    ours: float
    ratio: float
    lo: float
    hi: float
    least: float
    most: float
    counted: int
    measured: int
    marked: int


def counting(pairs):
    """The pairs that count."""
    quiet = [pair for pair in pairs if not pair.marked]
    enough = len(quiet) >= stats.MIN_PAIRS_FOR_VERDICT and 2 * len(quiet) >= len(pairs)
    return quiet if enough else list(pairs)


def middle(pairs):
    """(stock, ours) of the pair with the median ratio; of an even number the geometric means of both in the middle. So the
    values that a reader divides give the ratio that stands beside them."""
    ordered = sorted(pairs, key=lambda pair: (pair.ratio, pair.stock))
    both = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return tuple(math.sqrt(first * second) for first, second in zip(*((pair.stock, pair.ours) for pair in both)))


def busy(series):
    """True when most pairs of all series ran beside other load."""
    marks = [pair.marked for pairs in series for pair in pairs]
    return 2 * sum(marks) > len(marks)


def pairs_needed(series):
    """The fewest pairs with which a series among so many can be won or lost."""
    most = min(1 - stats.VERDICT_LEVEL, TOGETHER / max(1, series))
    return max(stats.MIN_PAIRS_FOR_VERDICT, math.ceil(math.log2(2 / most)))


def judge(series):
    """A Judged for each series of pairs; a series has one pair at least."""
    counted = [counting(pairs) for pairs in series]
    ratios = [[pair.ratio for pair in pairs] for pairs in counted]
    sure = stats.holm([stats.sign_test(values) for values in ratios], TOGETHER)
    return [_judged(*found) for found in zip(series, counted, ratios, sure)]


def _judged(pairs, counted, ratios, sure):
    stock, ours = middle(counted)
    lo, hi = stats.interval(ratios)
    outcome = {"lower": BETTER, "higher": WORSE}.get(stats.side_of_one(ours / stock, lo, hi), SAME)
    if len(counted) < stats.MIN_PAIRS_FOR_VERDICT:
        outcome = FEW
    elif not sure and outcome != SAME:
        outcome = UNSURE
    return Judged(outcome, stock, ours, ours / stock, lo, hi, min(ratios), max(ratios), len(counted), len(pairs),
                  sum(pair.marked for pair in pairs))
