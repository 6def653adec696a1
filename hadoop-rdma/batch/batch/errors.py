# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, in words for the user."""
import collections
import re

BAD = re.compile(r"ERROR|FATAL|Exception|[Ee]rror: ")
LAST = 12  # lines


class Failed(Exception):
    """The text says what failed, why and what to do."""


def say(text):
    """A line for the user."""
    print(f"verbena-batch: {text}", flush=True)


def excerpt(path):
    """What a log says of an end, for an error text: its first line, the first one of an error, which a long trace would hide, and
    the last ones."""
    shown, last = {}, collections.deque(maxlen=LAST)
    try:
        with open(path, errors="replace") as log:
            for number, line in enumerate(filter(str.strip, log)):
                if not shown or (len(shown) == 1 and BAD.search(line)):
                    shown[number] = line
                last.append((number, line))
    except OSError as error:
        return f"its log cannot be read: {error}"
    text, before = [f"from {path}:" if shown else f"{path} is empty"], -1
    for number, line in sorted({**shown, **dict(last)}.items()):
        text += ["    ..."] * (number > before + 1) + ["    " + line.rstrip()]
        before = number
    return "\n".join(text)
