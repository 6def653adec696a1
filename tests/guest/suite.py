#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests that run in guests: core, memcached and MPI over a real RDMA device of the kernel, in software.

usage: suite.py [--full] [--list] [NAME...]

NAME is a file, a class, a function, or a part of an id. --list prints the ids and runs nothing. --full, or the variable
VERBENA_TEST_FULL, adds the long form and the tests of the guests themselves. The programs that run are those of the folders
release, memcached-release and mpi below .verbena/build (VERBENA_BUILDS names another folder).
"""
import resource
import sys
import unittest

import shared
from shared import errors, procs
from vm import qemu

sys.path.append(str(shared.ROOT / "tests" / "lib"))
import unittests  # noqa: E402  (needs the path above)

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


def report():
    """Ends the guests, so that their processes are counted, and says what they took."""
    shared.close()
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    print(f"guests booted: {qemu.Machine.booted}\nCPU seconds: {seconds:.0f}", flush=True)


def main(words):
    full = shared.FULL or "--full" in words
    words = [word for word in words if word != "--full"]
    if {"-h", "--help"} & set(words):
        print(__doc__.strip())
        return 0
    if "--list" not in words and errors.missing():
        print("no test ran in a guest: apt-get install", *errors.missing())
        return 77
    procs.install_signals()
    status = unittests.run(tests(full), words)
    if "--list" not in words and status != 2:
        report()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
