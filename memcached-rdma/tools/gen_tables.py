#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables of docs/memcached.md out of those of the server, and compares both: meta flags (memcached-rdma/proto/flags.def),
flags of the command line and words of -o (memcached-rdma/server/options.def, words.def), options of the client library
(memcached-rdma/client/options.def).

usage: gen_tables.py REPOSITORY --page    writes the tables of the page anew
       gen_tables.py REPOSITORY --check   status 1 and a line for each table that differs
"""
import ast
import pathlib
import re
import sys
from typing import NamedTuple

FLAGS, OPTIONS, WORDS, CLIENT = ("memcached-rdma/" + name for name in ("proto/flags.def", "server/options.def",
                                                                      "server/words.def", "client/options.def"))
PAGE = "docs/memcached.md"
BEGIN = "<!-- {name}: written by memcached-rdma/tools/gen_tables.py. -->"
END = "<!-- End of the table. -->"
ROW = re.compile(r"^(?:META_FLAG|OPTION|WORD|CLIENT_OPTION)\((.*)\)$", re.MULTILINE)
COLUMN = re.compile(r"""\s*("[^"]*"|'.'|[^,"'(]+(?:\([^)]*\))?)\s*(?:,|$)""")
TOKENS = {"KEY": "", "SWITCH": "", "ASKS": "", "SECONDS": "seconds", "NUMBER": "number", "MODE": "letter", "OPAQUE": "text",
          "UNUSED": "text"}
# The field of the answer that a flag asks for, behind its letter.
FIELDS = {"nothing": None, "touched": None, "vivified": None, "cas": "number", "client_flags": "number", "fetched": "0 or 1",
          "pinned": "0 or 1", "key": "key", "access": "seconds", "opaque": "text", "size": "number", "ttl": "seconds"}
COMMANDS = {"MG": "mg", "MS": "ms", "MD": "md", "MA": "ma", "ME": "me"}
EFFECTS = ("WORKS", "NO_EFFECT", "ABSENT")


class TableError(Exception):
    """A table has a row that this script does not understand."""


class Flag(NamedTuple):
    """A flag of the meta commands."""
    letter: str
    commands: tuple # that obey the flag
    token: str      # a word of TOKENS
    member: str
    wrong: str      # the answer to a wrong token, behind CLIENT_ERROR
    field: str      # a word of FIELDS
    meaning: str


class Option(NamedTuple):
    """A flag of the command line."""
    letter: str
    name: str
    value: str
    standard: str
    effect: str
    taken: str
    help: str


class Word(NamedTuple):
    """A word of -o."""
    name: str
    value: str
    standard: str
    effect: str
    take: str
    help: str


class ClientOption(NamedTuple):
    """An option of vmc_open."""
    name: str
    value: str
    standard: str
    take: str
    help: str


def columns(row, kind):
    """The row's columns by their names, without quotes."""
    found = [match[1].strip() for match in COLUMN.finditer(row)]
    if len(found) != len(kind._fields):
        raise TableError(f"{row!r} has not the columns {', '.join(kind._fields)}")
    return kind(*(ast.literal_eval(column) if column[0] in "\"'" else column for column in found))


def known(words, row, *found):
    for word in found:
        if word not in words:
            raise TableError(f"{row[0]}: {word} is none of {', '.join(words)}")


def load(root, table, kind):
    """The rows in their order; the first column names a row."""
    try:
        rows = [columns(row, kind) for row in ROW.findall((root / table).read_text(encoding="utf-8"))]
        names = [row[0] for row in rows]
        if not rows or len(set(names)) < len(names):
            raise TableError(f"{' '.join(names)}: there is no row, or one stands twice")
        for row in rows:
            if "effect" in kind._fields:
                known(EFFECTS, row, row.effect)
    except TableError as error:
        raise TableError(f"{table}: {error}") from None
    return rows


def load_flags(root):
    flags = []
    for flag in load(root, FLAGS, Flag):
        names = flag.commands.split(" | ") if flag.commands != "0" else []
        known(COMMANDS, flag, *names)
        known(TOKENS, flag, flag.token)
        known(FIELDS, flag, flag.field)
        flags.append(flag._replace(commands=tuple(COMMANDS[name] for name in names)))
    return flags


def cell(text):
    return text.replace("|", "\\|")


def flag_row(flag):
    token = f" {TOKENS[flag.token]}" if TOKENS[flag.token] else ""
    field = FIELDS[flag.field]
    commands = f"`{' '.join(flag.commands)}`" if flag.commands else "none"
    return f"| `{flag.letter}`{token} | {commands} | {f'`{flag.letter}` {field}' if field else ''} | {flag.meaning} |"


def flags_table(root):
    return ["| flag | commands | field of the answer | meaning |", "|---|---|---|---|", *map(flag_row, load_flags(root))]


def option_names(option):
    return f"`-{option.letter}`" + (f", `--{option.name}{'=' * bool(option.value)}{cell(option.value)}`" if option.name else "")


def option_row(names, row):
    return f"| {names} | {f'`{row.standard}`' if row.standard else ''} | {cell(row.help)} |"


def options_table(root):
    lines = ["| flag | default | meaning |", "|---|---|---|"]
    lines += [option_row(option_names(row), row) for row in load(root, OPTIONS, Option) if row.effect == "WORKS"]
    return lines + [option_row(f"`-o {row.name}{'=' * bool(row.value)}{cell(row.value)}`", row)
                    for row in load(root, WORDS, Word) if row.effect == "WORKS"]


def others_table(root):
    """Flags and words without effect, and those that the server refuses."""
    lines = ["| | flags | words of `-o` |", "|---|---|---|"]
    for effect, shown in (("NO_EFFECT", "accepted, no effect"), ("ABSENT", "refused")):
        flags = (f"`-{row.letter}` ({cell(row.help)})" for row in load(root, OPTIONS, Option) if row.effect == effect)
        words = (row.name for row in load(root, WORDS, Word) if row.effect == effect)
        lines.append(f"| {shown} | {', '.join(flags)} | `{' '.join(words)}` |")
    return lines


def client_table(root):
    return ["| option | default | meaning |", "|---|---|---|",
            *(option_row(f"`{row.name}={cell(row.value)}`", row) for row in load(root, CLIENT, ClientOption))]


TABLES = {"Meta flags": flags_table, "Flags and words": options_table, "Flags and words without effect": others_table,
          "Options of the client": client_table}


def written(root, text, name):
    """The page's text with this table as the rows give it."""
    begin = BEGIN.format(name=name)
    before, mark, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise TableError(f"{PAGE} has no place for a table: the lines {begin!r} and {END!r}")
    table = "\n".join(TABLES[name](root))
    return f"{before}{mark}\n\n{table}\n\n{end}{after}"


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("--page", "--check"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1])
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    status = 0
    try:
        for name in TABLES:
            wanted = written(root, text, name)
            if wanted != text and sys.argv[2] == "--check":
                print(f"{PAGE}: the table '{name}' is not that of the server; write the tables anew: python3 "
                      "memcached-rdma/tools/gen_tables.py . --page", file=sys.stderr)
                status = 1
            text = wanted
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    if sys.argv[2] == "--page":
        page.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
