# SPDX-License-Identifier: Apache-2.0
"""mpi.heap=node: large blocks of malloc in memory that the ranks of a node map (mpi/heap). Each test takes the build folder and
gives a list of what is wrong."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from runner import LIMIT, Skipped, expect, instrumented, launch

NODE = {"VBN_MPI_HEAP": "node"}


def run(build, ranks, *words, **environment):
    """Lines of a run that failed, or that said something."""
    status, out, err = launch(build, "-n", ranks, build / "tests/heap", *words, environment={**NODE, **environment})
    return expect(status == 0 and not err, f"{ranks} ranks, {' '.join(words)}", out, err)


def ask_for_malloc(build):
    if instrumented(build):
        raise Skipped("sanitizers have a malloc of their own")


def in_ranks(build):
    ask_for_malloc(build)
    wrong = []
    for part, counts in (("messages", (1, 2, 3, 4)), ("collectives", (1, 2, 3, 4)), ("freed", (2,)), ("window", (1, 3))):
        for ranks in counts:
            wrong += run(build, ranks, part)
    return wrong


def in_one_process(build):
    ask_for_malloc(build)
    return run(build, 2, "forks", "early") + run(build, 1, "threads") + run(build, 1, "returns")


def without_kernel_copies(build):
    """Mapped memory is used where the kernel copies nothing."""
    ask_for_malloc(build)
    return run(build, 3, "messages", VBN_TL_SHM_COPY="false")


def read_by_reductions(build):
    """Without a copy of the operands; of two ranks where no message is the faster way."""
    ask_for_malloc(build)
    wrong = run(build, 2, "reductions", VBN_MPI_LARGE_PAIRS="pieces")
    for ranks in (3, 4, 9):
        wrong += run(build, ranks, "reductions")
    return wrong


def bits_of_reductions(build):
    """Blocks of malloc beside those of MPI_Alloc_mem, at the same and at different ranks."""
    ask_for_malloc(build)
    wrong = []
    for program, counts in (("reduces_mapped", (2, 3, 5)), ("pairs", (2,)), ("slots", (3,))):
        for ranks in counts:
            status, out, err = launch(build, "-n", ranks, build / "tests" / program, environment=NODE)
            wrong += expect(status == 0 and not err, program, ranks, out, err)
    return wrong


def stands_aside(build):
    """Without the memory, or without the library, everything works; a line says why."""
    ask_for_malloc(build)
    wrong = []
    for command, text in (("ulimit -f 1000; exec", "ulimit -v or ulimit -f is too low"),
                          ("LD_PRELOAD= exec", "libverbena_heap.so is not loaded")):
        status, out, err = launch(build, "-n", 1, "sh", "-c", f'{command} "$0"', build / "tests/world", environment=NODE)
        wrong += expect(status == 0 and f"mpi.heap=node has no effect: {text}" in err and err.count("\n") == 1, command, out, err)
    return wrong


def closed_descriptors(build):
    """A program that closes the heap's descriptor keeps its blocks; a line says why others do not map them."""
    ask_for_malloc(build)
    status, out, err = launch(build, "-n", 2, build / "tests/heap", "collectives", "closed", environment=NODE)
    return expect(status == 0 and err.count("mpi.heap=node has no effect: the program has closed its descriptor") == 2 and
                  err.count("\n") == 2, status, out, err)


def descriptors_of_a_shell(build):
    """It gives numbers to files of its own, whatever has them: its children have its text nevertheless."""
    ask_for_malloc(build)
    if shutil.which("bash") is None:
        raise Skipped("no bash here, whose descriptors are tried: apt-get install bash")
    script = ('text=$(head -c 300000 /dev/zero | tr "\\0" a); for fd in {3..30}; do eval "exec $fd>/dev/null"; done; '
              'echo "$(echo "${text:0:3}${#text}${text: -3}")"')
    status, out, err = launch(build, "-n", 1, "bash", "-c", script, environment={**NODE, "LC_ALL": "C", "BASH_ENV": ""})
    return expect((status, out, err) == (0, "aaa300000aaa\n", ""), status, out, err)


def malloc_of_the_program(build):
    """It stays; a line says why the setting has no effect."""
    ask_for_malloc(build)
    status, out, err = launch(build, "-n", 2, "-explain", build / "tests/own_malloc", environment=NODE)
    return expect(status == 0 and err.count("mpi.heap=node has no effect: the program has a malloc of its own") == 2 and
                  "heap: private: " in err, status, out, err)


def path_that_cannot_be_preloaded(build):
    """The loader would take a path with a space for two, and complain in each process."""
    ask_for_malloc(build)
    with tempfile.TemporaryDirectory(prefix="a b") as folder:
        for name in ("bin/mpiexec", "lib/libverbena_heap.so"):
            copy = pathlib.Path(folder) / name
            copy.parent.mkdir()
            shutil.copy2(build / name, copy)
        done = subprocess.run([folder + "/bin/mpiexec", "-n", "1", build / "tests/world"], capture_output=True, text=True,
                              timeout=LIMIT, env={**os.environ, **NODE}, check=False)
    return expect(done.returncode == 0 and done.stderr.count("\n") == 1 and
                  "libverbena_heap.so is not loaded; start the program by an mpiexec beside it" in done.stderr, done)


def explains(build):
    ask_for_malloc(build)
    wrong = []
    for value, text in (("node", "heap: node: "), ("private", "heap: private: ")):
        status, out, err = launch(build, "-n", 2, "-explain", build / "tests/world", environment={"VBN_MPI_HEAP": value})
        wrong += expect(status == 0 and err.count(text) == 1, value, out, err)
    return wrong


def keeps_preloaded(build):
    """What the user preloads stays, behind the heap."""
    ask_for_malloc(build)
    library = build / "lib/libmpi_abi.so.1"
    status, out, err = launch(build, "-n", 1, "-env", "LD_PRELOAD", library, "sh", "-c", "echo $LD_PRELOAD", environment=NODE)
    return expect(status == 0 and out.strip() == f"{build.resolve()}/lib/libverbena_heap.so:{library}", out, err)


def other_programs(build):
    """Programs that know nothing of it: an interpreter with processes of its own, and the shell."""
    ask_for_malloc(build)
    if shutil.which("python3") is None:
        raise Skipped("python3 is not installed")
    program = ("import os, subprocess\n"
               "block = bytearray(b'a' * 1000000)\n"
               "child = os.fork()\n"
               "if child == 0:\n"
               "    os._exit(block != b'a' * 1000000)\n"
               "print(os.waitpid(child, 0)[1], subprocess.run(['sh', '-c', 'exit 5']).returncode)\n")
    status, out, err = launch(build, "-n", 2, "python3", "-c", program, environment=NODE)
    return expect(status == 0 and out.splitlines() == ["0 5"] * 2, out, err)


TESTS = (in_ranks, in_one_process, without_kernel_copies, read_by_reductions, bits_of_reductions, stands_aside, closed_descriptors,
         descriptors_of_a_shell, malloc_of_the_program, path_that_cannot_be_preloaded, explains, keeps_preloaded, other_programs)
