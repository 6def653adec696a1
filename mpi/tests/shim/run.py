#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the test programs of ../run with the headers of another family and against its library, as that family's mpicc does,
and runs them unchanged on ours.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

VERBENA_OPENMPI and VERBENA_MPICH name folders with Debian's packages of Open MPI and MPICH, unpacked (./verbena make mpi-families).
VERBENA_MPICH_SOURCE names MPICH's source, whose tests of mpif.h run with its own mpif.h, too (./verbena make mpi-fortran).
--full: all programs; without it a part of them, which uses every kind of argument.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "mpi/tests/run"
sys.path[:0] = [str(PROGRAMS), str(ROOT / "mpi/tests/shim"), str(ROOT / "mpi/tests/fortran")]
import packages  # noqa: E402
import scalapack  # noqa: E402
import suite  # noqa: E402
import values  # noqa: E402  (needs the path above)
from cases import Case, main  # noqa: E402
from costs import COUNTER  # noqa: E402
from runner import LIMIT, Skipped, expect, instrumented, launch  # noqa: E402

# Need functions or constants that Debian's mpi.h of the family does not have. MPI 5 and the standard ABI; MPI 4, too.
NEWEST = {"always", "buffers", "error_codes", "fortran", "info", "inspect", "integers", "limit", "nobody", "own_core", "sessions",
          "types_contents", "unsupported", "win_objects", "world"}
OWN_TEXTS = {"arguments"} # they look for a tag in an error's text, which is not that of the program in each ABI
SESSIONS = {path.stem for path in PROGRAMS.glob("*.c") if '#include "session.h"' in path.read_text(encoding="utf-8")}
NEWER = SESSIONS | {"always", "arguments", "buffers", "call_tags", "chars", "deleted", "error_codes", "forms", "fortran",
                    "from_groups", "idup", "info", "inspect", "integers", "isendrecv", "kept", "late", "limit", "neighbors",
                    "nobody", "nowhere", "outside", "own_core", "reduce_scatters", "scans", "types_contents", "types_holes",
                    "types_move", "unsupported", "win_accumulates", "win_objects", "win_units", "world"}
# With every kind of argument: handles, statuses, arrays, callbacks, attributes, constants, contents of datatypes, windows.
SHORT = ("any_source", "attributes", "buffered", "cancel", "cart", "freed_comm", "graphs", "grequest", "groups", "handler",
         "intercomm", "many", "outstanding", "own", "pack", "persistent", "probe", "split", "status_error", "threads",
         "types_attributes", "user_op", "waits", "win_epochs", "win_locks", "win_moves")


@dataclasses.dataclass(frozen=True)
class Family:
    """name: its folder in lib/. title: of the library. variable: the folder of Debian's packages, and + _PYPI, that of PyPI's."""
    name: str
    title: str
    variable: str
    library: str
    newer: set
    fortran: tuple  # its Fortran library, and the names by which programs link it

    def packages(self):
        folder = os.environ.get(self.variable)
        if not folder:
            raise Skipped(f"no packages of {self.title}: ./verbena make mpi-families fetches Debian's")
        return pathlib.Path(folder)


FAMILIES = (Family("ompi", "Open MPI", "VERBENA_OPENMPI", "libmpi.so.40", NEWER,
                   ("libmpi_mpifh.so.40", "mpi_usempif08", "mpi_usempi_ignore_tkr", "mpi_mpifh", "mpi")),
            Family("mpich", "MPICH", "VERBENA_MPICH", "libmpi.so.12", NEWEST, ("libmpifort.so.12", "mpichfort", "mpich")))


def compiled(family, source, folder):
    """The program, linked with the library of the family; None: its text, where the compiler refuses it."""
    header, library = values.find(family.packages(), "mpi.h", "include"), values.find_library(family.packages(), family.name)
    program = pathlib.Path(folder) / source.stem
    command = ["cc", "-O1", "-Werror=implicit-function-declaration", "-I", header.parent, "-I", PROGRAMS, "-I",
               ROOT / "native-core/tests", source, "-o", program, library, "-Wl,--allow-shlib-undefined",
               "-lpthread", "-lm", "-ldl"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    return (program, "") if result.returncode == 0 else (None, result.stderr)


def run_program(family, source, count, build):
    with tempfile.TemporaryDirectory() as folder:
        program, text = compiled(family, source, folder)
        if program is None:
            return [f"{source.name} does not compile", *text.splitlines()[:12]]
        status, out, err = launch(build, "-n", count, program)
    return [] if status == 0 else [f"status {status}", *(out + err).splitlines()[-12:]]


def newer(family):
    """The programs that are left out do not compile with that header."""
    family.packages()
    with tempfile.TemporaryDirectory() as folder:
        return [f"{name} compiles: take it from the list" for name in sorted(family.newer)
                if compiled(family, PROGRAMS / f"{name}.c", folder)[0]]


SILENT_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL)  # comments and literals


def all_listed(family):
    """A program that uses a name which the family's mpi.h lacks is in the list of those that are left out."""
    folder = values.find(family.packages(), "mpi.h", "include").parent
    header = set(re.findall(r"\bMPI_\w+", "".join(path.read_text(errors="replace") for path in folder.glob("mpi*.h"))))
    problems = []
    for source in sorted(PROGRAMS.glob("*.c")):
        lacks = set(re.findall(r"\bMPI_\w+\b(?!##)", SILENT_TEXT.sub("", source.read_text(encoding="utf-8")))) - header
        if ranks_of(source) and lacks and source.stem not in family.newer | OWN_TEXTS:
            problems.append(f"{source.name} uses {', '.join(sorted(lacks))}: add it to the list for {family.title}")
    return problems


def values_agree(family, build):
    """families.yaml says what the headers of Debian's and PyPI's packages say, and our library has all of their names."""
    newest = os.environ.get(f"{family.variable}_PYPI")
    if not newest:
        raise Skipped(f"pip did not download {family.title} from PyPI: look at the network, then run ./verbena make mpi-families")
    library = build / "lib" / family.name / family.library
    return values.check(family.name, values.exported(library), [family.packages(), pathlib.Path(newest)])


def fortran_names(family, build):
    """Each name of Debian's Fortran libraries is in ours."""
    return values.fortran_names(family.name, values.exported(build / "lib" / family.name / family.fortran[0]), family.packages())


def cxx_names(family, build):
    """Debian's library of C++ bindings finds all that it needs: programs that C++ has compiled load it."""
    return values.cxx_names(family.name, values.exported(build / "lib" / family.name / family.library), family.packages())


def fortran_command(family, *sources):
    """As the family's mpifort compiles; its modules serve gfortran 8 to 14."""
    compiler = shutil.which("gfortran")
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout if compiler else "0"
    if not 8 <= int(version.partition(".")[0]) <= 14:
        raise Skipped("no gfortran 8 to 14, for which Debian's modules are: ./verbena make mpi-fortran installs one")
    modules = [values.find(family.packages(), name, inside).parent for name, inside in
               (("mpi_f08.mod", "gfortran-mod-15"), ("mpif.h", "include"))]
    libraries = [values.find(family.packages(), f"lib{name}.so").parent for name in family.fortran[1:]]  # Open MPI's in two folders
    return [compiler, "-w", "-fallow-argument-mismatch", *(f"-I{folder}" for folder in modules), *sources,
            *(f"-L{folder}" for folder in dict.fromkeys(libraries)), *(f"-l{name}" for name in family.fortran[1:]),
            "-Wl,--allow-shlib-undefined"]


def fortran(family, build):
    """A program that was compiled with the family's mpi_f08 runs on ours."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([*fortran_command(family, ROOT / "mpi/tests/shim/families.f90"), "-J", folder, "-o",
                               f"{folder}/program"], capture_output=True, text=True, timeout=LIMIT, check=False)
        if made.returncode != 0:
            return made.stderr.splitlines()[:12]
        results = [launch(build, "-n", count, f"{folder}/program", count) for count in (1, 3)]
    return [line for status, out, err in results for line in expect(status == 0, status, out, err)]


def mpich_suite(family, build, language):
    """MPICH's tests of Fortran, compiled with the mpif.h or the modules of the family."""
    return suite.run_suite(build, language, True, lambda words: fortran_command(family, *words),
                           suite.NOT_IN_OPENMPI if family.name == "ompi" else ())


TOOL = ROOT / "mpi/tests/tool"


def counted_by_tool(family, build, command, folder):
    """What a profiling library in LD_PRELOAD, compiled with the family's mpi.h, says of a program of C or Fortran."""
    header = values.find(family.packages(), "mpi.h", "include").parent
    names = ["-DFORTRAN_NAMES"] if family.name == "ompi" else []
    for step in (["cc", "-shared", "-fPIC", *names, f"-I{header}", TOOL / "tool.c", "-o", f"{folder}/tool.so"],
                 [*command, "-o", f"{folder}/program"]):
        made = subprocess.run(step, capture_output=True, text=True, timeout=LIMIT, check=False)
        if made.returncode != 0:
            return made.stderr.splitlines()[:12]
    status, out, err = launch(build, "-n", 2, "-env", "LD_PRELOAD", f"{folder}/tool.so", f"{folder}/program")
    said = [f"tool: rank {rank} has sent 3" for rank in (0, 1)]
    return expect(status == 0 and sorted(out.splitlines()) == said, status, out, err)


def tool(family, build):
    """A tool sees each call once, of C and of Fortran."""
    header, library = values.find(family.packages(), "mpi.h", "include"), values.find_library(family.packages(), family.name)
    with tempfile.TemporaryDirectory() as folder:
        problems = counted_by_tool(family, build, ["cc", f"-I{header.parent}", TOOL / "sends.c", library,
                                                   "-Wl,--allow-shlib-undefined"], folder)
        return problems + counted_by_tool(family, build, fortran_command(family, TOOL / "sends.f"), folder)


def compile_text(text, *words):
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", *words], input=text, text=True, check=True, timeout=LIMIT)


def asked_doctor(build, program):
    return subprocess.run([sys.executable, ROOT / "mpi/launch/doctor.py", build, program], capture_output=True, text=True,
                          timeout=LIMIT, check=False)


# Of a library that is not ours: its absent name is a function, or a variable.
LIBRARY = "int MPI_Init(void){return 0;} int MPI_Absent(void){return 0;} int MPI_ABSENT_DATA; char ompi_absent[512];"
CALLS = "int MPI_Init(void), MPI_Absent(void); int main(void) { return MPI_Init() + MPI_Absent(); }"
READS = "extern int MPI_ABSENT_DATA; int MPI_Init(void); int main(void) { return MPI_Init() + MPI_ABSENT_DATA; }"


def doctor(family, build):
    """It finds our library for a program, whatever way the program looks for its own one, and names that are not there."""
    with tempfile.TemporaryDirectory() as folder:
        library, program, problems = pathlib.Path(folder) / family.library, pathlib.Path(folder) / "program", []
        compile_text(LIBRARY, "-shared", f"-Wl,-soname,{family.library}", "-o", library)
        for flag in ("-Wl,-z,lazy", f"-Wl,--enable-new-dtags,-z,lazy,-rpath,{folder}",
                     f"-Wl,--disable-new-dtags,-z,lazy,-rpath,{folder}"):
            compile_text(CALLS, library, flag, "-o", program)
            result = asked_doctor(build, program)
            problems += expect(result.returncode == 1 and f"/lib/{family.name}/{family.library} (Verbena)" in result.stdout
                               and f"needs {family.library}: {family.title}\n" in result.stdout
                               and re.findall(r"missing: (.*)", result.stdout) == ["MPI_Absent; the program ends when it calls it"],
                               flag, result.stdout, result.stderr)
        return problems


def starts_as_doctor_says(family, build):
    """A program that lacks a name starts or not: as doctor says."""
    with tempfile.TemporaryDirectory() as folder:
        library, program, problems = pathlib.Path(folder) / family.library, pathlib.Path(folder) / "program", []
        compile_text(LIBRARY, "-shared", f"-Wl,-soname,{family.library}", "-o", library)
        for text, flag, name in ((CALLS, "-Wl,-z,now", "MPI_Absent"), (READS, "-Wl,-z,lazy", "MPI_ABSENT_DATA")):
            compile_text(text, library, flag, "-o", program)
            said = asked_doctor(build, program)
            status, _, err = launch(build, "-n", 1, program)
            problems += expect(said.returncode == 1 and f"missing: {name}; the program does not start\n" in said.stdout
                               and status == 127 and name in err, flag, said.stdout, said.stderr, status, err)
        return problems


FORTRAN_CALLS = "void mpi_init_(int *); int main(void) { int code; mpi_init_(&code); return code; }"


def fortran_rpath(family, build):
    """A program of Fortran alone, whose DT_RPATH names libraries of its own, gets ours."""
    with tempfile.TemporaryDirectory() as folder:
        name = values.FORTRAN_LIBRARIES[family.name][0]
        library, program = pathlib.Path(folder) / name, pathlib.Path(folder) / "program"
        compile_text("void mpi_init_(int *code){*code = 7;}", "-shared", f"-Wl,-soname,{name}", "-o", library)
        compile_text(FORTRAN_CALLS, library, f"-Wl,--disable-new-dtags,-rpath,{folder}", "-o", program)
        alone = subprocess.run([program], timeout=LIMIT, check=False).returncode
        status, out, err = launch(build, "-n", 2, program)
        said = asked_doctor(build, program)
        return expect(alone == 7 and status == 0 and said.returncode == 0 and f"needs {name}: {family.title}\n" in said.stdout,
                      alone, status, out, err, said.stdout)


LOADS = """#include <dlfcn.h>
int main(int argc, char **argv) {
    void *module = dlopen(argv[argc - 1], RTLD_NOW);
    return module == 0 ? 1 : ((int (*)(void))dlsym(module, "start"))();
}"""


def module_rpath(family, build):
    """A module whose DT_RPATH names a library of its own, as those of conda do, gets ours where LD_PRELOAD names it."""
    with tempfile.TemporaryDirectory() as folder:
        library, module, program = (pathlib.Path(folder) / name for name in (family.library, "module.so", "program"))
        compile_text("int MPI_Init(void *count, void *words){return 7;}", "-shared", "-fPIC", f"-Wl,-soname,{family.library}", "-o",
                     library)
        compile_text("int MPI_Init(void *, void *); int start(void) { return MPI_Init(0, 0); }", "-shared", "-fPIC", library,
                     f"-Wl,--disable-new-dtags,-rpath,{folder}", "-o", module)
        compile_text(LOADS, "-ldl", "-o", program)
        own, _, _ = launch(build, "-n", 1, program, module)
        ours = build / "lib" / family.name / family.library
        status, out, err = launch(build, "-n", 1, "-env", "LD_PRELOAD", ours, program, module)
        return expect(own == 7 and status != 7 and "MPI_Finalize" in err, own, status, out, err)


# Instructions that a library may add to a call of cost.c: of Open MPI, of MPICH. They may fall, not rise.
COSTS = {"rank": (18, 36), "size": (18, 36), "probe": (45, 66), "message of three calls": (145, 260),
         "waitall of 64": (3600, 5100)}


def instructions(build, program, call):
    """Of one call, on the average; None: the run failed."""
    status, out, err = launch(build, "-n", 1, *COUNTER, program, call, environment={"VBN_PROTO_COST_FILE": "none"})
    count, calls = re.search(r"Collected : (\d+)", err), re.search(r"calls (\d+)", out)
    return int(count.group(1)) / int(calls.group(1)) if status == 0 and count and calls else None


def costs_more(family, build):
    """The instructions that conversion takes, beside the same program of the standard ABI."""
    if shutil.which("valgrind") is None:
        raise Skipped("valgrind is not installed: apt install valgrind")
    if instrumented(build):
        raise Skipped("a build with sanitizers is not measured")
    source, problems = ROOT / "mpi/tests/shim/cost.c", []
    with tempfile.TemporaryDirectory() as folder:
        standard, (program, text) = pathlib.Path(folder) / "standard", compiled(family, source, folder)
        subprocess.run([build / "bin/mpicc", "-O1", source, "-o", standard], check=True, timeout=LIMIT)
        for call, budgets in COSTS.items():
            counts = [instructions(build, one, call[0]) for one in (standard, program)]
            more, budget = None if None in counts else counts[1] - counts[0], budgets[FAMILIES.index(family)]
            print(f"{family.name} {call}: {counts} instructions, {more} more, at most {budget}")
            problems += expect(more is not None and 0 < more <= budget, f"{call}: {counts}, at most {budget} more", text)
    return problems


def ranks_of(source):
    found = re.search(r"^ \* ranks: ([\d ]+)", source.read_text(), re.MULTILINE)
    return [int(word) for word in found.group(1).split()] if found else []


def programs(family):
    for source in sorted([*PROGRAMS.glob("*.c"), *(ROOT / "mpi/tests/shim").glob("*.c")]):
        if source.stem not in family.newer | OWN_TEXTS:
            few = [count for count in ranks_of(source) if count <= 8]
            for count in few:
                yield Case(f"{family.name} {source.stem} n={count}", lambda build, source=source, count=count:
                           run_program(family, source, count, build), long=source.stem not in SHORT or count != few[-1])


def cases(family):
    yield Case(f"{family.name} values", lambda build: values_agree(family, build))
    yield Case(f"{family.name} names for C++", lambda build: cxx_names(family, build))
    yield Case(f"{family.name} fortran names", lambda build: fortran_names(family, build))
    yield Case(f"{family.name} fortran", lambda build: fortran(family, build))
    for language in suite.LEAST if family.name == "mpich" else ("f77",):
        yield Case(f"{family.name} suite {language}", lambda build, language=language: mpich_suite(family, build, language),
                   long=True)
    yield Case(f"{family.name} costs", lambda build: costs_more(family, build), long=True)
    for test in (tool, doctor, starts_as_doctor_says, fortran_rpath, module_rpath):
        yield Case(f"{family.name} {test.__name__}", lambda build, test=test: test(family, build))
    yield Case(f"{family.name} scalapack", lambda build: scalapack.test(family.name, build), long=True)
    yield from programs(family)
    yield Case(f"{family.name} programs that are left out", lambda _: all_listed(family))
    yield Case(f"{family.name} programs of newer standards", lambda _: newer(family), long=True)


PACKAGES = [Case(f"package {one.name} {one.family}", lambda build, one=one: packages.test(one, build), long=not one.short)
            for one in packages.PACKAGES]

if __name__ == "__main__":
    sys.exit(main(__doc__, [case for family in FAMILIES for case in cases(family)] + PACKAGES))
