#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own suite on our library, as it is, and the same module on another library of the standard ABI.

usage: mpi4py.py --build FOLDER --mpi4py FOLDER [--mpich FOLDER] [--wheel FOLDER] [--list] [--full] [NAME ...]
--build: the build folder of mpi/. --mpi4py: a Python environment with mpi4py and its suite (suite/). --mpich: one with PyPI's
mpich. --wheel: the wheel that PyPI publishes, unpacked. NAME is a file without test_ and .py (comm, p2p_buf) or a part of
its name, or helloworld, or, with --wheel, openmpi or mpich: the wheel's module for that family. --list prints the names.

All files run in one job of 1 rank and in one of 3: a job for each file spends half of its time on Python's start.
Files that were named run in jobs of their own, with 1 and 3 ranks. --full, or VERBENA_TEST_FULL=1: all so, with 1 to 4.

A test counts once for a number of ranks: failed if it fails at any rank, skipped if it is skipped at all.
"""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "mpi/gen"), str(ROOT / "tests/lib")]
import program  # noqa: E402  (needs the path above)
import tables  # noqa: E402: which functions are written

LIMIT = 1200  # seconds of one job, far more than it takes
HELLO = "helloworld"
WHEELS = {"openmpi": "Open MPI", "mpich": "MPICH"}
# Of the wheel without --full: handles, statuses, constants, callbacks, arrays of each, errors, buffers.
WHEEL_FILES = ("attributes", "cco_nb_buf", "environ", "errorcode", "exceptions", "grequest", "group", "op", "p2p_buf", "request",
               "status", "subclass", "topology", "win")
RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)", re.MULTILINE)
BAD = re.compile(r"^(?:FAIL|ERROR): (.+)\n-+\n((?:.*\n)*?)\n[=-]{70}$", re.MULTILINE)

LONG = ("cco_ngh_buf", "cco_pr_ngh_buf", "datatype", "pack", "util_dtlib")  # with --full only: half of the suite's time

WHICH = "from mpi4py import MPI; print(MPI.__file__)"
VERSION = "from mpi4py import MPI; print(MPI.Get_library_version())"

# Files that need a function that is not written yet. What is left out: the whole file, or tests of these words. As soon as the
# function is written all of the file runs, without a change here.
NEEDS = {
    "dynproc": ("Comm_join", None),
    "errhandler": ("File_open", ["TestErrhandlerFile"]),
    "file": ("File_open", None),
    "io": ("File_open", None),
    "objmodel": ("File_open", ["testSafeFreeCreated"]),
    "p2p_buf_part": ("Psend_init", None),
    "spawn": ("Comm_spawn", None),
    "subclass": ("File_open", None),
    "util_pool": ("Comm_spawn", None),
}


@dataclasses.dataclass
class Outcome:
    """What one file gave with one number of ranks."""
    ran: int = 0
    skipped: int = 0
    failed: dict = dataclasses.field(default_factory=dict)  # test: last line of its reason
    problem: str = ""  # what failed beside tests

    @property
    def bad(self):
        return len(self.failed) + bool(self.problem)

    @property
    def passed(self):
        return max(0, self.ran - self.skipped - len(self.failed))


def launch(command, library, more=None):
    """Runs a command on the library of that folder; gives (status, output). Nothing of it is left behind."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "OMP_NUM_THREADS": "1", **(more or {})}
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", env=environment,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the ranks end with their launcher
        return 124, process.communicate()[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def outcome(status, output, ranks):
    """Reads what the ranks printed, each line behind '[rank] '."""
    result = Outcome()
    texts = ["".join(re.findall(rf"^\[{rank}\] ?(.*\n)", output, re.MULTILINE)) for rank in range(ranks)]
    for text in texts:
        for test, reason in BAD.findall(text):
            result.failed[test] = (reason.strip().splitlines() or [""])[-1]
    counts = [int(found.group(1)) for found in map(RAN.search, texts) if found]
    result.ran = max(counts, default=0)
    result.skipped = min(int(found.group(1)) if found else 0 for found in map(SKIPPED.search, texts))
    if status == 124:
        result.problem = f"no end within {LIMIT} s"
    elif len(counts) < ranks:
        result.problem = f"{ranks - len(counts)} of {ranks} ranks ended before their tests did, status {status}"
    elif status != 0 and not result.failed:
        result.problem = f"status {status} without a failed test"
    elif result.ran == 0:
        result.problem = "no test ran"
    return result


class Suite:
    """mpi4py's files, and how one of them is run."""

    def __init__(self, build, home, environment=None):
        self._environment = environment
        self._launcher, self._library = build / "bin/mpiexec", build / "lib"
        self._python, self._main = home / "bin/python", home / "suite/main.py"
        self.files = sorted(path.stem[len("test_"):] for path in (home / "suite").glob("test_*.py"))

    def run(self, names, ranks, leave_out):
        """One job that runs these files one after the other."""
        words = [word for pattern in leave_out for word in ("-x", pattern)]
        status, output = launch([self._launcher, "-l", "-n", ranks, self._python, self._main, "-q", "--no-builddir", "-i",
                                 rf"test_({'|'.join(names)})[.]py", *words], self._library, self._environment)
        return outcome(status, output, ranks), output

    def module(self):
        """The file of the module that programs get."""
        return launch([self._launcher, "-n", 1, self._python, "-c", WHICH], self._library, self._environment)[1].strip()


def lacking():
    """The entries of NEEDS whose function is not written yet."""
    written = tables.written()
    return {name: entry for name, entry in NEEDS.items() if written.isdisjoint({entry[0], entry[0] + "_c"})}


def report(name, ranks, result, output, seconds):
    print(f"{name:<18} n={ranks}  ran {result.ran:4}  failed {result.bad:3}  skipped {result.skipped:4}  {seconds:6.1f} s")
    for test, reason in result.failed.items():
        print(f"FAIL: mpi4py {name} n={ranks}: {test}: {reason}")
    if result.problem:
        print(f"FAIL: mpi4py {name} n={ranks}: {result.problem}")
    if result.bad:
        print("".join(f"  | {line}\n" for line in output.splitlines()[-400:]), end="")
    sys.stdout.flush()


def run_suite(suite, jobs, ranks, left_out):
    """Runs the files of each job together; gives [passed, failed, skipped]."""
    total = [0, 0, 0]
    for count in ranks:
        for names in jobs:
            patterns = [word for name in names for word in left_out.get(name, ("", []))[1] or ()]
            began = time.monotonic()
            result, output = suite.run(names, count, patterns)
            title = names[0] if len(names) == 1 else f"{len(names)} files"
            report(title, count, result, output, time.monotonic() - began)
            total = [a + b for a, b in zip(total, (result.passed, result.bad, result.skipped))]
            if result.problem and len(names) > 1:
                print("which file it was: each again, in a job of its own")
                run_suite(suite, [[name] for name in names], (count,), left_out)
    return total


def hello(vendor, launcher, library, home):
    """mpi4py.bench helloworld with two ranks on a library of the standard ABI; gives [passed, failed, skipped]."""
    python = home / "bin/python"
    asked, version = launch([launcher, "-n", 1, python, "-c", VERSION], library)
    status, output = launch([launcher, "-n", 2, python, "-m", "mpi4py.bench", "helloworld"], library)
    lines = sorted(re.findall(r"^Hello, World! I am process (\d) of 2 on ", output, re.MULTILINE))
    if asked == 0 and version.startswith(vendor) and status == 0 and lines == ["0", "1"]:
        print(f"helloworld n=2 on {vendor}: passed")
        return [1, 0, 0]
    print(f"FAIL: mpi4py helloworld n=2 on {vendor}: status {status}, the library says {version.splitlines()[:1]}",
          *output.splitlines(), sep="\n  | ")
    return [0, 1, 0]


def run_hellos(build, home, mpich):
    total = hello("Verbena", build / "bin/mpiexec", build / "lib", home)
    if mpich and (mpich / "lib/libmpi_abi.so.1").exists():
        return [a + b for a, b in zip(total, hello("MPICH", mpich / "bin/mpiexec", mpich / "lib", home))]
    print("helloworld on PyPI's mpich: skipped, it is not here; ./verbena bench mpi installs it")
    return [total[0], total[1], total[2] + 1]


def run_wheel(words, family, left_out):
    """The published module for a family on our library; gives [passed, failed, skipped]."""
    environment = {"PYTHONPATH": str(words.wheel.resolve()), "MPI4PY_MPIABI": family}
    suite = Suite(words.build.resolve(), words.mpi4py.resolve(), environment)
    module = suite.module()
    if not module.startswith(f"{words.wheel.resolve()}/mpi4py/MPI.{family}."):
        print(f"FAIL: mpi4py's wheel for {WHEELS[family]}: its module is not found: {module}")
        return [0, 1, 0]
    print(f"mpi4py's wheel, the module for {WHEELS[family]}:")
    files = [name for name in suite.files if left_out.get(name, ("", []))[1] is not None]
    jobs = [[name] for name in files] if words.full else [[name for name in files if name in WHEEL_FILES]]
    return run_suite(suite, jobs, (1, 3), left_out)


def print_left_out(left_out):
    for name, (function, words) in left_out.items():
        print(f"left out: {name}{' ' + ' '.join(words) if words else ''}: MPI_{function} is not written yet")


def read_words():
    parser = program.parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--mpi4py", type=pathlib.Path, required=True)
    parser.add_argument("--mpich", type=pathlib.Path)
    parser.add_argument("--wheel", type=pathlib.Path)
    return program.read(parser)


def usual(words, suite, left_out):
    """The names of the files that run in this form, and of the hello."""
    names = [name for name in suite.files if left_out.get(name, ("", []))[1] is not None]
    return [*(name for name in names if words.full or name not in LONG), HELLO]


def run(words, suite, names, left_out):
    """Gives the exit status."""
    files = [name for name in names if name in suite.files]
    apart = words.full or bool(words.name)
    jobs = [[name] for name in files] if apart else [files]
    tally = program.Tally()
    if files:
        tally.add(*run_suite(suite, jobs, (1, 2, 3, 4) if words.full else (1, 3), left_out))
    for family in (name for name in names if name in WHEELS):
        tally.add(*run_wheel(words, family, left_out))
    if HELLO in names:
        tally.add(*run_hellos(words.build.resolve(), words.mpi4py.resolve(), words.mpich))
    print_left_out(left_out)
    return tally.end()


def main():
    words = read_words()
    suite, left_out = Suite(words.build.resolve(), words.mpi4py.resolve()), lacking()
    if words.wheel and not words.wheel.is_dir():
        print("mpi4py's wheel is not here: skipped; look at the network, then run ./verbena make mpi4py")
        return program.CANNOT_RUN
    if not suite.files:
        print(f"no suite of mpi4py in {words.mpi4py}")
        return program.CANNOT_RUN
    known = [*suite.files, HELLO, *(WHEELS if words.wheel else ())]
    return program.serve(
        words, lambda names: program.choose(known, names, usual(words, suite, left_out)),
        lambda names: run(words, suite, names, left_out))


if __name__ == "__main__":
    sys.exit(main())
