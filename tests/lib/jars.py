# SPDX-License-Identifier: Apache-2.0
"""Jars from Maven Central for the tests, fetched once and kept where ./verbena keeps what it has downloaded."""
import os
import subprocess
import sys

from locks import only_one

CACHE = os.environ.get("VERBENA_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "verbena")
LIMIT = 900  # seconds to fetch


class NotFetched(Exception):
    """Maven could not; the text is for the user."""


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
    done = subprocess.run(["mvn", "-B", "-q", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder}",
                           *[f"-D{key}={value}" for key, value in properties.items()]],
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        raise NotFetched(f"Maven could not fetch {name}:\n" + done.stdout[-2000:])
    for jar in os.listdir(folder):
        if jar.startswith(tuple(unwanted)):
            os.unlink(os.path.join(folder, jar))
    with open(os.path.join(folder, ".complete"), "w"):
        pass
