#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a row of a table of settings is read nowhere in the core outside base/ or in what stands on it, in C or by name,
and when C code of the core reads the environment elsewhere than in ENVIRONMENT: what it looks for there is a setting.

Usage: check_settings.py REPOSITORY
"""
import pathlib
import re
import sys

import gen_settings

ENVIRONMENT = {"src/api/config.c", "tools/vbn_info/main.c"}  # both hand it to settings_from_env of src/base
READS_ENVIRONMENT = re.compile(r"\b(?:(?:secure_)?getenv\s*\(|environ\b)")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def read_environment(core):
    """Yields an error for each line outside of ENVIRONMENT that reads the environment."""
    for folder in ("include", "src", "jni", "tools"):
        for path in sorted((core / folder).rglob("*.[ch]")):
            if path.relative_to(core).as_posix() in ENVIRONMENT:
                continue
            text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), path.read_text(encoding="utf-8"))
            for match in READS_ENVIRONMENT.finditer(text):
                yield (f"{path}:{text.count(chr(10), 0, match.start()) + 1}: reads the environment; a setting of users is a row "
                       "of config/settings.yaml, and code reads the struct")


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    core = pathlib.Path(sys.argv[1]) / "native-core"
    try:
        rows = gen_settings.load(*gen_settings.tables(core.parent))
    except (gen_settings.TableError, OSError) as error:
        print(f"check_settings: {error}", file=sys.stderr)
        return 1
    read = set()
    for path in [*(core / "src").rglob("*.[ch]"), *(core / "jni").rglob("*.[ch]")]:
        if path.relative_to(core).parts[:2] != ("src", "base"):
            read |= set(re.findall(r"(?:->|\.)\s*([a-z][a-z0-9_]*)", path.read_text(encoding="utf-8")))
    users = [*(core / "java" / "src" / "main").rglob("*.java"), *(core.parent / "mpi").rglob("*.c")]
    for path in users:
        read |= {key.replace(".", "_") for key in re.findall(r'"([a-z_.]+)"', path.read_text(encoding="utf-8"))}
    unread = [row["key"] for row in rows if row["name"] not in read]
    for key in unread:
        print(f"{key}: no code reads this setting; use it or remove the row", file=sys.stderr)
    strays = list(read_environment(core))
    for error in strays:
        print(error, file=sys.stderr)
    print(f"settings: {len(rows)} rows, {len(unread)} read nowhere, {len(strays)} other looks at the environment")
    return 1 if unread or strays else 0


if __name__ == "__main__":
    sys.exit(main())
