#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes shmem.h and pshmem.h of OpenSHMEM 1.6: constants, prototypes, C11 generics, C++ overloads.

usage: gen_header.py FOLDER
"""
import sys

import tables

HEAD = """#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

typedef struct shmem_team *shmem_team_t;
typedef struct shmem_ctx *shmem_ctx_t;

typedef struct {
    int num_contexts;
} shmem_team_config_t;

typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

"""


def constants():
    for row in tables.load("constants.yaml"):
        yield f"#define {row['name']:<32} {row['value']}"
        if row.get("old"):
            yield f"#define _{row['name']:<31} {row['name']}"


def first_value(function):
    """Which argument tells the type of a call, counted behind the context, and how a generic names it."""
    shown = [one.strip() for one in function.fill(function.row["args"]).split(",")]
    place = next(i for i, one in enumerate(shown) if "*" in one and "int *status" not in one)
    return place


def selection(function, place):
    ctype = tables.TYPES[function.type]["c"]
    const = f", const {ctype} *: {function.name}"
    return f"{ctype} *: {function.name}" + (const if "const TYPE" in function.row["args"].split(",")[place] else "")


def typed_generic(name, functions):
    plain = [one for one in functions if not one.has_ctx]
    with_ctx = [one for one in functions if one.has_ctx]
    place = first_value(plain[0])
    outer = [selection(one, place) for one in plain]
    if with_ctx:
        inner = ", ".join([*(selection(one, place) for one in with_ctx), "default: shmem_generic_none"])
        outer.append(f"shmem_ctx_t: _Generic((SHMEM_ARG1(__VA_ARGS__, 0)), {inner})")
    if name == "shmem_wait_until":
        outer.append("volatile long *: shmem_long_wait_until")
    argument = f"SHMEM_ARG{place}(__VA_ARGS__{', 0' * (place + 1)})"
    return f"#define {name}(...) _Generic(({argument}), {', '.join(outer)})(__VA_ARGS__)"


def untyped_generic(name, functions):
    ctx = next(one for one in functions if one.has_ctx)
    return (f"#define {name}(...) _Generic((SHMEM_ARG0(__VA_ARGS__, 0)), shmem_ctx_t: {ctx.name}, default: {name})"
            "(__VA_ARGS__)")


SYNC = ("#define shmem_sync(...) _Generic((SHMEM_ARG0(__VA_ARGS__, 0)), shmem_team_t: shmem_team_sync, default: shmem_sync)"
        "(__VA_ARGS__)")


def c11(generics):
    yield "void shmem_generic_none(void); /* no type of the specification */"
    for place in range(3):
        names = ", ".join(f"a{i}" for i in range(place + 1))
        yield f"#define SHMEM_ARG{place}({names}, ...) a{place}"
    for name, functions in generics.items():
        yield typed_generic(name, functions) if functions[0].type else untyped_generic(name, functions)
    yield SYNC


def cplusplus(generics):
    """Overloads: the same names for the same types."""
    for name, functions in generics.items():
        for function in functions:
            if function.name == name or function.name == "shmem_long_wait_until":  # the name itself is a function of longs
                continue
            back = "" if function.returns == "void" else "return "
            star = "" if function.returns.endswith("*") else " "
            call = f"{function.name}({', '.join(function.parameters)});"
            yield f"static inline {function.returns}{star}{name}({function.args}) {{ {back}{call} }}"
    yield "static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }"


def prototypes(functions):
    for group in dict.fromkeys(function.group for function in functions):
        yield f"\n/* {group} */"
        for function in functions:
            if function.group == group:
                yield function.prototype() + (" __attribute__((noreturn));" if function.row.get("noreturn") else ";")


def shmem_h(functions):
    generics = tables.generics(functions)
    return "\n".join([
        tables.generated("shmem.h of OpenSHMEM 1.6."), HEAD, *constants(),
        '\n#ifdef __cplusplus\nextern "C" {\n#endif', *prototypes(functions), "\n#ifdef __cplusplus\n}\n",
        *cplusplus(generics), "\n#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)\n",
        *c11(generics), "\n#endif\n#endif\n"])


def pshmem_h(functions):
    lines = [tables.generated("pshmem.h: the names by which a profiler reaches the library."),
             '#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n']
    for function in functions:
        lines.append(function.prototype().replace(f"{function.name}(", f"{function.profiling}(", 1) + ";")
    return "\n".join(lines) + "\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n"


def main():
    functions = tables.functions()
    tables.update(f"{sys.argv[1]}/shmem.h", shmem_h(functions))
    tables.update(f"{sys.argv[1]}/pshmem.h", pshmem_h(functions))


if __name__ == "__main__":
    main()
