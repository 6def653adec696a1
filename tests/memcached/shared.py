# SPDX-License-Identifier: Apache-2.0
"""Servers for the tests: ours and Debian's memcached, each on a free port of loopback, gone when the test ends."""
import contextlib
import ctypes
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest.mock

BUILD = pathlib.Path(os.environ.get("VERBENA_MEMCACHED_BUILD", "."))
LATER = os.environ.get("VERBENA_MEMCACHED_LATER")  # Debian 13's memcached
NO_LATER = "memcached 1.6.38 is not here: Debian 12 on x86-64 has it by './verbena make memcached-peers'"
STARTUP_SECONDS = 60
ANSWER_SECONDS = 60
PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
CAP_SYS_RESOURCE = 24
GREETING = re.compile(r"verbena-memcached: (port|socket) \S+, \d+ MiB, messages ")
_RUNTIME = tempfile.TemporaryDirectory(prefix="mc-servers-") # of the servers' keys
os.environ["XDG_RUNTIME_DIR"] = _RUNTIME.name


def end_with_the_test():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _with_descriptors(limits):
    """For a child that is to have this soft and hard limit of descriptors, and no right to raise the hard one."""
    def prepare():
        end_with_the_test()
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    return prepare


def few_freed_bytes():
    """For a while: servers whose sanitizer keeps little of the memory that was freed, so that a leak shows in what they take."""
    options = filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1:thread_local_quarantine_size_kb=64"])
    return unittest.mock.patch.dict(os.environ, ASAN_OPTIONS=":".join(options))


class HeldPort:
    """A free port of loopback that nobody else gets while this is open: a socket has it and does not listen. A server
    can have it, too, as it asks for reuse. Connections are refused before the server listens and after it has ended."""

    def __init__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after bind: it was free
        self.number = self._socket.getsockname()[1]

    def close(self):
        self._socket.close()


class Server:
    """A running server; ours, with stock=True Debian's, or another program. unix: also name of a socket file, then there is no TCP.
    descriptors: its soft and hard limit. greeting: the line of its start, known when it has ended."""

    def __init__(self, *flags, stock=False, program=None, unix=None, descriptors=None):
        self._held = None if unix else HeldPort()
        self.port = self._held.number if self._held else 0
        self.unix = unix
        self.greeting = ""
        program = program or (shutil.which("memcached") if stock else str(BUILD / "verbena-memcached"))
        where = ["-s", unix] if unix else ["-l", "127.0.0.1", "-p", str(self.port)]
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen([program, *where, *user, *flags], stderr=subprocess.PIPE,
                                        preexec_fn=_with_descriptors(descriptors) if descriptors else end_with_the_test)
        self._await()

    def _await(self):
        end = time.monotonic() + STARTUP_SECONDS
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(self.process.stderr.read().decode()) from None
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def connect(self):
        connection = socket.socket(socket.AF_UNIX if self.unix else socket.AF_INET)
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(self.unix if self.unix else ("127.0.0.1", self.port))
        except OSError:
            connection.close()
            raise
        return connection

    def ask(self, data):
        """All that the server answers to these bytes on a connection of their own."""
        with self.connect() as connection:
            return ask_and_close(connection, data)

    def stats(self, group=""):
        return self.stats_after(b"", group)

    def stats_after(self, first, group=""):
        """Statistics, asked for behind these commands."""
        lines = self.ask(first + b"stats " + group.encode() + b"\r\n").decode().splitlines()
        return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))

    def await_line(self, text):
        """Reads the log until a line of it has this text; nobody reads these lines again."""
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError(f"the server ended, and no line had {text!r}")

    def resident(self):
        """Bytes of memory that the process has of its own."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        """Ends the server; returns its status and what it wrote to stderr besides the line of its start."""
        if self.process.poll() is None:
            self.process.terminate()
        _, text = self.process.communicate(timeout=STARTUP_SECONDS)
        if self._held:
            self._held.close()
        lines = text.decode().splitlines(keepends=True)
        self.greeting = "".join(line for line in lines if GREETING.match(line))
        return self.process.returncode, "".join(line for line in lines if not GREETING.match(line))


def at_port(number):
    """A server that somebody else has started and will end."""
    server = Server.__new__(Server)
    server.port, server.unix = number, None
    return server


def _send_while_reading(connection, data, answer):
    """Neither side waits for the other: a server whose answers are not read does not read, either."""
    sent, view = 0, memoryview(data)
    waiting = select.poll()
    waiting.register(connection, select.POLLIN | select.POLLOUT)
    connection.setblocking(False)
    while sent < len(data):
        ready = waiting.poll(ANSWER_SECONDS * 1000)
        if not ready:
            raise TimeoutError(f"{sent} of {len(data)} bytes were taken")
        with contextlib.suppress(BlockingIOError):
            if ready[0][1] & ~select.POLLOUT:
                chunk = connection.recv(1 << 20)
                answer.append(chunk)
                if not chunk:
                    return
            if ready[0][1] & select.POLLOUT:
                sent += connection.send(view[sent:sent + 65536])


def ask_and_close(connection, data):
    """Sends everything while reading, ends the sending side, reads to the end."""
    answer = []
    try:
        _send_while_reading(connection, data, answer)
        connection.settimeout(ANSWER_SECONDS)
        connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(1 << 20):
            answer.append(chunk)
    except TimeoutError:
        raise
    except OSError:
        pass # the server has ended the connection
    return b"".join(answer)


def wait_for(condition, what):
    """Waits until the condition holds."""
    end = time.monotonic() + ANSWER_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"did not come: {what}")
        time.sleep(0.01)
