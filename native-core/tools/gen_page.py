#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Java twin of the page that an engine shares with its worker out of jni/jni_page.h.

Usage: gen_page.py --header jni_page.h --java PageLayout.java

Every "#define PAGE_X n" and every enum constant becomes a Java constant of its name; of each struct page_x, the offset of
field y becomes X_Y and its size X_BYTES. The structs have members of fixed width only, at their natural alignment.
"""
import argparse
import os
import re
import sys

WIDTHS = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "int64_t": 8}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINE = re.compile(r"^#define (PAGE_\w+) (\d+)u?$", re.MULTILINE)
ENUM = re.compile(r"typedef enum \w+ \{([^}]*)\}")
STRUCT = re.compile(r"typedef struct page_(\w+) \{([^}]*)\}")
MEMBER = re.compile(r"(\w+) (\w+)(?:\[(\d+)\])?")


class HeaderError(Exception):
    """The header has something that this script does not know how to lay out."""


def enum_constants(body):
    value = 0
    for item in filter(None, (part.strip() for part in body.split(","))):
        name, _, number = (part.strip() for part in item.partition("="))
        value = int(number) if number else value
        yield name, value
        value += 1


def struct_constants(name, body):
    at = 0
    widest = 1
    for text in filter(None, (part.strip() for part in body.split(";"))):
        match = MEMBER.fullmatch(text)
        if not match or match[1] not in WIDTHS:
            raise HeaderError(f"struct page_{name}: {text!r} is no member of fixed width")
        width = WIDTHS[match[1]]
        at = (at + width - 1) // width * width
        if match[2] != "unused":
            yield f"{name}_{match[2]}".upper(), at
        at += width * int(match[3] or 1)
        widest = max(widest, width)
    yield f"{name}_BYTES".upper(), (at + widest - 1) // widest * widest


def constants(header):
    """All (name, value) of the header's text, in its order within each kind; a name twice is an error."""
    text = COMMENT.sub("", header)
    found = [(name, int(value)) for name, value in DEFINE.findall(text)]
    for body in ENUM.findall(text):
        found += enum_constants(body)
    for name, body in STRUCT.findall(text):
        found += struct_constants(name, body)
    names = [name for name, _ in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice or not found:
        raise HeaderError(f"constants that occur twice: {sorted(twice)}" if twice else "no constants found")
    return found


def java(found, class_name):
    lines = ["// SPDX-License-Identifier: Apache-2.0", "// Made by tools/gen_page.py out of jni/jni_page.h; never edited.",
             "package org.verbena.core;", "", "/** Offsets, sizes and codes of the page that Java and native code share. */",
             f"final class {class_name} {{"]
    lines += [f"    static final int {name} = {value};" for name, value in found]
    return "\n".join(lines + ["", f"    private {class_name}() {{", "    }", "}", ""])


def main():
    parser = argparse.ArgumentParser(description="Makes PageLayout.java out of jni_page.h.")
    parser.add_argument("--header", required=True)
    parser.add_argument("--java", required=True)
    options = parser.parse_args()
    try:
        with open(options.header, encoding="utf-8") as file:
            text = java(constants(file.read()), os.path.splitext(os.path.basename(options.java))[0])
    except HeaderError as error:
        print(f"{options.header}: {error}", file=sys.stderr)
        return 1
    os.makedirs(os.path.dirname(options.java) or ".", exist_ok=True)
    if os.path.exists(options.java):
        with open(options.java, encoding="utf-8") as file:
            if file.read() == text:
                return 0  # an unchanged file keeps its time stamp, so that Maven compiles nothing anew
    with open(options.java, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
