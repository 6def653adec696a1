# SPDX-License-Identifier: Apache-2.0
"""Waits until daemons are ready."""
import time

from .errors import Failed

LIMIT = 180  # seconds until all daemons are registered, also on a loaded machine
PAUSE = 0.3


def until(alive, missing, what, work):
    """Waits until missing() is None. alive() raises when a daemon has ended."""
    deadline = time.monotonic() + LIMIT
    while True:
        alive()
        lack = missing()
        if lack is None:
            return
        if time.monotonic() > deadline:
            raise Failed(f"{what} is not up after {LIMIT} s: {lack}; see the logs in {work}/log")
        time.sleep(PAUSE)
