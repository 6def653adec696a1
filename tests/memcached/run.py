#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers and clients of memcached: the files test_*.py here.

usage: run.py --build FOLDER [--python PYTHON] [--full] [NAME ...]
       run.py --list [--full] [NAME ...]  prints the tests' names; nothing needs to be built for it
--build has verbena-memcached; --python has pymemcache; NAME is a file, class or test, or a part of its name.
--full, or VERBENA_TEST_FULL=1: more of them."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import unittests  # noqa: E402  (needs the path above)

DEBIAN_PYTHON = "/usr/bin/python3"  # its pylibmc belongs to it
CANNOT_RUN = 77  # exit status


def read_words():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--python", help="a Python that has pymemcache")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="*")
    words = parser.parse_intermixed_args()
    if words.build is None and not words.list:
        parser.error("no --build")
    return words


def missing():
    """Debian's packages that the server is compared with, and that are not here."""
    packages = [package for package, program in (("memcached", "memcached"), ("libmemcached-tools", "memccapable"))
                if shutil.which(program) is None]
    import_it = subprocess.run([DEBIAN_PYTHON, "-c", "import pylibmc"], capture_output=True, timeout=60, check=False)
    return packages + (["python3-pylibmc"] if import_it.returncode != 0 else [])


def prepare(words):
    """What the tests read when they are loaded."""
    os.environ["VERBENA_MEMCACHED_BUILD"] = str((words.build or HERE).resolve())
    if words.python:
        os.environ["VERBENA_MEMCACHED_PYTHON"] = words.python
    if words.full:
        os.environ["VERBENA_TEST_FULL"] = "1"


def main():
    words = read_words()
    prepare(words)
    if missing() and not words.list:
        print(f"no server is compared: Debian's {' '.join(missing())} are not here")
        return CANNOT_RUN
    return unittests.main(str(HERE), ["--list"] if words.list else words.name)


if __name__ == "__main__":
    sys.exit(main())
