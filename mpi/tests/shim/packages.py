# SPDX-License-Identifier: Apache-2.0
"""Debian's programs, unpacked and not installed, on our libraries and on their own: the numbers that they print are equal.

VERBENA_PACKAGES names the folder with LAMMPS and MUMPS, VERBENA_PROGRAMS that with all others (./verbena make mpi-packages and
mpi-programs), VERBENA_OPENMPI and VERBENA_MPICH those with headers (mpi-families). The launchers of Debian's Open MPI and MPICH run
the programs on their own library. A row of the table is printed for each: program, family, numbers, wall time beside its own
library. Times are shown and not judged; table.py compares them.
"""
import dataclasses
import functools
import math
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import tempfile
import time

import values
from runner import LIMIT, Skipped, launch

INPUTS = pathlib.Path(__file__).resolve().parents[1] / "packages"
NUMBER = r"(-?\d+\.?\d*(?:[EeDd][-+]?\d+)?)"
CLOSE = 1e-8  # sums of ranks may be added in another order
# The launcher of each family, with settings that keep its sockets on this host.
STOCK = {"ompi": ("mpirun.openmpi", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                     "OMPI_MCA_btl": "self,vader", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                                     "OMPI_MCA_oob_tcp_if_include": "lo"}),
         "mpich": ("mpiexec.mpich", {"HYDRA_IFACE": "lo"})}


@dataclasses.dataclass(frozen=True)
class Package:
    """program: the end of its path in the packages, or a source of INPUTS, which is compiled with `libraries`. what: is compared.
    result: what precedes each number of the output. files: of the packages or of INPUTS, copied (folders: linked) to where the
    program runs. before: a command that runs there first, without ranks. own: it also runs on its own library. refused: it needs
    a function that is not written; its output then has this text."""
    name: str
    program: str
    words: tuple
    what: str
    result: tuple
    family: str = "ompi"
    ranks: int = 2
    files: tuple = ()
    stdin: str = ""
    output: str = ""
    short: bool = False
    own: bool = True
    libraries: tuple = ()
    before: tuple = ()
    refused: str = ""


FILES = "MPI_File_open is not written yet in this version of Verbena"

PACKAGES = (
    Package("LAMMPS", "lmp", ("-in", "lammps.in"), "temperature, energies",
            (r"\n +100 +", r"\n +100 +\S+ +", r"\n +100 +\S+ +\S+ +\S+ +"), short=True, files=("lammps.in",)),
    Package("MUMPS", "dsimpletest", (), "solution, operations", (r"Solution is +", r"Solution is +\S+ +", r"RINFOG\(1\)[^=]*= *"),
            ranks=3, short=True, stdin="input_simpletest_real", files=("input_simpletest_real",)),
    Package("MUMPS, complex", "zsimpletest", (), "solution, operations", (r"Solution is +\(", r"RINFOG\(1\)[^=]*= *"), ranks=3,
            stdin="input_simpletest_cmplx", files=("input_simpletest_cmplx",)),
    Package("Quantum ESPRESSO, `pw.x`", "pw.x", ("-in", "espresso.in"), "total energy", (r"! +total energy += +",),
            files=("espresso.in", "Si.pz-vbc.UPF")),
    Package("ABINIT", "abinit", ("abinit.abi",), "total energy", (r"\n *etotal +",), files=("abinit.abi", "01h.pspgth"),
            output="abinit.abo"),
    Package("CP2K", "cp2k.psmp", ("-i", "cp2k.inp"), "total energy", (r"ENERGY\| Total FORCE_EVAL[^:]*: +",),
            files=("cp2k.inp", "cp2k/BASIS_SET", "cp2k/GTH_POTENTIALS")),
    Package("NWChem", "nwchem.openmpi", ("nwchem.nw",), "total energy", (r"Total SCF energy = +",),
            files=("nwchem.nw", "nwchem/libraries")),
    Package("PETSc with hypre and MUMPS", "python3", ("petsc.py",), "sums of four solutions",
            (r"sums ", r"sums \S+ ", r"sums \S+ \S+ ", r"sums \S+ \S+ \S+ "), files=("petsc.py",)),
    Package("IQ-TREE", "iqtree2-mpi", ("-s", "tree.phy", "-m", "JC", "-seed", "1", "-nt", "1"), "likelihood",
            (r"BEST SCORE FOUND : ",)),
    Package("mpi4py 3.1.4", "python3", ("python.py",), "objects, sums, a window", (r"result ", r"result \d+ ", r"result \d+ \S+ "),
            ranks=3, files=("python.py",)),
    Package("NetPIPE", "NPopenmpi", ("-u", "1024", "-n", "10"), "sizes and repeats", (r"\n *45: +", r"\n *45: +\d+ bytes +")),
    Package("NetPIPE", "NPmpich2", ("-u", "1024", "-n", "10"), "sizes and repeats", (r"\n *45: +", r"\n *45: +\d+ bytes +"),
            family="mpich"),
    Package("HPC Challenge", "hpcc", (), "residuals, errors of FFT and updates",
            (r"\|\|Ax-b\|\|_oo/\(eps[^=]*= +", r"\nMPIFFT_maxErr=", r"\nPTRANS_residual=", r"\nMPIRandomAccess_Errors=",
             r"\nSuccess="), files=("hpccinf.txt",), output="hpccoutf.txt"),
    Package("a program on Boost.MPI", "boost.cc", (), "objects, operations of its own",
            (r"result ", r"result \S+ ", r"result \S+ \d+ ", r"result \S+ \d+ \d+ ", r"result \S+ \d+ \d+ \d+ "), ranks=3,
            libraries=("libboost_mpi.so", "libboost_serialization.so")),
    Package("a program on FFTW", "fftw.c", (), "sums of coefficients, there and back", (r"sums ", r"sums \S+ ", r"off "), ranks=3,
            libraries=("libfftw3_mpi.so", "libfftw3.so", "libm.so")),
    Package("GROMACS", "gmx_mpi", (*"mdrun -s water.tpr -ntomp 1 -notunepme -dlb no -reprod -pin off".split(),), "energies",
            (r"LJ \(SR\)[^\n]*\n +", r"LJ \(SR\)[^\n]*\n +\S+ +", r"Total Energy[^\n]*\n +", r"Total Energy[^\n]*\n +\S+ +"),
            before=(*"gmx grompp -f gromacs.mdp -c spc216.gro -p gromacs.top -o water.tpr".split(),),
            files=("gromacs.mdp", "gromacs.top", "spc216.gro"), output="md.log"),
    Package("R with Rmpi", "exec/R", ("--no-echo", "--vanilla", "-f", "rmpi.R"), "vectors, objects, requests",
            (r"result ", r"result \S+ ", r"result \S+ \d+ "), ranks=3, files=("rmpi.R",)),
    Package("h5py", "python3", ("rows.py",), "rows of a file", (r"result ",), files=("rows.py",), refused=FILES),
    Package("a program on HDF5", "hdf5.c", (), "rows of a file", (r"result ",), libraries=("libhdf5_openmpi.so",), refused=FILES),
    Package("a program on HDF5", "hdf5.c", (), "rows of a file", (r"result ",), family="mpich", libraries=("libhdf5_mpich.so",),
            refused=FILES),
    Package("a coarray program on OpenCoarrays", "coarrays.f90", (), "its own checks", (r"total +",), ranks=4, own=False,
            libraries=("libcaf_openmpi.so.3",)),
)  # the last one: Debian's Open MPI has no window for it here


def root_of(package):
    variable = "VERBENA_PACKAGES" if package.short else "VERBENA_PROGRAMS"
    folder = os.environ.get(variable)
    if not folder:
        raise Skipped(f"no packages: ./verbena make {'mpi-packages' if package.short else 'mpi-programs'} fetches Debian's")
    return pathlib.Path(folder)


@functools.cache
def all_of(root):
    return sorted(root.rglob("*"))


def find_all(root, pattern):
    return [path for path in all_of(root) if path.match(pattern)]


def find(root, name):
    return next(iter(find_all(root, name)), None)


def r_home(root):
    """R looks for all that it needs below this folder."""
    program = find(root, "bin/exec/R")
    return program.parents[2] if program else pathlib.Path("/usr/lib/R")


@functools.cache
def environment_of(root):
    folders = sorted({str(path.parent) for path in find_all(root, "*.so*") if "openmpi3" not in path.parts})
    modules = sorted({str(path.parents[1]) for name in ("mpi4py", "petsc4py", "h5py")
                      for path in find_all(root, f"{name}/__init__.py")})
    home = r_home(root)
    return {"LD_LIBRARY_PATH": ":".join([*folders, str(home / "lib")]), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            "NWCHEM_BASIS_LIBRARY": "libraries/", "ESPRESSO_PSEUDO": ".", "CP2K_DATA_DIR": ".",
            "GMXLIB": str(root / "usr/share/gromacs/top"), "EDITOR": "vi", "R_HOME": str(home),
            "R_LIBS": str(root / "usr/lib/R/site-library"), **({"PYTHONPATH": ":".join(modules)} if modules else {})}


def write_alignment(path):
    """Sequences with a common history, for IQ-TREE."""
    chance = random.Random(7)
    rows = [[chance.choice("ACGT") for _ in range(400)]]
    while len(rows) < 12:
        rows.append([one if chance.random() > 0.07 else chance.choice("ACGT") for one in chance.choice(rows)])
    path.write_text("12 400\n" + "".join(f"s{at:<9}{''.join(row)}\n" for at, row in enumerate(rows)))


def find_program(root, name):
    """Of the packages, else of the system: Debian's own Python has the modules that those of the packages need."""
    found = (path for path in find_all(root, name) if path.is_file() and os.access(path, os.X_OK))
    return next(found, None) or shutil.which(name, path=os.defpath) or shutil.which(name) or f"/usr/lib/R/bin/{name}"


COMPILERS = {".f90": ("gfortran", "-fcoarray=lib"), ".cc": ("c++", "-O1"), ".c": ("cc", "-O1")}


def find_library(root, name):
    """By its path: the folders of the packages have other libraries of MPI, too. A system that has it lets the linker look."""
    return find(root, name) or f"-l:{name}"


def compiled(package, root, work):
    """With the headers of the family, and of the packages."""
    source, program = INPUTS / package.program, work / pathlib.Path(package.program).stem
    compiler, *options = COMPILERS[source.suffix]
    if not shutil.which(compiler):
        raise Skipped(f"no {compiler}: ./verbena make mpi-fortran installs gfortran, ./verbena packages names all others")
    title, variable = {"ompi": ("openmpi", "VERBENA_OPENMPI"), "mpich": ("mpich", "VERBENA_MPICH")}[package.family]
    if not os.environ.get(variable):
        raise Skipped("no headers of MPI: ./verbena make mpi-families fetches Debian's")
    family = pathlib.Path(os.environ[variable])
    headers = [values.find(family, "mpi.h", "include").parent, root / "usr/include", root / f"usr/include/hdf5/{title}"]
    subprocess.run([compiler, *options, *(f"-I{folder}" for folder in headers), source, "-o", program,
                    *(find_library(root, name) for name in package.libraries), values.find_library(family, package.family),
                    "-Wl,--allow-shlib-undefined"], check=True, timeout=LIMIT)
    return program


def prepare(package, root, work):
    """The program, and its files in the folder where it runs."""
    for name in package.files:
        source = INPUTS / name if (INPUTS / name).exists() else find(root, name)
        (os.symlink if source.is_dir() else shutil.copy)(source, work / source.name)
    if package.name == "IQ-TREE":
        write_alignment(work / "tree.phy")
    if package.before:
        subprocess.run([find_program(root, package.before[0]), *package.before[1:]], check=True, cwd=work, timeout=LIMIT,
                       capture_output=True, env={**os.environ, **environment_of(root)})
    if (INPUTS / package.program).suffix in COMPILERS:
        return compiled(package, root, work)
    return find_program(root, package.program)


def numbers(package, work, out):
    """None: the output lacks one of them."""
    text = (work / package.output).read_text() if package.output and (work / package.output).is_file() else out
    found = [re.findall(f"{before}{NUMBER}", text) for before in package.result]
    return [float(each[-1].replace("D", "E").replace("d", "e")) for each in found] if all(found) else None


@dataclasses.dataclass(frozen=True)
class Run:
    """numbers: None, if the program failed or did not print them. Seconds of the wall, and of processors."""
    numbers: list
    wall: float
    processor: float
    text: str


def timed(package, run):
    """run: gets (program, root, folder) and gives (status, output)."""
    root = root_of(package)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        program = prepare(package, root, work)
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        status, text = run(program, root, work)
        took, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return Run(numbers(package, work, text) if status == 0 else None, took,
                   after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text)


def run_stock(package):
    """With its own library; None: there is no launcher of it."""
    launcher, settings = STOCK[package.family]
    if not package.own or shutil.which(launcher) is None:
        return None

    def run(program, root, work):
        result = subprocess.run([launcher, "-n", str(package.ranks), program, *package.words],
                                input=(work / package.stdin).read_text() if package.stdin else "", capture_output=True, text=True,
                                errors="replace", cwd=work, env={**os.environ, **environment_of(root), **settings}, timeout=LIMIT,
                                check=False)
        return result.returncode, result.stdout + result.stderr
    return timed(package, run)


def run_ours(package, build):
    def run(program, root, work):
        with open(work / package.stdin if package.stdin else os.devnull, encoding="utf-8") as stdin:
            status, out, err = launch(build, "-n", package.ranks, program, *package.words, environment=environment_of(root),
                                      cwd=work, stdin=stdin)
        return status, out + err
    return timed(package, run)


def disagree(package, ours, stock):
    """What is wrong with the numbers of both runs."""
    if package.refused:
        problems = [] if package.refused in ours.text and ours.numbers is None else \
            [f"{package.name}: its row says that it is refused with '{package.refused}'", *ours.text.splitlines()[-15:]]
        return problems + ([f"{package.name} fails on its own library"] if stock and stock.numbers is None else [])
    if ours.numbers is None:
        return [f"{package.name} does not end well", *ours.text.splitlines()[-15:]]
    same = stock is None or (stock.numbers is not None and
                             all(math.isclose(a, b, rel_tol=CLOSE) for a, b in zip(ours.numbers, stock.numbers)))
    return [] if same else [f"{package.name}: {ours.numbers} on ours, {stock.numbers} on its own library"]


def test(package, build):
    ours, stock = run_ours(package, build), run_stock(package)
    problems = disagree(package, ours, stock)
    if not problems:
        shown = package.refused or ", ".join(f"{number:.10g}" for number in ours.numbers)
        print(f"| {package.name} | {package.family} | {shown} | {f'{ours.wall / stock.wall:.2f}' if stock else ''} |")
    return problems
