# SPDX-License-Identifier: Apache-2.0
"""Waits until daemons are ready."""
import sys
import time

from progress import silence

from .errors import Failed

LIMIT = 600  # seconds until all daemons are registered, also on a loaded machine; one that has ended is seen at once
PAUSE = 0.3


def until(alive, missing, what, work):
    """Waits until missing() is None. alive() raises when a daemon has ended."""
    began, told = time.monotonic(), 0
    deadline = began + LIMIT
    while True:
        alive()
        lack = missing()
        if lack is None:
            return
        if time.monotonic() > deadline:
            raise Failed(f"{what} is not up after {LIMIT} s: {lack}; see the logs in {work}/log")
        waited = time.monotonic() - began
        if waited - told >= silence():
            told = waited
            print(f"verbena: waiting for {what}, {waited:.0f} s: {lack}", file=sys.stderr, flush=True)
        time.sleep(PAUSE)
