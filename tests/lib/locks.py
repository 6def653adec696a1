# SPDX-License-Identifier: Apache-2.0
"""One process at a time, as `alone` of tests/command does it for ./verbena."""
import contextlib
import fcntl
import os
import sys


@contextlib.contextmanager
def only_one(path):
    """Holds a lock; says so when another process has it. Processes that are started meanwhile do not get it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"waiting for another ./verbena, which has {path}", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
