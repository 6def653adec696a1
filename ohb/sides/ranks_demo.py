# SPDX-License-Identifier: Apache-2.0
"""What demo mpi and demo shmem share: programs under our launcher and under a stock one, in turns; results compared exactly, times
side by side."""
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time

from driver.procs import Failed

TIMES = 3
LIMIT = 60  # seconds of one run, far more than it takes
USES = re.compile(r"^rank (\d+) of \d+: peer \w+ uses (\w+: (?:same host|[a-z ]+))", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Show:
    """What is shown: programs of a folder, each as (name, ranks, words); a small one; how ranks are called."""
    sources: str
    runs: tuple
    small: tuple
    ranks: str


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


def compare(ours, stock, name, ranks, words):
    """Cells of one line of the table: both sides in turns, the fastest of each; Failed when a result differs."""
    best = {}
    for turn in range(TIMES):
        for side in (stock, ours)[:: 1 if turn % 2 == 0 else -1]:
            result, *seconds = side.run(name, ranks, words)
            known = best.setdefault(side, (result, *seconds))
            best[side] = (known[0], min(known[1], seconds[0]), min(known[2], seconds[1]))
            other, expected = next(iter(best.items()))
            if result != expected[0]:
                raise Failed(f"the results differ: {side.library.title}: {result}; {other.library.title}: {expected[0]}")
    (_, own, own_all), (_, theirs, theirs_all) = best[ours], best[stock]
    return [f"{name} {' '.join(words)}", str(ranks), f"{theirs:.3f}", f"{own:.3f}", f"{own / theirs:.2f}",
            f"{theirs_all:.3f}", f"{own_all:.3f}", f"{own_all / theirs_all:.2f}"]


def demo(show, ours, stock, root, folder):
    """Lines of the whole demonstration beside one stock library."""
    names, sources = sorted({name for name, _, _ in show.runs} | {show.small[0]}), f"{root}/{show.sources}"
    ours, stock = Side(ours, folder, sources, names), Side(stock, folder, sources, names)
    lines = [("program", show.ranks, "seconds", "", "ratio", "with start and end", "", "ratio"),
             ("", "", "stock", "ours", "", "stock", "ours", "")]
    for name, ranks, words in show.runs:
        print(f"demo: {name} with {ranks} {show.ranks}", file=sys.stderr)
        lines.append(compare(ours, stock, name, ranks, words))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(line, widths))) for line in lines]
    return [*text, f"stock: {stock.library.title} {stock.library.version()}, launcher and library as they come. Results are "
            f"identical on both sides; the fastest of {TIMES} runs each.",
            "Verbena chose " + ("; ".join(ours.chosen(*show.small)) or "no transport")]


def main(show, ours, peers, root):
    """Prints the demonstration beside the first stock library that is here; the exit status."""
    stock = [peer for peer in peers if not peer.missing()]
    try:
        if ours.missing() or not stock:
            raise Failed(ours.missing() or "; ".join(peer.missing() for peer in peers))
        with tempfile.TemporaryDirectory() as folder:
            print("\n".join(demo(show, ours, stock[0], root, folder)))
    except Failed as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    return 0
