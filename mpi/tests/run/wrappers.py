# SPDX-License-Identifier: Apache-2.0
"""Tests of how programs are built: mpicc and mpicxx, pkg-config, CMake's FindMPI, from the build folder and installed. Each
takes the build folder and gives a list of what is wrong."""
import pathlib
import shutil
import subprocess
import tempfile

from runner import HERE, LIMIT, Skipped, expect, instrumented, launch

RING = HERE.parents[1] / "examples/ring.c"
TOKEN = "4 ranks, the token is 6"
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
message(STATUS "MPI standard ${{MPI_C_VERSION}} ${{MPI_CXX_VERSION}}")
add_executable(ring {ring})
target_link_libraries(ring MPI::MPI_C)
add_executable(rank rank.cc)
target_link_libraries(rank MPI::MPI_CXX)
enable_testing()
add_test(NAME ring COMMAND ${{MPIEXEC_EXECUTABLE}} ${{MPIEXEC_NUMPROC_FLAG}} 4 $<TARGET_FILE:ring>)
add_test(NAME rank COMMAND ${{MPIEXEC_EXECUTABLE}} ${{MPIEXEC_NUMPROC_FLAG}} 2 $<TARGET_FILE:rank>)
"""
RANK = """#include <mpi.h>
int main(int argc, char **argv)
{
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return size == 2 ? 0 : 1;
}
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT, **options)


def rings(build, binary):
    """The program passes its token under this build's mpiexec, and finds its library by RUNPATH, which may be replaced."""
    status, out, err = launch(build, "-n", 4, binary)
    dynamic = run("readelf", "-d", binary).stdout
    return expect(status == 0 and TOKEN in out and "(RUNPATH)" in dynamic and "(RPATH)" not in dynamic, status, out, err, dynamic)


def compilers(build):
    """Both compile and link, compile alone, and say what they would do."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = run(build / "bin/mpicc", "-Wall", "-Werror", RING, "-o", folder / "ring")
        if made.returncode != 0:
            return [made.stderr]
        (folder / "rank.cc").write_text(RANK)
        compiled = run(build / "bin/mpicxx", "-c", folder / "rank.cc", "-o", folder / "rank.o")
        linked = run(build / "bin/mpicxx", folder / "rank.o", "-o", folder / "rank")
        status, *shown = launch(build, "-n", 2, folder / "rank")
        if compiled.returncode != 0 or linked.returncode != 0 or status != 0:
            return [compiled.stderr, linked.stderr, *shown]
        return rings(build, folder / "ring")


def answers(build):
    include, lib = f"-I{build}/include", f"-L{build}/lib"
    for option, wanted in (("-show", (include, lib, "-lmpi_abi")), ("-compile_info", (include,)),
                           ("-link_info", (lib, "-lmpi_abi")),
                           ("--showme:compile", (include,)), ("--showme:link", (lib, "-lmpi_abi")),
                           ("--showme:incdirs", (f"{build}/include",)), ("--showme:libdirs", (f"{build}/lib",)),
                           ("--showme:libs", ("mpi_abi",)), ("--showme:version", ("Verbena", "MPI 5.0"))):
        for name in ("mpicc", "mpicxx"):
            found = run(build / "bin" / name, option)
            if found.returncode != 0 or not all(word in found.stdout for word in wanted):
                return [f"{name} {option}: {found.stdout}{found.stderr}"]
    return []


def questions(build):
    """Options alone are for the compiler, which then has nothing to link; -v also names the wrapper."""
    for name, compiler in (("mpicc", "cc"), ("mpicxx", "c++")):
        for options in (["-v"], ["-dumpmachine"], ["--version"], ["-v", "-Wall"], ["-print-search-dirs"]):
            found, wanted = run(build / "bin" / name, *options), run(compiler, *options)
            own = run(build / "bin" / name, "--showme:version").stdout if options == ["-v"] else ""
            same = found.stderr.count("\n") == wanted.stderr.count("\n")
            if (found.returncode, found.stdout, same) != (0, own + wanted.stdout, True):
                return [f"{name} {options}:", found.returncode, found.stdout, found.stderr, wanted]
    return []


def other_compiler(build):
    """VERBENA_CC names the compiler; one that is not there is the shell's error, with its name."""
    found = run(build / "bin/mpicc", "-show", env={"PATH": "/usr/bin:/bin", "VERBENA_CC": "/nonexistent/cc"})
    missing = run(build / "bin/mpicc", RING, env={"PATH": "/usr/bin:/bin", "VERBENA_CC": "/nonexistent/cc"})
    cxx = run(build / "bin/mpicxx", "-show", env={"PATH": "/usr/bin:/bin", "VERBENA_CXX": "/nonexistent/c++"})
    return expect(found.stdout.startswith("/nonexistent/cc ") and cxx.stdout.startswith("/nonexistent/c++ ") and
                  missing.returncode == 127 and "/nonexistent/cc" in missing.stderr,
                  found.stdout, cxx.stdout, missing.returncode, missing.stderr)


def one_sided(build):
    """An OpenSHMEM program of this build's oshcc runs."""
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "ring"
        made = run(build / "bin/oshcc", HERE.parents[1] / "shmem/examples/ring.c", "-o", binary)
        runs = run(build / "bin/oshrun", "-n", 3, binary) if made.returncode == 0 else made
        return expect(runs.returncode == 0, runs.stdout, runs.stderr)


def package(build):
    """By pkg-config alone, with the compiler as it is."""
    if shutil.which("pkg-config") is None:
        raise Skipped("pkg-config is not installed")
    if instrumented(build):
        raise Skipped("a build with sanitizers")
    flags = run("pkg-config", "--cflags", "--libs", "verbena-mpi", env={"PATH": "/usr/bin:/bin",
                                                                      "PKG_CONFIG_PATH": f"{build}/lib/pkgconfig"})
    if flags.returncode != 0:
        return [flags.stderr]
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "ring"
        made = run("cc", RING, "-o", binary, *flags.stdout.split())
        return rings(build, binary) if made.returncode == 0 else [made.stderr]


def by_cmake(build, *definitions):
    """A project of a user, with FindMPI; its tests run under the mpiexec that FindMPI has found."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        (source / "CMakeLists.txt").write_text(PROJECT.format(ring=RING))
        (source / "rank.cc").write_text(RANK)
        made = run("cmake", "-S", source, "-B", source / "build", *definitions)
        built = run("cmake", "--build", source / "build")
        tested = run("ctest", "--output-on-failure", cwd=source / "build")
        cache = (source / "build/CMakeCache.txt").read_text()
        wanted = f"MPIEXEC_EXECUTABLE:FILEPATH={build}/bin/mpiexec" in cache and "MPI standard 5.0 5.0" in made.stdout
        return expect(made.returncode == built.returncode == tested.returncode == 0 and wanted, made.stdout, made.stderr,
                      built.stderr, tested.stdout, *[line for line in cache.splitlines() if line.startswith("MPI")])


def find_mpi(build):
    if instrumented(build):
        raise Skipped("a build with sanitizers: FindMPI does not give them to the linker")
    return by_cmake(build, f"-DMPI_HOME={build}")


def installed(build):
    """Installed into a folder that then moves, the library serves from there."""
    with tempfile.TemporaryDirectory() as folder:
        first, prefix = pathlib.Path(folder).resolve() / "first", pathlib.Path(folder).resolve() / "moved"
        made = run("cmake", "--install", build, "--component", "mpi", "--prefix", first)
        if made.returncode != 0:
            return [made.stderr]
        first.rename(prefix)
        problems = compilers(prefix) or answers(prefix) or one_sided(prefix)
        return problems or ([] if instrumented(prefix) else by_cmake(prefix, f"-DMPI_HOME={prefix}") or package(prefix))


TESTS = (compilers, answers, questions, other_compiler, package, find_mpi, installed)
