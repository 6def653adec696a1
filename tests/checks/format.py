#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the format of source files, or mends it: lines by .editorconfig, C and C++ by clang-format and .clang-format.

usage: format.py [--fix] [FILE...]        (all files of the repository if none is named)
       format.py --clang-format-version   (the one version that decides; PyPI has it for every Linux)

VERBENA_CLANG_FORMAT is the path of that clang-format. Without it C and C++ are checked by .editorconfig only, and
"skipped: no clang-format VERSION" is said. Prints a line FILE:LINE: PROBLEM each; ends with 1 when there is any.
--fix does what needs no thought. Lines that are too long outside of C's code, and tabs, are for people.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import editorconfig
import tree

CLANG_FORMAT = "20.1.8"
C_ENDINGS = {".c", ".h", ".cc"}
CHUNK = 50  # files for one process
DIFFERS = re.compile(r"^(.+?):(\d+):\d+: (?:warning|error): code should be clang-formatted")
FAILS = re.compile(r"^(\S+:\d+:\d+: )?[Ee]rror\b|.* ended with \d+$")  # not the line of source that is shown
TRAILING = re.compile(rb"[ \t]+(?=\r?\n|\Z)")


def is_text(content):
    return b"\0" not in content


def _long_lines(content, most):
    for number, line in enumerate(content.split(b"\n"), 1):
        if len(line) > most and (columns := len(line.decode(errors="replace"))) > most:
            yield number, f"{columns} columns, at most {most} are allowed"


def _matches(pattern, content, problem):
    """Yields the first place in each line."""
    last = 0
    for match in re.finditer(pattern, content):
        number = content.count(b"\n", 0, match.start()) + 1
        if number != last:
            yield number, problem
        last = number


def line_problems(content, settings):
    """Yields (line, problem) for the bytes of a file."""
    if settings.get("end_of_line") == "lf":
        yield from _matches(rb"\r", content, "carriage return")
    if settings.get("trim_trailing_whitespace") == "true":
        yield from _matches(TRAILING, content, "trailing blanks")
    if settings.get("indent_style") == "space":
        yield from _matches(rb"\t", content, "tab; indent by spaces, and write \\t in a literal")
    if settings.get("insert_final_newline") == "true" and content and not content.endswith(b"\n"):
        yield content.count(b"\n") + 1, "no newline at the end of the file"
    if (most := settings.get("max_line_length", "off")) != "off":
        yield from _long_lines(content, int(most))


def mended(content, settings):
    """The content with what can be mended without thought."""
    if settings.get("end_of_line") == "lf":
        content = content.replace(b"\r\n", b"\n")
    if settings.get("trim_trailing_whitespace") == "true":
        content = TRAILING.sub(b"", content)
    if settings.get("insert_final_newline") == "true" and content and not content.endswith(b"\n"):
        content += b"\n"
    return content


def check_lines(root, files, fix=False):
    """Returns the problems of these files by .editorconfig, after mending them if asked to."""
    config = editorconfig.EditorConfig((root / ".editorconfig").read_text())
    problems = []
    for path in files:
        content, settings = (root / path).read_bytes(), config.of(path)
        if not is_text(content):
            continue
        if fix and (better := mended(content, settings)) != content:
            (root / path).write_bytes(better)
            content = better
        problems += [f"{path}:{line}: {problem}" for line, problem in line_problems(content, settings)]
    return problems


def clang_format():
    """The path of the clang-format of the version that decides; None: there is none."""
    program = os.environ.get("VERBENA_CLANG_FORMAT")
    if not program:
        return None
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return None
    return program if f"version {CLANG_FORMAT}" in said else None


def _in_chunks(root, command, files):
    """Runs the command with some of the files at a time, side by side; returns what it wrote as errors."""
    def one(chunk):
        done = subprocess.run([*command, *map(str, chunk)], cwd=root, capture_output=True, text=True)
        return done.stderr + ("" if done.returncode == 0 else f"{command[0]} ended with {done.returncode}\n")

    chunks = [files[i:i + CHUNK] for i in range(0, len(files), CHUNK)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(one, chunks)).splitlines()


def check_c(root, files, program, fix=False):
    """Returns the C files whose format clang-format would change, at the first line it would; or changes them."""
    files = [path for path in files if path.suffix in C_ENDINGS]
    if fix:
        return _in_chunks(root, [program, "-i"], files)
    first, others = {}, []
    for line in _in_chunks(root, [program, "--dry-run"], files):
        if match := DIFFERS.match(line):
            first.setdefault(match[1], match[2])
        elif FAILS.match(line):
            others.append(line)
    return [f"{path}:{line}: clang-format {CLANG_FORMAT} writes this otherwise: tests/checks/format.py --fix {path}"
            for path, line in first.items()] + others


def named(root, names):
    """The files that are named, relative to root."""
    return [(pathlib.Path.cwd() / name).resolve().relative_to(root) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--clang-format-version", action="version", version=CLANG_FORMAT)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    files = named(root, options.files) if options.files else tree.files(root)
    problems, program = [], clang_format()
    if program:
        problems += check_c(root, files, program, options.fix)
    else:
        print(f"skipped: no clang-format {CLANG_FORMAT} (VERBENA_CLANG_FORMAT)")
    problems += check_lines(root, files, options.fix)
    for problem in problems:
        print(problem)
    print(f"format: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
