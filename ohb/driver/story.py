# SPDX-License-Identifier: Apache-2.0
"""What a reader of rows is told beside the numbers: the verdict, how to read a ratio, and what contradicts itself."""
from driver import stats, verdicts

READING = ("A ratio is Verbena's value over stock's, the median over pairs that were measured one after the other: of a time, "
           "below 1 is faster.")
CONTRADICTION = 1 + stats.VERDICT_DISTANCE


def outcome(summary):
    """Words of the verdict: better, worse, no difference shown, or why there is none."""
    if summary["verdict"] in ("lower", "higher"):
        return "better" if summary["verdict"] == summary["better"] else "worse"
    if summary["verdict"] == verdicts.UNJUDGED:
        return summary["verdict"]
    if summary["verdict"] == "inconclusive":
        return "too noisy"
    if summary["pairs"] < stats.MIN_PAIRS_FOR_VERDICT:
        return f"{summary['pairs']} pair{'s' if summary['pairs'] != 1 else ''}: too few"
    return summary["verdict"]


def contradiction(name, summary):
    """A line where the two medians tell the opposite of the pairs, else None."""
    ratio, stock, ours = summary["ratio"], summary["a_median"], summary["b_median"]
    if not ratio or not stock or not ours:
        return None
    medians = ours / stock
    if (medians > CONTRADICTION and ratio < 1 / CONTRADICTION) or (medians < 1 / CONTRADICTION and ratio > CONTRADICTION):
        return (f"{name}: the medians of both sides have the ratio {medians:.2f}, the pairs {ratio:.2f}: the machine's speed "
                "changed meanwhile; the pairs decide")
    return None
