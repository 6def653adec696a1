# SPDX-License-Identifier: Apache-2.0
"""What the rows mpi and shmem share: libraries whose launchers start ranks, and a benchmark built with and started by each.

Every block is a job of its own, so that nothing of another library runs meanwhile: ranks that wait would spin.
"""
import dataclasses
import os
import re
import shutil
import subprocess
import time

from driver.procs import Failed
from sides import core

NEAR_NS, FAR_NS = 110, 150  # a line's way between two processors: below near, above far
STARTS = 3
LIMIT_S = 60  # of one cell, which takes a second
COMMON = "mpi/bench/common"
BEFORE = "before"  # name of the library of another checkout
# Open MPI counts processors as slots, refuses more ranks than slots and refuses root; nothing here tunes it.
OPEN_MPI = ("--allow-run-as-root", "--oversubscribe", "--use-hwthread-cpus")


@dataclasses.dataclass(frozen=True)
class Library:
    """One library of ranks or PEs: how programs are compiled and started with it."""
    name: str
    title: str
    compiler: str  # paths, or names to look up
    launcher: str
    options: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    cure: str = ""  # what to do when it is missing
    tcp_options: tuple = ()  # that leave ranks of one host TCP only; RANKS stands for their number
    tcp_environment: dict = dataclasses.field(default_factory=dict)
    no_tcp: str = ""  # why its windows have no cells by TCP

    def missing(self):
        """What it lacks here, or None."""
        lacking = [program for program in (self.compiler, self.launcher) if not shutil.which(program)]
        return f"{self.title} is not here; {self.cure}" if lacking else None

    def version(self):
        """The first version number in what its launcher says of itself, or 'unknown'."""
        done = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, timeout=30, check=False)
        found = re.search(r"\d+\.\d+(\.\d+)*", done.stdout)
        return found.group() if found else "unknown"

    def command(self, ranks, *words, tcp=False):
        only = [option.replace("RANKS", str(ranks)) for option in self.tcp_options] if tcp else []
        return [self.launcher, *self.options, *only, "-n", str(ranks), *words]


def build(checkout):
    """Where a checkout's libraries for ranks are."""
    return os.path.join(checkout, ".verbena", "build", "mpi")


def label(before, after):
    """near or far, as both probes around a cell say; None: they differ, or neither."""
    found = {"near" if way < NEAR_NS else "far" if way > FAR_NS else None for way in (before, after)}
    return found.pop() if len(found) == 1 else None


def metric(row, size, distance=None):
    """Name of a cell: row[.size][.distance]."""
    return ".".join([row, *([str(size)] if size else []), *([distance] if distance else [])])


def bare(name):
    """A cell's name without its distance."""
    return re.sub(r"\.(near|far)$", "", name)


class Bench:
    """A benchmark program of one library, built."""
    PROGRAM, SOURCES = None, ()  # its name; folders of its C files, the first is where its own are

    def __init__(self, library, root, folder):
        os.makedirs(folder, exist_ok=True)
        self.library = library
        self._program, self._log = f"{folder}/{self.PROGRAM}-{library.name}", f"{folder}/{library.name}.log"
        files = sorted(f"{root}/{source}/{name}" for source in self.SOURCES for name in os.listdir(f"{root}/{source}")
                       if name.endswith(".c"))
        command = [library.compiler, "-std=c11", "-D_GNU_SOURCE", "-O2", f"-I{root}/mpi/bench", *files, "-o", self._program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            said = f"{library.title} does not compile {self.SOURCES[0]}: {done.stderr.strip()[-500:]}"
            raise Failed(f"{said}; its headers or libraries may be missing: {library.cure}" if library.cure else said)

    def _answers(self, cpus, ranks, *words, tcp=False, found=None):
        command = ["taskset", "-c", cpus, *self.library.command(ranks, self._program, *words, tcp=tcp)]
        return core.json_lines(command, self._log, timeout=LIMIT_S, found=found, environment={
            **os.environ, **self.library.environment, **(self.library.tcp_environment if tcp else {})})

    def _of_two(self, form):
        """The cells of a form of two ranks, at each distance: (metrics, those whose two probes differ, which are left out)."""
        metrics, dropped = {}, []
        for _, cpus in core.placements():
            for cell in self._cells(form, cpus, 2, form, cpus):
                distance = label(cell["before"], cell["after"])
                if distance is None:
                    dropped.append(metric(cell["row"], cell["size"]))
                else:
                    metrics.setdefault(metric(cell["row"], cell["size"], distance), cell["value"])
        return metrics, dropped

    def _cells(self, _name, cpus, ranks, *words):
        return self._answers(cpus, ranks, *words)

    def block(self, _side=None, _seed=None):
        """Every cell once: {metrics, details}."""
        metrics, dropped = self._of_two("two")
        cpus = core.placements()[0][1]
        for cell in self._answers(cpus, 4, "four"):
            metrics["four." + metric(cell["row"], cell["size"])] = cell["value"]
        metrics.update(self._start(cpus))
        return {"metrics": metrics, "details": {"dropped": dropped}}

    def _start(self, cpus):
        """The fastest of some starts: the time of the set-up, and from the launcher's start to its end."""
        found = []
        for _ in range(STARTS):
            began = time.monotonic()
            init = self._answers(cpus, 2, "start")[0]["value"]
            found.append((init, (time.monotonic() - began) * 1e3))
        return {"init": min(init for init, _ in found), "launch": min(launch for _, launch in found)}
