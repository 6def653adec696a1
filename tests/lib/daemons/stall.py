# SPDX-License-Identifier: Apache-2.0
"""A disk that stands still (../stall.c): while it does, no call that opens, reads, writes or syncs a file below a folder goes on.

    disk = Stall(work, folder)                        # compiles the library into work
    subprocess.Popen(argv, env={**os.environ, **disk.environment()})
    with disk.standing():
        ... disk.waiting() ...
"""
import contextlib
import os
import shutil
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "stall.c")


class Unavailable(Exception):
    """There is no compiler."""


class Stall:
    def __init__(self, work, folder, call=None):
        """work: a folder elsewhere, for the library and for what it tells. call: the one kind of calls that waits ("open", "read",
        "write", "sync"); None: all. Raises Unavailable."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise Unavailable("no C compiler for the library that lets a disk stand still; install gcc")
        self._folder = os.path.realpath(folder)
        self._call = call
        self._control = os.path.join(os.path.realpath(work), "stall")
        self._library = os.path.join(self._control, "libstall.so")
        os.makedirs(self._control)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self._library, SOURCE], check=True, timeout=120)

    def environment(self):
        """Variables of the processes for which the disk may stand still, and of those that they start."""
        return {"LD_PRELOAD": self._library, "VERBENA_STALL_FOLDER": self._folder, "VERBENA_STALL_CONTROL": self._control,
                **({"VERBENA_STALL_CALL": self._call} if self._call else {})}

    @contextlib.contextmanager
    def standing(self):
        """The disk stands still in the block."""
        flag = os.path.join(self._control, "stalled")
        with open(flag, "w"):
            pass
        try:
            yield
        finally:
            os.unlink(flag)

    def waiting(self):
        """Kinds of the calls that wait now, one for each thread: open, read, write, sync."""
        return [name.split("-")[0] for name in os.listdir(self._control) if "-" in name]
