# SPDX-License-Identifier: Apache-2.0
"""The protocol of tests/README.md, once for every program of tests: words of its command line, names of tests, signals, the line
of each test, the last lines and the exit status."""
import argparse
import os
import pathlib
import re
import resource
import signal
import sys

NO_MATCH, CANNOT_RUN, INTERRUPTED = 2, 77, 130  # exit statuses
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PARTS = re.compile(r"[.#\s]+")
MOST = 40  # lines of one failed test
COUNTERS = {}  # {what: function that counts it}: the lines 'what: N' after a run, which tests/suites.yaml holds against its table


class NoMatch(Exception):
    """No test has this name."""


# ------------------------------------------------------------------------------------------------------------------ words

def is_full(words=()):
    """Whether the long form runs: by --full, or by the variable VERBENA_TEST_FULL."""
    return "--full" in words or bool(os.environ.get("VERBENA_TEST_FULL"))


def parser(text, **folders):
    """A parser with these folders first, then [--full] [--list] [NAME ...]; text is the docstring, with usage and outcome."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for folder, meaning in folders.items():
        made.add_argument(folder, type=pathlib.Path, metavar=folder.upper(), help=meaning)
    made.add_argument("name", nargs="*", metavar="NAME", help="a test or a part of its name, as --list prints it")
    made.add_argument("--full", action="store_true", default=is_full(), help="the long form, as with VERBENA_TEST_FULL=1")
    made.add_argument("--list", action="store_true", help="print the names and run nothing")
    return made


def read(made, words=None):
    """Reads the words of a parser; --full holds for the modules that are imported next and for children, too."""
    options = made.parse_intermixed_args(words)
    if options.full:
        os.environ["VERBENA_TEST_FULL"] = "1"
    return options


# ------------------------------------------------------------------------------------------------------------------ names

def is_named(test_id, name):
    """name is the whole id, or parts of it that follow each other: file.Class.function, Class#method, words of a case."""
    parts, wanted = PARTS.split(test_id), PARTS.split(name.removesuffix(".py"))
    return any(parts[place:place + len(wanted)] == wanted for place in range(len(parts)))


def matching(ids, name):
    """The ids that a name means: by whole parts, or as a piece of the text where there is none."""
    return [one for one in ids if is_named(one, name)] or [one for one in ids if name in one]


def choose(ids, names, usual=None):
    """The ids that run, in their order: those that any of the names means, or without names all. usual: the ids of the short
    form, where it has fewer; a name means others only where it means none of these. Raises NoMatch."""
    usual = ids if usual is None else usual
    chosen = set()
    for name in names:
        found = [name] if name in ids else matching(usual, name) or matching(ids, name)
        if not found:
            raise NoMatch(name)
        chosen.update(found)
    return [one for one in ids if one in chosen] if names else list(usual)


# ---------------------------------------------------------------------------------------------------------------- signals

def raise_on_signals():
    """The first of SIGNALS raises KeyboardInterrupt with its name, so that all that was started is ended on the way out; a second
    one would leave some of it, and is ignored. A signal that is ignored already stays so, as nohup wants."""
    def interrupted(number, _frame):
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)


# --------------------------------------------------------------------------------------------------------------- results

def processor_seconds():
    """What this process and its children that have ended took."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Tally:
    """Tests that have ended: a line of each, and the sums."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped):
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def tell(self, name, problems=(), after=""):
        """A test that failed where it has problems, a line of text each, and else passed. after: behind its name."""
        print(f"{'FAIL' if problems else 'ok  '} {name}{after}")
        for problem in problems[:MOST]:
            print(f"    {problem}")
        if len(problems) > MOST:
            print(f"    and {len(problems) - MOST} more")
        sys.stdout.flush()
        self.add(not problems, bool(problems), 0)

    def skip(self, name, reason):
        print(f"skip {name}: {reason}", flush=True)
        self.add(0, 0, 1)

    def end(self):
        """Prints the last line; gives the exit status."""
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 0 if not self.failed and (self.passed or self.skipped) else 1


def serve(options, find, run, text=str):
    """Lists tests, or runs them until they end or a signal ends them. options: with name and list, as read() gives them.
    find(names) gives the tests, or raises NoMatch; run(tests) gives the exit status; text(test) is an id. Gives the exit
    status."""
    try:
        tests = find(options.name)
    except NoMatch as name:
        print(f"no test matches '{name}'", file=sys.stderr)
        return NO_MATCH
    if options.list:
        print("\n".join(map(text, tests)))
        return 0
    raise_on_signals()
    try:
        return run(tests)
    except KeyboardInterrupt as reason:
        print(f"ended by {str(reason) or 'SIGINT'}: tests that are not listed above did not run", flush=True)
        return INTERRUPTED
    finally:
        for what, count in COUNTERS.items():
            print(f"{what}: {count()}", flush=True)
