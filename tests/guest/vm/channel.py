# SPDX-License-Identifier: Apache-2.0
"""Frames to and from the agent (see ../agent/agent.h), and the commands that run in a guest.

A thread per guest reads; the guest's end is the end of all its commands.
"""
import threading
import time

from .errors import Failed

HEADER_MAX = 200
GRACE_SECONDS = 40  # beyond a command's own limit, which the agent keeps; a busy host makes a slow guest


class Job:
    """A command in a guest: its output so far, and its status once it has ended."""

    def __init__(self, channel, number, command, limit, sink):
        self._channel, self._number, self._sink = channel, number, sink
        self.command, self.limit = command, limit
        self._output = bytearray()
        self.status = None
        self.death = None  # why it ended without a status

    @property
    def output(self):
        return bytes(self._output).decode(errors="replace")

    def _take(self, data):
        self._output += data
        if self._sink:
            self._sink(data)

    def signal(self, number):
        self._channel.send("K", self._number, number)

    def wait(self, seconds=None):
        """The status: 124 at the limit, 128 + n after a signal. Failed when the guest ended or does not answer."""
        seconds = self.limit + GRACE_SECONDS if seconds is None else seconds
        if not self._channel.until(lambda: self.status is not None or self.death, seconds):
            raise Failed(f"the guest does not answer: '{self.command}' has run for {seconds:.0f} s; output so far:\n"
                         + self.output[-2000:])
        if self.status is None:
            raise Failed(f"'{self.command}' did not end: {self.death}")
        return self.status

    def wait_output(self, text, seconds=120):
        """Waits until the output contains that text."""
        self._channel.until(lambda: text in self.output or self.status is not None or self.death, seconds)
        if text not in self.output:
            raise Failed(f"'{self.command}' did not print '{text}' but (status {self.status}):\n{self.output[-2000:]}")


class Channel:
    """The control socket of one guest."""

    def __init__(self, control):
        self._control = control
        self._changed = threading.Condition()
        self._jobs, self._numbers = {}, 0
        self.seen = set()  # kinds of frames about the guest itself that have come
        self.error = None
        self.ended = False
        self._buffer = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, kind, number, value, data=b""):
        try:
            self._control.sendall(b"%s %d %d %d\n" % (kind.encode(), number, value, len(data)) + data)
        except OSError as error:
            raise Failed(f"the guest has ended ({error})") from error

    def start(self, command, limit, sink=None):
        with self._changed:
            self._numbers += 1
            job = self._jobs[self._numbers] = Job(self, self._numbers, command, limit, sink)
        self.send("R", job._number, limit, command.encode())
        return job

    def until(self, condition, seconds):
        """Waits for the condition, which frames make true; false when time is over."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 1))
        return True

    def expect(self, kind, seconds, what):
        """Waits for a frame about the guest itself."""
        self.until(lambda: kind in self.seen or self.error or self.ended, seconds)
        if kind not in self.seen:
            raise Failed(f"{what} failed: {self.error or ('QEMU ended' if self.ended else f'not done after {seconds} s')}")

    def join(self):
        self._reader.join(10)

    def _read(self):
        try:
            while frame := self._frame():
                with self._changed:
                    self._dispatch(*frame)
                    self._changed.notify_all()
        except OSError:
            pass  # QEMU is gone
        except ValueError as error:
            self.error = self.error or str(error)
        with self._changed:
            self.ended = True
            for job in self._jobs.values():
                job.death = self.error or "the guest ended before it"
            self._changed.notify_all()

    def _dispatch(self, kind, number, value, data):
        job = self._jobs.get(number)
        if kind == "O" and job:
            job._take(data)
        elif kind == "X" and job:
            job.status = value
            del self._jobs[number]
        elif kind == "E":
            self.error = data.decode(errors="replace")
        else:
            self.seen.add(kind)

    def _fill(self):
        piece = self._control.recv(65536)
        self._buffer += piece
        return bool(piece)

    def _frame(self):
        """The next frame, or None at the end."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > HEADER_MAX:
                raise ValueError("the agent's frames are damaged")
            if not self._fill():
                return None
        header, _, self._buffer = self._buffer.partition(b"\n")
        kind, number, value, length = header.decode().split()
        while len(self._buffer) < int(length):
            if not self._fill():
                return None
        data, self._buffer = self._buffer[:int(length)], self._buffer[int(length):]
        return kind, int(number), int(value), data
