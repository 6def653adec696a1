#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which MPI library a program needs, which one it gets under our mpiexec, and which of its names are missing there.

usage: doctor.py BUILD PROGRAM   BUILD: the build folder of mpi/. Status 0: the program finds all; 1: something is missing.

The loader itself answers, as for ldd -r, in the environment that mpiexec makes for the program; the program does not run.
"""
import pathlib
import re
import subprocess
import sys

FAMILIES = {"libmpi_abi.so.1": "the standard ABI", "libmpi.so.40": "Open MPI", "libmpi.so.12": "MPICH", "libmpich.so.12": "MPICH",
            "libmpi_mpifh.so.40": "Open MPI", "libmpi_usempif08.so.40": "Open MPI", "libmpi_usempi_ignore_tkr.so.40": "Open MPI",
            "libmpifort.so.12": "MPICH", "libmpichfort.so.12": "MPICH"}
FORTRAN = re.compile(r"libmpi(_mpifh|_usempi\w*|fort|chfort)\.so\.\d+")
LIMIT = 60  # seconds
ASK = ("-env", "LD_TRACE_LOADED_OBJECTS", "1", "-env", "LD_WARN", "yes")
ASK_ALL = (*ASK, "-env", "LD_BIND_NOW", "yes")  # also for names that are bound at their first call


def ask_loader(build, program, ask):
    """(name of each library: its file, None where there is none; undefined names)."""
    result = subprocess.run([build / "bin/mpiexec", "-n", "1", *ask, program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT, check=False)
    libraries = {name: None if file == "not found" else file
                 for name, file in re.findall(r"^\s*(\S+) => (not found|/.*?)(?: \(0x\w+\))?$", result.stdout, re.MULTILINE)}
    libraries.update({pathlib.Path(file).name: file  # what LD_PRELOAD names
                      for file in re.findall(r"^\s*(/\S+) \(0x\w+\)$", result.stdout, re.MULTILINE)})
    return libraries, sorted(set(re.findall(r"undefined symbol: ([^\s,]+)", result.stdout)))


def describe(build, libraries, missing, at_start):
    """Prints the answer; gives the number of things that are missing."""
    problems = 0
    families = [name for name in libraries if name in FAMILIES]
    for name in [one for one in families if FAMILIES[one] != "the standard ABI"] or families:
        print(f"needs {name}: {FAMILIES[name]}")
    for name, file in libraries.items():
        ours = file is not None and pathlib.Path(file).resolve().is_relative_to(build)
        if name in FAMILIES or ours:
            print(f"  {name} => {file or 'not found'}{' (Verbena)' if ours else ''}")
        elif FORTRAN.fullmatch(name):
            print(f"  {name} => {file or 'not found'}: a Fortran interface that Verbena does not have; compile by its mpifort")
            problems += 1
        elif file is None:
            print(f"  {name} => not found: install the package that has it")
            problems += 1
        problems += name in FAMILIES and not ours
    names = [name for name in missing if re.match(r"p?mpix?r?_|ompi_|QMPI_|__mpi_", name, re.IGNORECASE)]
    for name in names:
        print(f"  missing: {name}; the program {'does not start' if name in at_start else 'ends when it calls it'}")
    return problems + len(names)


def main():
    if len(sys.argv) != 3 or sys.argv[2].startswith("-"):
        print("usage: ./verbena doctor mpi PROGRAM", file=sys.stderr)
        return 2
    build = pathlib.Path(sys.argv[1]).resolve()
    if not pathlib.Path(sys.argv[2]).is_file():
        print(f"{sys.argv[2]}: there is no such file; give the program's path", file=sys.stderr)
        return 2
    libraries, missing = ask_loader(build, sys.argv[2], ASK_ALL)
    if not libraries:
        print(f"{sys.argv[2]} is no program for the loader; write ./NAME, and name a script's interpreter", file=sys.stderr)
        return 2
    if FAMILIES.keys().isdisjoint(libraries):
        print("needs no MPI library by itself; modules that it loads later get those of Verbena under mpiexec")
        return 0
    # The loader looks for names of data at the start, and for all names of what was linked with BIND_NOW.
    _, at_start = ask_loader(build, sys.argv[2], ASK) if missing else (None, ())
    problems = describe(build, libraries, missing, at_start)
    print("it runs on Verbena under mpiexec" if problems == 0 else "not all that it needs is here")
    return 0 if problems == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
