# SPDX-License-Identifier: Apache-2.0
"""Strangers who talk to the executors' TCP ports."""
import glob
import os
import random
import re
import socket
import threading
import time


def listening(pid):
    """IPv4 ports on which a process listens: those of the native core, because Java uses IPv6 sockets."""
    inodes = set()
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            inodes.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(path)))
        except OSError:
            pass  # closed meanwhile
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


class Strangers:
    """Until its end sends random bytes, all bits set, zeros, and half a frame, each on a connection of its own."""

    def __init__(self, ports):
        self._ports = ports
        self._stop = threading.Event()
        self._talked = threading.Event()
        self._thread = threading.Thread(target=self._talk)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def await_talk(self, seconds):
        """Until each port has had everything once; false: not within so many seconds."""
        return self._talked.wait(seconds)

    def _talk(self):
        chance = random.Random(1)
        while not self._stop.is_set():
            for port in self._ports:
                for data in (chance.randbytes(5000), b"\xff" * 64, bytes(64), chance.randbytes(7), b""):
                    try:
                        with socket.create_connection(("127.0.0.1", port), timeout=2) as talk:
                            talk.sendall(data)
                            talk.settimeout(0.05)
                            talk.recv(1)
                    except OSError:
                        pass  # refused or closed, as it should be
            self._talked.set()
            time.sleep(0.01)
