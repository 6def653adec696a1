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


def basic_of(types, ctype):
    """The entry of the first number type of this C type: what an element of a pair is."""
    return next(row["value"] - FIRST_TYPE for row in types
                if row.get("c") == ctype and row["class"] in ("int", "float"))


def plain_row(row):
    """A number or several of them (complex: two); their bytes are one run."""
    at, ctype = row["value"] - FIRST_TYPE, row["c"]
    parts = row.get("parts", 2 if row["class"] == "complex" else 1)
    external = row.get("external", f"sizeof({ctype})")
    items = f"(dt_sig_item_t[]){{{{.basic = {at:#04x}, .count = 1}}}}"
    return f"""DT_ROW({at:#04x}, "{row["name"]}", {ctype}, DT_{row["class"].upper()}), .external = {external},
        .unit = sizeof({ctype}) / {parts}, .size = sizeof({ctype}), .plain = sizeof({ctype}),
        .node = &(dt_node_t)DT_RUN(sizeof({ctype})),
        .sig = &(dt_sig_t){{.elements = 1, .bytes = sizeof({ctype}), .external = {external}, .n = 1,
                           .items = {items}}}}},"""


def pair_row(types, row):
    """Two elements; a gap between them makes two runs of them."""
    at, value, index = row["value"] - FIRST_TYPE, row["c"], row["index"]
    element = f"struct {{ {value} a; {index} b; }}"
    name = f"pair_{at:02x}_t"
    items = f"{{.basic = {basic_of(types, value):#04x}, .count = 1}}, {{.basic = {basic_of(types, index):#04x}, .count = 1}}"
    external = " + ".join(str(next(one for one in types if one["value"] - FIRST_TYPE == basic_of(types, ctype))
                              .get("external", f"sizeof({ctype})")) for ctype in (value, index))
    return f"typedef {element} {name};", f"""DT_ROW({at:#04x}, "{row["name"]}", {name}, DT_PAIR),
        .size = sizeof({value}) + sizeof({index}),
        .plain = sizeof({name}) == sizeof({value}) + sizeof({index}) ? sizeof({name}) : 0,
        .node = &(dt_node_t)DT_PAIR_NODE({name}, {value}, {index}),
        .sig = &(dt_sig_t){{.elements = 2, .bytes = sizeof({value}) + sizeof({index}), .external = {external}, .n = 2,
                           .items = (dt_sig_item_t[]){{{items}}}}}}},"""


TABLE_HEAD = """#include "dt/dt.h"

#include <wchar.h>

#define DT_ROW(at, name_, ctype, class_)                                                                               \
    [at] = {.name = name_, .extent = sizeof(ctype), .align = _Alignof(ctype), .kind = class_, .committed = 1,         \
            .is_fixed = 1, .basic = (MPI_Datatype)(DT_FIRST + at)
#define DT_RUN(bytes_)                                                                                                 \
    {.shape = DT_RUNS, .bytes = bytes_, .pieces = 1, .high = bytes_, .count = 1, .length = bytes_}
#define DT_PAIR_NODE(pair, value, index)                                                                               \
    {.shape = offsetof(pair, b) == sizeof(value) ? DT_RUNS : DT_LIST, .bytes = sizeof(value) + sizeof(index),          \
     .pieces = offsetof(pair, b) == sizeof(value) ? 1 : 2, .high = offsetof(pair, b) + sizeof(index),                  \
     .count = offsetof(pair, b) == sizeof(value) ? 1 : 2, .length = sizeof(value) + sizeof(index),                     \
     .entries = (dt_entry_t[]){{.offset = 0, .start = 0},                                                              \
                               {.offset = offsetof(pair, b), .start = sizeof(value)},                                  \
                               {.start = sizeof(value) + sizeof(index)}}}

"""


def datatype_table(types):
    known = [row for row in types if "same" not in row and row["class"] != "none"]
    pairs = [pair_row(known, row) for row in known if "index" in row]
    rows = [plain_row(row) for row in known if "index" not in row] + [row for _, row in pairs]
    return tables.generated("The predefined datatypes.") + TABLE_HEAD + "\n".join(name for name, _ in pairs) + \
        "\n\ndt_type_t dt_predefined[DT_NAMED] = {\n    " + "\n    ".join(rows) + "\n};\n"


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
        "\nop_kernel_t op_kernels[OP_NAMED][OP_TYPES] = {\n" + "\n".join(entries) + "\n};\n" + \
        "\nconst char *const op_names[OP_NAMED] = {\n" + \
        "\n".join(f'    [{row["value"] - FIRST_OP:#04x}] = "{row["name"]}",' for row in operations) + "\n};\n"


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
