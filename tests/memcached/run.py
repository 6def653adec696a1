#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers and clients of memcached: the files test_*.py here.

usage: run.py --build FOLDER [--python PYTHON] [--full] [NAME ...]
       run.py --list [--full] [NAME ...]  prints the tests' names; nothing needs to be built for it
--build has verbena-memcached; --python has pymemcache; NAME is a file, class or test, or a part of its name.
--full, or VERBENA_TEST_FULL=1: more of them."""
import argparse
import importlib.util
import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
NO_MATCH, CANNOT_RUN = 2, 77  # exit statuses


class Timed(unittest.TextTestResult):
    """Says after each test what it took: it and those of its servers that have ended."""

    def startTest(self, test):
        self.began, self.before = time.monotonic(), sum(os.times()[:4])
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s, {sum(os.times()[:4]) - self.before:.1f} CPU s")


def flat(suite):
    """The tests of a suite in their order; a file that cannot be loaded is a test that fails."""
    for test in suite:
        yield from flat(test) if isinstance(test, unittest.TestSuite) else (test,)


def chosen(tests, names):
    """Those whose names have one of these in them; a name that no test has is an error."""
    for name in names:
        if not any(name in test.id() for test in tests):
            raise LookupError(name)
    return [test for test in tests if not names or any(name in test.id() for name in names)]


def read_words():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--python", help="a Python that has pymemcache")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="*")
    words = parser.parse_intermixed_args()
    if words.build is None and not words.list:
        parser.error("no --build")
    return words


def missing():
    """Debian's packages that the server is compared with, and that are not here."""
    packages = [package for package, program in (("memcached", "memcached"), ("libmemcached-tools", "memccapable"))
                if shutil.which(program) is None]
    return packages + (["python3-pylibmc"] if importlib.util.find_spec("pylibmc") is None else [])


def prepare(words):
    """What the tests read when they are loaded."""
    os.environ["VERBENA_MEMCACHED_BUILD"] = str((words.build or HERE).resolve())
    if words.python:
        os.environ["VERBENA_MEMCACHED_PYTHON"] = words.python
    if words.full:
        os.environ["VERBENA_TEST_FULL"] = "1"
    sys.path.insert(0, str(HERE))


def main():
    words = read_words()
    prepare(words)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # servers end with this process
    try:
        tests = chosen(list(flat(unittest.defaultTestLoader.discover(str(HERE)))), words.name)
    except LookupError as name:
        print(f"no test matches '{name.args[0]}'", file=sys.stderr)
        return NO_MATCH
    if words.list:
        print("\n".join(test.id() for test in tests))
        return 0
    if missing():
        print(f"no server is compared: Debian's {' '.join(missing())} are not here")
        return CANNOT_RUN
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Timed).run(unittest.TestSuite(tests))
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
