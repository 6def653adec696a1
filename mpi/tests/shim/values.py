# SPDX-License-Identifier: Apache-2.0
"""Compares api/families.yaml with the real headers and libraries of a family, and our library with the names of theirs.

A value has to agree with each header that has the name, and one of the headers must have it. Sizes of symbols agree with each
library. Every name of MPI that a library exports, and every symbol that its header names, is exported by ours, but for LEFT_OUT.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gen"))
import gen_shim  # noqa: E402
import tables  # noqa: E402

LIBRARIES = {"ompi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}
# What Fortran programs call in the C library; what does not exist for one who has no fault tolerance: programs look whether these
# are there (weak references); MPICH's extensions and its interface for several tools.
LEFT_OUT = {"ompi": re.compile(r"P?MPI_[A-Z0-9_]+_(FN|F90|FN_NULL)$|MPI_CONVERSION_FN_NULL$|OMPI_TEST_FORTRAN_CONSTANTS$"
                               r"|P?MPI_Status_\w*f08\w*$|MPI_F08_\w+$|P?MPIX_Comm_\w+$|P?MPI_Session_set_info$"),
            "mpich": re.compile(r"P?MPI_Status_\w*f08\w*$|MPI_F08_\w+$|MPIR_F08_\w+$|P?MPIX_(?!GPU_query|Query_)\w+$|QMPI_\w+$")}
# The Fortran libraries. Left out: tables of polymorphic variables, which only gfortran writes; variables and functions that the
# family's libraries pass to each other; fault tolerance.
FORTRAN_LIBRARIES = {"ompi": ("libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40"),
                     "mpich": ("libmpichfort.so.12",)}
FORTRAN_LEFT_OUT = re.compile(r"__\w+_MOD___(copy|def_init|vtab)_\w+$|ompi_intercept_\w+$|mpiext_\w+_dummy$|mpirinit[cf]_$"
                              r"|MPIR_[CF]_MPI_\w+$|MPIR_F_NeedInit$|MPI_F_(ARGVS?_NULL|ERRCODES_IGNORE)$|__mpi_c_interface\w+$"
                              r"|p?mpixr?_comm_(agree|revoke|shrink|failure_\w+)(_|__|_f08_)?$", re.IGNORECASE)
MPI_NAME = re.compile(r"P?MPIX?_|OMPI_")


def find_library(folder, name):
    return next(filter(None, (find(folder, library) for library in LIBRARIES[name])), None)


def find(folder, name, inside=""):
    """The shortest path wins: packages have other files of that name below theirs."""
    found = sorted((path for path in folder.rglob(name) if inside in str(path)), key=lambda path: (len(path.parts), str(path)))
    return found[0] if found else None


def constants(family):
    """Names of ints to their values."""
    found = {**family["limits"], **family["constants"], **family["errors"], **family["foreign"]}
    found["MPI_ERR_LASTCODE"] = family["lastcode"]
    for rows in [row["values"] for row in family["ints"].values()] + [*family["flags"].values()]:
        found.update(rows)
    return found


def handles(family):
    """Names to symbols or ints."""
    return {name: row.get("symbol", row.get("int")) for rows in family["handles"].values() for name, row in rows.items()}


def syntax_errors(header, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source.c"
        source.write_text(f"#include <mpi.h>\n{text}\n")
        command = ["cc", "-w", "-I", header.parent, "-fsyntax-only", source]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def is_absent(name, definition):
    """The header says that its library does not have this datatype."""
    return name != "MPI_DATATYPE_NULL" and "MPI_DATATYPE_NULL" in definition


def wrong_values(header, family):
    """Problems with the values that this header has, and the names that it has."""
    text = header.read_text(errors="replace")
    words, defined = set(re.findall(r"\w+", text)), dict(re.findall(r"define +(\w+)(\s.*)", text))
    known = {name: value for name, value in constants(family).items() if name in words}
    checks = [f'_Static_assert({name} == {value}, "{name} is not {value}");' for name, value in known.items()]
    checks += [f'_Static_assert((long){name} == {value}, "{name} is not {value}");' for name, value in family["weights"].items()
               if name in defined]  # those of MPICH are variables
    named = {name: value for name, value in handles(family).items() if name in defined and not is_absent(name, defined[name])}
    checks += [f'_Static_assert((unsigned){name} == {value:#x}u, "{name} is not {value:#x}");' for name, value in named.items()
               if isinstance(value, int)]
    errors = syntax_errors(header, "\n".join(checks))
    problems = re.findall(r"static assertion failed: \"(.*)\"", errors) or errors.splitlines()[:5]
    problems += [f"{name} is not {symbol}" for name, symbol in named.items()  # also what other compilers see only
                 if isinstance(symbol, str) and re.search(rf"\b{symbol}\b", defined[name]) is None]
    return problems, {*known, *named}


def wrong_numbers(header, family):
    """Problems with the numbers of handles in Fortran; none if there is no such header."""
    text = header.read_text() if header else ""
    theirs = {name: int(value) for name, value in re.findall(r"parameter *\( *(\w+) *= *(-?\d+) *\)", text)}
    ours = {name: row.get("fortran") for rows in family["handles"].values() for name, row in rows.items()}
    ours.update(family["fortran"])
    return [f"{name} is {ours[name]} in Fortran, theirs {theirs[name]}" for name in ours
            if name in theirs and ours[name] != theirs[name]]


def exported(library):
    """name: size."""
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[7].split("@")[0]: int(row[2], 0) for row in rows if len(row) >= 8 and row[0][:-1].isdigit() and row[6] != "UND"}


def wrong_names(name, ours, library, header, sizes):
    theirs, words = exported(library), set(re.findall(r"\w+", header.read_text(errors="replace")))
    wanted = {one for one in theirs if MPI_NAME.match(one) or one in words}
    problems = [f"not exported: {one}" for one in sorted(wanted - ours.keys()) if not LEFT_OUT[name].match(one)]
    return problems + [f"{one} has {ours.get(one)} bytes, theirs {theirs[one]}" for one in sizes
                       if one in theirs and theirs[one] != ours.get(one)]


def fortran_names(name, ours, folder):
    """Names of the family's Fortran libraries that ours lacks. ours: exported(our library)."""
    problems = []
    for library in FORTRAN_LIBRARIES[name]:
        theirs = exported(find(folder, library).resolve())
        problems += [] if len(theirs) > 300 else [f"{library} exports {len(theirs)} names only"]
        problems += [f"{library}: not exported: {one}" for one in sorted(theirs.keys() - ours.keys())
                     if not FORTRAN_LEFT_OUT.match(one)]
    return problems


CXX_LIBRARIES = {"ompi": "libmpi_cxx.so.40", "mpich": "libmpichcxx.so.12"}


def cxx_names(name, ours, folder):
    """Names that the family's library of C++ bindings takes from its C library, and ours lacks."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", find(folder, CXX_LIBRARIES[name])], check=True, capture_output=True,
                             text=True).stdout
    taken = {line.split()[-1] for line in listing.splitlines()}
    taken = {one for one in taken if re.match(r"P?MPI|ompi_|opal_", one)}
    return [f"not exported: {one}" for one in sorted(taken - ours.keys())] if len(taken) > 100 else [f"{len(taken)} names only"]


def check(name, ours, folders):
    """What is wrong. ours: exported(our library); folders: of unpacked packages, each with mpi.h and a library."""
    family = tables.load("families.yaml")[name]
    sizes = gen_shim.symbols(family, gen_shim.standard_values()) if "sizes" in family else ()
    problems, seen = [], set()
    for folder in folders:
        header, library = find(folder, "mpi.h", "include"), find_library(folder, name)
        if header is None or library is None:
            problems.append(f"{folder} has no mpi.h or no {LIBRARIES[name][0]}")
            continue
        wrong, names = wrong_values(header, family)
        seen |= names
        wrong += wrong_numbers(find(folder, "mpif-handles.h", "include"), family) + wrong_names(name, ours, library, header, sizes)
        problems += [f"{folder.name}: {one}" for one in wrong]
    problems += [f"no header has {one}" for one in sorted({*constants(family), *handles(family)} - seen)]
    return problems
