#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a folder's largest circle of .c files that call each other grows: what is in one can only be read as a whole.

Usage: check_circles.py REPOSITORY [--show]. A file calls another when it names a function or a table that the other defines, itself
or by an inline function or a macro of a header. Calls through a table of functions count for the file that holds the table. --show
prints the circles and the calls in them.
"""
import pathlib
import re
import sys

# The folders of each component that the check looks at, each with those below it; CONTAINERS only hold such folders.
FOLDERS = {"native-core/src": ("*", "tl/*"), "native-core": ("jni",), "native-core/tools": ("*",),
           "mpi": ("*", "mpi/*", "shmem/src", "bench/common"), "memcached-rdma": ("*",)}
CONTAINERS = {"native-core/src/tl", "mpi/mpi", "mpi/shmem"}
PROGRAMS = {"tests", "bench", "examples", "example"} # each file of them is a program, or made for one
# Files of the largest circle of each folder; a number may fall, not rise. A folder that is not listed has no circle: each of its
# files stands on others that do not stand on it.
LARGEST = {"native-core/src/link": 4}
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?:->|\.)\s*[A-Za-z_]\w*', re.DOTALL)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)\s*")
FUNCTION = re.compile(r"^((?!typedef)[A-Za-z_][^;{}=#]*?)\b(\w+)\([^;{}#]*\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^(?!static|extern|typedef)[A-Za-z_][\w ]*?[ *](\w+)(?:\[[^\]\n]*\])* = ", re.MULTILINE)
MACRO = re.compile(r"^#\s*define (\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")


def sources(folder):
    """The .c files in the folder and below, without those of programs."""
    return [path for path in sorted(folder.rglob("*.c")) if not PROGRAMS & set(path.relative_to(folder).parts)]


def read(path):
    """Without comments, literals, names of members and attributes."""
    return ATTRIBUTE.sub("", HIDDEN.sub(" ", path.read_text(encoding="utf-8")))


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
    """{file: {file that it calls: names}} of the .c files of a folder."""
    texts = {path.relative_to(folder).as_posix(): read(path) for path in sources(folder)}
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


def folders(repository):
    """(folder, what the headers of its component stand for) of every folder with .c files."""
    for component, patterns in FOLDERS.items():
        inline = header_words(sorted((repository / component).rglob("*.h")))
        for folder in sorted(found for pattern in patterns for found in (repository / component).glob(pattern)):
            name = folder.relative_to(repository).as_posix()
            if name not in CONTAINERS and folder.name not in PROGRAMS and sources(folder):
                yield name, inline


def show(folder, calls):
    """Prints the circles of a folder and the calls in them."""
    for circle in circles(calls):
        for name in sorted(circle) if len(circle) > 1 else []:
            for other in sorted(circle & calls[name].keys()):
                print(f"{folder}/{name} -> {other}: {' '.join(sorted(calls[name][other]))}")


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    repository = pathlib.Path(sys.argv[1])
    errors, sizes = [], []
    for folder, inline in folders(repository):
        most = LARGEST.get(folder, 1)
        calls = calls_of(repository / folder, inline)
        largest = circles(calls)[0]
        sizes.append((folder, len(largest), len(calls)))
        if len(largest) > most:
            errors.append(f"{folder}: {len(largest)} files call each other, at most {most} may: {' '.join(sorted(largest))}; "
                          "move the shared code to a file below them, or pass it by a table")
        elif len(largest) < most:
            errors.append(f"{folder}: {len(largest)} files call each other, and LARGEST allows {most}; write {len(largest)} there")
        if len(sys.argv) == 3:
            show(folder, calls)
    for error in errors:
        print(error, file=sys.stderr)
    found = "".join(f" {folder} {largest} of {files}," for folder, largest, files in sizes if largest > 1)
    print(f"largest circles:{found} none in {sum(largest == 1 for _, largest, _ in sizes)} of {len(sizes)} folders")
    if not sizes:
        print(f"no C files below {repository}: is this the repository?", file=sys.stderr)
    return 1 if errors or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
