# SPDX-License-Identifier: Apache-2.0
"""The board of a demonstration: its rows with their verdicts, the sentences that come first, the table."""
from driver import judge, stats, turns

WORDS = {turns.TIME: {judge.BETTER: "faster", judge.WORSE: "slower"}}
OTHERS = {judge.BETTER: "less", judge.WORSE: "more"}
UNDECIDED = {judge.SAME: "no difference", judge.UNSURE: "not sure enough", judge.FEW: "too few pairs"}
HEADINGS = ("row", "what", "stock", "Verbena", "ratio [99 % interval]", "pairs", "verdict")


def word(metric, outcome):
    """The verdict, as the table and the sentences say it."""
    return UNDECIDED.get(outcome) or WORDS.get(metric, OTHERS)[outcome]


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def share(ratio):
    """A ratio; small ones with two figures that say something."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def _interval(found):
    """The ratio with its interval; of too few pairs to have one, with their range."""
    if found.outcome == judge.FEW:
        return f"{share(found.ratio)} (seen: {share(found.least)} to {share(found.most)})"
    return f"{share(found.ratio)} [{share(found.lo)} .. {share(found.hi)}]"


def _in_order(metrics):
    """Time first."""
    return sorted(metrics, key=lambda name: name != turns.TIME)


class Board:
    """Judged rows. rows: those of turns.rounds(); missing: names of rows without a pair; who: the side that is not stock."""

    def __init__(self, rows, missing=(), who="Verbena"):
        self.rows, self.missing, self._who = list(rows), list(missing), who
        keys = [(row.name, metric) for row in self.rows for metric in _in_order(row.units)]
        series = [row.pairs(metric) for row in self.rows for metric in _in_order(row.units)]
        self.judged = dict(zip(keys, judge.judge(series)))
        self.busy = judge.busy(series)

    def of(self, metric):
        return [found for (_, name), found in self.judged.items() if name == metric]

    def metrics(self):
        """Those of all rows."""
        return _in_order(dict.fromkeys(name for _, name in self.judged))

    def first(self):
        """The sentence that every demonstration begins with."""
        return (f"{self._who} {self._counts(turns.TIME)}; results identical; machine {'busy' if self.busy else 'quiet'}")

    def _counts(self, metric):
        found = [judged.outcome for judged in self.of(metric)]
        better, worse, same, few = (sum(outcome in some for outcome in found) for some in (
            (judge.BETTER,), (judge.WORSE,), (judge.SAME, judge.UNSURE), (judge.FEW,)))
        total, missing = len(found) + len(self.missing), len(self.missing)
        more = [f"{text} in {count}" for text, count in ((UNDECIDED[judge.FEW], few), ("not measured", missing)) if count]
        return ", ".join([f"{word(metric, judge.BETTER)} in {better} of {total} rows",
                          f"{word(metric, judge.WORSE)} in {worse}", f"{UNDECIDED[judge.SAME]} in {same}", *more])

    def others(self):
        """A sentence for each other metric."""
        return [f"{metric[0].upper()}{metric[1:]} {self._counts(metric)}." for metric in self.metrics() if metric != turns.TIME]

    def sure(self):
        """How sure the verdicts are, and what was done about other load."""
        loaded, all_pairs = (sum(map(count, self.judged.values())) for count in
                             (lambda found: found.marked, lambda found: found.measured))
        counted = sum(found.counted == found.measured for found in self.judged.values())
        text = (f"The chance that any verdict here is wrong is at most {100 * judge.TOGETHER:.0f} % (Holm's rule over "
                f"{len(self.judged)} comparisons). A verdict needs {stats.MIN_PAIRS_FOR_VERDICT} pairs, a ratio "
                f"{100 * stats.VERDICT_DISTANCE:.0f} % from 1, and an interval without 1.")
        if any(found.outcome == judge.UNSURE for found in self.judged.values()):
            text += f" '{UNDECIDED[judge.UNSURE]}': the pairs suffice for one comparison, but not for {len(self.judged)}."
        if not loaded:
            return text + " No pair ran beside other load."
        text += f" {100 * loaded / all_pairs:.0f} % of the pairs ran beside other load. "
        if counted == len(self.judged):
            return text + ("They count, too: the order of both sides changes from pair to pair, so load hits either side alike and "
                           "makes intervals wider.")
        return text + "These pairs do not count, as at least eight quiet pairs and half of all pairs remain."

    def lines(self):
        """Cells of the table, one tuple for each row and metric; the last cell is the verdict."""
        units = {row.name: row.units for row in self.rows}
        for (name, metric), found in self.judged.items():
            pairs = str(found.counted) if found.counted == found.measured else f"{found.counted} of {found.measured}"
            yield (name, f"{metric}, {units[name][metric]}", number(found.stock), number(found.ours),
                   _interval(found), pairs, word(metric, found.outcome))
        for name in self.missing:
            yield (name, turns.TIME, "-", "-", "-", "0", "not measured")

    def table(self):
        """As text; a row's name stands once."""
        found, last = [HEADINGS], None
        for line in self.lines():
            found.append(("" if line[0] == last else line[0], *line[1:]))
            last = line[0]
        widths = [max(len(line[column]) for line in found) for column in range(len(HEADINGS))]
        return "\n".join("  ".join(cell.ljust(width) if place in (0, 1, 6) else cell.rjust(width)
                                   for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in found)


READING = ("A ratio is Verbena's value over stock's: below 1 is faster, or less. The columns Stock and Verbena show the "
           "median of the counted pairs. Time is the caller's wait for the result.")
