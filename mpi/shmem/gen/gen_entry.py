#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the entry points of OpenSHMEM: one short function for each name, and its twin for profilers.

usage: gen_entry.py FOLDER   writes FOLDER/entry_<group>.c
       gen_entry.py --remaining   prints how many functions are not written yet, group by group
"""
import sys

import tables

BITS = """static inline uint64_t bits_{name}({c} value)
{{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(value));
    return bits;
}}

static inline {c} from_{name}(uint64_t bits)
{{
    {c} value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}}
"""


def converters(functions):
    """Of the types whose values travel as bits."""
    needed = dict.fromkeys(one.type for one in functions if one.type and "_NAME(" in one.row.get("do", ""))
    return [BITS.format(name=name, c=tables.TYPES[name]["c"]) for name in needed]


def definition(function):
    body = function.body or f'shm_unwritten("{function.name}")'
    if function.body is None:
        voids = "".join(f"    (void){name};\n" for name in function.parameters)
    else:
        voids = ""
    statements = "".join(f"    {one.strip()};\n" for one in body.split("; "))
    own = function.prototype().replace(f"{function.name}(", f"{function.profiling}(", 1)
    twin = function.prototype() + f' __attribute__((weak, alias("{function.profiling}")));'
    return f"{own}\n{{\n{voids}{statements}}}\n{twin}\n"


def write_entries(folder, functions):
    for group in dict.fromkeys(function.group for function in functions):
        rows = [function for function in functions if function.group == group]
        parts = [tables.generated(f"Entry points of the group {group}: each calls what mpi/shmem/src implements."),
                 '#include "shmem/src/entry.h"\n', *converters(rows), *(definition(function) for function in rows)]
        tables.update(f"{folder}/entry_{group}.c", "\n".join(parts))


def remaining(functions):
    left = [function for function in functions if function.body is None]
    for group in dict.fromkeys(function.group for function in functions):
        of_group = [function for function in functions if function.group == group]
        print(f"  {group:<10} {sum(one.body is not None for one in of_group):4} of {len(of_group):4} written")
    print(f"OpenSHMEM functions: {len(functions) - len(left)} of {len(functions)} written, {len(left)} remain")


def main():
    functions = tables.functions()
    if sys.argv[1] != "--remaining":
        write_entries(sys.argv[1], functions)
    remaining(functions)


if __name__ == "__main__":
    main()
