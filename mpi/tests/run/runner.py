# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: mpiexec with a time-out, and what a test says."""
import contextlib
import os
import pathlib
import signal
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 300  # seconds of one run, far more than it takes, also on a loaded machine
TCP = {"VBN_TL_ENABLE": "self,tcp", "VBN_TL_TCP_INTERFACE": "lo"}


def launch(build, *words, environment=None, **options):
    """Runs mpiexec in a session of its own, which ends with this call; gives (status, stdout, stderr)."""
    process = subprocess.Popen([build / "bin/mpiexec", *map(str, words)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=options.pop("stdin", subprocess.DEVNULL), text=True,
                               env={**os.environ, **(environment or {})}, start_new_session=True, **options)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:  # somebody outside of its session holds the pipes
            out, err = "", "its output has no end"
        return 124, out, err + f"\nno end within {LIMIT} s"
    finally:
        if process.poll() is None:  # this process is told to end
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


@contextlib.contextmanager
def started(build, *words, **options):
    """mpiexec in a session (or a process group) of its own, for a test that talks with it; it ends with the block or after LIMIT
    seconds."""
    process = subprocess.Popen([build / "bin/mpiexec", *map(str, words)], text=True,
                               **{"start_new_session": True, **options})
    late = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    try:
        yield process
    finally:
        late.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()


def expect(condition, *shown):
    return [] if condition else ["not as expected:", *(line for text in shown for line in str(text).splitlines())]


def instrumented(build):
    """A build with sanitizers: programs need their runtime, which neither pkg-config nor FindMPI gives them."""
    return "-fsanitize" in subprocess.run([build / "bin/mpicc", "-show"], capture_output=True, text=True, timeout=LIMIT).stdout


class Skipped(Exception):
    """A test that cannot run here; the text says why."""
