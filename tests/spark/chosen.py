# SPDX-License-Identifier: Apache-2.0
"""The short and the long form of Spark's tests, and a program's main for some of their classes."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import unittests  # noqa: E402  (needs the path above)

FULL = "--full" in sys.argv or bool(os.environ.get("VERBENA_TEST_FULL"))
LONG = unittest.skipUnless(FULL, "runs with --full")
FLAGS = ("--full", "--stock")


def main(cases, run):
    """Lists the tests of TestCase classes, or hands a suite of those that the user named to run, which gives a unittest
    result; the exit status."""
    tests = [test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)]
    return unittests.run(tests, [word for word in sys.argv[1:] if word not in FLAGS], run)
