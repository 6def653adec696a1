#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fortran of the standard ABI: programs, names, mpifort, CMake, and the same programs on another library of that ABI.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

VERBENA_MPICH names the folder with PyPI's MPICH, VERBENA_MPICH_SOURCE that of Debian's source of MPICH, whose Fortran tests are run
(./verbena make mpi-fortran). --full: all of these tests.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "run"), str(HERE.parents[1] / "gen")]
import suite  # noqa: E402  (needs the path above)
import tables  # noqa: E402
from cases import Case, main  # noqa: E402
from runner import LIMIT, Skipped, expect, instrumented, launch  # noqa: E402

ABOVE = 55
PROGRAMS = {"hello": ("hello.f",), "moves": ("rule.f90", "moves.f90"), "objects": ("rule.f90", "objects.f90")}
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
add_executable(hello {here}/hello.f)
add_executable(moves {here}/rule.f90 {here}/moves.f90)
foreach(program hello moves)
    target_link_libraries(${{program}} MPI::MPI_Fortran)
endforeach()
"""
FREE = """program free
include 'mpif.h'
integer code
call mpi_init(code)
if (MPI_STATUS_SIZE /= 8 .or. MPI_MAX_OBJECT_NAME /= 127) stop 2
call mpi_finalize(code)
end
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT, **options)


def need_compiler():
    if not shutil.which("gfortran"):
        raise Skipped("no gfortran: ./verbena make mpi-fortran installs it")


def compiled(build, name, folder, *options):
    """The program; None and what the compiler says."""
    need_compiler()
    program = pathlib.Path(folder) / name
    result = run(build / "bin/mpifort", "-O2", *options, "-J", folder, *PROGRAMS[name], "-o", program, cwd=HERE)
    return (program, "") if result.returncode == 0 else (None, result.stderr)


def program(name, count):
    def test(build):
        with tempfile.TemporaryDirectory() as folder:
            made, text = compiled(build, name, folder)
            if made is None:
                return [text]
            status, out, err = launch(build, "-n", count, made)
        return expect(status == 0, status, out, err)
    return Case(f"fortran {name} n={count}", test)


def symbols(library, *options):
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", *options, library).stdout.splitlines()}


def names(build):
    """The library asks for public names of the standard and of C's library alone, and has each function in four spellings."""
    library = build / "lib/libmpifort_abi.so.1"
    public = {prefix + name for one in tables.functions() for name, _ in one.forms() for prefix in ("MPI_", "PMPI_")}
    needed = {line.split()[-1] for line in run("nm", "-D", "--undefined-only", library).stdout.splitlines()}
    asked = {name for name in needed if "GLIBC" not in name and not name.startswith(("_ITM", "__gmon", "__cxa"))}
    has = symbols(library, "--defined-only")
    wanted = {f"{p}{name.lower()}{end}" for p, name in (("", "MPI_Send"), ("p", "MPI_Waitall"), ("", "MPI_Comm_dup_fn"))
              for end in ("", "_", "__")} | {"MPI_SEND", "PMPI_WAITALL", "vbnf_marks_"}
    loads = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library).stdout)
    return expect(asked <= public and wanted <= has and set(loads) <= {"libmpi_abi.so.1", "libc.so.6"},
                  sorted(asked - public), sorted(wanted - has), loads)


def hidden(build):
    """Each name is one of mpi_, pmpi_, vbnf_."""
    other = [name for name in symbols(build / "lib/libmpifort_abi.so.1", "--defined-only")
             if not name.lower().startswith(("mpi_", "pmpi_", "vbnf_"))]
    return expect(not other, sorted(other))


def wrapper(build):
    """What mpifort says, and what it does with free source form and with steps."""
    need_compiler()
    mpifort = build / "bin/mpifort"
    options = ("-show", "--showme:compile", "--showme:link", "--showme:libs")
    shown = {option: run(mpifort, option).stdout.split() for option in options}
    problems = expect("-lmpifort_abi" in shown["-show"] and f"-I{build}/include" in shown["--showme:compile"]
                      and f"-L{build}/lib" in shown["--showme:link"]
                      and shown["--showme:libs"] == ["mpifort_abi", "mpi_abi"], shown)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "free.f90"
        source.write_text(FREE)
        steps = [run(build / "bin/mpif90", "-c", source, "-o", f"{folder}/free.o"),
                 run(build / "bin/mpif77", f"{folder}/free.o", "-o", f"{folder}/free"), run(f"{folder}/free")]
        return problems + expect(all(step.returncode == 0 for step in steps), *(step.stderr for step in steps))


def cmake(build):
    """CMake's own module finds this build by its mpifort."""
    need_compiler()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "CMakeLists.txt").write_text(PROJECT.format(here=HERE))
        for step in (("-S", folder, "-B", folder / "made", f"-DMPI_HOME={build}"), ("--build", folder / "made")):
            result = run("cmake", *step)
            if result.returncode != 0:
                return [result.stdout, result.stderr]
        status, out, err = launch(build, "-n", 2, folder / "made/moves")
        return expect(status == 0, out, err)


def mpich(build):
    """A program with our modules runs on PyPI's MPICH, whose libmpi_abi LD_LIBRARY_PATH puts in place of ours."""
    place = os.environ.get("VERBENA_MPICH")
    found = sorted(pathlib.Path(place).rglob("libmpi_abi.so*")) if place else []
    if not found:
        raise Skipped("no libmpi_abi of PyPI's MPICH: ./verbena make mpi-fortran fetches it")
    with tempfile.TemporaryDirectory() as folder:
        made, text = compiled(build, "moves", folder)
        if made is None:
            return [text]
        alone = {**os.environ, "LD_LIBRARY_PATH": str(found[0].parent)}
        loaded = run("ldd", made, env=alone).stdout
        ours = str(build / "lib/libmpifort_abi.so.1")
        if f"libmpi_abi.so.1 => {found[0].parent}" not in loaded or ours not in loaded:
            return ["it does not load MPICH's library and our libmpifort_abi", loaded]
        result = run(made, env=alone)
        return expect(result.returncode == 0, result.stdout, result.stderr)


def cost(build):
    """mpi_send_ takes at most ABOVE instructions more than MPI_Send."""
    if not shutil.which("valgrind"):
        raise Skipped("valgrind is not installed: apt install valgrind")
    if instrumented(build):
        raise Skipped("a build with sanitizers is not measured")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        made = run(build / "bin/mpicc", "-O2", HERE / "cost.c", "-o", f"{folder}/cost", "-lmpifort_abi")
        for function in ("cost_of_c", "cost_of_fortran"):
            text = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                       f"--toggle-collect={function}", f"{folder}/cost").stderr if made.returncode == 0 else made.stderr
            found = re.search(r"Collected : (\d+)", text)
            if not found:
                return [text]
            counts.append(int(found.group(1)) / 1000)  # the rounds of cost.c
    above = counts[1] - counts[0]
    print(f"mpi_send_: {above:.0f} instructions above MPI_Send, at most {ABOVE}")
    return expect(0 < above <= ABOVE, counts)


CASES = [program(*row) for row in (("hello", 1), ("hello", 3), ("moves", 1), ("moves", 3), ("objects", 1), ("objects", 3))] + \
    [Case(f"fortran {test.__name__}", test) for test in (names, hidden, wrapper, cmake, mpich, cost)] + suite.CASES

if __name__ == "__main__":
    sys.exit(main(__doc__, CASES))
