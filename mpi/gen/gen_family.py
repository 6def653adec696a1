#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the sources of mpi/fortran need to become the Fortran library of another family.

usage: gen_family.py FAMILY FOLDER   writes FOLDER/{mpi.h,family_data.c,names.ld}

mpi.h has types, constants and prototypes of the family's C library, for the code here and not for programs. family_data.c has the
constants that the family's modules hold as variables, names.ld the further names of functions, for the linker.
"""
import sys

import gen_fortran
import gen_header
import tables

HANDLES = {one: gen_fortran.c_type(one) for one in gen_fortran.HANDLES.values()}
# Further names of functions: mpi_x_ is another name's.
SAME = {"alloc_mem_cptr": "alloc_mem", "win_allocate_cptr": "win_allocate", "win_allocate_shared_cptr": "win_allocate_shared",
        "win_shared_query_cptr": "win_shared_query", "errhandler_create": "comm_create_errhandler",
        "errhandler_get": "comm_get_errhandler", "errhandler_set": "comm_set_errhandler"}
# Hand-written functions that no table has.
MORE = ["f_sync_reg", "status_f2f08", "status_f082f", "address", "type_extent", "type_hindexed", "type_hvector", "type_lb",
        "type_struct", "type_ub", "comm_spawn", "comm_spawn_multiple", "register_datarep", "conversion_fn_null",
        "conversion_fn_null_c"]
# With large counts and no buffer.
LARGE = {one.name.lower(): f"{one.name.lower()}_c" for one in gen_fortran.fortran_functions() if gen_fortran.needs_large(one)} | \
    {"buffer_detach": "buffer_detach_c"}
VALUES = ["wtime", "wtick", "aint_add", "aint_diff", "f_sync_reg", "pcontrol"]  # have no form of mpi_f08 of their own
SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "real32": 4, "real64": 8, "real128": 16, "complex32": 8, "complex64": 16,
         "complex128": 32, "logical": 4, "character": 1}
SHORT_SIZES = {"i": 4, "i1": 1, "i2": 2, "i8": 8, "r": 4, "d": 8, "cx": 8, "l": 4, "ch": 1}
RANKS = 16


# ------------------------------------------------------------------------------------------------------------------- mpi.h
def handle_types(family):
    for handle in HANDLES.values():
        is_int = any("int" in row for row in family["handles"].get(handle, {}).values())
        yield f"typedef int {handle};" if is_int else f"typedef struct family_{handle} *{handle};"


def handle_values(family):
    for symbol in sorted({row["symbol"] for rows in family["handles"].values() for row in rows.values() if "symbol" in row}):
        yield f"extern char {symbol}[];"
    for handle, rows in family["handles"].items():
        for name, row in rows.items():
            value = f"(void *){row['symbol']}" if "symbol" in row else hex(row["int"])
            yield gen_header.macro(name, f"(({handle}){value})")


def constants(family):
    found = {"MPI_SUCCESS": 0}
    for group in tables.load("constants.yaml"):
        kind = group.get("define") or group.get("enum") or ""
        if "handle" not in group and "*" not in kind and not kind.startswith("MPI_T_"):
            found.update(group["values"])
    for values in (family["limits"], family["constants"], family["errors"], *(row["values"] for row in family["ints"].values()),
                   *family["flags"].values()):
        found.update(values)
    return [gen_header.macro(name, f"({value})") for name, value in found.items()] + \
        [gen_header.macro(name, f"((int *){value})") for name, value in family["weights"].items()]


def write_header(path, family):
    types = tables.load("types.yaml")
    types["functions"] = [row for row in types["functions"] if not row["name"].startswith("MPI_T_")]
    functions = [one for one in tables.functions() + tables.deleted_functions() if one.chapter != "tool" or one.name == "Pcontrol"]
    parts = [tables.generated("mpi.h - of another family, for its Fortran library."),
             "#ifndef MPI_H\n#define MPI_H\n\n#include <stdint.h>\n\ntypedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\n"
             "typedef int64_t MPI_Count;\n", '#include "status.h"\n', *handle_types(family),
             *gen_header.function_types(types), *handle_values(family), *constants(family)]
    for prefix in ("MPI_", "PMPI_"):
        parts += gen_header.prototypes(prefix, functions)
        for name, handle in HANDLES.items():
            parts += [f"{handle} {prefix}{name}_f2c(int number);", f"int {prefix}{name}_c2f({handle} handle);"]
    tables.update(path, "\n".join([*parts, "\n#endif\n"]))


# ------------------------------------------------------------------------------------------------------------------- names
def functions():
    """In small letters, those of the sources that programs call."""
    found = dict.fromkeys(one.name.lower() for one in gen_fortran.fortran_functions())
    return [*found, *(one for one in MORE if one not in found)]


def standard_functions():
    return [name[4:].lower() for name in gen_fortran.STANDARD_FUNCTIONS]


def spelled(name, mark):
    """The four names by which compilers know a function."""
    return f"{mark}_{name}", f"{mark}_{name}_", f"{mark}_{name}__", f"{mark.upper()}_{name.upper()}"


def compared():
    for name in ("comm", "datatype", "errhandler", "file", "group", "info", "message", "op", "request", "session", "win"):
        yield name, "eq", f"vbnf_{name}_eq_"
        yield name, "ne", f"vbnf_{name}_ne_"


def ompi_names_of(name, target, mark="mpi"):
    for kind in (mark, f"p{mark}"):
        yield from spelled(name, kind)
        yield f"{kind}_{name}_f08_"
        yield from (f"{kind.upper()}_{name.capitalize()}{end}" for end in ("_f", "_f08"))
    yield f"o{mark}_{name}_f"


def ompi_names(family):
    """Its library has one function for the names with and without P, so that tools in C see no call twice."""
    for name, target in [*((one, one) for one in functions()), *SAME.items()]:
        yield from ((one, f"pmpi_{target}_") for one in ompi_names_of(name, target))
    for name in (one[5:].lower() for one in family["more"]):
        yield from ((one, f"pmpi_{name}_") for one in ompi_names_of(name, name, "mpix"))
    for name in standard_functions():
        yield from ((one, f"pmpi_{name}_") for one in (*spelled(name, "mpi"), f"__mpi_f08_callbacks_MOD_mpi_{name}"))
    for kind, size in SIZES.items():
        for rank in ("scalar", *(f"r{rank}" for rank in range(1, RANKS))):
            yield from ((f"{prefix}_sizeof_{kind}_{rank}_", f"vbnf_size_{size}") for prefix in ("mpi", "pmpi"))
    for name, how, target in compared():
        yield f"__mpi_f08_types_MOD_ompi_{name}_op_{how}", target
    yield "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null", "pmpi_conversion_fn_null_"
    yield from ((f"{name}_buffer_detach_f08", "pmpi_buffer_detach_") for name in ("ompi", "pompi"))


def mpich_names(_):
    for name in functions():
        yield f"mpi_{name}_f08_", f"mpi_{name}_"
        yield f"pmpir_{name}_f08_", f"pmpi_{name}_"
    for name, target in LARGE.items():
        yield f"mpi_{name}_f08_large_", f"mpi_{target}_"
        yield f"pmpir_{name}_f08_large_", f"pmpi_{target}_"
    for name in ("class", "code", "string"):
        yield f"mpi_delete_error_{name}_f08_", f"mpi_remove_error_{name}_"
        yield f"pmpir_delete_error_{name}_f08_", f"pmpi_remove_error_{name}_"
    for name, target in SAME.items():
        for mark in ("mpi", "pmpi"):
            yield from ((one, f"{mark}_{target}_") for one in spelled(name, mark))
    for name in (*standard_functions(), "conversion_fn_null", "conversion_fn_null_c"):
        yield f"__mpi_f08_callbacks_MOD_mpi_{name}", f"mpi_{name}_"
    for kind, size in SHORT_SIZES.items():
        yield from ((f"__mpi_sizeofs_MOD_mpi_sizeof_{kind}{end}", f"vbnf_size_{size}") for end in ("", "v"))
    for kind, size in SIZES.items():
        yield f"__mpi_f08_types_MOD_mpi_sizeof_{'' if kind in ('logical', 'character') else 'x'}{kind}", f"vbnf_size_{size}"
    for name, how, target in compared():
        how = how.replace("ne", "neq")
        yield f"__mpi_constants_MOD_{name}{how}", target
        yield from ((f"__mpi_f08_types_MOD_mpi_{name}{end}", target) for end in (f"_{how}", f"_f08_{how}_f", f"_f_{how}_f08"))
        yield from ((f"__mpi_f08_types_MOD_mpi_{name}_{way}", "vbnf_same") for way in ("c2f", "f2c"))
    yield from ((f"__mpi_f08_types_MOD_mpi_status_{way}", f"mpi_status_{way}_") for way in ("f2f08", "f082f"))


def defined_by_sources():
    for mark in ("mpi", "pmpi"):
        for name in functions():
            yield from spelled(name, mark)
            if name not in VALUES:
                yield f"{mark}_{name}_f08_"


def write_names(path, name, family):
    """Of Open MPI's library the sources define the names with P only."""
    there = {one for one in defined_by_sources() if name == "mpich" or one.lower().startswith("pmpi")}
    rows = dict((ompi_names if name == "ompi" else mpich_names)(family))
    tables.update(path, "\n".join(f'"{one}" = "{target}";' for one, target in rows.items() if one not in there) + "\n")


# -------------------------------------------------------------------------------------------------------------------- data
def numbers(family):
    """Handles of Fortran."""
    found = {name: row.get("fortran", row.get("int")) for rows in family["handles"].values() for name, row in rows.items()}
    found.update(family["fortran"])
    return {name.lower(): value for name, value in found.items() if value is not None}


def constant(symbol, value):
    return f"extern const int {symbol} FORTRAN_EXPORTED;\nconst int {symbol} = (int){value:#x};"


def write_data(path, name, family):
    parts = [tables.generated("Constants of the modules, which are variables, and sizes of types."), '#include "fortran.h"\n',
             '#define FORTRAN_EXPORTED __attribute__((visibility("default")))']
    for short, value in numbers(family).items():
        if name == "ompi":
            parts += [constant(f"ompi_f08_{short.removesuffix('_t')}", value), constant(f"__mpi_f08_types_MOD_{short}", value)]
        else:
            parts.append(constant(f"__mpi_f08_compile_constants_MOD_{short}", value))
    for size in sorted({*SIZES.values(), *SHORT_SIZES.values()}):
        parts.append(f"void vbnf_size_{size}(const void *x, int *size, int *ierror) FORTRAN_EXPORTED;\n"
                     f"void vbnf_size_{size}(const void *x, int *size, int *ierror)\n{{\n    (void)x;\n    *size = {size};\n"
                     "    FORTRAN_RETURN(MPI_SUCCESS);\n}")
    parts += ["int vbnf_same(int number) FORTRAN_EXPORTED;", "int vbnf_same(int number)\n{\n    return number;\n}"]
    parts += [f"extern char {symbol} FORTRAN_EXPORTED;\nchar {symbol};" for symbol in family["strings"]]
    tables.update(path, "\n".join(parts) + "\n")


def main():
    name, folder = sys.argv[1:]
    family = tables.load("families.yaml")[name]
    write_header(f"{folder}/mpi.h", family)
    write_names(f"{folder}/names.ld", name, family)
    write_data(f"{folder}/family_data.c", name, family)


if __name__ == "__main__":
    main()
