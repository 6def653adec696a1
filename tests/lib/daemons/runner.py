# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of a folder."""
import signal
import sys
import unittest


def ended(number, _frame):
    """Clusters are stopped on the way out, with what would outlive the daemons, such as YARN's containers."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def main(folder, names):
    """names: files, classes or tests; all when there are none. Gives the exit status."""
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    sys.path.insert(0, folder)
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(names) if names else loader.discover(folder)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1
