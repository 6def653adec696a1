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

_OWNED = set()
_LOCKS = []  # the descriptor of a file whose byte N is locked by the process that has port N


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
    if port in _OWNED:
        return False
    if not _LOCKS:
        path = os.path.join(tempfile.gettempdir(), f"verbena-ports-{os.getuid()}.lock")
        _LOCKS.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    try:
        fcntl.lockf(_LOCKS[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _OWNED.add(port)
    if not is_free(port):  # looked at last: the look takes the port for a moment
        give_back([port])
        return False
    return True


def give_back(several):
    """Lets others have ports that are not needed any more."""
    for port in _OWNED.intersection(several):
        _OWNED.remove(port)
        fcntl.lockf(_LOCKS[0], fcntl.LOCK_UN, 1, port)


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
