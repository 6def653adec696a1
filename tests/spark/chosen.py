# SPDX-License-Identifier: Apache-2.0
"""The tests of a program that its user has named: by class, method, or a part of Class.method."""
import os
import sys
import unittest

FULL = "--full" in sys.argv or bool(os.environ.get("VERBENA_TEST_FULL"))
LONG = unittest.skipUnless(FULL, "runs with --full")
FLAGS = ("--full", "--stock", "--list")


class NoMatch(Exception):
    """The text is for the user."""


def words(arguments):
    """Names that the user gave: what is no option."""
    return [word for word in arguments if word not in FLAGS]


def name(test):
    return f"{type(test).__name__}.{test._testMethodName}"  # pylint: disable=protected-access


def matching(names, wanted):
    """Those of names that a word means: whole ones, a class, a method; else those of which it is a part."""
    exact = [one for one in names if wanted in (one, *one.split(".", 1))]
    found = exact or [one for one in names if wanted in one]
    if not found:
        raise NoMatch(f"no test matches '{wanted}'")
    return found


def tests(cases, wanted):
    """The tests of TestCase classes that the words mean, all without words, in the order of the classes."""
    every = [test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)]
    names = [name(test) for test in every]
    meant = {one for word in wanted for one in matching(names, word)} if wanted else set(names)
    return [test for test in every if name(test) in meant]


def main(cases, run):
    """Lists the tests, or hands a suite of the chosen ones to run, which gives a unittest result; the exit status."""
    try:
        found = tests(cases, words(sys.argv[1:]))
    except NoMatch as problem:
        print(problem, file=sys.stderr)
        return 2
    if "--list" in sys.argv:
        print("\n".join(name(test) for test in found))
        return 0
    return 0 if run(unittest.TestSuite(found)).wasSuccessful() else 1
