#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers and clients of memcached: the files test_*.py here.

usage: run.py --build FOLDER [--python PYTHON] [--full] [NAME ...]
       run.py --list [--full] [NAME ...]  prints the tests' names; nothing needs to be built for it
--build has verbena-memcached; --python has pymemcache; NAME is a file, class or test, or a part of its name.
--full, or VERBENA_TEST_FULL=1: more of them."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import program  # noqa: E402  (needs the path above)
import unittests  # noqa: E402

DEBIAN_PYTHON = "/usr/bin/python3"  # its pylibmc belongs to it


def read_words():
    parser = program.parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--python", help="a Python that has pymemcache")
    words = program.read(parser)
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


def main():
    words = read_words()
    prepare(words)
    if missing() and not words.list:
        print(f"no server is compared: Debian's {' '.join(missing())} are not here")
        return program.CANNOT_RUN
    return unittests.main(unittests.discovered(str(HERE)), words)


if __name__ == "__main__":
    sys.exit(main())
