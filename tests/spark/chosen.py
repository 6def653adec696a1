# SPDX-License-Identifier: Apache-2.0
"""The short and the long form of Spark's tests, and the main of a program for some of their classes."""
import pathlib
import sys
import unittest

import jvm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import program  # noqa: E402  (needs the path above)
import unittests  # noqa: E402
from driver import procs  # noqa: E402  (jvm has its path)

FULL = program.is_full(sys.argv)
LONG = unittest.skipUnless(FULL, "runs with --full")


def main(cases, options, stop=lambda: None):
    """Lists or runs the tests of TestCase classes, and says how many JVMs that took. stop() and the end of all processes come
    after the tests. Gives the exit status."""
    if not options.list:
        jvm.count_starts()
    return unittests.main(unittests.of_classes(*cases), options, lambda: (stop(), procs.stop_all()))
