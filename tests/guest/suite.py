#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests that run in guests: core, memcached and MPI over a real RDMA device of the kernel, in software.

usage: suite.py [--full] [--list] [NAME ...]

NAME is a file, a class, a function, or a part of an id. --list prints the ids and runs nothing. --full, or the variable
VERBENA_TEST_FULL, adds the long form and the tests of the guests themselves. The programs that run are those of the folders
release, memcached-release and mpi below .verbena/build (VERBENA_BUILDS names another folder).
"""
import sys
import unittest

import shared
from shared import errors
from vm import qemu

sys.path.append(str(shared.ROOT / "tests" / "lib"))
import program  # noqa: E402  (needs the path above)
import unittests  # noqa: E402

MODULES = ("core", "programs", "memcached", "mpi")
LONG_MODULES = ("faults", "java", "test_frames", "test_guest", "test_pair", "test_run")


def is_long(test):
    method = getattr(test, test.id().rpartition(".")[2])
    return getattr(test, "is_long", False) or getattr(method, "is_long", False)


def tests(full):
    """The tests of the default form, or all."""
    loader = unittest.TestLoader()
    found = list(unittests.flat(loader.loadTestsFromNames(MODULES + (LONG_MODULES if full else ()))))
    return [test for test in found if full or not is_long(test)]


def main():
    options = program.read(program.parser(__doc__))
    if not options.list and errors.missing():
        print("no test ran in a guest: apt-get install", *errors.missing())
        return program.CANNOT_RUN
    program.COUNTERS["guests booted"] = lambda: qemu.Machine.booted
    program.COUNTERS["CPU seconds"] = lambda: round(program.processor_seconds())
    return unittests.main(tests(options.full), options, shared.close)  # guests that have ended are counted


if __name__ == "__main__":
    sys.exit(main())
