# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a run that hold together: one for each row, of its headline metric, corrected for how many rows there are.

A verdict is a claim of the rule of stats.verdict that Holm's rule, over the rows of the run, keeps: the chance that any of them
is wrong is at most judge.TOGETHER. Which metric is a row's headline is fixed before anything is measured (plan.Row.metric), and
rows that failed to give quiet pairs count as hypotheses, too. All other metrics have a ratio and an interval, and no verdict.
"""
import fnmatch

from driver import blocks, judge, stats

UNJUDGED = "not judged"
UNSURE = "not sure enough"  # alone it would be a verdict, among all rows it is none


def headline(names, pattern):
    """The first of a row's metrics, in the order in which they are measured, that its pattern fits; of parts of a row the first."""
    if pattern is None:
        return None
    return next((name for name in names if fnmatch.fnmatchcase(name, pattern)), next(iter(names), None))


def needed(rows):
    """The fewest quiet pairs with which the rows of a run can have verdicts; a control's claims nothing for Verbena."""
    return judge.pairs_needed(sum(not row.control for row in rows))


def settle(document):
    """Leaves verdicts only where they hold; all runs of the document are measured."""
    judged = []
    for run in document["runs"]:
        for name, summary in run["result"].items():
            if name != run["headline"]:
                summary["verdict"] = UNJUDGED
            elif not run["control"]:
                judged.append((summary, _probability(document, run, name)))
    fallen = stats.holm([probability for _, probability in judged], judge.TOGETHER)
    for (summary, _), falls in zip(judged, fallen):
        if not falls and summary["verdict"] in ("lower", "higher"):
            summary["verdict"] = UNSURE


def _probability(document, run, name):
    """Of the pairs that count, by the sign test; 1 where there are none."""
    return stats.sign_test(blocks.quiet_ratios(_measured(document, run, name), name))


def _measured(document, run, name):
    """The blocks of a metric; where several stock sides were measured, of the one that counts (driver/rivals.py)."""
    if run["blocks"]:
        return run["blocks"]
    best = run["sides"]["a"]["settings"]["best"][name]
    return next(own["blocks"] for own in document["runs"] if own["row"] == f"{run['row']}.{best}")


def sentence(document):
    """How sure the verdicts of a document are; None without any headline."""
    count = sum(run["headline"] in run["result"] and not run["control"] for run in document["runs"] if run["status"] == "complete")
    if not count:
        return None
    return (f"Verdicts: of the headline metric of each row alone, {count} in all. Holm's rule keeps the chance that any of them is "
            f"wrong below {100 * judge.TOGETHER:.0f} %, and needs {judge.pairs_needed(count)} quiet pairs of each row. Other "
            "metrics are shown and not judged.")
