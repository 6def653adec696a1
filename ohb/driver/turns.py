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


def once(measures):
    """Each once, unmeasured: what compilers and connections take of the first one is in no pair."""
    for measure in measures:
        measure(0)
    return measures


def go_on(done, quiet, elapsed, took, seconds, longest, needed):
    """Whether a job has another pair. done: pairs so far; quiet: how many of them are; took: one on average. Nothing here knows a
    result: who stops at a good moment deceives himself. needed: pairs without which there is no verdict; for them there is the
    longest time, where it suffices."""
    if quiet >= ENOUGH:
        return False
    if done < needed:
        return elapsed + (needed - done) * took <= longest
    return elapsed + took <= seconds


class Cell:
    """What measures a pair of some rows; how many it has, what one costs."""

    def __init__(self, measure):
        self.measure, self.done, self.quiet, self.seconds, self.last = measure, 0, 0, 0.0, 0.0

    @property
    def mean(self):
        return self.seconds / max(1, self.done)

    def add(self, seconds, quiet):
        self.done, self.quiet, self.seconds, self.last = self.done + 1, self.quiet + quiet, self.seconds + seconds, seconds


def choose(cells, needed, left, longest, slower=1.0):
    """The cells of the next round. First those that lack pairs for a verdict: on a machine too busy for all the first that fit into
    the longest time, as few rows with a verdict say more than many without. Then all that have them, until each has enough
    quiet pairs or the time is over. slower: than on average, costs of the last round."""
    lagging = [cell for cell in cells if cell.done < needed]
    sums = itertools.accumulate((needed - cell.done) * cell.mean * slower for cell in lagging)
    fitting = [cell for cell, total in zip(lagging, sums) if total <= longest]
    ready = [cell for cell in cells if cell.done >= needed]
    if fitting or not ready:  # after a round that was slow by chance the first one may find the next ones quicker
        return fitting or [cell for cell in lagging[:1] if cell.mean * slower <= longest]
    enough = min(cell.quiet for cell in ready) >= ENOUGH or sum(cell.mean for cell in ready) * slower > left
    return [] if enough else ready


def rounds(measures, seconds, note):
    """{name: Row}. measures: functions of the pair's number that measure both sides, in an order that changes with it, and give
    {row: {metric: (stock, ours, unit)}}. note: is told of each round."""
    rows, cells, start = {}, [Cell(measure) for measure in measures], time.monotonic()
    chosen = cells
    while chosen:
        for cell in chosen:
            _measure(cell, rows)
        elapsed = time.monotonic() - start
        pairs = sorted({cell.done for cell in cells})
        note(f"{' to '.join(map(str, pairs[:1] + pairs[1:][-1:]))} pairs of each row, {min(cell.quiet for cell in cells)} of them "
             f"quiet at least, in {elapsed:.0f} s of {seconds:.0f}")
        slower = sum(cell.last for cell in chosen) / max(1e-9, sum(cell.mean for cell in chosen))
        needed = judge.pairs_needed(sum(len(row.units) for row in rows.values()))
        chosen = choose(cells, needed, seconds - elapsed, 2 * seconds - elapsed, slower)
    return rows


def _measure(cell, rows):
    """Adds a pair to the rows of a cell."""
    before, start = noise.Snapshot(), time.monotonic()
    index, found = cell.done, cell.measure(cell.done)
    guard, seconds = noise.between(before, noise.Snapshot()), time.monotonic() - start
    for name, metrics in found.items():
        row = rows.setdefault(name, Row(name, {}))
        row.units.update({metric: unit for metric, (_, _, unit) in metrics.items()})
        row.taken.append(Taken(index, {metric: (stock, ours) for metric, (stock, ours, _) in metrics.items()}, seconds, guard))
    cell.add(seconds, not noise.is_marked(guard))
