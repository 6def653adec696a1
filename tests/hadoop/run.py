#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of this folder; usage: run.py [NAME ...], a NAME is a file, class or test."""
import pathlib
import signal
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def ended(number, _frame):
    """Clusters are stopped on the way out, with YARN's containers, which would outlive the daemons."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(str(HERE))
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
