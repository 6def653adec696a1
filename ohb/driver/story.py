# SPDX-License-Identifier: Apache-2.0
"""What a reader is told before the numbers: what was won, what was lost, how to read a ratio, and what contradicts itself."""
from driver import stats

READING = ("A ratio is Verbena's value over stock's, the median over pairs that were measured one after the other: of a time, "
           "below 1 is faster.")
ONE_HOST = "Everything ran on one host: no network carried anything, so nothing is said about networks."
CONTRADICTION = 1 + stats.VERDICT_DISTANCE


def outcome(summary):
    """Words of the verdict: better, worse, no difference shown, or why there is none."""
    if summary["verdict"] in ("lower", "higher"):
        return "better" if summary["verdict"] == summary["better"] else "worse"
    if summary["verdict"] == "inconclusive":
        return "too noisy"
    if summary["pairs"] < stats.MIN_PAIRS_FOR_VERDICT:
        return f"{summary['pairs']} pair{'s' if summary['pairs'] != 1 else ''}: too few"
    return summary["verdict"]


def _jobs(count, total):
    """How many of them, in words."""
    number = "all" if 1 < count == total else f"{count} of" if count else "none of"
    return f"{number} {total} job{'s' if total != 1 else ''}"


def sentence(summaries, what="the time was", shorter="shorter", longer="longer"):
    """One sentence about a metric of several jobs: in how many it is better, in how many worse, in how many nothing is known."""
    words = [outcome(summary) for summary in summaries]
    better, worse, same = (words.count(word) for word in ("better", "worse", "no difference shown"))
    unknown = len(words) - better - worse - same
    quiet = f"fewer than {stats.MIN_PAIRS_FOR_VERDICT} quiet pairs"
    if unknown == len(words):
        return f"No verdict about {what.removesuffix(' was')}: {_jobs(unknown, len(words))} had {quiet}."
    parts = [f"{what} {shorter} in {_jobs(better, len(words))}, {longer} in {worse or 'none'}"]
    if same:
        parts.append(f"no difference was shown in {same}")
    if unknown:
        parts.append(f"{unknown} had {quiet}, too few to tell")
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def contradiction(name, summary):
    """A line where the two medians tell the opposite of the pairs, else None."""
    ratio, stock, ours = summary["ratio"], summary["a_median"], summary["b_median"]
    if not ratio or not stock or not ours:
        return None
    medians = ours / stock
    if (medians > CONTRADICTION and ratio < 1 / CONTRADICTION) or (medians < 1 / CONTRADICTION and ratio > CONTRADICTION):
        return (f"{name}: the medians of both sides give {medians:.2f}, the pairs {ratio:.2f}: the machine's speed changed "
                "meanwhile; the pairs count")
    return None
