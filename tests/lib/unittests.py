#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest files test_*.py of a folder.

usage: unittests.py FOLDER [--full] [--list] [NAME ...]

NAME is a file, a class, a function, Class.function, or else a part of an id. --list prints the ids (file.Class.function) and
runs nothing. A NAME that matches nothing ends the program with status 2 before a test has run.
"""
import os
import sys
import time
import unittest

import program


def flat(suite):
    """The tests of a suite in their order, without the suites around them."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from flat(entry)
        else:
            yield entry


class Timed(unittest.TextTestResult):
    """Says after each test how long it took, and the processor time of this process and of children that ended meanwhile."""

    def startTest(self, test):
        self.began, self.used = time.monotonic(), program.processor_seconds()
        super().startTest(test)

    def addSkip(self, test, reason):
        self.testsRun += 1 - test.countTestCases()  # a class that skips or fails as a whole counts as one that ran
        super().addSkip(test, reason)

    def addError(self, test, error):
        self.testsRun += 1 - test.countTestCases()
        super().addError(test, error)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s, {program.processor_seconds() - self.used:.1f} CPU s")


def discovered(folder):
    """The tests of the folder; SystemExit, with the traceback, where a file cannot be read."""
    sys.path.insert(0, folder)
    loader = unittest.TestLoader()
    tests = list(flat(loader.discover(folder)))
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    return tests


def of_classes(*cases):
    """The tests of TestCase classes."""
    return [test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)]


def main(tests, options, after=lambda: None):
    """Lists or runs tests, as program.serve() does; after() is called when they have ended, in whatever way. Gives the exit
    status."""
    by_id = {test.id(): test for test in tests}

    def run(ids):
        try:
            suite = unittest.TestSuite(by_id[one] for one in ids)
            result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Timed).run(suite)
            return 0 if result.wasSuccessful() and result.testsRun > 0 else 1
        finally:
            after()

    return program.serve(options, lambda names: program.choose(list(by_id), names), run)


if __name__ == "__main__":
    OPTIONS = program.read(program.parser(__doc__, folder="with files test_*.py"))
    if not OPTIONS.folder.is_dir():
        sys.exit(f"no folder {OPTIONS.folder}; usage: unittests.py FOLDER [NAME ...]")
    sys.exit(main(discovered(os.path.abspath(OPTIONS.folder)), OPTIONS))
