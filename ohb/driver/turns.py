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


def go_on(done, quiet, elapsed, took, seconds, longest, needed):
    """Whether there is another round. done: rounds so far; quiet: quiet pairs of the row with the fewest; took: the last round.
    Nothing here knows a result: who stops at a good moment deceives himself. needed: rounds without which there is no verdict;
    for them there is the longest time."""
    if quiet >= ENOUGH:
        return False
    return elapsed + took <= (seconds if done >= needed else longest)


def rounds(cells, seconds, note):
    """{name: Row}. cells: functions of the pair's number that measure both sides, in an order that changes with it, and give
    {row: {metric: (stock, ours, unit)}}. note: is told of each round."""
    rows, start, took = {}, time.monotonic(), 0.0
    for index in itertools.count():
        began = time.monotonic()
        for cell in cells:
            _measure(cell, index, rows)
        took, elapsed = time.monotonic() - began, time.monotonic() - start
        quiet = min(row.quiet() for row in rows.values())
        note(f"{index + 1} pairs of each row, {quiet} of them quiet, in {elapsed:.0f} s of {seconds:.0f}")
        needed = judge.pairs_needed(sum(len(row.units) for row in rows.values()))
        if not go_on(index + 1, quiet, elapsed, took, seconds, 2 * seconds, needed):
            return rows


def _measure(cell, index, rows):
    before, start = noise.Snapshot(), time.monotonic()
    found = cell(index)
    guard, seconds = noise.between(before, noise.Snapshot()), time.monotonic() - start
    for name, metrics in found.items():
        row = rows.setdefault(name, Row(name, {}))
        row.units.update({metric: unit for metric, (_, _, unit) in metrics.items()})
        row.taken.append(Taken(index, {metric: (stock, ours) for metric, (stock, ours, _) in metrics.items()}, seconds, guard))
