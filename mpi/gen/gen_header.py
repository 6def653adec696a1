#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mpi.h, the header of the standard ABI of MPI 5.0.

usage: gen_header.py OUTPUT
"""
import sys

import tables

HEAD = """#ifndef MPI_H
#define MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
"""
TAIL = """
#ifdef __cplusplus
}
#endif
#endif
"""


def function_types(types):
    for row in types["functions"]:
        yield f"typedef {row.get('returns', 'int')} {row['name']}({row['args']});"
    for name, target in types["same"].items():
        yield f"typedef {target} {name};"


def macro(name, value):
    return f"#define {name:<34} {value}"


def enumeration(tag, values):
    members = ",\n".join(f"    {name} = {value}" for name, value in values.items())
    if tag:
        return f"typedef enum {tag} {{\n{members}\n}} {tag};"
    return f"enum {{\n{members}\n}};"


def constants(named):
    """The groups of constants.yaml: the named enumerations, which other types need, or all the rest."""
    for group in tables.load("constants.yaml"):
        if bool(group.get("enum")) != named:
            continue
        if "enum" in group:
            yield enumeration(group["enum"], group["values"])
            continue
        cast = group.get("handle") or group["define"]
        for name, value in group["values"].items():
            shown = f"{value:#06x}" if "handle" in group else value
            if cast:
                shown = f"(({cast}){'(' if value < 0 else ''}{shown}{')' if value < 0 else ''})"
            yield macro(name, shown)


def handles_of(table, handle):
    for row in tables.load(table):
        yield macro(row["name"], row["same"] if "same" in row else f"(({handle}){row['value']:#06x})")


def prototypes(prefix, functions):
    for function in functions:
        for _, large in function.forms():
            note = f" /* deprecated since MPI-{function.deprecated} */" if function.deprecated else ""
            yield function.declaration(prefix, large) + ";" + note
        if function.name in ("Psend_init", "Precv_init"): # the stub library's names; the plain ones have large counts
            yield function.declaration(prefix, True).replace("_init(", "_init_c(") + ";"


def main():
    types = tables.load("types.yaml")
    functions = tables.functions()
    errors = {row["name"]: row["value"] for row in tables.load("errors.yaml")}
    parts = [tables.generated("mpi.h - MPI 5.0 for C and C++, standard ABI 1.0."), HEAD]
    parts += [f"typedef struct MPI_ABI_{name[4:]} *{name};" for name in types["handles"]]
    parts += list(constants(True)) + list(function_types(types)) + list(constants(False))
    parts += list(handles_of("ops.yaml", "MPI_Op")) + list(handles_of("datatypes.yaml", "MPI_Datatype"))
    parts += [enumeration("", errors), ""]
    parts += list(prototypes("MPI_", functions)) + [""] + list(prototypes("PMPI_", functions))
    tables.update(sys.argv[1], "\n".join(parts) + TAIL)


if __name__ == "__main__":
    main()
