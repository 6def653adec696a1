# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive the driver.

Each child leads a process group of its own. The group is killed by stop(), at exit, and on SIGTERM, SIGINT or SIGHUP;
should the driver itself be killed with SIGKILL, the kernel kills the child (PR_SET_PDEATHSIG).
"""
import atexit
import collections
import contextlib
import ctypes
import os
import queue
import re
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_CAUSE = re.compile(r"(Exception in thread \S+|Caused by:) |.* ERROR ")
_LIVE = {}  # pid -> Process, only touched by the main thread


class Failed(Exception):
    """A child process failed, or what it answered is wrong; the text is for the user."""


class Killed(KeyboardInterrupt):
    """The driver was asked to end by a signal. Not an Exception: nobody may swallow it."""


def _die_with_parent():
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child in its own process group whose standard output goes to a file, or is read line by line."""

    def __init__(self, name, argv, log, env=None, cwd=None, lines=False):
        """Starts argv; standard error (and output, unless lines) is appended to the file log."""
        self.name, self.log = name, log
        self._lines = queue.Queue() if lines else None
        with open(log, "ab") as sink:
            try:
                self._child = subprocess.Popen(
                    argv, stdin=subprocess.PIPE if lines else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if lines else sink, stderr=sink, env=env, cwd=cwd,
                    start_new_session=True, preexec_fn=_die_with_parent)
            except OSError as error:
                raise Failed(f"{name} could not be started: {error}") from error
        self.pid = self._child.pid
        _LIVE[self.pid] = self
        self._reader = threading.Thread(target=self._read, daemon=True) if lines else None
        if lines:
            self._reader.start()

    def _read(self):
        for line in self._child.stdout:
            self._lines.put(line.decode(errors="replace").rstrip("\n"))
        self._child.stdout.close()
        self._lines.put(None)

    def alive(self):
        return self._child.poll() is None

    def exit_status(self):
        return self._child.poll()

    def send(self, line):
        try:
            self._child.stdin.write((line + "\n").encode())
            self._child.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.name} has closed its input ({error}); its log is {self.log}\n"
                         + tail(self.log)) from error

    def line(self, timeout):
        """The next line of output; Failed after timeout seconds or when the process has ended."""
        try:
            line = self._lines.get(timeout=max(0.001, timeout))
        except queue.Empty:
            raise Failed(f"{self.name} did not answer within {timeout:.0f} s; its log is {self.log}\n"
                         + tail(self.log)) from None
        if line is None:
            self._lines.put(None)
            raise Failed(f"{self.name} ended (status {self.wait(5)}); its log is {self.log}\n" + tail(self.log))
        return line

    def wait(self, timeout):
        """Exit status, or None when the process still runs after timeout seconds."""
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, grace=10):
        """Ends the whole process group: SIGTERM, then after grace seconds SIGKILL."""
        if self.alive():
            _signal_group(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + grace
            while self.alive() and time.monotonic() < deadline:
                time.sleep(0.05)
        _signal_group(self.pid, signal.SIGKILL)
        self.wait(5)
        if self._reader is not None:
            self._reader.join(5)
            with contextlib.suppress(OSError):  # unsent input of a child that is gone
                self._child.stdin.close()
        _LIVE.pop(self.pid, None)


class Scope:
    """A context manager of what start() starts and stop() ends, also where start() fails half way."""

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()


def _signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def stop_all():
    """Kills every child group that is still there, newest first."""
    for process in reversed(list(_LIVE.values())):
        process.stop(grace=2)


def _on_signal(number, _frame):
    raise Killed(signal.Signals(number).name)


def install_signals():
    """Turns ending signals into Killed, so that finally blocks run and a result is still written."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _on_signal)


def tail(path, count=15):
    """The last lines of a log, indented, for an error text; the lines that name an exception first."""
    try:
        with open(path, errors="replace") as log:
            causes = collections.deque((line for line in log if _CAUSE.match(line)), 3)
            log.seek(0)
            last = collections.deque(log, count)
            return "".join("    " + line for line in [*(line for line in causes if line not in last), *last]).rstrip()
    except OSError:
        return ""


atexit.register(stop_all)
