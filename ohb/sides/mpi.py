# SPDX-License-Identifier: Apache-2.0
"""The row mpi: the libraries that are measured, and mpi/bench built with and started by each.

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
UNITS = {"latency": "us", "rate": "Mmsg/s", "bandwidth": "GB/s", "allreduce": "us", "bcast": "us", "alltoall": "us",
         "barrier": "us", "init": "ms", "launch": "ms", "four": "us"}

# What we promise: the ratio ours / stock of a cell without its distance, to one library or (None) to the best of all.
TARGETS = {"latency.8": (0.95, None), "latency.1048576": (0.8, None), "rate.8": (1.0, None),
           "bandwidth.4096": (1.0, None), "bandwidth.65536": (1.2, None), "bandwidth.1048576": (1.25, None),
           "allreduce.8": (0.95, None), "allreduce.65536": (0.95, None), "allreduce.1048576": (0.95, None),
           "bcast.1048576": (0.85, None), "alltoall.65536": (0.85, "openmpi"), "barrier": (1.0, None),
           "four.allreduce.8": (1.0, "openmpi"), "four.barrier": (1.0, "openmpi"), "init": (0.2, None),
           "launch": (0.8, None)}


@dataclasses.dataclass(frozen=True)
class Library:
    """One MPI library: how programs are compiled and started with it."""
    name: str
    title: str
    compiler: str  # paths, or names to look up
    launcher: str
    options: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    cure: str = ""  # what to do when it is missing

    def missing(self):
        """What it lacks here, or None."""
        lacking = [program for program in (self.compiler, self.launcher) if not shutil.which(program)]
        return f"{self.title} is not here; {self.cure}" if lacking else None

    def version(self):
        """The first version number in what its launcher says of itself, or 'unknown'."""
        done = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, timeout=30, check=False)
        found = re.search(r"\d+\.\d+(\.\d+)*", done.stdout)
        return found.group() if found else "unknown"

    def command(self, ranks, *words):
        return [self.launcher, *self.options, "-n", str(ranks), *words]


def ours(root):
    build = os.environ.get("VERBENA_MPI_BIN") or os.path.join(root, ".verbena", "build", "mpi")
    return Library("verbena", "Verbena", f"{build}/bin/mpicc", f"{build}/bin/mpiexec", cure="run ./verbena build mpi")


def peers(root):
    """The stock libraries, in the order in which they are shown."""
    mpich, intel = os.environ.get("VERBENA_MPICH", "mpich"), os.environ.get("VERBENA_IMPI", "impi-rt")
    pypi = "./verbena bench mpi installs it from PyPI"
    # Open MPI counts processors as slots, refuses more ranks than slots and refuses root; nothing here tunes it.
    options = ("--allow-run-as-root", "--oversubscribe", "--use-hwthread-cpus")
    return [Library("openmpi", "Debian's Open MPI", "mpicc.openmpi", "mpiexec.openmpi", options,
                    cure="apt-get install openmpi-bin libopenmpi-dev"),
            Library("mpich", "Debian's MPICH", "mpicc.mpich", "mpiexec.mpich",
                    cure="apt-get install mpich libmpich-dev"),
            Library("pypi-mpich", "PyPI's mpich", f"{mpich}/bin/mpicc", f"{mpich}/bin/mpiexec", cure=pypi),
            # It brings no compiler wrapper: ours, as it has the standard ABI, too.
            Library("impi-rt", "Intel MPI (PyPI's impi-rt)", ours(root).compiler, f"{intel}/bin/mpiexec",
                    environment={"I_MPI_ROOT": intel, "LD_LIBRARY_PATH": f"{intel}/lib"}, cure=pypi)]


def missing(root):
    """What the row lacks here, or None."""
    if ours(root).missing():
        return "the MPI library is not built: run ./verbena build mpi"
    lacking = [peer.missing() for peer in peers(root)]
    return None if None in lacking else "no stock MPI library is here; " + "; ".join(lacking)


def label(before, after):
    """near or far, as both probes around a cell say; None: they differ, or neither."""
    found = {"near" if way < NEAR_NS else "far" if way > FAR_NS else None for way in (before, after)}
    return found.pop() if len(found) == 1 else None


def metric(row, size, distance=None):
    """Name of a cell: row[.size][.distance]."""
    return ".".join([row, *([str(size)] if size else []), *([distance] if distance else [])])


def better(name):
    return core.better(UNITS[name.split(".")[0]])


def target(name):
    """(ratio, library or None) promised for a cell, or None."""
    return TARGETS.get(re.sub(r"\.(near|far)$", "", name))


class Bench:
    """mpi/bench of one library, built."""

    def __init__(self, library, root, folder):
        os.makedirs(folder, exist_ok=True)
        self.library = library
        self._program, self._log = f"{folder}/mpibench-{library.name}", f"{folder}/{library.name}.log"
        source = os.path.join(root, "mpi", "bench")
        files = sorted(f"{source}/{name}" for name in os.listdir(source) if name.endswith(".c"))
        command = [library.compiler, "-std=c11", "-D_GNU_SOURCE", "-O2", *files, "-o", self._program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise Failed(f"{library.title} does not compile mpi/bench: {done.stderr.strip()[-500:]}")

    def _answers(self, cpus, ranks, *words):
        command = ["taskset", "-c", cpus, *self.library.command(ranks, self._program, *words)]
        return core.json_lines(command, self._log, environment={**os.environ, **self.library.environment})

    def block(self, _side=None, _seed=None):
        """Every cell once: {metrics, details}. A cell whose two probes differ is left out and counted."""
        metrics, dropped = {}, []
        places = [cpus for _, cpus in core.placements()]
        for cpus in places:
            for cell in self._answers(cpus, 2, "two", cpus):
                distance = label(cell["before"], cell["after"])
                if distance is None:
                    dropped.append(metric(cell["row"], cell["size"]))
                else:
                    metrics.setdefault(metric(cell["row"], cell["size"], distance), cell["value"])
        for cell in self._answers(places[0], 4, "four"):
            metrics["four." + metric(cell["row"], cell["size"])] = cell["value"]
        metrics.update(self._start(places[0]))
        return {"metrics": metrics, "details": {"dropped": dropped}}

    def _start(self, cpus):
        """The fastest of some starts: the time of MPI_Init, and from the launcher's start to its end."""
        found = []
        for _ in range(STARTS):
            began = time.monotonic()
            init = self._answers(cpus, 2, "start")[0]["value"]
            found.append((init, (time.monotonic() - began) * 1e3))
        return {"init": min(init for init, _ in found), "launch": min(launch for _, launch in found)}
