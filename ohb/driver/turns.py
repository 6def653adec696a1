# SPDX-License-Identifier: Apache-2.0
"""The pairs of a demonstration: every cell once in each round, both sides one after the other, as long as there is time."""
import dataclasses
import itertools
import time

from driver import judge, noise

ENOUGH = 15  # quiet pairs of every row end the rounds early
TIME, PROCESSOR = "time", "processor time"


@dataclasses.dataclass(frozen=True)
class Taken:
    """One pair of a row: {metric: (stock, ours)}, how long it took, what the noise guard saw."""
    index: int
    values: dict
    seconds: float
    noise: dict

    @property
    def marked(self):
        return noise.is_marked(self.noise)


@dataclasses.dataclass
class Row:
    """A row of the table: its metrics' units, its pairs."""
    name: str
    units: dict
    taken: list = dataclasses.field(default_factory=list)

    def pairs(self, metric):
        return [judge.Pair(*pair.values[metric], pair.marked) for pair in self.taken if metric in pair.values]

    def quiet(self):
        return sum(not pair.marked for pair in self.taken)


def once(cells):
    """Every cell once, unmeasured: what compilers and connections take of the first one is in no pair."""
    for cell in cells:
        cell(0)
    return cells


def go_on(done, quiet, elapsed, took, seconds, longest, needed):
    """Whether there is another round. done: rounds so far; quiet: quiet pairs of the row with the fewest; took: a round on average.
    Nothing here knows a result: who stops at a good moment deceives himself. needed: rounds without which there is no verdict;
    for them there is the longest time, where it suffices."""
    if quiet >= ENOUGH:
        return False
    if done < needed:
        return elapsed + (needed - done) * took <= longest
    return elapsed + took <= seconds


def fitting(costs, times, left):
    """How many of the first cells, which cost so many seconds, can be measured so many times more in what is left; one at least."""
    sums = itertools.accumulate(costs)
    return max(1, sum(times * total <= left for total in sums))


def rounds(cells, seconds, note):
    """{name: Row}. cells: functions of the pair's number that measure both sides, in an order that changes with it, and give
    {row: {metric: (stock, ours, unit)}}. note: is told of each round. Where the machine is too busy for all, the last cells are
    left out after the first rounds: few rows with a verdict say more than many without."""
    rows, cells, costs, start = {}, list(cells), [0.0] * len(cells), time.monotonic()
    for index in itertools.count():
        for place, cell in enumerate(cells):
            costs[place] += _measure(cell, index, rows)
        done, elapsed = index + 1, time.monotonic() - start
        quiet = min(row.quiet() for row in rows.values() if len(row.taken) == done)
        note(f"{done} pairs of each row, {quiet} of them quiet, in {elapsed:.0f} s of {seconds:.0f}")
        needed = judge.pairs_needed(sum(len(row.units) for row in rows.values()))
        means = [cost / done for cost in costs]
        if done < needed and (kept := fitting(means, needed - done, 2 * seconds - elapsed)) < len(cells):
            note(f"the machine is too busy for {needed} pairs of all rows: those of the last {len(cells) - kept} cells end here")
            cells, costs, means = cells[:kept], costs[:kept], means[:kept]
        if not go_on(done, quiet, elapsed, sum(means), seconds, 2 * seconds, needed):
            return rows


def _measure(cell, index, rows):
    """Adds a pair to the rows of a cell; its seconds."""
    before, start = noise.Snapshot(), time.monotonic()
    found = cell(index)
    guard, seconds = noise.between(before, noise.Snapshot()), time.monotonic() - start
    for name, metrics in found.items():
        row = rows.setdefault(name, Row(name, {}))
        row.units.update({metric: unit for metric, (_, _, unit) in metrics.items()})
        row.taken.append(Taken(index, {metric: (stock, ours) for metric, (stock, ours, _) in metrics.items()}, seconds, guard))
    return seconds
