#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a function, method or file is longer than the style allows.

Usage: check_budgets.py REPOSITORY [FILE...]
C: functions 40 lines, files 1,000. Java: methods 60, files 1,000. Python and bash: functions 40, files 600. A function
counts from its opening to its closing brace, both excluded; in bash without the lines of texts (here-documents and strings).
Without FILEs, relative to REPOSITORY, all of its files count but generated and built ones (target/, build/).
"""
import ast
import pathlib
import re
import sys

FILE, SCRIPT = 1000, 600
SKIPPED = {"target", "build", ".git", "shared", "node_modules"}
CONTROL = re.compile(r"\b(if|for|while|switch|catch|synchronized|try|do|else)\b")
TYPE = re.compile(r"\b(class|interface|enum|record)\s+\w+")
ANONYMOUS = re.compile(r"\bnew\s+[\w.<>,?\s\[\]]+\(.*\)\s*$", re.DOTALL)
METHOD = re.compile(r"(\w+)\s*\([^{}]*\)\s*(?:throws\s+[\w.,\s]+)?$", re.DOTALL)
BASH = re.compile(r"""\\.|\$\(|(?<!\S)\#.*|[()"']""")
HERE = re.compile(r"(?<!<)<<-?\s*['\"]?(\w+)")
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def found(root):
    """All files of a folder, but generated, built and hidden ones."""
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        if path.is_file() and not SKIPPED & set(inside) and not inside[0].startswith("."):
            yield path


def language(path):
    """What a file is written in: a row of LANGUAGES; None: in nothing that has a limit."""
    if path.suffix in ENDINGS:
        return ENDINGS[path.suffix]
    with path.open("rb") as file:
        first = file.read(64).split(b"\n")[0]
    return "bash" if first.startswith(b"#!") and first.endswith(b"bash") else None


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


def python_functions(text):
    """Yields (name, length)."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.body[0].lineno + 1


def bash_code(text):
    """Yields for each line of a script whether it begins outside of all texts: here-documents and strings."""
    stack, end = [], None  # open quotes, and ")" for each command substitution inside of one
    for line in text.splitlines():
        yield end is None and not stack
        if end is not None:
            end = None if line.strip() == end else end
            continue
        for token in BASH.findall(line):
            if stack and token == stack[-1]:
                stack.pop()
            elif stack[-1:] == ["'"] or token.startswith("\\"):
                continue
            elif token == "$(":
                stack.append(")")
            elif token == "(" and stack[-1:] == [")"]:
                stack.append(")")
            elif token == '"' or token == "'" and stack[-1:] != ['"']:
                stack.append(token)
            elif token.startswith("#") and stack[-1:] not in (['"'], ["'"]):
                break
        document = HERE.search(line)
        end = document[1] if document and not stack and "((" not in line[:document.start()] else None


def bash_functions(text):
    """Yields (name, length): by our style `name() {` and its brace begin lines; one on a single line has no length."""
    name, length = None, 0
    for line, is_code in zip(text.splitlines(), bash_code(text)):
        begins = re.match(r"(\w+)\(\) *[{(]", line) if is_code else None
        if begins and not re.search(r"[})] *(#.*)?$", line):
            name, length = begins[1], 0
        elif name and is_code and line in ("}", ")"):
            yield name, length
            name = None
        else:
            length += is_code


LANGUAGES = {"C": (c_functions, 40, FILE), "Java": (java_methods, 60, FILE), "Python": (python_functions, 40, SCRIPT),
             "bash": (bash_functions, 40, SCRIPT)}
ENDINGS = {".c": "C", ".h": "C", ".java": "Java", ".py": "Python"}


def check(path, limits, errors):
    """Counts the functions of a file; appends what is too long to errors."""
    lengths_of, most, most_of_file = limits
    text = path.read_text(encoding="utf-8")
    lines, count = text.count("\n"), 0
    if lines > most_of_file:
        errors.append(f"{path}: {lines} lines, at most {most_of_file} are allowed")
    for name, length in lengths_of(text):
        count += 1
        if length > most:
            errors.append(f"{path}: {name} has {length} lines, at most {most} are allowed")
    return count


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root, errors = pathlib.Path(sys.argv[1]), []
    counts = {name: [0, 0] for name in LANGUAGES}
    for path in [root / name for name in sys.argv[2:]] or found(root):
        if (name := language(path)) is not None:
            counts[name][0] += 1
            counts[name][1] += check(path, LANGUAGES[name], errors)
    for error in errors:
        print(error, file=sys.stderr)
    told = ", ".join(f"{files} {name} files, {functions} {'methods' if name == 'Java' else 'functions'}"
                     for name, (files, functions) in counts.items())
    print(f"budgets: {told}, {len(errors)} over")
    if not counts["C"][0]:
        print(f"no C files below {root}: is this the repository?", file=sys.stderr)
    return 1 if errors or not counts["C"][0] else 0


if __name__ == "__main__":
    sys.exit(main())
