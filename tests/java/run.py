#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the JUnit tests of the Maven modules on what is built: one JVM for each module, no Maven, nothing is built.

usage: run.py [--full] [--list] [--but MODULE] [NAME ...]

NAME: a module's folder, a class with or without its package, CLASS#METHOD, a method, or a part of one of these.
--but: a module's folder, which another suite has.
--full, or VERBENA_TEST_FULL=1: the long tests, too, and the JVM as users have it instead of one that starts quickly.
"""
import pathlib
import re
import sys
import time

import jvms
import reports
import sources

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import program  # noqa: E402  (needs the path above)

NATIVE = re.compile(r"(?:WARNING|FATAL ERROR) in native method")  # what -Xcheck:jni says
SHOWN = 8  # lines of a failure


def judged(module, tests, full):
    """Runs tests of a module; [(name, "ok" | "skip" | "FAIL", text, seconds)], and one for each thing that is wrong."""
    done = jvms.run(module, tests, full)
    results = reports.read(done.folder)
    warned = [line.rstrip() for line in done.output if NATIVE.search(line)]
    if warned:
        results.append((f"{module.path} -Xcheck:jni", "FAIL", "\n".join([*warned, f"see {done.log}"]), 0))
    bad = any(state == "FAIL" for _, state, _, _ in results)
    if done.problem or (done.status != 0 and not bad) or not results:
        why = done.problem or f"its JVM ended with {done.status}" + ("" if results else ", no test ran")
        results.append((module.path, "FAIL", "\n".join([f"{why}; see {done.log}", *done.tail(SHOWN - 1)]), 0))
    return results


def show(results, tally):
    for name, state, text, seconds in results:
        lines = text.splitlines()[:SHOWN]
        if state == "skip":
            tally.skip(name, lines[0] if lines else "")
        elif state == "ok":
            tally.tell(name, after=f" {seconds:.2f} s")
        else:
            tally.tell(name, lines or ["it does not say why"])


def find(names, but=None):
    """The tests that any of the names means, without those of the module `but`. Raises program.NoMatch."""
    tests = [test for test in sources.all_tests() if test.module.path != but]
    chosen = {}
    for name in names:
        found = sources.matching(tests, name)
        if not found:
            raise program.NoMatch(name)
        chosen.update(dict.fromkeys(found))
    return [test for test in tests if test in chosen] if names else tests


def run(tests, full):
    """Gives the exit status."""
    tally = program.Tally()
    for module in dict.fromkeys(test.module for test in tests):
        began, used = time.monotonic(), program.processor_seconds()
        results = judged(module, [test for test in tests if test.module == module], full)
        print(f"{module.path}: {time.monotonic() - began:.0f} s, {program.processor_seconds() - used:.0f} CPU s")
        show(results, tally)
    return tally.end()


def main():
    parser = program.parser(__doc__)
    parser.add_argument("--but", metavar="MODULE", help="a module's folder, whose tests do not run")
    options = program.read(parser)
    return program.serve(options, lambda names: find(names, options.but), lambda tests: run(tests, options.full),
                         lambda test: test.id)


if __name__ == "__main__":
    sys.exit(main())
