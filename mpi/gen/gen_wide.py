#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reduction kernels for much data: one body for each operation and number, compiled for each set of vectors.

usage: gen_wide.py FOLDER   writes FOLDER/op_wide.c
"""
import sys

import tables
from gen_objects import FIRST_OP, FIRST_TYPE

OPERATIONS = ("MPI_SUM", "MPI_PROD", "MPI_MIN", "MPI_MAX", "MPI_BAND", "MPI_BOR", "MPI_BXOR")
# Types of C that are the same number share their kernels.
SAME = {"MPI_Aint": "int64_t", "MPI_Count": "int64_t", "MPI_Offset": "int64_t", "long": "int64_t", "long long": "int64_t",
        "unsigned long": "uint64_t", "unsigned long long": "uint64_t", "int": "int32_t", "unsigned": "uint32_t",
        "short": "int16_t", "unsigned short": "uint16_t", "signed char": "int8_t", "unsigned char": "uint8_t"}
NUMBERS = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double")

HEAD = """#include "op/op.h"

/* The operands may lie at any address. */
#define BODY(name, type, value)                                                                                        \\
    static inline __attribute__((always_inline)) void name##_body(const void *left, const void *right, void *to,      \\
                                                                  size_t count)                                       \\
    {                                                                                                                  \\
        typedef type __attribute__((aligned(1), may_alias)) loose_t;                                                   \\
        const loose_t *in = left;                                                                                      \\
        const loose_t *with = right;                                                                                   \\
        loose_t *out = to;                                                                                             \\
        EACH_BY_ITSELF                                                                                                 \\
        for (size_t i = 0; i < count; i++) {                                                                           \\
            const type a = in[i];                                                                                      \\
            const type b = with[i];                                                                                    \\
            out[i] = (type)(value);                                                                                    \\
        }                                                                                                              \\
    }

#define FORM(name, level)                                                                                              \\
    static void name##level(const void *left, const void *right, void *to, size_t count)                              \\
    {                                                                                                                  \\
        name##_body(left, right, to, count);                                                                           \\
    }

#if defined(__clang__)
#define EACH_BY_ITSELF _Pragma("clang loop vectorize(assume_safety)")
#define WHOLE_VECTORS
#else
#define EACH_BY_ITSELF _Pragma("GCC ivdep")
#define WHOLE_VECTORS ",prefer-vector-width=512"
#endif

#if defined(__x86_64__)
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl" WHOLE_VECTORS
#define KERNEL(name, type, value)                                                                                      \\
    BODY(name, type, value)                                                                                            \\
    FORM(name, _plain)                                                                                                 \\
    __attribute__((target("avx2"))) FORM(name, _avx2)                                                                  \\
    __attribute__((target(AVX512))) FORM(name, _avx512)
#define ROW(name) {name##_plain, name##_avx2, name##_avx512}
#else
#define KERNEL(name, type, value) BODY(name, type, value) FORM(name, _plain)
#define ROW(name) {name##_plain, name##_plain, name##_plain}
#endif

"""

FIND = """
op_wide_t op_wide_at(op_level_t level, MPI_Op op, MPI_Datatype type)
{
    const unsigned row = rows[(uintptr_t)op - OP_FIRST][(uintptr_t)type - OP_TYPE_FIRST];
    return row == 0 ? NULL : kernels[row][level];
}
"""


def value_of(operation):
    return operation["does"].removeprefix("b = ")


def wide_kernels(types, operations):
    numbers, lines, rows, entries = {}, [], [], []
    for operation in operations:
        if operation["name"] not in OPERATIONS:
            continue
        for row in types:
            number = SAME.get(row.get("c"), row.get("c"))
            if row.get("class") not in operation["classes"] or number not in NUMBERS:
                continue
            name = f"wide_{operation['name'][4:].lower()}_{number.removesuffix('_t')}"
            if name not in numbers:
                numbers[name] = len(numbers) + 1
                lines.append(f"KERNEL({name}, {number}, {value_of(operation)})")
                rows.append(f"    [{numbers[name]}] = ROW({name}),")
            entries.append(f'    [{operation["value"] - FIRST_OP:#04x}][{row["value"] - FIRST_TYPE:#04x}] = {numbers[name]},')
    sizes = [f'_Static_assert(sizeof({name}) == sizeof({number}), "the same number");' for name, number in SAME.items()]
    return tables.generated("Kernels for much data: to[i] becomes a[i] OP b[i].") + HEAD + "\n".join(sizes + [""] + lines) + \
        f"\n\nstatic const op_wide_t kernels[{len(numbers) + 1}][OP_LEVELS] = {{\n" + "\n".join(rows) + \
        "\n};\n\nstatic const unsigned char rows[OP_NAMED][OP_TYPES] = {\n" + "\n".join(entries) + "\n};\n" + FIND


def main():
    tables.update(f"{sys.argv[1]}/op_wide.c", wide_kernels(tables.load("datatypes.yaml"), tables.load("ops.yaml")))


if __name__ == "__main__":
    main()
