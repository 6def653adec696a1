# SPDX-License-Identifier: Apache-2.0
"""Cables between two guests: pairs of connected datagram sockets, one for each network device.

UDP loses frames when the reader's buffer is full, as a network does, and a stopped or dead guest does not stop the other.
"""
import socket

from . import qemu

BUFFER_BYTES = 4 << 20
SO_RCVBUFFORCE = 33


def _enlarge(end):
    """Room for bursts: beyond the system's limit only as root."""
    try:
        end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except OSError:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)


def _cable():
    a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for end in (a, b):
        end.bind(("127.0.0.1", 0))
        _enlarge(end)
    a.connect(b.getsockname())
    b.connect(a.getsockname())
    return a, b


class Cables:
    """ends[g][n] is the socket of device n of guest g. This process keeps both ends open, so guests may come and go."""

    def __init__(self):
        self.ends = list(zip(*[_cable() for _ in range(qemu.LINKS)]))

    def drain(self, guest):
        """Drops what came while nobody read."""
        for end in self.ends[guest]:
            end.setblocking(False)
            try:
                while True:
                    end.recv(65536)
            except BlockingIOError:
                pass

    def close(self):
        for ends in self.ends:
            for end in ends:
                end.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
