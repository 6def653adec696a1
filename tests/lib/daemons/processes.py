# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command that started them, and are known again by their id and start time."""
import ctypes
import os
import signal
import subprocess
import time

from .errors import Failed

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
POLL = 0.1  # seconds between two looks at a process


def _die_with_parent():
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start_time(pid):
    """When a process started, in clock ticks since boot; None when there is no such process, or only its remains.

    The first thread of a killed JVM may be a zombie while others still end: until the last has, its ports are taken.
    """
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    state, threads = fields[0], int(fields[17])
    return None if state == "Z" and threads <= 1 else int(fields[19])


def spawn(argv, log, env, tied):
    """Starts argv in a session of its own, output appended to log; gives (pid, start time). tied: dies with us."""
    with open(log, "ab") as sink:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=env,
                                     start_new_session=True, preexec_fn=_die_with_parent if tied else None)
        except OSError as error:
            raise Failed(f"cannot start {argv[0]}: {error}") from error
    _CHILDREN[child.pid] = child
    return child.pid, start_time(child.pid)


_CHILDREN = {}  # pid -> Popen, to reap those that were started by this process


def alive(pid, started):
    child = _CHILDREN.get(pid)
    if child is not None and child.poll() is not None:
        return False
    return started is not None and start_time(pid) == started


def kill(pid, started, number=signal.SIGKILL):
    """Sends a signal to a process and its group, if it is still the one that was started."""
    if alive(pid, started):
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def end(processes, grace=20):
    """Ends [(pid, started)]: SIGTERM, and SIGKILL for those that have not ended after grace seconds."""
    for number, limit in ((signal.SIGTERM, grace), (signal.SIGKILL, 10)):
        for pid, started in processes:
            kill(pid, started, number)
        deadline = time.monotonic() + limit
        while any(alive(*each) for each in processes) and time.monotonic() < deadline:
            time.sleep(POLL)


def below(folder):
    """[(pid, started)] of the processes whose current directory is below a folder: YARN's containers."""
    found = []
    prefix = os.path.realpath(folder) + os.sep
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                inside = os.readlink(f"/proc/{name}/cwd").startswith(prefix)
            except OSError:
                continue
            if inside:
                found.append((int(name), start_time(int(name))))
    return found
