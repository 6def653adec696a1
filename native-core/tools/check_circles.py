#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a layer's largest circle of .c files that call each other grows: what is in one can only be read as a whole.

Usage: check_circles.py REPOSITORY [--show]. A file calls another when it names a function or a table that the other defines, itself
or by an inline function or a macro of a header. Calls through a table of functions count for the file that holds the table. --show
prints the circles and the calls in them.
"""
import pathlib
import re
import sys

# Files of the largest circle of each layer; may fall, not rise. What is not listed has none: each file stands on others that do
# not stand on it.
LARGEST = {"mem": 4, "tl/rc": 6, "tl/shm": 10, "tl/sim": 2, "tl/tcp": 5, "tl/verbs": 2, "link": 4}
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?:->|\.)\s*[A-Za-z_]\w*', re.DOTALL)
FUNCTION = re.compile(r"^((?!typedef)[A-Za-z_][^;{}=#]*?)\b(\w+)\([^;{}#]*\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^(?!static|extern|typedef)[A-Za-z_][\w ]*?[ *](\w+)(?:\[[^\]\n]*\])* = ", re.MULTILINE)
MACRO = re.compile(r"^#\s*define (\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")


def read(path):
    """Without comments, literals and names of members."""
    return HIDDEN.sub(" ", path.read_text(encoding="utf-8"))


def header_words(headers):
    """What naming an inline function or a macro of a header names besides."""
    words = {}
    for text in map(read, headers):
        for name, body in [match[1:] for match in (found.group(0, 2, 3) for found in FUNCTION.finditer(text))] + \
                MACRO.findall(text):
            words.setdefault(name, set()).update(WORD.findall(body))
    return words


def names_in(text, inline):
    """Every word of the text, and what those of headers stand for."""
    found, todo = set(), set(WORD.findall(text))
    while todo:
        word = todo.pop()
        if word not in found:
            found.add(word)
            todo |= inline.get(word, set()) - found
    return found


def calls_of(folder, inline):
    """{file: {file that it calls: names}} of the .c files of a layer."""
    texts = {path.relative_to(folder).as_posix(): read(path) for path in sorted(folder.rglob("*.c"))}
    home = {}
    for name, text in texts.items():
        home.update({found[2]: name for found in FUNCTION.finditer(text) if "static" not in found[1].split()})
        home.update({found[1]: name for found in TABLE.finditer(text)})
    calls = {name: {} for name in texts}
    for name, text in texts.items():
        for word in names_in(text, inline):
            if home.get(word, name) != name:
                calls[name].setdefault(home[word], set()).add(word)
    return calls


def reached(calls, start):
    found, todo = set(), [start]
    while todo:
        for name in calls[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def circles(calls):
    """Sets of files of which each reaches each, largest first."""
    reach = {name: reached(calls, name) for name in calls}
    found = {frozenset({name} | {other for other in reach[name] if name in reach[other]}) for name in calls}
    return sorted(found, key=len, reverse=True)


def layers(source):
    """The folders with .c files below src and src/tl."""
    for folder in sorted([*source.glob("*"), *source.glob("tl/*")]):
        if folder.name != "tl" and any(folder.rglob("*.c")):
            yield folder.relative_to(source).as_posix()


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    source = pathlib.Path(sys.argv[1]) / "native-core/src"
    inline = header_words(sorted(source.rglob("*.h")))
    errors, sizes = [], []
    for layer in layers(source):
        most = LARGEST.get(layer, 1)
        calls = calls_of(source / layer, inline)
        largest = circles(calls)[0]
        sizes.append(f"{layer} {len(largest)} of {len(calls)}")
        if len(largest) > most:
            errors.append(f"{layer}: {len(largest)} files call each other, at most {most} may: {' '.join(sorted(largest))}; "
                          "move what both sides need to a file below them, or pass it by a table")
        for circle in circles(calls) if len(sys.argv) == 3 else []:
            for name in sorted(circle) if len(circle) > 1 else []:
                for other in sorted(circle & calls[name].keys()):
                    print(f"{layer}/{name} -> {other}: {' '.join(sorted(calls[name][other]))}")
    for error in errors:
        print(error, file=sys.stderr)
    print(f"largest circles: {', '.join(sizes)} files")
    if not sizes:
        print(f"no C files below {source}: is this the repository?", file=sys.stderr)
    return 1 if errors or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
