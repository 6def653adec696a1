# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, in words for the user."""
import collections


class Failed(Exception):
    """The text says what failed, why and what to do."""


def tail(path, count=12):
    """The last lines of a log, indented, for an error text."""
    try:
        with open(path, errors="replace") as log:
            return "".join("    " + line for line in collections.deque(log, count)).rstrip()
    except OSError:
        return ""
