#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the exported names of libmpi_abi.so.1: every function of the tables, MPI_ weak and PMPI_, and no other of these
prefixes; that each library of ours that a program loads exports names of MPI and OpenSHMEM only; and that the functions that are
not written yet belong to the chapters that docs/mpi.md names.

usage: names.py LIB   LIB: the folder of the libraries
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gen"))
import gen_entry  # noqa: E402
import tables  # noqa: E402

EXTRA = {"Psend_init_c", "Precv_init_c"}  # of the stub library
RESERVED = ("MPI_", "PMPI_", "vbnmpi_", "shmem", "_shmem", "pshmem")
DEPRECATED = {prefix + name for name in ("start_pes", "_my_pe", "_num_pes", "shmalloc", "shfree", "shrealloc")
              for prefix in ("", "p")}  # OpenSHMEM had them before its prefix

# Whole chapters, and words of names in the others: partitioned messages.
MISSING = {"rma", "io", "proc", "tool"}
MISSING_WORDS = re.compile(r"^(Psend_|Precv_|Pready|Parrived)")


def unwritten():
    """Problems with functions that nobody has written."""
    written = tables.written()
    names = [(function.chapter, name) for function in tables.functions() for name, large in function.forms()
             if not gen_entry.is_written(function, large, written)]
    return [f"not written, but {chapter} is a chapter that is there: {name}" for chapter, name in names
            if chapter not in MISSING and MISSING_WORDS.search(name) is None]


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[2]: line.split()[1] for line in listing.splitlines()}


def loaded(folder):
    """The libraries in this folder that a program of MPI or OpenSHMEM loads."""
    found = {folder / name for name in ("libmpi_abi.so.1", "liboshmem.so.1")}
    ahead = list(found)
    while ahead:
        dynamic = subprocess.run(["readelf", "-d", ahead.pop()], check=True, capture_output=True, text=True).stdout
        needed = {folder / name for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if (folder / name).exists()}
        ahead += needed - found
        found |= needed
    return sorted(found)


def foreign(folder):
    """Problems with exported names that a program may have, too."""
    return [f"{library.name} exports {name}, which MPI and OpenSHMEM do not reserve" for library in loaded(folder)
            for name in sorted(exported(library)) if not name.startswith(RESERVED) and name not in DEPRECATED]


def main():
    library = pathlib.Path(sys.argv[1]) / "libmpi_abi.so.1"
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    names = {name for function in tables.functions() for name, _ in function.forms()}
    found = {name: kind for name, kind in exported(library).items() if name.startswith(("MPI_", "PMPI_"))}
    deleted = {function.name for function in tables.deleted_functions()}
    wanted = {prefix + name for name in names | EXTRA | deleted for prefix in ("MPI_", "PMPI_")}
    problems = [f"not exported: {name}" for name in sorted(wanted - set(found))]
    problems += [f"exported, but no function of MPI: {name}" for name in sorted(set(found) - wanted)]
    problems += [f"{name} is not weak" for name, kind in sorted(found.items()) if name.startswith("MPI_") and kind != "W"]
    problems += foreign(library.parent) + unwritten()
    if len(names) != 662:
        problems.append(f"the table has {len(names)} functions, MPI 5.0 has 662")
    if re.search(r"SONAME.*\[libmpi_abi\.so\.1\]", dynamic) is None:
        problems.append("soname is not libmpi_abi.so.1")
    for problem in problems:
        print(problem)
    print(f"{len(wanted)} names wanted, {len(problems)} problems")
    print(f"{int(not problems)} passed, {int(bool(problems))} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
