#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a test log on standard input and prints "PASSED FAILED SKIPPED".

One parser per runner whose output we see: GoogleTest (through ctest -V), Maven Surefire, Python unittest, and the
plain line "N passed, N failed[, N skipped]" that our own scripts end with. A log without any result gives 0 0 0.
"""
import re
import sys

GTEST_RAN = re.compile(r"\[==========\] (\d+) tests? from \d+ test suites? ran")
GTEST_FAILED = re.compile(r"\[  FAILED  \] (\d+) tests?, listed below")
GTEST_SKIPPED = re.compile(r"\[  SKIPPED \] (\d+) tests?, listed below")
SUREFIRE = re.compile(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$")
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ")
UNITTEST_RESULT = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$")
PLAIN = re.compile(r"^(?:\S+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$")


def count(lines):
    """Returns [passed, failed, skipped] summed over every result line."""
    passed = failed = skipped = 0
    for line in lines:
        line = re.sub(r"^\d+: ", "", line.rstrip("\n"))  # ctest -V prefixes the test's number
        if match := GTEST_RAN.search(line):
            passed += int(match[1])
        elif match := GTEST_FAILED.search(line):
            passed, failed = passed - int(match[1]), failed + int(match[1])
        elif match := GTEST_SKIPPED.search(line):
            passed, skipped = passed - int(match[1]), skipped + int(match[1])
        elif (match := SUREFIRE.search(line)) and "Time elapsed" not in line:
            run, failures, errors, skips = map(int, match.groups())
            passed += run - failures - errors - skips
            failed += failures + errors
            skipped += skips
        elif match := UNITTEST_RAN.match(line):
            passed += int(match[1])
        elif match := UNITTEST_RESULT.match(line):
            details = dict(re.findall(r"(\w+)=(\d+)", match[1] or ""))
            bad = int(details.get("failures", 0)) + int(details.get("errors", 0))
            skips = int(details.get("skipped", 0))
            passed, failed, skipped = passed - bad - skips, failed + bad, skipped + skips
        elif match := PLAIN.match(line):
            passed += int(match[1])
            failed += int(match[2])
            skipped += int(match[3] or 0)
    return [passed, failed, skipped]


if __name__ == "__main__":
    print(*count(sys.stdin))
