# SPDX-License-Identifier: Apache-2.0
"""Folders that are made once and then only read: kernels and snapshots. Several runs may use the cache at once."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import time

from .errors import Failed

UNUSED_DAYS = 7
LOCK_SECONDS = 900


def root():
    base = os.environ.get("VERBENA_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "verbena")
    folder = pathlib.Path(base) / "guest"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _locked(path):
    """One maker at a time; the kernel lets go of the lock of a maker that dies."""
    with open(path, "w") as lock:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Failed(f"another process has held {path} for {LOCK_SECONDS} s: end it") from None
                time.sleep(0.1)
        yield


def _prune(prefix, name):
    """Removes what has the same prefix and was not used for a while, with the locks and halves of killed makers."""
    limit = time.time() - UNUSED_DAYS * 86400
    for path in root().glob(f"*{prefix}*"):
        with contextlib.suppress(OSError):
            if name not in path.name and path.stat().st_mtime < limit:
                path.unlink() if path.is_file() else shutil.rmtree(path)


def entry(prefix, key, make):
    """The folder of that key; when there is none, make(folder) fills it. It appears whole or not at all."""
    name = f"{prefix}-{key}"
    final = root() / name
    if not final.is_dir():
        with _locked(root() / f".{name}.lock"):
            if not final.is_dir():
                half = root() / f".{name}.half"
                shutil.rmtree(half, ignore_errors=True)
                half.mkdir()
                try:
                    make(half)
                    half.rename(final)
                finally:
                    shutil.rmtree(half, ignore_errors=True)
                _prune(prefix, name)
    with contextlib.suppress(OSError):  # a cache that belongs to somebody else
        os.utime(final)
    return final


def newest(prefix):
    """The entry of that prefix that was made last, or None."""
    found = sorted(root().glob(f"{prefix}-*"), key=lambda path: (path / "made").stat().st_mtime)
    return found[-1] if found else None


def remove(path):
    """Takes an entry out of use at once, then deletes it."""
    gone = path.with_name(f".{path.name}.gone.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
