#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a test log on standard input and prints what failed in it, shortly: names and first reasons, no noise.

For the same runners as counts.py. A program that died in the middle of its tests (a sanitizer's abort, a time-out) left
no list of its own; its name comes from ctest's list, and the reason from what it printed last.
"""
import re
import sys

STARTS = [
    (re.compile(r": Failure$"), 6),  # GoogleTest: the place, then expected and actual
    (re.compile(r"Assertion `.*' failed\.|SUMMARY: \w+Sanitizer|runtime error: "), 1),
    (re.compile(r"^\s*\d+ - \S+ \((?:Failed|Timeout|Subprocess|SEGFAULT|Not Run|.*Exception)"), 1),  # ctest's list
    (re.compile(r"^\[ERROR\]   ?\S+"), 1),  # Surefire's list
    (re.compile(r"^(?:FAIL|ERROR): "), 1),  # unittest
    (re.compile(r"^FAIL "), 8),  # our own runners: the name, then its problems
    (re.compile(r"ERROR: (?:libFuzzer|AddressSanitizer): "), 12),  # a fuzz target: the stack
    (re.compile(r"^\w*(?:Error|Exception|Failed|Interrupted)\b: "), 3),  # the end of its traceback
]
END = re.compile(r"^(?:ok   |skip )|^\d+ passed, ")  # what a runner of ours prints after the problems of a test
MOST = 60  # lines


def failures(lines):
    """Returns the telling lines in their order, each once, at most MOST of them."""
    told, left = [], 0
    for line in lines:
        line = re.sub(r"^\d+: ", "", line.rstrip("\n"))  # ctest -V prefixes the test's number
        left = 0 if END.match(line) else max([left, *(length for start, length in STARTS if start.search(line))])
        if left > 0 and line.strip():
            left -= 1
            if line not in told:
                told.append(line)
    return told[:MOST]


if __name__ == "__main__":
    for text in failures(sys.stdin):
        print(text)
