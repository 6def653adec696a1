#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the library knows of predefined objects: datatypes, reduction kernels, texts of error classes.

usage: gen_objects.py FOLDER   writes FOLDER/{dt_table.c,op_kernels.c,err_table.c}
"""
import sys

import tables

FIRST_TYPE = 0x200
FIRST_OP = 0x20


def identifier(name):
    return name.replace("MPI_", "").lower()


def datatype_table(types):
    rows = []
    for row in types:
        if "same" in row or row["class"] == "none":
            continue
        ctype, index = row["c"], row.get("index")
        element = f"struct {{ {ctype} a; {index} b; }}" if index else ctype
        size = f"sizeof({ctype}) + sizeof({index})" if index else f"sizeof({ctype})"
        rows.append(f'    [{row["value"] - FIRST_TYPE:#04x}] = {{"{row["name"]}", {size}, sizeof({element}), '
                    f'DT_{row["class"].upper()}}},')
    return tables.generated("The predefined datatypes.") + '#include "dt/dt.h"\n\n#include <wchar.h>\n\n' \
        "const dt_named_t dt_named[DT_NAMED] = {\n" + "\n".join(rows) + "\n};\n"


def loop_kernel(name, ctype, does):
    return f"""static void {name}(const void *in, void *inout, size_t count)
{{
    const {ctype} *from = in;
    {ctype} *to = inout;
    for (size_t i = 0; i < count; i++) {{
        const {ctype} a = from[i];
        {ctype} b = to[i];
        {does.replace('b = ', f'b = ({ctype})(', 1)});
        to[i] = b;
    }}
}}
"""


def pair_kernel(name, ctype, index, comparison):
    """The smaller (larger) value wins; of equal values the one with the smaller index."""
    return f"""static void {name}(const void *in, void *inout, size_t count)
{{
    typedef struct {{ {ctype} value; {index} index; }} pair_t;
    const pair_t *from = in;
    pair_t *to = inout;
    for (size_t i = 0; i < count; i++)
        if (from[i].value {comparison} to[i].value || (from[i].value == to[i].value && from[i].index < to[i].index))
            to[i] = from[i];
}}
"""


def op_kernels(types, operations):
    kernels, entries = {}, []
    for operation in operations:
        for row in types:
            if row.get("class") not in operation["classes"]:
                continue
            key = (operation["name"], row["c"], row.get("index"))
            if key not in kernels:
                name = "op_" + "_".join(identifier(part or "").replace(" ", "_") for part in key).rstrip("_")
                comparison = "<" if operation["name"] == "MPI_MINLOC" else ">"
                kernels[key] = (name, pair_kernel(name, row["c"], row["index"], comparison) if "index" in row
                                else loop_kernel(name, row["c"], operation["does"]))
            entries.append(f'    [{operation["value"] - FIRST_OP:#04x}][{row["value"] - FIRST_TYPE:#04x}] = '
                           f'{kernels[key][0]},')
    return tables.generated("Kernels of the predefined operations: inout[i] becomes in[i] OP inout[i].") + \
        '#include "op/op.h"\n\n' + "\n".join(text for _, text in kernels.values()) + \
        "\nconst op_kernel_t op_kernels[OP_NAMED][OP_TYPES] = {\n" + "\n".join(entries) + "\n};\n"


def error_table(errors):
    rows = "\n".join(f'    {{{row["name"]}, "{row["name"]}: {row["text"]}"}},' for row in errors)
    return tables.generated("Texts of the error classes.") + '#include "err/err.h"\n\n' \
        f"const err_text_t err_texts[] = {{\n{rows}\n    {{0, NULL}},\n}};\n"


def main():
    folder = sys.argv[1]
    types = tables.load("datatypes.yaml")
    tables.update(f"{folder}/dt_table.c", datatype_table(types))
    tables.update(f"{folder}/op_kernels.c", op_kernels(types, tables.load("ops.yaml")))
    tables.update(f"{folder}/err_table.c", error_table(tables.load("errors.yaml")))


if __name__ == "__main__":
    main()
