# SPDX-License-Identifier: Apache-2.0
"""A memory control group (version 1 or 2) in which commands run, as in a container of that size: what they took, who was killed.

    with MemoryGroup("executor", 1408 << 20) as group:
        subprocess.run([*group.wrapper(), "java", ...])
        group.killed(), group.peak()

The group lies below one that this process is in, so that limits of those above hold, too. Its folder is removed at the end of
the block and of the process; those of processes that were killed go when the next group is made.
"""
import atexit
import os
import re
import signal
import time

from . import processes

ROOT = "/sys/fs/cgroup"
END = 60  # seconds in which killed processes leave
CURE = "run this as root, in a container with its own writable control groups (docker run --privileged --cgroupns=private)"


class Unavailable(Exception):
    """Nobody may make a memory group here: cause and cure."""


class Version1:
    limit, peak, events = "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"
    swap = "memory.memsw.limit_in_bytes"  # memory and swap together

    @staticmethod
    def swap_value(limit):
        return limit


class Version2:
    limit, peak, events = "memory.max", "memory.peak", "memory.events"
    swap = "memory.swap.max"

    @staticmethod
    def swap_value(_):
        return 0


def read(path):
    with open(path) as file:
        return file.read()


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


def above(root=ROOT, groups="/proc/self/cgroup"):
    """(folder in which a memory group can be made, its version)."""
    unified = ""
    for line in read(groups).splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            folder = f"{root}/memory{path}"  # in a container, its own group is the root of what is mounted
            return (folder if os.path.isdir(folder) else f"{root}/memory"), Version1
        unified = path if controllers == "" else unified
    return giving(root, os.path.normpath(root + unified)), Version2


def giving(root, folder):
    """Of a folder of version 2 and those above the lowest that gives the memory controller to groups below it."""
    while folder.startswith(root):
        control = os.path.join(folder, "cgroup.subtree_control")
        if os.path.exists(control) and "memory" in read(control).split():
            return folder
        folder = os.path.dirname(folder)
    raise Unavailable(f"no control group here gives the memory controller to those below it; {CURE}")


def sweep(folder):
    """Removes empty groups whose makers have ended without a word."""
    for name in os.listdir(folder):
        maker = re.fullmatch(r"verbena-.*-(\d+)-(\d+)-\d+", name)
        if maker and not processes.alive(int(maker.group(1)), int(maker.group(2))):
            try:
                os.rmdir(os.path.join(folder, name))
            except OSError:
                pass  # somebody is in it, or has removed it


class MemoryGroup:
    """Not for threads. Children of those in it are in it, too."""

    _count = 0

    def __init__(self, name, limit):
        """Makes the group; limit: bytes. Raises Unavailable."""
        folder, self._version = above()
        sweep(folder)
        MemoryGroup._count += 1
        self.path = f"{folder}/verbena-{name}-{os.getpid()}-{processes.start_time(os.getpid())}-{MemoryGroup._count}"
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Unavailable(f"no memory control group below {folder}: {error.strerror}; {CURE}") from error
        atexit.register(self.remove)
        try:
            self._bound(limit)
        except OSError as error:
            self.remove()
            raise Unavailable(f"no limit for a control group below {folder}: {error.strerror}; {CURE}") from error

    def _bound(self, limit):
        write(self._file("limit"), limit)
        if os.path.exists(self._file("swap")):
            write(self._file("swap"), self._version.swap_value(limit))

    def _file(self, kind):
        return os.path.join(self.path, getattr(self._version, kind))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def wrapper(self):
        """Words before those of a command, which then runs in the group from its first instruction."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.path]

    def peak(self):
        """Most bytes so far, pages of files included, which the kernel gives up before it kills; None: an old kernel."""
        return int(read(self._file("peak"))) if os.path.exists(self._file("peak")) else None

    def killed(self):
        """How many processes the kernel has ended because they took more than the limit."""
        return int(re.search(r"^oom_kill (\d+)$", read(self._file("events")), re.MULTILINE).group(1))

    def members(self):
        """Ids of the processes in it; the kernel shows 0 for one that has no id here, which os.kill would take for us."""
        return [int(word) for word in read(os.path.join(self.path, "cgroup.procs")).split() if word != "0"]

    def remove(self):
        """Ends who is still in it, and removes it; again: nothing."""
        deadline = time.monotonic() + END
        while os.path.isdir(self.path):
            try:
                for pid in self.members():
                    os.kill(pid, signal.SIGKILL)
                os.rmdir(self.path)
            except OSError:  # a killed process has not left yet, or just has
                if time.monotonic() > deadline:
                    raise
                time.sleep(processes.POLL)
        atexit.unregister(self.remove)
