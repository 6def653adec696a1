# SPDX-License-Identifier: Apache-2.0
"""Free ports of loopback, outside the range from which the kernel takes ports for outgoing connections.

A port that was drawn belongs to the process until it ends, also while the daemon that has it is started anew: others
that draw here pass it by, and only a program that knows nothing of this can take it.
"""
import fcntl
import os
import random
import socket
import tempfile

from .errors import Failed

HOST = "127.0.0.1"
RANGE = range(20000, 32000)
TRIES = 2000

_OWNED = {}  # port -> the descriptor of its lock


def is_free(port):
    """Whether nobody is bound to it now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def take(port):
    """Makes a free port this process' own; false when it is not free, or somebody's already."""
    if port in _OWNED or not is_free(port):
        return False
    folder = os.path.join(tempfile.gettempdir(), f"verbena-ports-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(folder, str(port)), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    _OWNED[port] = lock
    return True


def give_back(several):
    """Lets others have ports that are not needed any more."""
    for port in several:
        lock = _OWNED.pop(port, None)
        if lock is not None:
            os.close(lock)


def free(count):
    """So many different ports that are free, and from now on this process' own."""
    found = []
    for port in random.sample(RANGE, TRIES):
        if len(found) == count:
            return found
        if take(port):
            found.append(port)
    give_back(found)
    raise Failed(f"no {count} free ports between {RANGE.start} and {RANGE.stop}: other programs have them; "
                 "end some of them ('ss -ltnp' lists them)")
