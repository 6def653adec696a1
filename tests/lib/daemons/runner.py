# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of a folder."""
import signal
import sys
import time
import unittest


def ended(number, _frame):
    """Clusters are stopped on the way out, with what would outlive the daemons, such as YARN's containers."""
    raise KeyboardInterrupt(signal.Signals(number).name)


class Timed(unittest.TextTestResult):
    """Says after each test how long it took."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.0f} s")


def main(folder, names):
    """names: files, classes or tests; all when there are none. Gives the exit status."""
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    sys.path.insert(0, folder)
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(names) if names else loader.discover(folder)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Timed).run(tests)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1
