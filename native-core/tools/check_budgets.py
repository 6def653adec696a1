#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a function, method or file is longer than the style allows.

Usage: check_budgets.py REPOSITORY
C: functions 40 lines, files 1,000 lines. Java: methods 60 lines, files 1,000 lines. A function counts from its
opening to its closing brace, both excluded. Generated and built files (target/, build/) are not looked at.
"""
import pathlib
import re
import sys

C_FUNCTION = 40
JAVA_METHOD = 60
FILE = 1000
SKIPPED = {"target", "build", ".git", "shared", "node_modules"}
CONTROL = re.compile(r"\b(if|for|while|switch|catch|synchronized|try|do|else)\b")
TYPE = re.compile(r"\b(class|interface|enum|record)\s+\w+")
ANONYMOUS = re.compile(r"\bnew\s+[\w.<>,?\s\[\]]+\(.*\)\s*$", re.DOTALL)
METHOD = re.compile(r"(\w+)\s*\([^{}]*\)\s*(?:throws\s+[\w.,\s]+)?$", re.DOTALL)
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def files(root, *suffixes):
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        if path.suffix in suffixes and path.is_file() and not SKIPPED & set(inside) and not inside[0].startswith("."):
            yield path


def c_functions(text):
    """Yields (name, length): by our style a function's braces, and no others, stand alone at column 0."""
    name, start = "?", None
    for number, line in enumerate(text.splitlines(), 1):
        if start is None and line == "{":
            start = number
        elif start is not None and line == "}":
            yield name, number - start - 1
            name, start = "?", None
        elif start is None:
            found = re.match(r"[A-Za-z_].*?(\w+)\(", line)
            name = found.group(1) if found else name


def blank(match):
    """Hides comments and literals, keeps line numbers."""
    return '""' + "\n" * match.group(0).count("\n")


def kind_of(head, outer, in_parentheses):
    """What the block after `head` is: 'type' (its blocks may be methods), a method's name, or 'block'."""
    if TYPE.search(head) or ANONYMOUS.search(head):
        return "type", None
    method = METHOD.search(head)
    if outer == "type" and not in_parentheses and method and not CONTROL.search(head) and "=" not in head:
        return "method", method.group(1)
    return "block", None


def java_methods(text):
    """Yields (name, length)."""
    stack, head, depth, line = [], "", 0, 1
    for char in HIDDEN.sub(blank, text):
        line += char == "\n"
        depth += (char == "(") - (char == ")")
        if char == "{":
            kind, name = kind_of(head, stack[-1][0] if stack else "type", depth > 0)
            stack.append((kind, name, line, depth))
            depth = 0
        elif char == "}" and stack:
            kind, name, start, depth = stack.pop()
            if kind == "method":
                yield name, max(0, line - start - 1)
        head = "" if char in "{};" else head + char


def check(paths, lengths_of, limit, errors):
    """Counts the functions of these files; appends what is too long to errors."""
    count = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > FILE:
            errors.append(f"{path}: {lines} lines, at most {FILE} are allowed")
        for name, length in lengths_of(text):
            count += 1
            if length > limit:
                errors.append(f"{path}: {name} has {length} lines, at most {limit} are allowed")
    return count


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1])
    errors = []
    c_files, java_files = list(files(root, ".c", ".h")), list(files(root, ".java"))
    functions = check(c_files, c_functions, C_FUNCTION, errors)
    methods = check(java_files, java_methods, JAVA_METHOD, errors)
    for error in errors:
        print(error, file=sys.stderr)
    print(f"budgets: {len(c_files)} C files, {functions} functions, {len(java_files)} Java files, {methods} methods, "
          f"{len(errors)} over")
    if not c_files:
        print(f"no C files below {root}: is this the repository?", file=sys.stderr)
    return 1 if errors or not c_files else 0


if __name__ == "__main__":
    sys.exit(main())
