# SPDX-License-Identifier: Apache-2.0
"""Named tests of a runner: listed, chosen by their names, run one after the other, each with the seconds it took."""
import argparse
import dataclasses
import os
import pathlib
import signal
import sys
import time
from collections.abc import Callable

from runner import Skipped

NO_MATCH = 2  # exit status


@dataclasses.dataclass(frozen=True)
class Case:
    """A test: `run` takes the build folder and gives a list of what is wrong. long: only with --full or by its name."""
    name: str
    run: Callable
    long: bool = False


class NoMatch(Exception):
    """A name that no test has."""


def chosen(cases, names, full):
    """The cases of this form; with names those that match one of them, long ones where no other does."""
    usual = [case for case in cases if full or not case.long]
    if not names:
        return usual
    wanted = set()
    for name in names:
        found = ([case for case in cases if case.name == name] or [case for case in usual if name in case.name] or
                 [case for case in cases if name in case.name])
        if not found:
            raise NoMatch(name)
        wanted.update(case.name for case in found)
    return [case for case in cases if case.name in wanted]


def spent():
    """CPU seconds of all processes that have ended and were waited for."""
    times = os.times()
    return times.children_user + times.children_system


def run(case, build):
    """Gives passed, failed or skipped, and prints the case with what is wrong."""
    began, before = time.monotonic(), spent()
    try:
        problems = case.run(build)
    except Skipped as reason:
        print(f"skip {case.name}: {reason}", flush=True)
        return "skipped"
    took = f"({time.monotonic() - began:.1f} s, {spent() - before:.1f} CPU s)"
    print(f"{'FAIL' if problems else 'ok  '} {case.name}  {took}", flush=True)
    for line in problems:
        print(f"    {line}", flush=True)
    return "failed" if problems else "passed"


def run_all(cases, build):
    """Ends with "N passed, N failed, N skipped"; gives the exit status."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        counts[run(case, build)] += 1
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["failed"] else 0


def read_words(text, words):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder of mpi/; --list looks at nothing in it")
    parser.add_argument("name", nargs="*", help="a test's name or a part of it, as --list prints it")
    parser.add_argument("--full", action="store_true", help="also what takes minutes, as with VERBENA_TEST_FULL=1")
    parser.add_argument("--list", action="store_true", help="print the names and run nothing")
    return parser.parse_intermixed_args(words)


def main(text, cases):
    """Serves the command line of a runner; text: what it is for. Gives the exit status."""
    words = read_words(text, sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # jobs end on the way out
    try:
        wanted = chosen(cases, words.name, words.full or bool(os.environ.get("VERBENA_TEST_FULL")))
    except NoMatch as name:
        print(f"no test matches '{name}'", file=sys.stderr)
        return NO_MATCH
    if words.list:
        print("\n".join(case.name for case in wanted))
        return 0
    return run_all(wanted, words.build.resolve())
