#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test programs of OpenSHMEM under oshrun.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

A program's first comment says with how many PEs it runs, over shared memory, and whether also between two fake hosts over TCP
(with at most 4 PEs, in blocks and in turns), and over TCP alone. The programs made from the tables run with 1, 2, 3 and 5 PEs, and
between fake hosts. --full: also what takes minutes.
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests/run"))
from cases import Case, main  # noqa: E402
from runner import LIMIT, Skipped, TCP, expect, launch  # noqa: E402

FAKES = {"": [], "tcp": [], "hosts": ["-fake-hosts", 2], "turns": ["-fake-hosts", 2, "-ppn", 1]}
MADE = ("rma", "strided", "atomic", "signal", "wait", "collective", "reduction", "deprecated")


def rules():
    """Yields (name, PEs, over what) of each program that tests a rule."""
    for path in sorted(HERE.glob("*.c")):
        found = re.search(r"^ \* PEs: ([\d ]+)(hosts)?( tcp)?$", path.read_text(), re.MULTILINE)
        if not found:
            continue
        counts = [int(word) for word in found.group(1).split()]
        yield from ((path.stem, count, "") for count in counts)
        few = min(counts[-1], 4) if counts[-1] < 64 else counts[-1]
        if found.group(2):
            yield path.stem, few, "hosts"
            yield path.stem, few, "turns"
        if found.group(3):
            yield path.stem, min(counts[-1], 3), "tcp"


def made():
    for group in MADE:
        for count in (1, 2, 3, 5):
            yield f"every_{group}", count, ""
        yield f"every_{group}", 3, "hosts"
        yield f"every_{group}", 4, "turns"
    for name in ("links", "generics", "overloads"):
        yield name, 1, ""


def is_sanitized(build):
    return b"__asan_init" in (build / "lib/liboshmem.so").read_bytes()


def run_program(build, name, count, over, *words, environment=None):
    if name == "no_calls" and is_sanitized(build):
        raise Skipped("the address sanitizer makes system calls of its own")
    variables = {**(TCP if over == "tcp" else {}), **(environment or {})}
    status, out, err = launch(build, "-n", count, *FAKES[over], build / "shmem-tests" / name, *words, environment=variables)
    return [] if status == 0 else [f"status {status}", *(out + err).splitlines()[-12:]]


def exports(build):
    """Of OpenSHMEM the library exports what the tables have, both names of each, and nothing else."""
    sys.path.insert(0, str(HERE.parents[1] / "gen"))
    import tables
    wanted = {name for one in tables.functions() for name in (one.name, one.profiling)}
    listing = subprocess.run(["nm", "-D", "--defined-only", build / "lib/liboshmem.so"], capture_output=True, text=True,
                             timeout=LIMIT).stdout
    names = {line.split()[2].split("@")[0] for line in listing.splitlines()}
    found = {name for name in names if not name.startswith(("MPI_", "PMPI_", "vbnmpi_"))}  # mpi/tests/abi/names.py has these
    return expect(found == wanted, f"missing: {sorted(wanted - found)[:5]}", f"too many: {sorted(found - wanted)[:5]}")


def headers(build):
    """shmem.h compiles as C99, C11 and C++17, with all warnings."""
    with tempfile.TemporaryDirectory() as folder:
        for compiler, ending, standards in (("oshcc", ".c", ("c99", "c11")), ("oshc++", ".cc", ("c++11", "c++17"))):
            source = pathlib.Path(folder) / f"program{ending}"
            source.write_text("#include <shmem.h>\n#include <pshmem.h>\nint main(void) { return 0; }\n")
            for standard in standards:
                result = subprocess.run([build / "bin" / compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", source, "-o",
                                         source.with_suffix("")], capture_output=True, text=True, timeout=LIMIT)
                if result.returncode != 0:
                    return [f"{standard}:", *result.stderr.splitlines()[:6]]
    return []


def has_sanitizer(folder):
    source = pathlib.Path(folder) / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    return subprocess.run(["cc", "-fsanitize=address", source, "-o", source.with_suffix("")], capture_output=True,
                          timeout=LIMIT).returncode == 0


def builds(build):
    """Static data is symmetric in programs of fixed and of any address, and with gaps that a sanitizer watches; as oshcc builds
    them."""
    with tempfile.TemporaryDirectory() as folder:
        for options in (["-fno-pie", "-no-pie"], ["-fPIE", "-pie"], ["-O0"], ["-Wl,-z,norelro"], ["-Wl,-z,now"],
                        *([["-fsanitize=address"]] if has_sanitizer(folder) else [])):
            binary = pathlib.Path(folder) / "statics"
            result = subprocess.run([build / "bin/oshcc", "-O2", *options, f"-I{HERE}", HERE / "statics.c", "-o", binary],
                                    capture_output=True, text=True, timeout=LIMIT)
            status, out, err = launch(build, "-n", 3, binary) if result.returncode == 0 else (1, "", result.stderr)
            if status != 0:
                return [f"{options}: status {status}", out, err]
    return []


def examples(build):
    """What an example prints does not depend on the number of PEs."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted((HERE.parents[1] / "examples").glob("*.c")):
            binary = pathlib.Path(folder) / source.stem
            libraries = ["-lmpi_abi"] if "<mpi.h>" in source.read_text() else []
            made_by = subprocess.run([build / "bin/oshcc", "-Wall", "-Werror", "-O2", source, "-o", binary, *libraries, "-lm"],
                                     capture_output=True, text=True, timeout=LIMIT)
            runs = [launch(build, "-n", count, *fakes, binary)
                    for count, fakes in ((1, []), (2, []), (3, []), (4, ["-fake-hosts", 2]))] \
                if made_by.returncode == 0 else []
            results = {line for _, out, _ in runs for line in out.splitlines() if "checksum" in line}
            if len(runs) != 4 or any(status != 0 for status, _, _ in runs) or (source.stem != "ring" and len(results) != 1):
                return [f"{source.stem}:", made_by.stderr, *map(str, runs)]
    return []


BAD = {"pe": ("shmem_long_p", "argument pe is 2", "0 to 1"), "negative": ("shmem_long_g", "argument pe is -1"),
       "private": ("shmem_long_p", "is not symmetric"), "system": ("shmem_long_p", "it lies in", "libc.so",
                                                                   "libraries of the system"),
       "beyond": ("shmem_putmem", "reach beyond the symmetric heap"),
       "misaligned": ("shmem_long_atomic_inc", "not a multiple of 8"), "compare": ("shmem_long_wait_until", "argument cmp is 77"),
       "signal": ("shmem_putmem_signal", "argument sig_op is 9"), "free": ("shmem_free", "argument ptr"),
       "twice": ("shmem_free", "freed before"), "differ": ("shmem_malloc", "from 100 to 200"),
       "sequence": ("another function of the heap",), "root": ("shmem_long_broadcast", "argument PE_root is 2"),
       "unlock": ("shmem_clear_lock", "is not set"), "align": ("shmem_align", "argument alignment is 24"),
       "set": ("shmem_barrier", "0, 0, 3"), "context": ("shmem_ctx_long_p", "SHMEM_CTX_INVALID"),
       "thread": ("static data is not symmetric in this job: threads ran before", "shmem_long_p", "which cannot be shared here"),
       "early": ("shmem_long_p", "call shmem_init"), "late": ("shmem_barrier_all", "call shmem_init")}


def is_bad(build, what, over):
    """The job ends with a message of function, argument and PE."""
    status, out, err = launch(build, "-n", 2, *FAKES[over], build / "shmem-tests/bad", what)
    named = "PE " in err or what in ("early", "late")
    return expect(status not in (0, 124) and named and all(word in err for word in BAD[what]), status, out, err)


def heap_is_full(build):
    """NULL at every PE, and a line that says what to do; the value of SHMEM_SYMMETRIC_SIZE decides."""
    program = build / "shmem-tests/bad"
    status, out, err = launch(build, "-n", 2, program, "full")
    if status != 0 or out != "no memory\n" * 2 or "raise SHMEM_SYMMETRIC_SIZE" not in err or "536870912" not in err:
        return [f"status {status}", out, err]
    for value in ("2g", "1100M", "1.1g", "0.002T"):
        status, out, err = launch(build, "-n", 2, program, "full", environment={"SHMEM_SYMMETRIC_SIZE": value})
        if (status, out, err) != (0, "", ""):
            return [f"{value}: status {status}", out, err]
    for value in ("many", "-5m", "5x", ""):
        status, out, err = launch(build, "-n", 2, program, environment={"SHMEM_SYMMETRIC_SIZE": value})
        if status == 0 or "SHMEM_SYMMETRIC_SIZE" not in err or "512m" not in err:
            return [f"'{value}': status {status}", out, err]
    status, out, err = launch(build, "-n", 1, "-env", "SHMEM_SYMMETRIC_SIZE", "1m", program, ":", "-n", 1, program)
    return expect(status != 0 and "set it alike" in err, status, out, err)


def bench(build):
    """Each cell of mpi/shmem/bench has its line, and content that was looked at."""
    processors = ",".join(str(sorted(os.sched_getaffinity(0))[place]) for place in (0, -1))
    program = build / "shmem-tests/shmembench"
    for fakes, words, count in (([], ["start"], 1), ([], ["two", processors], 20), ([], ["four"], 2),
                                (["-fake-hosts", 2], ["two", processors], 20)):
        status, out, err = launch(build, "-n", 4 if words == ["four"] else 2, *fakes, program, *words)
        cells = [json.loads(line) for line in out.splitlines()] if status == 0 else []
        if status != 0 or len(cells) != count or any(cell["value"] <= 0 for cell in cells):
            return [f"{fakes} {words}: status {status}", out, err]
    status, _, err = launch(build, "-n", 3, program, "four")
    return expect(status == 1 and "wrong number of ranks" in err, status, err)


def global_exit(build):
    """The job has the status that a PE gives, also 0."""
    for what, wanted in (("exit", 7), ("exit0", 0)):
        status, out, err = launch(build, "-n", 3, build / "shmem-tests/bad", what)
        if status != wanted:
            return [f"{what}: status {status}", out, err]
    return []


def information(build):
    _, out, _ = launch(build, "-n", 2, build / "shmem-tests/bad", environment={"SHMEM_INFO": "1", "SHMEM_VERSION": "1"})
    _, _, err = launch(build, "-n", 3, "-fake-hosts", 2, build / "shmem-tests/bad", environment={"SHMEM_DEBUG": "1"})
    if sorted(re.findall("memory of (?:the node|its own); . of . PEs", err)) != ["memory of its own; 1 of 3 PEs",
                                                                                 *["memory of the node; 2 of 3 PEs"] * 2]:
        return [err]
    return expect("OpenSHMEM 1.6" in out and "SHMEM_SYMMETRIC_SIZE" in out and "2 of them share memory" in out, out)


CALLS = ("barrier", "sync", "broadcast", "collect", "fcollect", "alltoall", "alltoalls", "reduce", "scan", "malloc", "wait",
         "signal",
         "lock", "atomic", "finalize")


def dies(build, call, over):
    """PE 1 is killed while the others are inside a call: the job ends and says so."""
    status, out, err = launch(build, "-n", 4, *FAKES[over], build / "shmem-tests/dies", call)
    return expect(status == 137 and "rank 1" in err and "signal 9" in err, status, out, err)


def hybrid(build, words, over):
    return run_program(build, "hybrid_order", 3, over, *words)


def resources(build):
    """A program of both libraries takes what the larger one alone takes: one context, one keeper, one set of connections. The
    least of several runs counts: which pages of the programs' files are resident is the kernel's choice."""
    found = {}
    for _ in range(5):
        for what in ("mpi", "shmem", "both"):
            status, out, err = launch(build, "-n", 3, build / "shmem-tests/resources", what)
            if status != 0:
                return [f"{what}: status {status}", out, err]
            now = list(map(int, re.findall(r"\d+", out)))
            found[what] = [min(pair) for pair in zip(now, found.get(what, now))]
            print(f"     {what:<6} {out.strip()} kB")
        (threads, files, memory), alone = found["both"], [max(pair) for pair in zip(found["mpi"], found["shmem"])]
        if threads <= alone[0] and files <= alone[1] and memory <= alone[2] * 1.1:
            return []
    return expect(False, found)


def computes_for_long(build):
    return run_program(build, "computes", 3, "hosts", environment={"RULE_SECONDS": "60"})


def hybrids():
    for first, end, times, model in itertools.product(("mpi", "shmem"), ("mpi", "shmem"), ("1", "3"), ("world", "session")):
        for over in ("", "turns"):
            words = (first, end, times, model)
            yield Case(named("hybrid", *words, over), lambda build, a=(words, over): hybrid(build, *a))


def named(*words):
    return " ".join(filter(None, words))


def cases():
    for name, count, over in (*rules(), *made()):
        yield Case(named(name, f"n={count}", over), lambda build, a=(name, count, over): run_program(build, *a))
    for what in BAD:
        for over in ("", "turns"):
            yield Case(named("bad", what, over), lambda build, a=(what, over): is_bad(build, *a))
    for call in CALLS:
        for over in ("", "turns"):
            yield Case(named("death in", call, over), lambda build, a=(call, over): dies(build, *a))
    yield from hybrids()
    for test in (exports, headers, builds, examples, heap_is_full, global_exit, information, bench, resources):
        yield Case(test.__name__, test)
    yield Case("computes_for_long", computes_for_long, long=True)


if __name__ == "__main__":
    sys.exit(main(__doc__, list(cases())))
