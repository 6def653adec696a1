# SPDX-License-Identifier: Apache-2.0
"""What demo mpi and demo shmem share: programs under our launcher and under a stock one, in turns; results compared exactly, times
side by side."""
import dataclasses
import functools
import os
import re
import subprocess
import time

from driver import stage, travelled, turns
from driver.board import Board
from driver.demopage import About, Shown
from driver.procs import Failed

LIMIT = 60  # seconds of one run, far more than it takes
WHOLE = "time with start and end"
USES = re.compile(r"^rank (\d+) of \d+: peer \w+ uses (\w+: (?:same host|[a-z ]+))", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Show:
    """What is shown: programs of a folder, each as (name, ranks, words); a small one; how ranks are called; what is not
    counted."""
    sources: str
    runs: tuple
    small: tuple
    ranks: str
    uncounted: tuple = ()


class Side:
    """The examples, built with one library."""

    def __init__(self, library, folder, sources, names):
        self.library, self._folder = library, folder
        for name in names:
            command = [library.compiler, "-O2", f"{sources}/{name}.c", "-o", self._program(name)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
            if done.returncode != 0:
                raise Failed(f"{library.title} does not compile {name}.c: {done.stderr.strip()[-500:]}")

    def _program(self, name):
        return f"{self._folder}/{self.library.name}-{name}"

    def _start(self, name, ranks, words, environment=None):
        command = self.library.command(ranks, self._program(name), *words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                                  stdin=subprocess.DEVNULL,
                                  env={**os.environ, **self.library.environment, **(environment or {})})
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.library.title}: {name} with {ranks} ranks did not end within {LIMIT} s") from None
        if done.returncode != 0:
            raise Failed(f"{self.library.title}: {name} with {ranks} ranks ended with status {done.returncode}: "
                         + done.stderr.strip()[-500:])
        return done

    def run(self, name, ranks, words):
        """(result line, seconds that the program says, seconds from start to end)."""
        began = time.monotonic()
        text = self._start(name, ranks, words).stdout
        took = time.monotonic() - began
        found = re.fullmatch(r"(.*)\nseconds ([\d.]+)\n", text)
        if not found:
            raise Failed(f"{self.library.title}: {name} printed no result: {text[:200]!r}")
        return found[1], float(found[2]), took

    def chosen(self, name, words):
        """Lines: which transports the ranks of a small job chose, as our library's log says."""
        text = self._start(name, 2, words, {"VBN_LOG_LEVEL": "info"}).stderr
        return sorted({f"rank {rank}: {transport}" for rank, transport in USES.findall(text)})


def pair(ours, stock, run, called, index):
    """Both sides one after the other, as a cell of turns.rounds(); Failed when a result differs."""
    name, ranks, words = run
    found = {side: side.run(name, ranks, words) for side in ((stock, ours) if index % 2 == 0 else (ours, stock))}
    if found[ours][0] != found[stock][0]:
        raise Failed("the results differ: " + "; ".join(f"{side.library.title}: {found[side][0]}" for side in (ours, stock)))
    inside, whole = ([1000 * max(found[side][place], 1e-6) for side in (stock, ours)] for place in (1, 2))
    return {f"{' '.join((name, *words))}, {ranks} {called}": {turns.TIME: (*inside, "ms"), WHOLE: (*whole, "ms")}}


def first_runs(ours, stock, runs):
    """Every program once with each library, unmeasured; the counters of ours, which ranks take along when they end."""
    pages = travelled.Pages()
    for name, ranks, words in runs:
        stock.run(name, ranks, words)
        pages.while_running(functools.partial(ours.run, name, ranks, words))
    return pages.totals()


def show(what, ours, stock, root, folder, seconds):
    """The whole demonstration beside one stock library."""
    names, sources = sorted({name for name, _, _ in what.runs} | {what.small[0]}), f"{root}/{what.sources}"
    ours, stock = Side(ours, folder, sources, names), Side(stock, folder, sources, names)
    stage.note(f"{len(what.runs)} programs with {ours.library.title} and with {stock.library.title}")
    counted = travelled.lines(first_runs(ours, stock, what.runs), f"between {what.ranks} in one run of each program")
    rows = turns.rounds([functools.partial(pair, ours, stock, run, what.ranks) for run in what.runs], seconds, stage.note)
    return Shown(Board(rows.values()), (), [*counted, *what.uncounted], ours.chosen(*what.small) or ["no transport"])


def about(name, title, stock, what, use, settings):
    """What the page says of a demonstration."""
    return About(name, title, stock and stock.title, (
        f"Programs of {what.sources}, compiled and started by our library and by {stock.title} {stock.version()}, each as it is.",
        "The program itself measures its time, without start and end; time with start and end is that of the launcher.",
        "More processes than processors wait for each other in turns, with either library.",
        "The lines with results that both sides printed are identical in each pair."), use, settings)


def main(what, ours, peers, words):
    """Runs it beside the first stock library that is here; words: name, title, use and settings of the page; the exit status."""
    stock = next((peer for peer in peers if not peer.missing()), None)
    lacks = ours.missing() or (None if stock else "; ".join(peer.missing() for peer in peers))
    page = None if lacks else about(*words[:2], stock, what, *words[2:])
    return stage.play(page, lambda *where: show(what, ours, stock, *where), lambda _root: lacks)
