#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C, Java and documentation out of the tables of settings: the core's (config/settings.yaml), then those of components,
whose keys begin with the component's name.

A table is a YAML list with one flow mapping per line; this reads that subset itself, so that a build needs no
Python package. Every value stays text until its row's type says how to read it.
"""
import argparse
import os
import pathlib
import re
import sys

COMPONENTS = ("mpi",) # that have a table; CMakeLists.txt knows them, too
MAX_ROWS = 60
FIELDS = {"key", "type", "values", "default", "min", "max", "help", "since"}
REQUIRED = ("key", "type", "default", "help", "since")
TYPES = ("bool", "int", "size", "time", "enum", "string")
STRING_BYTES = 256
INT64_MAX = 2**63 - 1
SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}

TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([{}\[\],:])|([^{}\[\],:"\s][^{}\[\],:"]*))')


class TableError(Exception):
    """The table breaks a rule; the text says which row and how."""


def tokens(text):
    """Yields (kind, value): kind 'mark' for punctuation, 'text' for quoted and plain scalars."""
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise TableError(f"cannot read {text[at:at + 20]!r}")
        quoted, mark, plain = match.groups()
        if mark:
            yield "mark", mark
        else:
            yield "text", re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain.strip()
        at = match.end()


def expect(stream, wanted):
    kind, value = next(stream, ("end", "end of line"))
    if kind != "mark" or value not in wanted:
        raise TableError(f"{value!r} where one of {wanted!r} belongs")
    return value


def parse_text(stream):
    kind, value = next(stream, ("end", "end of line"))
    if kind != "text":
        raise TableError(f"{value!r} where a value belongs")
    return value


def parse_list(stream):
    values = [parse_text(stream)]
    while expect(stream, ",]") == ",":
        values.append(parse_text(stream))
    return values


def parse_mapping(text):
    """'{key: a.b, values: [x, y]}' -> dict of text and lists of text."""
    stream = iter(list(tokens(text)))
    expect(stream, "{")
    row, more = {}, True
    while more:
        name = parse_text(stream)
        expect(stream, ":")
        if name in row:
            raise TableError(f"field {name} given twice")
        kind, value = next(stream, ("end", "end of line"))
        row[name] = parse_list(stream) if (kind, value) == ("mark", "[") else value
        if kind != "text" and value != "[":
            raise TableError(f"{value!r} where the value of {name} belongs")
        more = expect(stream, ",}") == ","
    if next(stream, None) is not None:
        raise TableError("text after the closing brace")
    return row


def load_table(path):
    rows = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if not line.startswith("- "):
                raise TableError(f"{path}:{number}: a row starts with '- {{'")
            try:
                rows.append(check_row(parse_mapping(line[2:])))
            except TableError as error:
                raise TableError(f"{path}:{number}: {error}") from None
    return rows


def load(core, *components):
    """Rows of all tables. Those of COMPONENT/config/settings.yaml belong to that component, all others to the core."""
    rows = load_table(core)
    for path in components:
        prefix = pathlib.Path(path).resolve().parents[1].name + "."
        if any(row["key"].startswith(prefix) for row in rows):
            raise TableError(f"{core}: rows of '{prefix}' belong to {path}")
        own = load_table(path)
        if not all(row["key"].startswith(prefix) for row in own):
            raise TableError(f"{path}: its keys begin with '{prefix}'")
        rows += own
    check_table(rows)
    return rows


def tables(repository):
    """Paths of all tables of a repository, the core's first. A component that is not there has no settings."""
    paths = [pathlib.Path(repository) / name / "config/settings.yaml" for name in ("native-core", *COMPONENTS)]
    return [path for path in paths if path == paths[0] or path.exists()]


def number_of(row_type, text):
    """Value of a number of this type in base units (bytes, nanoseconds, 0/1)."""
    match = re.fullmatch(r"(-?)(\d+)([A-Za-z]*)", text)
    if not match:
        raise TableError(f"{text!r} is not a number")
    sign, digits, unit = match.groups()
    value = int(digits)
    if row_type == "int" and not unit:
        value = -value if sign else value
    elif row_type == "size" and not sign and unit in SIZE_UNITS:
        value *= SIZE_UNITS[unit]
    elif row_type == "time" and not sign and (unit in TIME_UNITS or (value == 0 and not unit)):
        value *= TIME_UNITS.get(unit, 1)
    else:
        raise TableError(f"{text!r} is not of type {row_type}")
    if abs(value) > INT64_MAX:
        raise TableError(f"{text!r} does not fit 64 bits")
    return value


def check_row(row):
    """Checks one row and adds the derived fields: name (C field), env, number, low, high."""
    unknown = sorted(set(row) - FIELDS)
    missing = [name for name in REQUIRED if name not in row]
    if unknown or missing:
        raise TableError(f"unknown fields {unknown}, missing fields {missing}")
    if any(isinstance(value, list) != (name == "values") for name, value in row.items()):
        raise TableError("the field values, and only that, is a list")
    key, row_type = row["key"], row["type"]
    if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", key):
        raise TableError(f"key {key!r} is not lower case words joined by dots")
    if row_type not in TYPES:
        raise TableError(f"{key}: type {row_type!r} is none of {', '.join(TYPES)}")
    if any(ord(c) < 32 or ord(c) > 126 for c in row["help"] + str(row["default"])):
        raise TableError(f"{key}: help and default are plain ASCII")
    row["name"] = key.replace(".", "_")
    row["env"] = "VBN_" + row["name"].upper()
    row.setdefault("values", [])
    check_bounds(row)
    return row


def check_bounds(row):
    key, row_type, default = row["key"], row["type"], row["default"]
    if ("min" in row or "max" in row) and row_type not in ("int", "size", "time"):
        raise TableError(f"{key}: only numbers have bounds")
    if bool(row["values"]) != (row_type == "enum"):
        raise TableError(f"{key}: an enum, and only an enum, lists values")
    row["low"] = number_of(row_type, row["min"]) if "min" in row else (-INT64_MAX if row_type == "int" else 0)
    row["high"] = number_of(row_type, row["max"]) if "max" in row else INT64_MAX
    if row["low"] > row["high"]:
        raise TableError(f"{key}: min is above max")
    if row_type == "bool" and default not in ("true", "false"):
        raise TableError(f"{key}: default {default!r} is neither true nor false")
    if row_type == "enum" and (default not in row["values"] or len(set(row["values"])) != len(row["values"])):
        raise TableError(f"{key}: default {default!r} is not among the values, or a value appears twice")
    if row_type == "string" and len(default) >= STRING_BYTES:
        raise TableError(f"{key}: default is longer than {STRING_BYTES - 1} bytes")
    if row_type in ("int", "size", "time") and not row["low"] <= number_of(row_type, default) <= row["high"]:
        raise TableError(f"{key}: default {default} is outside {row['low']} .. {row['high']}")


def check_table(rows):
    if not 1 <= len(rows) <= MAX_ROWS:
        raise TableError(f"{len(rows)} rows, 1 to {MAX_ROWS} are allowed")
    seen = {}
    for row in rows:
        if row["name"] in seen:
            raise TableError(f"{row['key']} and {seen[row['name']]} give the same name {row['name']}")
        seen[row["name"]] = row["key"]


def enum_name(row, value):
    return f"SETTING_{row['name']}_{value}".upper().replace("-", "_").replace(".", "_")


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


GENERATED = "Generated from the tables config/settings.yaml by native-core/tools/gen_settings.py; do not edit."
C_TYPES = {"bool": "bool {};", "int": "int64_t {};", "size": "uint64_t {}; /* bytes */",
           "time": "uint64_t {}; /* nanoseconds */", "enum": "int {};", "string": f"char {{}}[{STRING_BYTES}];"}


def c_header(rows):
    out = [f"/* SPDX-License-Identifier: Apache-2.0\n * vbn_settings_gen.h - values of all settings. {GENERATED} */",
           "#ifndef VBN_SETTINGS_GEN_H\n#define VBN_SETTINGS_GEN_H\n",
           "#include <stdbool.h>\n#include <stdint.h>\n",
           f"#define SETTINGS_COUNT {len(rows)}", f"#define SETTING_STRING_BYTES {STRING_BYTES}\n"]
    for row in rows:
        if row["type"] == "enum":
            names = ", ".join(f"{enum_name(row, v)} = {i}" for i, v in enumerate(row["values"]))
            out.append(f"enum {{ {names} }}; /* {row['key']} */")
    out.append("\ntypedef struct settings {")
    out += [f"    {C_TYPES[row['type']].format(row['name'])}" for row in rows]
    out.append("} settings_t;\n\n#endif\n")
    return "\n".join(out)


def c_source(rows):
    out = [f"/* SPDX-License-Identifier: Apache-2.0\n * Table of all settings. {GENERATED} */",
           "#include <stddef.h>\n", '#include "base/settings_table.h"\n']
    for row in rows:
        if row["type"] == "enum":
            values = ", ".join(quote(v) for v in row["values"])
            out.append(f"static const char *const values_{row['name']}[] = {{{values}, NULL}};")
    out.append("\nconst setting_row_t setting_rows[SETTINGS_COUNT] = {")
    for row in rows:
        values = f"values_{row['name']}" if row["type"] == "enum" else "NULL"
        out.append(f"    {{{quote(row['key'])}, {quote(row['env'])}, SETTING_TYPE_{row['type'].upper()}, "
                   f"offsetof(settings_t, {row['name']}),\n     {quote(row['default'])}, INT64_C({row['low']}), "
                   f"INT64_C({row['high']}), {values},\n     {quote(row['help'])}}},")
    out.append("};\n")
    return "\n".join(out)


def bounds_text(row):
    if row["type"] == "enum":
        return ", ".join(row["values"])
    return f"{row.get('min', '')} .. {row.get('max', '')}" if "min" in row or "max" in row else ""


def docs(rows):
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "# Settings of the native core and of MPI\n", GENERATED + "\n",
           "A setting is given as environment variable, by `vbn_config_set` or `VbnConfig.set` (dotted key), in Spark as",
           "`spark.verbena.core.<key>`, in Hadoop as `verbena.core.<key>`. API over environment over default. An unknown key",
           "is an error; so is an unknown variable that resembles one here (close to a name, or of a group such as `VBN_TL_`).",
           "Other `VBN_*` variables, such as `VBN_HOME`, belong to other software: the core logs one warning for each context. "
           "Sizes: `64K`,",
           "`1M`, `1G`; times: `20us`, `10ms`, `30s`, `5min`. `vbn-info --settings` prints this table with the values in force.\n",
           "| key | environment | type | default | range | meaning | since |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        default = f"`{row['default']}`" if row["default"] else "(empty)"
        cells = [f"`{row['key']}`", f"`{row['env']}`", row["type"], default, bounds_text(row), row["help"], row["since"]]
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(out) + "\n"


JAVA_BODY = """
    private final String key;

    VbnSetting(String key) {
        this.key = key;
    }

    /** Dotted key, as the core names it. */
    public String key() {
        return key;
    }
}
"""


def java(rows):
    out = ["// SPDX-License-Identifier: Apache-2.0", "package org.verbena.core;\n",
           f"/** All settings of the native core. {GENERATED} */", "public enum VbnSetting {"]
    items = []
    for row in rows:
        doc = row["help"].replace("&", "&amp;").replace("<", "&lt;").replace("*/", "* /")
        items.append(f"    /** {doc} */\n    {row['name'].upper()}({quote(row['key'])})")
    return "\n".join(out) + "\n" + ",\n".join(items) + ";\n" + JAVA_BODY


def write(path, text):
    """Replaces the file only when it changes, so that a build does not start over."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == text:
                return
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--repository", help="whose tables are meant: COMPONENT/config/settings.yaml")
    source.add_argument("--table", nargs="+", help="the core's, then those of components")
    outputs = {"c_header": c_header, "c_source": c_source, "docs": docs, "java": java}
    for name in outputs:
        parser.add_argument("--" + name.replace("_", "-"), metavar="OUT")
    arguments = parser.parse_args()
    try:
        rows = load(*(arguments.table or tables(arguments.repository)))
    except (TableError, OSError) as error:
        print(f"gen_settings: {error}", file=sys.stderr)
        return 1
    for name, make in outputs.items():
        path = getattr(arguments, name)
        if path:
            write(path, make(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
