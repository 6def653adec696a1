# SPDX-License-Identifier: Apache-2.0
"""Tests of how the library gets into a process: no name of a program matters to it but those that MPI and OpenSHMEM reserve, and it
may be loaded late. Each takes the build folder and gives a list of what is wrong."""
import pathlib
import subprocess
import tempfile

from runner import HERE, LIMIT, Skipped, expect, instrumented, launch

LOADER = """#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
        int (*begin)(MPI_Info, MPI_Errhandler, MPI_Session *) = library ? dlsym(library, "MPI_Session_init") : NULL;
        int (*end)(MPI_Session *) = library ? dlsym(library, "MPI_Session_finalize") : NULL;
        MPI_Session session;
        if (begin == NULL || end == NULL || begin(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS ||
            end(&session) != MPI_SUCCESS || dlclose(library) != 0)
            return 1;
    }
    return puts("well") < 0;
}
"""
RESERVED = ("MPI_", "PMPI_", "vbnmpi_", "shmem", "_shmem", "pshmem")
SHMEM = HERE.parents[1] / "shmem/tests/run"
PROGRAMS = (("mpicc", HERE, "moves"), ("mpicc", HERE, "reduces"), ("mpicc", HERE, "order"), ("mpicc", HERE, "attributes"),
            ("oshcc", SHMEM, "sets"), ("oshcc", SHMEM, "teams"))


def own_names(build):
    """The global names of the library's objects, hidden ones too, each with its kind and size as nm prints them."""
    objects = (build / "abi/objects.txt").read_text().split()
    listing = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix", *objects], check=True, capture_output=True,
                             text=True, timeout=LIMIT, cwd=build).stdout
    rows = [line.split() for line in listing.splitlines() if len(line.split()) >= 3]
    return {row[0]: (row[1], int(row[3], 16) if len(row) > 3 else 0) for row in rows
            if not row[0].startswith((*RESERVED, "__"))}  # the compiler's own begin with __


def definition(name, kind, size):
    """In the program it is a function that ends the rank, or data that nobody can use."""
    if kind in "TW":
        return f"void {name}(void);\nvoid {name}(void) {{ __builtin_trap(); }}\n"
    return f"unsigned char {name}[] = {{[0 ... {max(size, 1) - 1}] = 0x5a}};\n"


def build_names(build, folder):
    """An object file that defines them all."""
    names = own_names(build)
    source = folder / "names.c"
    source.write_text("".join(definition(name, *of) for name, of in sorted(names.items())))
    made = subprocess.run(["cc", "-w", "-fno-builtin", "-c", source, "-o", folder / "names.o"], capture_output=True, text=True,
                          timeout=LIMIT)
    known = {"rt", "rt_enter_shared", "grp_barrier", "vbn_worker_create", "start_pes"}
    return made.stderr.splitlines() if made.returncode != 0 else [f"no name of ours: {name}" for name in known - set(names)]


def every_name(build):
    """A program has each name of ours and exports it: neither messages, collectives nor one-sided operations meet one."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        problems = build_names(build, folder)
        for compiler, sources, name in PROGRAMS if not problems else ():
            made = subprocess.run([build / "bin" / compiler, "-rdynamic", f"-I{sources}", sources / f"{name}.c", folder / "names.o",
                                   "-o", folder / name], capture_output=True, text=True, timeout=LIMIT)
            fakes = ([], ["-fake-hosts", 2]) if made.returncode == 0 else ()
            runs = [launch(build, "-n", 4, *words, folder / name) for words in fakes]
            if not runs or any(status != 0 for status, _, _ in runs):
                problems += [f"{name}:", made.stderr, *map(str, runs)]
    return problems


def other_library(build):
    """An OpenSHMEM program takes no libmpi_abi.so.1 of somebody else, wherever LD_LIBRARY_PATH points; an MPI program does."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "empty.c").write_text("")
        steps = [["cc", "-shared", "-Wl,-soname,libmpi_abi.so.1", folder / "empty.c", "-o", folder / "libmpi_abi.so.1"],
                 [build / "bin/oshcc", f"-I{SHMEM}", SHMEM / "sets.c", "-o", folder / "sets"],
                 [build / "bin/mpicc", f"-I{HERE}", HERE / "moves.c", "-o", folder / "moves"]]
        made = [subprocess.run(step, capture_output=True, text=True, timeout=LIMIT) for step in steps]
        runs = {name: launch(build, "-n", 2, "-env", "LD_LIBRARY_PATH", folder, folder / name) for name in ("sets", "moves")}
        return expect(not any(one.returncode for one in made) and runs["sets"][0] == 0 and "undefined symbol" in runs["moves"][2],
                      *made, *runs.items())


def loaded_again(build):
    """A program loads the library, opens a session, ends it and unloads the library, several times: as plugins of Python do."""
    if instrumented(build):
        raise Skipped("a build with sanitizers: their runtime has to be there before the program")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "loader.c"
        source.write_text(LOADER)
        made = subprocess.run(["cc", "-Wall", "-Werror", f"-I{build}/include", source, "-o", source.with_suffix(""), "-ldl"],
                              capture_output=True, text=True, timeout=LIMIT)
        if made.returncode != 0:
            return [made.stderr]
        found = launch(build, "-n", 2, source.with_suffix(""), build / "lib/libmpi_abi.so.1")
        return expect(found == (0, "well\n" * 2, ""), *found)


TESTS = (every_name, other_library, loaded_again)
