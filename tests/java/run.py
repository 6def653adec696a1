#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the JUnit tests of the Maven modules on what is built: one JVM for each module, no Maven, nothing is built.

usage: run.py [--full] [--list] [NAME ...]
NAME: a module's folder, a class with or without its package, CLASS#METHOD, a method, or a part of one of these.
--full, or VERBENA_TEST_FULL=1: the long tests, too, and the JVM as users have it instead of one that starts quickly.
"""
import argparse
import os
import re
import signal
import sys
import time

import jvms
import reports
import sources

NATIVE = re.compile(r"(?:WARNING|FATAL ERROR) in native method")  # what -Xcheck:jni says
SHOWN = 8  # lines of a failure


def ended(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


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


def show(results):
    for name, state, text, seconds in results:
        lines = text.splitlines()[:SHOWN]
        if state == "ok":
            print(f"ok    {name} {seconds:.2f} s")
        elif state == "skip":
            print(f"skip  {name}: {lines[0] if lines else ''}")
        else:
            print("\n".join([f"FAIL {name}", *("    " + line for line in lines)]))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="module, class, CLASS#METHOD, method, or a part")
    parser.add_argument("--full", action="store_true", help="the long tests, too, and the JVM as users have it")
    parser.add_argument("--list", action="store_true", help="print the tests and end")
    options = parser.parse_args()
    tests = sources.all_tests()
    for name in options.names:
        if not sources.matching(tests, name):
            print(f"no test matches '{name}'", file=sys.stderr)
            return 2
    if options.names:
        tests = [test for test in tests if any(test in sources.matching(tests, name) for name in options.names)]
    if options.list:
        print("\n".join(test.id for test in tests))
        return 0
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
    full = options.full or bool(os.environ.get("VERBENA_TEST_FULL"))
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    for module in dict.fromkeys(test.module for test in tests):
        began = time.monotonic()
        results = judged(module, [test for test in tests if test.module == module], full)
        print(f"{module.path}: {time.monotonic() - began:.0f} s")
        show(results)
        for _, state, _, _ in results:
            counts[state] += 1
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
