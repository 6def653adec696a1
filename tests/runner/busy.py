# SPDX-License-Identifier: Apache-2.0
"""Processes that do nothing but compute, beside the tests of --stress."""
import contextlib
import subprocess
import sys

COUNT = 4
COMPUTE = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000): pass
"""


@contextlib.contextmanager
def processes(count=COUNT):
    """They run until the block ends, or this process does."""
    started = [subprocess.Popen([sys.executable, "-c", COMPUTE], stdin=subprocess.DEVNULL, start_new_session=True)
               for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
