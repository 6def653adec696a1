# SPDX-License-Identifier: Apache-2.0
"""Free ports of loopback, outside the range from which the kernel takes ports for outgoing connections."""
import random
import socket

from .errors import Failed

HOST = "127.0.0.1"
RANGE = range(20000, 32000)
TRIES = 2000


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free(count):
    """So many different ports that are free now."""
    found = set()
    for port in random.sample(RANGE, TRIES):
        if len(found) == count:
            break
        if is_free(port):
            found.add(port)
    if len(found) < count:
        raise Failed(f"no {count} free ports between {RANGE.start} and {RANGE.stop}: other programs have them; "
                     "end some of them ('ss -ltnp' lists them)")
    return list(found)
