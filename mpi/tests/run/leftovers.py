# SPDX-License-Identifier: Apache-2.0
"""A job leaves no process behind: neither ranks nor what they have started, however it ends."""
import os
import subprocess

from hosts import children, is_gone, wait_for
from runner import expect, launch, started


def all_gone(pids, word="sleep"):
    return all(is_gone(pid, word) for pid in pids)


def nothing_is_left(build):
    """Killed itself, mpiexec leaves no rank behind."""
    with started(build, "-n", 3, "sleep", 1000) as process:
        wait_for(lambda: process.poll() is not None or len(children(process.pid, "sleep")) == 3)
        pids = children(process.pid, "sleep")
        process.kill()
    return expect(len(pids) == 3 and wait_for(lambda: all_gone(pids)), "ranks:", pids)


# One is in a session of its own.
SCRIPT = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; [ $PMI_RANK = 0 ] || exit 3; wait"


def scripts_children(build, *options):
    """What a rank has started has ended when the job has."""
    status, out, err = launch(build, "-n", 2, *options, "sh", "-c", SCRIPT)
    pids = out.split()
    return expect(status == 3 and len(pids) >= 2 and all_gone(pids), status, out, err)


def scripts_children_elsewhere(build):
    return scripts_children(build, "-launcher", "fork", "-hosts", "one,two")


def launcher_is_gone(build):
    """mpiexec killed itself: ranks that scripts have started end, too."""
    words = f"RULE_SECONDS=1000 {build}/tests/busy & echo $!; wait; true"
    with started(build, "-n", 2, "sh", "-c", words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        pids = [process.stdout.readline().strip() for _ in range(2)]
        wait_for(lambda: all(len(os.listdir(f"/proc/{pid}/task")) > 1 for pid in pids))  # they are in MPI_Init at least
        process.kill()
    return expect(wait_for(lambda: all_gone(pids, "busy")), "ranks:", pids)


TESTS = (nothing_is_left, scripts_children, scripts_children_elsewhere, launcher_is_gone)
