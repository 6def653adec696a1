# SPDX-License-Identifier: Apache-2.0
"""Ends of rank 1: the whole job ends, says which rank ended it and how, and has the exit code of that.

A rank is killed in each collective: blocking, non-blocking, persistent, between two groups; over slots of node memory, on two
levels, and by messages alone. Where mpiexec sees it, it ends the job; where it does not, the collective ends with an error
at the other ranks. --full: each with each.
"""
import os
import re
import socket
import subprocess

from cases import Case
from runner import HERE, LIMIT, Skipped, expect, instrumented, launch, started

RANKS = 4
FORBIDDEN = 77
WAYS = (("segv", 139, ["rank 1", "signal 11"]), ("exit", 3, ["rank 1", "exit code 3"]),
        ("leave", 1, ["rank 1", "without MPI_Finalize"]), ("abort", 7, ["rank 1 of 4", "MPI_Abort", "code 7"]))
KILLED = (137, ["signal 9", "Killed"])
# name: options of mpiexec, the host of rank 1
LAYOUTS = {"": ([], ""), " two levels": (["-fake-hosts", 2, "-ppn", 2], "#0"), " messages": (["-fake-hosts", RANKS], "#1")}
ALONE = ("Scan", "Exscan", "Neighbor")  # not between two groups


def dies(build, way, call, layout, status, words, program="dies"):
    options = LAYOUTS[layout][0]
    found, out, err = launch(build, "-n", RANKS, *options, build / "tests" / program, way, *call.split())
    return expect(found == status and all(word in err for word in words), found, out, err)


def aborts(build):
    """The exit code of MPI_Abort is the low byte of what it was given, and never 0; with mpiexec and without."""
    for code, status in ((256, 1), (0, 1), (263, 7), (-1, 255), (3, 3)):
        alone = subprocess.run([build / "tests/aborts", str(code)], capture_output=True, text=True, timeout=LIMIT)
        found, _, err = launch(build, "-n", 2, build / "tests/aborts", code)
        if (alone.returncode, found) != (status, status):
            return [f"code {code}: {alone.returncode} alone, {found} under mpiexec", alone.stderr, err]
    status, _, err = launch(build, "-n", 2, build / "tests/aborts", "locked")
    if status != 5:
        return [f"with a locked stream: status {status}", err]
    status, _, err = launch(build, "-n", 1, build / "tests/aborts", "handler")
    return expect(status != 0 and "(MPI_ERRORS_ABORT)" in err and "dest is 99" in err, status, err)


def killed(way, call, layout, long=False):
    status, words = KILLED
    host = f"rank 1 on {socket.gethostname()}{LAYOUTS[layout][1]} ended"
    return Case(f"death {way} in {call}{layout}",
                lambda build: dies(build, way, call, layout, status, [*words, host]), long)


def end_elsewhere(build, missing, *words, **environment):
    """Each of these lines comes, though mpiexec sees no end."""
    lines = []
    with started(build, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                 env={**os.environ, **environment}) as process:
        while missing and (line := process.stdout.readline()):
            lines.append(line)
            missing.discard(line)
        process.terminate()
        _, err = process.communicate()
    return expect(not missing, f"within {LIMIT} s no end at:", *sorted(missing), "there was:", *lines, err)


def unseen(build, call, layout, program="dies"):
    """mpiexec does not see the end of rank 1."""
    missing = {f"rank {rank}: an error\n" for rank in range(RANKS) if rank != 1}
    if call.lower().lstrip("i").startswith("neighbor"):
        missing.remove("rank 3: an error\n")  # its neighbours are 2 and 0
    return end_elsewhere(build, missing, "-n", RANKS, *LAYOUTS[layout][0], build / "tests" / program, "unseen", *call.split())


def unseen_of_two(build, call, way):
    return end_elsewhere(build, {"rank 0: an error\n"}, "-n", 2, build / "tests/dies", "unseen", call, VBN_MPI_LARGE_PAIRS=way)


def unseen_with_heaps(build, call, ranks):
    """Of the shell that has started rank 1 mpiexec sees no end. (A child of fork() alone would have no heap.)"""
    if instrumented(build):
        raise Skipped("sanitizers have a malloc of their own")
    missing = {f"rank {rank}: an error\n" for rank in range(ranks) if rank != 1}
    shell = '"$0" "$@"; exec sleep 1000'
    return end_elsewhere(build, missing, "-n", ranks, "sh", "-c", shell, build / "tests/dies", "stays", call, VBN_MPI_HEAP="node",
                         VBN_MPI_LARGE_PAIRS="pieces")


def end_with_errors(build, layout, missing, program, *words):
    """Each of these ranks ends its call with an error, or a rank that waits for one that has done so ends the job, and names the
    lost one, or who has failed because another one told it so."""
    with started(build, "-n", RANKS, *LAYOUTS[layout][0], build / "tests" / program, *words, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        while missing and (line := process.stdout.readline()):
            missing.discard(line)
        if not missing:
            process.terminate()
        _, err = process.communicate()
    named = re.search(r"rank 1 of the job is lost|rank \d of the job has failed in it", err)
    return expect(not missing or named, f"status {process.returncode}", *sorted(missing), err)


def ends_unseen(build, call, layout, way="unseen"):
    """The same as unseen in what makes sets of ranks by several collectives, of which ranks may see different ones fail."""
    missing = {f"rank {rank}: an error\n" for rank in range(RANKS) if rank != 1}
    return end_with_errors(build, layout, missing, "win_dies", way, call)


def absent(build, call, layout):
    """Rank 3 lives and does not come: the others give up, because rank 1 is lost."""
    return end_with_errors(build, layout, {"rank 0: an error\n", "rank 2: an error\n"}, "absent", *call.split())


def collectives():
    """Each family of dies.c: its blocking, its non-blocking and its persistent form."""
    families = re.findall(r"^ +F\((\w+), (\w+),", (HERE / "dies.c").read_text(), re.MULTILINE)
    return [(name, f"I{after}", f"{name}_init") for name, after in families]


def in_session(build, way, layout, status, words):
    found, out, err = launch(build, "-n", RANKS, *LAYOUTS[layout][0], build / "tests/session_dies", way)
    if found == FORBIDDEN:
        raise Skipped("a process may not trace its parent here")
    return expect(found == status and all(word in err for word in words), found, out, err)


KILL = (137, ["rank 1", "signal 9"])
SESSIONS = (*((way, *KILL) for way in ("before", "open", "inside", "slowly", "finalize")),
            ("leave", 3, ["rank 1 on", "ended without MPI_Finalize or MPI_Session_finalize", "exit code 3"]),
            ("never", 3, ["rank 1 has ended without opening a session"]))


def of_sessions():
    for layout in LAYOUTS:
        for way, status, words in SESSIONS:
            yield Case(f"death {way} in a session{layout}",
                       lambda build, a=(way, layout, status, words): in_session(build, *a))
        yield Case(f"death unseen in a session{layout}",
                   lambda build, a=("", layout, "session_dies"): unseen(build, *a))


def unequal(build, way, call, layout):
    """The job ends: some rank says which call fails, and which rank sends or has something else."""
    found, out, err = launch(build, "-n", RANKS, *LAYOUTS[layout][0], build / "tests/dies", way, *call.split())
    said = re.search(r"^rank \d of 4[:,] MPI_\w+.* rank \d .*(bytes|counts)", err, re.MULTILINE)
    return expect(found not in (0, 124) and said, found, out, err)


def of_counts():
    """Rank 1 has other counts from some call on, fewer or more than the others."""
    for place, forms in enumerate(collectives()[1:]):  # a barrier has none
        between = [f"{forms[0]} inter"] * (not forms[0].startswith(ALONE))
        for form, call in enumerate([*forms, *between]):
            for turn, layout in enumerate(LAYOUTS):
                for number, way in enumerate(("more", "less")):
                    yield Case(f"counts {way} in {call}{layout}", lambda build, a=(way, call, layout): unequal(build, *a),
                               (turn + place) % len(LAYOUTS) != form % len(LAYOUTS) or (place + form) % 2 != number)


def of_collectives():
    """The usual ones: each form once inside and once unseen, each family once between groups; the layouts in turns."""
    for place, forms in enumerate(collectives()):
        between = not forms[0].startswith(ALONE)
        for form, call in enumerate(forms):
            for turn, layout in enumerate(LAYOUTS):
                yield killed("inside", call, layout, turn != (place + form) % len(LAYOUTS))
                yield Case(f"death unseen in {call}{layout}", lambda build, a=(call, layout): unseen(build, *a),
                           turn != (place + form + 1) % len(LAYOUTS))
                if between:
                    usual = form == place % 3 and turn == (place + 1) % len(LAYOUTS)
                    yield killed("kill", call + " inter", layout, not usual)


def of_large():
    """Two ranks that exchange much data, by each of the ways that they measure; ranks that read each other's heaps."""
    for call in ("Bcast", "Alltoall", "Allreduce"):
        for way in ("pieces", "messages"):
            yield Case(f"death unseen in {call} of two by {way}", lambda build, a=(call, way): unseen_of_two(build, *a))
    for call, ranks in (("Allreduce", 2), ("Allreduce", 4), ("Reduce_scatter", 3), ("Scan", 4)):
        yield Case(f"death unseen in {call} of {ranks} with heaps", lambda build, a=(call, ranks): unseen_with_heaps(build, *a))


def of_windows():
    """Each synchronisation, and what makes windows and communicators: once inside and once unseen, the layouts in turns."""
    makers = ("free", "dup", "idup", "split", "allocate", "group")
    for place, call in enumerate(("fence", "start", "wait", "lock", "flush", *makers)):
        for turn, layout in enumerate(LAYOUTS):
            yield Case(f"death inside {call} of a window{layout}",
                       lambda build, a=("inside", call, layout, *KILL, "win_dies"): dies(build, *a),
                       turn != place % len(LAYOUTS))
            usual = turn == (place + 1) % len(LAYOUTS)
            yield Case(f"death unseen in {call} of a window{layout}",
                       lambda build, a=(call, layout): ends_unseen(build, *a) if a[0] in makers
                       else unseen(build, *a, "win_dies"), not usual)


def of_groups():
    """A rank that has failed to make a communicator of a group may do something else: who waits for it there ends the job."""
    for layout in LAYOUTS:
        yield Case(f"death unseen and no further call in MPI_Comm_create_group{layout}",
                   lambda build, a=("group", layout, "once"): ends_unseen(build, *a))


def of_absent():
    """The layouts in turns."""
    for place, call in enumerate(("dup", "idup", "split", "sum", "broadcast", "barrier", "join", "small", "dup session",
                                  "sum session", "small session")):
        for turn, layout in enumerate(LAYOUTS):
            yield Case(f"death and an absent rank in {call}{layout}", lambda build, a=(call, layout): absent(build, *a),
                       turn != (place + 2) % len(LAYOUTS))


def cases():
    yield from of_sessions()
    yield from of_absent()
    yield from of_groups()
    yield from of_large()
    yield from of_windows()
    for way, status, words in WAYS:
        for layout in LAYOUTS:
            yield Case(f"death {way}{layout}",
                       lambda build, a=(way, "Allreduce", layout, status, words): dies(build, *a))
    yield Case("death codes of MPI_Abort", aborts)
    for layout in LAYOUTS:
        yield killed("kill", "receive", layout)
        yield Case(f"death unseen and its last words{layout}", lambda build, a=layout: unseen(build, "", a, "last_words"))
    yield from of_collectives()
    yield from of_counts()
