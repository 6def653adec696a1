#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command and writes the processor seconds of all its processes to a file, also of those that it did not wait for.

usage: measured.py FILE SECONDS COMMAND ...

What the command leaves behind becomes a child of this process; it is killed, and named in the output, after SECONDS. A
SIGTERM goes to the command, and after GRACE seconds everything below it is killed.
"""
import ctypes
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1
GRACE = 10  # seconds
LIBC = ctypes.CDLL(None, use_errno=True)


def children(pid):
    try:
        return [int(word) for task in os.listdir(f"/proc/{pid}/task")
                for word in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:  # it has ended meanwhile
        return []


def below(pid):
    """All processes below one, children before their parents."""
    return [one for child in children(pid) for one in (*below(child), child)]


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()[:200]
    except OSError:
        return ""


def reap():
    """Waits for every child that has ended; gives False when there is none left at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    except ChildProcessError:
        return False


def kill_all():
    """Kills everything below this process, until nothing is left."""
    while reap():
        for pid in below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def await_orphans(seconds):
    """Gives what the command left time to end; kills and names the rest."""
    deadline = time.monotonic() + seconds
    while reap():
        if time.monotonic() > deadline:
            for pid in below(os.getpid()):
                print(f"left behind and killed: process {pid}: {command_of(pid)}", flush=True)
            kill_all()
            return
        time.sleep(0.02)


def exit_status(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Command:
    """The command as a process, and when a signal asked for its end."""

    def __init__(self, words):
        self.stopped = None
        self.process = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, self.stop)
        self.process = subprocess.Popen(words)

    def stop(self, _number, _frame):
        """The first time the command is asked to end; later, and where it has not been started, all of it ends at once."""
        if self.process is None or self.stopped is not None:
            kill_all()
            os._exit(128 + signal.SIGTERM)
        self.stopped = time.monotonic()
        os.kill(self.process.pid, signal.SIGTERM)
        signal.alarm(GRACE)

    def wait(self):
        """Reaps orphans until the command has ended; gives its exit status."""
        while True:
            ended, status = os.waitpid(-1, 0)
            if ended == self.process.pid:
                signal.alarm(0)
                return exit_status(status)


def main():
    file, linger, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    try:
        command = Command(words)
    except OSError as error:
        print(f"cannot run {words[0]}: {error.strerror}", flush=True)
        return 127
    status = command.wait()
    kill_all() if command.stopped else await_orphans(linger)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    pathlib.Path(file).write_text(f"{usage.ru_utime + usage.ru_stime:.1f}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
