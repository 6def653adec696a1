# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of a folder."""
import signal
import sys
import time
import unittest

from . import jvm


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


def flat(tests):
    """The single tests of a suite."""
    return [one for test in tests for one in (flat(test) if isinstance(test, unittest.TestSuite) else [test])]


def chosen(tests, names):
    """Those whose id has one of the names in it, all when there are none; and the names that no id has."""
    found = [test for test in tests if not names or any(name in test.id() for name in names)]
    return found, [name for name in names if not any(name in test.id() for test in tests)]


def main(folder, words):
    """words: --list, or files, classes, tests or parts of their names; all when there are none. Gives the status."""
    names = [word.removesuffix(".py") for word in words if word != "--list"]
    sys.path.insert(0, folder)
    tests, unknown = chosen(flat(unittest.defaultTestLoader.discover(folder)), names)
    if unknown:
        print(f"no test matches '{unknown[0]}'", file=sys.stderr)
        return 2
    if "--list" in words:
        print("\n".join(test.id() for test in tests))
        return 0
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Timed).run(unittest.TestSuite(tests))
    print(f"JVMs started: {jvm.STARTED['java']}", flush=True)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1
