#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of meta flags in docs/memcached.md out of memcached-rdma/proto/flags.def, and compares both.

usage: gen_flags.py REPOSITORY --page    writes the table of the page anew
       gen_flags.py REPOSITORY --check   status 1 and a line if the page differs
"""
import ast
import pathlib
import re
import sys
from typing import NamedTuple

TABLE = "memcached-rdma/proto/flags.def"
PAGE = "docs/memcached.md"
BEGIN = f"<!-- Flags of the meta commands: written by memcached-rdma/tools/gen_flags.py from {TABLE}. -->"
END = "<!-- End of flags. -->"
ROW = re.compile(r"^META_FLAG\('(.)', ([^,]*), (\w+), (\w+), (\"[^\"]*\"), (\w+), (\"[^\"]*\")\)$")
TOKENS = {"KEY": "", "SWITCH": "", "ASKS": "", "SECONDS": "seconds", "NUMBER": "number", "MODE": "letter", "OPAQUE": "text",
          "UNUSED": "text"}
# The field of the answer that a flag asks for, behind its letter.
FIELDS = {"nothing": None, "touched": None, "vivified": None, "cas": "number", "client_flags": "number", "fetched": "0 or 1",
          "key": "key", "access": "seconds", "opaque": "text", "size": "number", "ttl": "seconds"}
COMMANDS = {"MG": "mg", "MS": "ms", "MD": "md", "MA": "ma", "ME": "me"}


class TableError(Exception):
    """The table has a row that this script does not understand."""


class Flag(NamedTuple):
    letter: str
    commands: tuple # that obey the flag
    token: str      # a word of TOKENS
    wrong: str      # the answer to a wrong token, behind CLIENT_ERROR
    field: str      # a word of FIELDS
    meaning: str


def flag_of(line):
    match = ROW.match(line)
    if not match:
        raise TableError(f"{line!r} is not META_FLAG('letter', COMMANDS, TOKEN, member, \"wrong\", field, \"meaning\")")
    names = [] if match[2] == "0" else match[2].split(" | ")
    for word, known in [(match[3], TOKENS), (match[6], FIELDS), *((name, COMMANDS) for name in names)]:
        if word not in known:
            raise TableError(f"flag {match[1]}: {word} is none of {', '.join(known)}")
    return Flag(match[1], tuple(COMMANDS[name] for name in names), match[3], ast.literal_eval(match[5]), match[6],
                ast.literal_eval(match[7]))


def load(root):
    """The rows in their order; no letter stands twice."""
    lines = (root / TABLE).read_text(encoding="utf-8").splitlines()
    flags = [flag_of(line) for line in lines if line.startswith("META_FLAG(")]
    letters = [flag.letter for flag in flags]
    if not flags or len(set(letters)) < len(letters):
        raise TableError(f"letters {''.join(letters)!r}: there is none, or one stands twice")
    return flags


def page_row(flag):
    token = f" {TOKENS[flag.token]}" if TOKENS[flag.token] else ""
    field = FIELDS[flag.field]
    commands = f"`{' '.join(flag.commands)}`" if flag.commands else "none"
    return f"| `{flag.letter}`{token} | {commands} | {f'`{flag.letter}` {field}' if field else ''} | {flag.meaning} |"


def page_table(flags):
    return "\n".join(["| flag | commands | field of the answer | meaning |", "|---|---|---|---|", *map(page_row, flags)])


def written(text, flags):
    """The page's text with the table of these flags."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise TableError(f"{PAGE} has no place for the table: the lines {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n\n{page_table(flags)}\n\n{end}{after}"


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("--page", "--check"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1])
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    try:
        wanted = written(text, load(root))
    except TableError as error:
        print(f"{TABLE}: {error}", file=sys.stderr)
        return 1
    if sys.argv[2] == "--page":
        page.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print(f"{PAGE}: the table of flags is not that of {TABLE}; write the table anew: python3 "
              "memcached-rdma/tools/gen_flags.py . --page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
