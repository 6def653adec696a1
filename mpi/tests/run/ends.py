# SPDX-License-Identifier: Apache-2.0
"""Ends of ranks that leave the others alone: failures after MPI_Finalize, and no MPI_Finalize. Each test takes the build folder and
gives a list of what is wrong."""
import os
import pathlib
import subprocess
import sys
import tempfile

from hosts import Ssh
from runner import LIMIT, expect, launch, started

RESULTS = ["rank 0 has written its results", "rank 2 has written its results"]
# Rank 0 closes its connection to mpiexec within the barrier, as the kernel does when it ends; then rank 1 completes that.
IN_BARRIER = """
import os, socket, sys
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
if os.environ["PMI_RANK"] == "0":
    pmi.sendall(b"cmd=barrier_in\\ncmd=get_appnum\\n")
    pmi.recv(100)
    pmi.close()
    os.write(1, b"in\\n")
else:
    with open(sys.argv[1]) as told:
        told.read()
    pmi.sendall(b"cmd=get_appnum\\n")
    pmi.recv(100)
    pmi.sendall(b"cmd=barrier_in\\n")
    os.write(1, pmi.recv(100))
"""
LEFT = "ended without MPI_Finalize or MPI_Session_finalize"


def after_finalize(build, way, status, how, *words):
    """Rank 0 writes when mpiexec has told of rank 1's end."""
    with started(build, *words, "-n", 3, build / "tests/finishes", way, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE) as process:
        line = process.stderr.readline()
        process.stdin.close()
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(LIMIT)
    return expect(process.returncode == status and line.endswith(f"ended {how} after MPI_Finalize; the others go on\n") and
                  "rank 1 on" in line and sorted(out.splitlines()) == RESULTS and err == "", process.returncode, line, out, err)


def codes_after_finalize(build):
    """They are the job's, and the others write their results first."""
    with Ssh() as ssh:
        return (after_finalize(build, "code", 3, "with exit code 3") or
                after_finalize(build, "code", 3, "with exit code 3", *ssh, "-hosts", "one,two") or
                after_finalize(build, "signal", 137, "by signal 9 (Killed)"))


def without_finalize(build):
    """All ranks, or one of them: a warning. The others get through their MPI_Finalize; they may say that they have lost it."""
    problems = []
    for way, who, results in (("leave", ", and 2 others", []), ("some", "", RESULTS)):
        status, out, err = launch(build, "-n", 3, build / "tests/finishes", way)
        told = [line for line in err.splitlines() if line.startswith("mpiexec: ")]
        problems += expect(status == 0 and len(told) == 1 and told[0].startswith("mpiexec: warning: rank ") and
                           f"{who} {LEFT}; each rank" in told[0] and sorted(out.splitlines()) == results, way, status, out, err)
    return problems


def missed(build):
    """Who waits for a rank that has left, and does not notice, is ended after -kill-after seconds."""
    status, out, err = launch(build, "-kill-after", 1, "-n", 3, build / "tests/finishes", "missed")
    return expect(status == 1 and out == "" and f"{LEFT}; the job ends\n" in err and "rank 1 on" in err, status, out, err)


def within_barrier(build):
    """What the others hear of the barrier does not depend on whether such a rank could be answered."""
    with tempfile.TemporaryDirectory() as folder:
        told = pathlib.Path(folder) / "told"
        os.mkfifo(told)
        with started(build, "-n", 2, sys.executable, "-c", IN_BARRIER, told, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
            first = process.stdout.readline()
            told.write_text("")
            out, err = process.communicate(timeout=LIMIT)
    return expect((process.returncode, first, out, err) == (0, "in\n", "cmd=barrier_out\n", ""), process.returncode, first, out,
                  err)


TESTS = (codes_after_finalize, without_finalize, missed, within_barrier)
