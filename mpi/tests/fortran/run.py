#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fortran of the standard ABI: programs, names, mpifort, CMake, and the same programs on another library of that ABI.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

VERBENA_MPICH names the folder with PyPI's MPICH, VERBENA_MPICH_SOURCE that of Debian's source of MPICH, whose Fortran tests are run
(./verbena make mpi-fortran). VERBENA_FLANG names the folder with Debian's flang (./verbena make flang). --full: all tests.
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

ABOVE = {"cost_of_fortran": 55, "cost_of_f08": 90}
PROGRAMS = {"hello": ("hello.f",), "attributes": ("attributes.c", "rule.f90", "attributes.f90"),
            **{name: ("rule.f90", f"{name}.f90") for name in ("moves", "objects", "sections", "buffers", "calls")}}
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


def program(name):
    def test(build):
        with tempfile.TemporaryDirectory() as folder:
            made, text = compiled(build, name, folder)
            if made is None:
                return [text]
            problems = []
            for count in (1, 3):
                status, out, err = launch(build, "-n", count, made)
                problems += expect(status == 0, f"n={count}", status, out, err)
        return problems
    return Case(f"fortran {name}", test)


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


def named_by_modules(build):
    """The library has every procedure and variable that mpi_f08 names, so that no program links code of a module."""
    text = (build / "include/mpi_f08.f90").read_text() + (build / "include/mpi_f08_types.f90").read_text()
    bound = set(re.findall(r'NAME="(\w+)"', text))
    others = {f"{name.lower()}_" for name in re.findall(r"^(?:ELEMENTAL )?(?:SUBROUTINE|FUNCTION) (\w+)\(.*", text, re.MULTILINE)
              if re.match(r"P?MPI_\w+_f08$|vbnf_", name)}
    missing = (bound | others) - symbols(build / "lib/libmpifort_abi.so.1", "--defined-only")
    return expect(len(bound) > 500 and len(others) > 600 and not missing, len(bound), len(others), sorted(missing))


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


def flang(build):
    """LLVM's compiler: another one makes other descriptors, and no copies."""
    place = os.environ.get("VERBENA_FLANG")
    if not place:
        raise Skipped("no flang: ./verbena make flang fetches Debian's")
    llvm = pathlib.Path(place) / "usr/lib/llvm-19"
    libraries = f"{llvm}/lib:{pathlib.Path(place) / 'usr/lib/x86_64-linux-gnu'}"
    compiler = {**os.environ, "VERBENA_FC": str(llvm / "bin/flang-new"), "LD_LIBRARY_PATH": libraries}
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("moves", "objects", "buffers", "calls"):
            made = run(build / "bin/mpifort", f"-J{folder}", *PROGRAMS[name], "-o", f"{folder}/{name}", cwd=HERE, env=compiler)
            if made.returncode != 0:
                return [name, made.stderr]
            status, out, err = launch(build, "-n", 3, f"{folder}/{name}")
            problems += expect(status == 0, name, status, out, err)
    return problems


def cmake(build):
    """CMake's own module finds what was installed by its mpifort, which it looks for by older names, too."""
    need_compiler()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "CMakeLists.txt").write_text(PROJECT.format(here=HERE))
        installed = folder / "installed"
        for step in (("--install", build, "--component", "mpi", "--prefix", installed),
                     ("-S", folder, "-B", folder / "made", f"-DMPI_HOME={installed}"), ("--build", folder / "made")):
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
    alone = {**os.environ, "LD_LIBRARY_PATH": str(found[0].parent)}
    ours, problems = str(build / "lib/libmpifort_abi.so.1"), []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("moves", "sections", "buffers", "calls"):
            made, text = compiled(build, name, folder)
            if made is None:
                return [text]
            loaded = run("ldd", made, env=alone).stdout
            if f"libmpi_abi.so.1 => {found[0].parent}" not in loaded or ours not in loaded:
                return ["it does not load MPICH's library and our libmpifort_abi", loaded]
            result = run(made, env=alone)
            problems += expect(result.returncode == 0, name, result.stdout, result.stderr)
    return problems


def local(build):
    """Libraries that a program without Fortran loads one by one with RTLD_LOCAL: each has a common block of mpif.h of its own."""
    need_compiler()
    with tempfile.TemporaryDirectory() as folder:
        made = [run(build / "bin/mpicc", HERE / "local.c", "-o", f"{folder}/local", "-ldl"),
                run(build / "bin/mpifort", "-O2", "-fPIC", "-shared", HERE / "local.f90", "-o", f"{folder}/one.so")]
        if any(step.returncode != 0 for step in made):
            return [step.stderr for step in made]
        shutil.copy(f"{folder}/one.so", f"{folder}/two.so")
        status, out, err = launch(build, "-n", 2, f"{folder}/local", f"{folder}/one.so", f"{folder}/two.so")
    return expect(status == 0, status, out, err)


def missing(build):
    """mpifort names a compiler that is not there, and leaves nothing behind."""
    result = run(build / "bin/mpifort", "-show", env={**os.environ, "VERBENA_FC": "nofort"})
    left = [path.name for path in (build / "include").glob("nofort*")]
    return expect(result.returncode != 0 and "no compiler nofort" in result.stderr and "VERBENA_FC" in result.stderr and not left,
                  result.stdout, result.stderr, left)


OLD = """#!/bin/sh
case "$*" in *include/mpi_f08.f90*) echo "no such descriptors" >&2; exit 1 ;; esac
exec gfortran "$@"
"""


def old_compiler(build):
    """A compiler that cannot compile mpi_f08 still has mpif.h and the module mpi; mpifort says so once."""
    need_compiler()
    with tempfile.TemporaryDirectory() as folder:
        compiler = pathlib.Path(folder) / "oldfort"
        compiler.write_text(OLD)
        compiler.chmod(0o755)
        words = (build / "bin/mpifort", "-J", folder, *PROGRAMS["moves"], "-o", f"{folder}/moves")
        first, second = (run(*words, cwd=HERE, env={**os.environ, "VERBENA_FC": str(compiler)}) for _ in range(2))
        for left in (build / "include").glob("oldfort-*"):
            shutil.rmtree(left)
    return expect(first.returncode == 0 and "does not compile mpi_f08" in first.stderr and second.returncode == 0
                  and not second.stderr, first.stderr, second.stderr)


def counted(program, function):
    """Instructions of one round of cost.c; or what valgrind says."""
    text = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
               f"--toggle-collect={function}", program).stderr
    found = re.search(r"Collected : (\d+)", text)
    return (int(found.group(1)) / 1000, "") if found else (None, text)


def cost(build):
    """mpi_send_ and MPI_Send of mpi_f08 take at most ABOVE instructions more than MPI_Send of C."""
    need_compiler()
    if not shutil.which("valgrind"):
        raise Skipped("valgrind is not installed: apt install valgrind")
    if instrumented(build):
        raise Skipped("a build with sanitizers is not measured")
    with tempfile.TemporaryDirectory() as folder:
        made = run(build / "bin/mpicc", "-O2", "-c", HERE / "cost.c", "-o", f"{folder}/cost.o")
        linked = run(build / "bin/mpifort", "-O2", HERE / "cost.f90", f"{folder}/cost.o", "-o", f"{folder}/cost")
        if made.returncode != 0 or linked.returncode != 0:
            return [made.stderr, linked.stderr]
        counts = {name: counted(f"{folder}/cost", name) for name in ("cost_of_c", *ABOVE)}
    if any(number is None for number, _ in counts.values()):
        return [text for _, text in counts.values()]
    above = {name: counts[name][0] - counts["cost_of_c"][0] for name in ABOVE}
    for name, number in above.items():
        print(f"{name}: {number:.0f} instructions above MPI_Send, at most {ABOVE[name]}")
    return expect(all(0 < above[name] <= most for name, most in ABOVE.items()), above)


SINGLE = (names, named_by_modules, hidden, wrapper, missing, old_compiler, local, cmake, mpich, cost)
CASES = [program(name) for name in PROGRAMS] + [Case(f"fortran {test.__name__}", test) for test in SINGLE] + \
    [Case("fortran flang", flang, long=True)] + suite.CASES

if __name__ == "__main__":
    sys.exit(main(__doc__, CASES))
