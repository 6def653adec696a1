# SPDX-License-Identifier: Apache-2.0
"""Texts for users in the code: literals of C, Java, Python and bash that read as sentences, so errors, log lines and help.

A value in the middle of a text counts as one word. Code of tests, and literals of other languages (SQL, patterns), do not count.
"""
import ast
import re

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
VALUE = re.compile(r"%[-+ #0-9.*]*(?:ll|hh|[zhlj])?[a-zA-Z]|\$\{?\w+[^}\s]*\}?")
SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
OTHER_LANGUAGE = re.compile(r"^\s*(?:SELECT|select|usage|[#<\\]|/\*\*)|[{}$]{2}|->|\[\^|\(\?|\\[dws]|&&|\|\|")
# Literals of one text: side by side with macros such as PRIu64 (C), by + with values between them (Java), after die and say (bash).
JOINED = {
    "c": re.compile(rf"{LITERAL}(?:(?:\s|\b[A-Z][A-Za-z0-9_]*\b)*{LITERAL})*"),
    "java": re.compile(rf"{LITERAL}(?:\s*\+(?:[^\"+;]|\+(?!\s*\"))*(?:\+\s*)?{LITERAL})*"),
    "bash": re.compile(rf"\b(?:die|say|echo) {LITERAL}(?:[ \\\n]+{LITERAL})*"),
}
KINDS = {".c": "c", ".h": "c", ".java": "java", ".py": "python", ".sh": "bash", "": "bash"}
NO_PRODUCTS = {"tests", "test", "it", "examples"}
HARNESS = {"checks", "command", "lib", "runner"}  # folders of tests/ whose texts users read, beside clusters' and guests'
CLUSTERS = {("hadoop", "cluster"), ("hbase", "servers"), ("guest", "vm")}


def is_read(path):
    """Whether users read texts of this file."""
    if path.suffix not in KINDS or path.suffix == "" and path.name != "verbena" or path.name.startswith("test_"):
        return False
    if path.parts[0] == "tests":
        return path.parts[1] in HARNESS or path.parts[1:3] in CLUSTERS
    return not NO_PRODUCTS & set(path.parts[:-1])


def texts(path, source):
    """Yields (line, text) of each text of a file."""
    kind = KINDS[path.suffix]
    for line, text in python_texts(source) if kind == "python" else joined_texts(kind, source):
        for part in re.split(r"\\n|\n", text):  # each line of a usage stands alone
            if SENTENCE.search(part) and not OTHER_LANGUAGE.search(part):
                yield line, VALUE.sub("X", part).replace('\\"', '"')


def joined_texts(kind, source):
    if kind != "bash":
        source = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    for found in JOINED[kind].finditer(source):
        parts = re.findall(LITERAL, found[0])
        yield source.count("\n", 0, found.start()) + 1, (" X " if kind == "java" else "").join(parts)


def python_texts(source):
    """Literals but docstrings; of one with values in braces the whole."""
    inside = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value
