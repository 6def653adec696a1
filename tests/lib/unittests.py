#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest files test_*.py of a folder.

usage: unittests.py FOLDER [--list] [NAME ...]

NAME is a file, a class, a function, Class.function, or else a part of an id. --list prints the ids (file.Class.function) and
runs nothing. A NAME that matches nothing ends the program with status 2 before a test has run.
"""
import os
import re
import resource
import signal
import sys
import time
import unittest


PARTS = re.compile(r"[.#\s]+")


class NoMatch(Exception):
    """No test has this name."""


def flat(suite):
    """The tests of a suite in their order, without the suites around them."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from flat(entry)
        else:
            yield entry


def is_named(test_id, name):
    """name is the whole id, or parts of it that follow each other: file.Class.function, Class#method, words of a case."""
    parts, wanted = PARTS.split(test_id), PARTS.split(name.removesuffix(".py"))
    return any(parts[place:place + len(wanted)] == wanted for place in range(len(parts)))


def choose(ids, names):
    """The ids that any of the names means: exactly, or as a part of the text where none is exact. Raises NoMatch."""
    chosen = set()
    for name in names:
        found = [one for one in ids if is_named(one, name)] or [one for one in ids if name in one]
        if not found:
            raise NoMatch(name)
        chosen.update(found)
    return [one for one in ids if one in chosen]


def processor_seconds():
    """What this process and its children that have ended took."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Timed(unittest.TextTestResult):
    """Says after each test how long it took, and the processor time of this process and of children that ended meanwhile."""

    def startTest(self, test):
        self.began, self.used = time.monotonic(), processor_seconds()
        super().startTest(test)

    def addSkip(self, test, reason):
        self.testsRun += 1 - test.countTestCases()  # a class that skips or fails as a whole counts as one that ran
        super().addSkip(test, reason)

    def addError(self, test, error):
        self.testsRun += 1 - test.countTestCases()
        super().addError(test, error)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s, {processor_seconds() - self.used:.1f} CPU s")


def ended(number, _frame):
    """Clusters are stopped on the way out, with what would outlive the daemons, such as YARN's containers."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def discovered(folder):
    """The tests of the folder; SystemExit, with the traceback, where a file cannot be read."""
    sys.path.insert(0, folder)
    loader = unittest.TestLoader()
    tests = list(flat(loader.discover(folder)))
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    return tests


def run_suite(suite):
    """Runs a suite in the usual way; gives unittest's result."""
    return unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Timed).run(suite)


def run(tests, words, run_all=run_suite):
    """words: --list, or names of tests; all tests when there are none. run_all(suite) runs them. Gives the exit status."""
    by_id = {test.id(): test for test in tests}
    if "--list" in words:
        print("\n".join(by_id))
        return 0
    try:
        chosen = choose(list(by_id), words) if words else list(by_id)
    except NoMatch as name:
        print(f"no test matches '{name}'", file=sys.stderr)
        return 2
    result = run_all(unittest.TestSuite(by_id[one] for one in chosen))
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


def main(folder, words, run_all=run_suite):
    """Runs the tests of a folder until they end or a signal ends them. Gives the exit status."""
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    try:
        return run(discovered(os.path.abspath(folder)), words, run_all)
    except KeyboardInterrupt as reason:
        print(f"ended by {str(reason) or 'SIGINT'}: what is not told above did not run", flush=True)
        return 130


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
