#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test programs of this folder under mpiexec, and tests mpiexec itself.

usage: run.py BUILD [--full] [NAME ...]   BUILD: the build folder of mpi/. Ends with "N passed, N failed, N skipped".
       run.py BUILD --list [--full] [NAME ...]  prints the names of the tests; nothing needs to be built for it.

A program's first comment says with how many ranks it runs, over shared memory, and whether also over TCP: on one host, and
between two fake hosts with at most 4 ranks; "nodes": also 7 ranks on three fake hosts, in blocks and in turns. Each run
has a time-out; every process of it ends with it. --full: also what takes minutes.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys

import asked
import choices
import clash
import containers
import costs
import deaths
import ends
import heaps
import hosts
import launchers
import leftovers
import lines
import networks
import scripts
import streams
import wrappers
from cases import Case, main
from runner import HERE, LIMIT, Skipped, TCP, expect, launch, started


def rules():
    """Yields (name, ranks, over what) of each program that tests a rule; what: "", " tcp", " hosts", " blocks", " turns"."""
    for path in sorted(HERE.glob("*.c")):
        text = path.read_text()
        found = re.search(r"^ \* ranks: ([\d ]+)(tcp)?( nodes)?$", text, re.MULTILINE)
        if not found and re.search(r"\branks: \d", text):
            sys.exit(f"{path.name}: 'ranks: ...' is not a line of its own in the first comment, so no test would run the program")
        if not found:
            continue
        ranks = [int(word) for word in found.group(1).split()]
        for count in ranks:
            yield path.stem, count, ""
        if found.group(2):
            yield path.stem, ranks[-1], " tcp"
            yield path.stem, min(ranks[-1], 4) if ranks[-1] < 64 else 64, " hosts"
        if found.group(3):
            yield path.stem, 7, " blocks"
            yield path.stem, 7, " turns"


def run_rule(build, name, count, over):
    fakes = {" hosts": ["-fake-hosts", 2 if count < 64 else 4], " blocks": ["-fake-hosts", 3],
             " turns": ["-fake-hosts", 3, "-ppn", 1]}.get(over, [])
    status, out, err = launch(build, "-n", count, *fakes, build / "tests" / name, environment=TCP if over == " tcp" else None)
    return [] if status == 0 else [f"status {status}", *(out + err).splitlines()[-12:]]


def terminated(build):
    """A signal to mpiexec ends the job, and mpiexec with 128 and its number."""
    with started(build, "-n", 2, "sh", "-c", "echo up; exec sleep 1000", stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        process.terminate()
        _, err = process.communicate()
    return expect(process.returncode == 143 and lines == ["up\n"] * 2 and "signal 15" in err, process.returncode, err)


def options(build):
    status, out, err = launch(build, "-genv", "ALL", "every where", "-n", 1, "-env", "MINE", "one", "sh", "-c",
                              "echo $PMI_RANK $PMI_SIZE $ALL $MINE", ":", "-n", 2, "-wdir", "/", "sh", "-c",
                              "echo $PMI_RANK $PMI_SIZE $ALL $MINE $PWD")
    wanted = {"0 3 every where one", "1 3 every where /", "2 3 every where /"}
    return expect(status == 0 and set(out.splitlines()) == wanted, status, out, err)


def options_of_others(build):
    """Options of Open MPI's and MPICH's launchers: those that mean something act, and each other one has its line."""
    words = ["--mca", "btl", "self,tcp", "--bind-to", "core", "--map-by", "core", "--map-by", "ppr:1:node", "--oversubscribe",
             "--allow-run-as-root", "-genvall", "-bootstrap", "fork", "-prepend-rank", "-wd", "/", "-hosts", "one,two", "-np", 2]
    status, out, err = launch(build, *words, "sh", "-c", "echo $PWD $MPI_LOCALNRANKS")
    said = [re.sub(": no effect here: .*", "", line) for line in err.splitlines()]
    return expect(status == 0 and sorted(out.splitlines()) == ["[0] / 1", "[1] / 1"] and said ==
                  ["mpiexec: --mca btl", "mpiexec: --bind-to core", "mpiexec: --map-by core"], status, out, err)


def labels(build):
    _, out, err = launch(build, "-n", 3, "-l", "sh", "-c", "echo a; printf b")
    wanted = [f"[{rank}] {text}" for rank in range(3) for text in "ab"]
    return expect(sorted(out.split("\n")) == wanted, out, err)


def whole_lines(build):
    """Long lines of several ranks do not mix, and none is lost."""
    _, out, err = launch(build, "-n", 4, "sh", "-c",
                         "i=0; while [ $i -lt 300 ]; do printf %0200d $PMI_RANK; echo; i=$((i+1)); done")
    lines = out.splitlines()
    return expect(len(lines) == 1200 and {line.lstrip("0") or "0" for line in lines} == {"0", "1", "2", "3"} and
                  {len(line) for line in lines} == {200}, len(lines), err)


def standard_input(build):
    status, out, err = launch(build, "-n", 2, "sh", "-c", "wc -c", stdin=open(__file__, encoding="utf-8"))
    counts = sorted(int(line) for line in out.split())
    return expect(status == 0 and counts == [0, pathlib.Path(__file__).stat().st_size], status, out, err)


def bad_options(build):
    for words, text in ((["-n", "0", "true"], "-n 0"), (["-n", "x", "true"], "-n x"), (["-n"], "needs a value"),
                        ([], "no program"), (["-frob", "true"], "-frob"), (["true", ":"], "no program"),
                        (["--map-by", "ppr:x:node", "true"], "--map-by ppr:x:node"),
                        (["--map-by", "ppr:0:node", "true"], "from 1")):
        status, _, err = launch(build, *words)
        if status != 2 or text not in err or len(err.splitlines()) != 1:
            return [f"{words}: status {status}", err]
    status, _, err = launch(build, "-n", 2, "/nonexistent/program")
    return expect(status == 127 and "cannot run /nonexistent/program" in err, status, err)


def program_of_this_folder(build):
    """The PATH alone is looked through; who forgets ./ is told so."""
    for folder, text in ((build / "tests", "for the file of this folder write ./nobody"), ("/", "no folder of PATH has it; give")):
        status, _, err = launch(build, "-n", 1, "-wdir", folder, "nobody")
        if status != 127 or text not in err:
            return [f"in {folder}: status {status}", err]
    return []


def wrong_launcher(build):
    """A launcher that we do not understand is an error, never as many singletons as it has ranks."""
    result = subprocess.run([build / "tests/nobody"], capture_output=True, text=True, timeout=LIMIT,
                            env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"})
    lines = result.stderr.splitlines()
    return expect(result.returncode != 0 and len(lines) == 3 and "Open MPI" in lines[0], result.returncode, lines)


def singleton(build):
    result = subprocess.run([build / "tests/nobody"], capture_output=True, text=True, timeout=LIMIT)
    return expect(result.returncode == 0, result.returncode, result.stderr)


def fatal(build):
    """An error that nobody handles names function and argument, and ends the job."""
    status, _, err = launch(build, "-n", 2, build / "tests/fatal")
    return expect(status != 0 and "MPI_Send" in err and "dest is 99" in err and "of 2" in err, status, err)


def examples(build):
    """What an example computes does not depend on the number of ranks; with one it is computed without a message."""
    for source in sorted((HERE.parents[1] / "examples").glob("*.c")):
        if source.stem == "ring":
            continue
        binary = build / "tests" / f"example_{source.stem}"
        made = subprocess.run([build / "bin/mpicc", "-Wall", "-Werror", "-O2", source, "-o", binary], capture_output=True,
                              text=True, timeout=LIMIT)
        runs = [launch(build, "-n", ranks, binary) for ranks in (1, 2, 3, 4)] if made.returncode == 0 else []
        results = {out.split("\n")[0] for status, out, _ in runs if status == 0}
        if len(runs) != 4 or len(results) != 1 or "checksum" not in results.pop():
            return [f"{source.stem}:", made.stderr, *map(str, runs)]
    return []


def bench(build):
    """Each cell of mpi/bench has its line, and content that was looked at."""
    processors = ",".join(str(sorted(os.sched_getaffinity(0))[place]) for place in (0, -1))
    for ranks, words, count in ((2, ["start"], 1), (2, ["two", processors], 16), (4, ["four"], 2),
                                (2, ["rma", processors], 13), (9, ["counter"], 1)):
        status, out, err = launch(build, "-n", ranks, build / "tests/mpibench", *words)
        cells = [json.loads(line) for line in out.splitlines()]
        if status != 0 or len(cells) != count or any(cell["value"] <= 0 for cell in cells):
            return [f"{words}: status {status}", out, err]
    for words, text in ((["four"], "wrong number of ranks"), (["rma"], "usage"), (["counter", processors], "usage")):
        status, _, err = launch(build, "-n", 3, build / "tests/mpibench", *words)
        if status != 1 or text not in err:
            return [f"{words}: status {status}", err]
    return []


def ends_quietly(build):
    """Ranks that leave one after the other are no news to those that stay."""
    outs = [launch(build, "-n", 4, build / "tests/many") for _ in range(10)]
    return expect(all(one == (0, "", "") for one in outs), *outs)


def hydra(build):
    """MPICH's launcher starts our programs by its own PMI-1; two fake nodes, too."""
    program = shutil.which("mpiexec.hydra")
    if program is None:
        raise Skipped("mpiexec.hydra is not installed")
    for options in (["-n", "3"], ["-launcher", "fork", "-hosts", "127.0.0.1,127.0.0.2", "-ppn", "2", "-n", "4"]):
        for name in ("moves", "sessions_mixed", "sessions_threads"):
            result = subprocess.run([program, *options, build / "tests" / name], capture_output=True, text=True, timeout=LIMIT)
            if (result.returncode, result.stdout, result.stderr) != (0, "", ""):
                return [f"{name} {options}: status {result.returncode}", result.stdout, result.stderr]
    return []


def settings(build):
    """mpi.keeper and mpi.node_memory decide; a wrong name is one line with the right one, as is a wrong value."""
    program = build / "tests/settings"
    for environment, wanted in (({}, "sum right, threads 2, node memory yes"),
                                ({"VBN_MPI_KEEPER": "0"}, "sum right, threads 1, node memory yes"),
                                ({"VBN_MPI_NODE_MEMORY": "false"}, "sum right, threads 2, node memory no")):
        status, out, err = launch(build, "-n", 2, program, environment=environment)
        if status != 0 or out.splitlines() != [wanted] * 2:
            return [f"{environment}: status {status}", out, err]
    wrong = []
    for name, value, text in (("VBN_MPI_KEPER", "0", "did you mean VBN_MPI_KEEPER?"),
                              ("VBN_MPI_HEAP", "shared", "must be one of private, node"),
                              ("VBN_MPI_LARGE_PAIRS", "rings", "must be one of auto, pieces, messages"),
                              ("VBN_MPI_COLLECTIVES", "bcast=tree," * 30, "mpi.collectives is longer than 255 bytes")):
        status, out, err = launch(build, "-n", 1, program, environment={name: value})
        wrong += expect(status != 0 and text in err, name, status, out, err)
    return wrong


def ways_of_pairs(build):
    """Two ranks with much data: each way of mpi.large_pairs gives the right results, and the bits of forms that do not block."""
    for way in ("pieces", "messages"):
        for program in ("reduces_mapped", "pairs"):
            status, out, err = launch(build, "-n", 2, build / "tests" / program, environment={"VBN_MPI_LARGE_PAIRS": way})
            if (status, out, err) != (0, "", ""):
                return [f"{program} by {way}: status {status}", out, err]
    return []


def no_lasting_files(build):
    """What others make there meanwhile they do not make during each of several jobs."""
    for _ in range(10):
        before = set(os.listdir("/dev/shm"))
        status, out, err = launch(build, "-n", 4, build / "tests/moves")
        left = set(os.listdir("/dev/shm")) - before
        if status != 0 or not left:
            break
    return expect(status == 0 and not left, status, out, err, left)


def scarce_addresses(build):
    """With little address space node memory has no place for large data: that goes by messages."""
    program = build / "tests/slots"
    if b"__asan_init" in program.read_bytes():
        raise Skipped("the address sanitizer needs more addresses")
    most = 160 << 20
    found = launch(build, "-n", 9, program, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
    return expect(found == (0, "", ""), *found)


def refused_memory(build):
    """Without memfd_create one rank of the node says what is missing, why, and what comes of it."""
    status, out, err = launch(build, "-n", 3, build / "tests/no_memfd")
    said = [line for line in err.splitlines() if "no node memory" in line]
    return expect(status == 0 and len(said) == 1 and "memfd_create" in said[0] and "go by messages" in said[0], status, out, err)


def sleeps(build):
    """A rank that waits sleeps. Where two ranks have one processor it does so after a few tries, which are counted without
    progress.spin: that is a time."""
    one = {min(os.sched_getaffinity(0))}
    found = [launch(build, "-n", 2, build / "tests/sleeps", 1 << 30),
             launch(build, "-n", 2, build / "tests/sleeps", 64, environment={"VBN_PROGRESS_SPIN": "0"},
                    preexec_fn=lambda: os.sched_setaffinity(0, one))]
    return [line for each in found for line in expect(each == (0, "", ""), *each)]


def computes_for_long(build):
    """A rank that computes for a minute loses nobody."""
    for fakes in ([], ["-fake-hosts", 2, "-ppn", 1]):
        status, out, err = launch(build, "-n", 4, *fakes, build / "tests/busy", environment={"RULE_SECONDS": "60"})
        if status != 0:
            return [f"{fakes}: status {status}", out, err]
    return []


def many_seeds(build):
    """2,000 seeds of the random tester of windows, with one thread of each rank and with three."""
    ways = ((2, [], None), (3, [], None), (4, [], None), (3, [], TCP), (4, ["-fake-hosts", 2], None))
    for first in range(1, 2001, 100):
        ranks, fakes, environment = ways[first // 100 % len(ways)]
        for program in ("win_random", "win_random_threads"):
            status, out, err = launch(build, "-n", ranks, *fakes, build / "tests" / program, first, 100, environment=environment)
            if status != 0:
                return [f"{program} {first} 100, {ranks} ranks {fakes} {environment}: status {status}", out, err]
    return []


def many_windows(build):
    """64 windows of 64 ranks, all of which access all: descriptors, and memory of the heap."""
    status, out, err = launch(build, "-n", 64, build / "tests/win_memory")
    print(out, end="")
    return expect(status == 0 and "64 windows of 64 ranks: 0 more descriptors" in out, status, out, err)


OWN = (terminated, options, options_of_others, labels, whole_lines, standard_input, bad_options, program_of_this_folder,
       wrong_launcher, singleton, fatal, examples, bench, ends_quietly, hydra, no_lasting_files, settings, ways_of_pairs,
       scarce_addresses, refused_memory, sleeps)

# The first word of a test's name, and the tests.
GROUPS = (("mpiexec", leftovers.TESTS), ("mpiexec", OWN), ("lines", lines.TESTS), ("ends", ends.TESTS), ("asked", asked.TESTS),
          ("streams", streams.TESTS), ("mpiexec", scripts.TESTS), ("hosts", hosts.TESTS), ("hosts", networks.TESTS),
          ("names", clash.TESTS), ("launchers", launchers.TESTS), ("wrappers", wrappers.TESTS), ("costs", costs.TESTS),
          ("choices", choices.TESTS), ("heap", heaps.TESTS), ("containers", containers.TESTS))


def cases():
    for name, count, over in rules():
        yield Case(f"{name} n={count}{over}", lambda build, a=(name, count, over): run_rule(build, *a))
    yield from deaths.cases()
    for group, tests in GROUPS:
        for test in tests:
            yield Case(f"{group} {test.__name__}", test)
    yield Case("computes_for_long", computes_for_long, long=True)
    yield Case("many_seeds of windows", many_seeds, long=True)
    yield Case("many_windows n=64", many_windows, long=True)


if __name__ == "__main__":
    sys.exit(main(__doc__, list(cases())))
