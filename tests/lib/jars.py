# SPDX-License-Identifier: Apache-2.0
"""Jars from Maven Central for the tests, fetched once and kept where ./verbena keeps what it has downloaded."""
import os
import subprocess
import sys
import tempfile
import time

from locks import only_one
from progress import silence

CACHE = os.environ.get("VERBENA_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "verbena")
LIMIT = 900  # seconds to fetch


class NotFetched(Exception):
    """Maven could not; the text is for the user."""


def _run(name, log, argv):
    """Maven's status. Says now and then what it is fetching."""
    began = time.monotonic()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT) as maven:
        try:
            while True:
                try:
                    return maven.wait(silence())
                except subprocess.TimeoutExpired:
                    waited = time.monotonic() - began
                    if waited > LIMIT:
                        raise NotFetched(f"Maven has not fetched {name} within {LIMIT} s") from None
                    print(f"verbena: fetching {name}, {waited:.0f} s: {_last_line(log)}", file=sys.stderr, flush=True)
        finally:
            maven.kill()


def _last_line(log):
    size = os.fstat(log.fileno()).st_size
    lines = os.pread(log.fileno(), 2000, max(0, size - 2000)).decode(errors="replace").split("\n")
    return next((line.strip()[:90] for line in reversed(lines) if line.strip()), "")


def complete(name):
    """Whether a folder of the cache is there and whole."""
    return os.path.isfile(os.path.join(CACHE, name, ".complete"))


def fetched(name, pom, unwanted=(), properties=None):
    """Path of a folder of the cache with the dependencies of a pom, but not those whose names begin with unwanted.

    properties: of Maven, in place of the pom's own."""
    folder = os.path.join(CACHE, name)
    if not complete(name):
        with only_one(folder + ".lock"):
            if not complete(name):  # another clone may have fetched it meanwhile
                _fetch(name, folder, pom, unwanted, properties or {})
    return folder


def _fetch(name, folder, pom, unwanted, properties):
    print(f"fetching {name} with Maven (once; {LIMIT // 60} minutes at most)", file=sys.stderr, flush=True)
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        status = _run(name, log, ["mvn", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder}",
                                  *[f"-D{key}={value}" for key, value in properties.items()]])
        if status != 0:
            log.seek(0)
            causes = [line for line in log.read().splitlines() if line.startswith("[ERROR]")] or ["no cause told"]
            raise NotFetched(f"Maven could not fetch {name}: {causes[0][:400]}")
    for jar in os.listdir(folder):
        if jar.startswith(tuple(unwanted)):
            os.unlink(os.path.join(folder, jar))
    with open(os.path.join(folder, ".complete"), "w"):
        pass
