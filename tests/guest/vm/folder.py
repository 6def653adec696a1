# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: sockets, consoles. Its owner holds a lock on it, which goes when the owner is killed; what such an
owner left is swept by the next run."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
import time

PREFIX = "verbena-guest-"
NEW_SECONDS = 60  # a folder may be this old and not locked yet


def _locked(path):
    """A descriptor that holds the folder, or None: somebody has it."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def _sweep(base):
    for path in pathlib.Path(base).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < NEW_SECONDS:
                continue
            number = _locked(path)
            if number is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(number)


@contextlib.contextmanager
def own():
    """A folder of our own; gone at the end."""
    _sweep(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=PREFIX) as path:
        number = _locked(path)
        try:
            yield path
        finally:
            os.close(number)
