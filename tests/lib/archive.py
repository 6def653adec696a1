# SPDX-License-Identifier: Apache-2.0
"""Archives of loaded classes for the many short JVMs of the tests: with one a JVM of Spark takes half the processor time."""
import contextlib
import fcntl
import glob
import hashlib
import os
import subprocess

import jars

# An archive that does not fit (another class path) is left alone, and nothing of that is said on standard output.
QUIET = ["-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
LIMIT = 300  # seconds to make one


def options(name, files, make):
    """JVM options that use the archive of this name, which is made when it is not there and takes the place of an older one;
    none when that fails.

    files: what the class path consists of; the archive is made again when one changes. make: takes the JVM option that
    writes the archive, and gives the command (list, environment, standard input) that loads the classes, or None."""
    path = os.path.join(jars.CACHE, "classes", f"{name}-{_identity(files)}.jsa")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parts of the tests run beside each other
        if not os.path.exists(path):
            for old in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), f"{name}-*.jsa")):
                with contextlib.suppress(OSError):
                    os.unlink(old)  # who has it mapped keeps it
            _make(path, make)
    return [f"-XX:SharedArchiveFile={path}", *QUIET] if os.path.getsize(path) else []


def _identity(files):
    """Of the JVM and of the files."""
    state = subprocess.run(["java", "-Xinternalversion"], capture_output=True, timeout=60, check=False).stdout
    for file in sorted(files):
        facts = os.stat(file)
        state += f"{file} {facts.st_size} {facts.st_mtime_ns}\n".encode()
    return hashlib.sha256(state).hexdigest()[:16]


def _make(path, make):
    fresh = f"{path}.{os.getpid()}"
    command = make(f"-XX:ArchiveClassesAtExit={fresh}")
    if command is not None:
        argv, environment, words = command
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # the tests take longer without, that is all
            subprocess.run(argv, env=environment, input=words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if os.path.exists(fresh):
        os.rename(fresh, path)
    else:
        with open(path, "w"):
            pass  # not tried again: this JVM cannot
