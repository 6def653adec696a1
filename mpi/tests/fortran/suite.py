# SPDX-License-Identifier: Apache-2.0
"""MPICH's own tests of mpif.h (f77), of the modules mpi (f90) and mpi_f08 (f08), of Debian's source package: compiled by mpifort,
run on ours. A program prints 'No Errors' when it passes."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from cases import Case
from runner import LIMIT, Skipped, launch

# The folders that are run; io, spawn: not written in C; ext: MPI_Comm_f2c and its like; profile: MPICH's own build of it.
FOLDERS = ("attr", "coll", "comm", "datatype", "info", "init", "misc", "pt2pt", "rma", "subarray", "timer", "topo")
OLD, F2C = "functions or constants that MPI 3.0 has deleted", "MPI_Comm_f2c and its like, which the standard ABI does not have"
STATE = "expects its variable to be the extra state of a general request, which is a copy"
VERSION, SCALARS = "refuses version 5 of the standard", "gives scalars where the interface has arrays"
# Not run, and why.
EXCLUDED = {"datatype/allctypesf": OLD, "datatype/allctypesf90": OLD, "datatype/get_elem_u": OLD, "datatype/hindex1f": OLD,
            "datatype/hindex1f90": OLD, "datatype/typecntsf": OLD, "datatype/bottom": "needs MPICH's configure",
            "init/baseenvf": VERSION, "init/baseenvf90": VERSION, "rma/aintf": "declares MPI_AINT_ADD a second time",
            "pt2pt/greqf": STATE, "pt2pt/greqf90": STATE, "pt2pt/greqf08": STATE,
            "datatype/allctypesf08": OLD, "rma/c2f2cwinf08": F2C, "attr/attrlangf08": F2C, "attr/fandcattrf08": F2C,
            "rma/c2f2cwinf": F2C, "rma/c2f2cwinf90": F2C, "attr/attrlangf90": F2C, "attr/fandcattrf90": F2C,
            **{f"coll/{name}f90": SCALARS for name in ("alltoallv", "nonblocking_inp", "split_type", "vw_inplace")}}
LEAST = {"f77": 60, "f90": 60, "f08": 90}  # programs that the source has
NOT_IN_OPENMPI = {"info/infocrenvf", "info/infogetstrf"}  # functions of MPI 4, which Open MPI 4.1 does not have
USUAL = ("pt2pt/statusesf", "pt2pt/mprobef", "coll/inplacef", "coll/alltoallwf", "attr/commattr2f", "topo/cartcrf", "rma/winaccf",
         "subarray/test5", "subarray/test13", "subarray/test15")


def source_folder():
    folder = os.environ.get("VERBENA_MPICH_SOURCE")
    if not folder:
        raise Skipped("no source of MPICH: ./verbena make mpi-fortran fetches Debian's")
    if not shutil.which("gfortran"):
        raise Skipped("no gfortran: ./verbena make mpi-fortran installs it")
    return next(pathlib.Path(folder).glob("*/test/mpi"))


def listed(root, language):
    """(name, ranks) of each test that is run."""
    for folder in FOLDERS:
        lines = {line for path in (root / language / folder).glob("testlist*") for line in path.read_text().splitlines()}
        for line in sorted(lines):
            found = re.match(r"(\w+)\s+(\d+)\s*$", line)
            name = f"{folder}/{found.group(1)}" if found else ""
            if found and name not in EXCLUDED:
                yield name, int(found.group(2))


def prepared(root, language, to):
    """A copy of the sources with their headers, which MPICH's configure writes otherwise."""
    shutil.copytree(root / language, to)
    for header in to.rglob("*.h.in"):
        header.with_suffix("").write_text(re.sub(r"@\w+@", "integer*8", header.read_text()))


def mpifort(build):
    return lambda words: [build / "bin/mpifort", "-fallow-argument-mismatch", "-w", *words]


def test_of(build, root, language, copy, compiler, name, ranks):
    """What is wrong with one test. compiler: makes the command of options and sources."""
    folder, program = copy / name.partition("/")[0], name.partition("/")[2]
    end = ".f" if language == "f77" else ".f90"
    used = [program, *(path.stem for path in folder.glob("utilsf*"))]
    made = folder / f"{program}.run"
    command = compiler(["-I", folder, "-I", copy / "attr", "-J", folder, *(folder / f"{one}{end}" for one in used),
                        root / f"util/mtest_{language}{end}", "-o", made])
    compiled = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if compiled.returncode != 0:
        return [f"{language}/{name} does not compile", *compiled.stderr.splitlines()[:6]]
    status, out, err = launch(build, "-n", ranks, made)
    return [] if status == 0 and "No Errors" in out else [f"{language}/{name}: status {status}", *(out + err).splitlines()[:6]]


def run_suite(build, language, whole, compiler, left_out=()):
    root = source_folder()
    chosen = [row for row in listed(root, language)
              if row[0] not in left_out and (whole or re.sub(r"f(90|08)$", "f", row[0]) in USUAL)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        copy = pathlib.Path(folder) / language
        prepared(root, language, copy)
        results = list(pool.map(lambda row: test_of(build, root, language, copy, compiler, *row), chosen))
    print(f"MPICH's {language}: {len(results)} programs")
    few = [] if len(results) >= (LEAST[language] if whole else 7) else [f"only {len(results)} tests were found in {root}"]
    return few + [line for lines in results for line in lines]


def suite(language, whole):
    def test(build):
        return run_suite(build, language, whole, mpifort(build))
    return Case(f"fortran suite {language} {'whole' if whole else 'part'}", test, long=whole)


CASES = [suite(language, whole) for language in LEAST for whole in (False, True)]
