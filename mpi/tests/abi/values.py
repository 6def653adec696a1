#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes C programs that check mpi.h and the library against the tables.

usage: values.py values OUTPUT   a program that compares the value of every constant, for any mpi.h of the standard ABI
       values.py links OUTPUT    a program that takes the address of every function, MPI_ and PMPI_, with its prototype
       values.py calls OUTPUT    a program that calls every function that is not written: each refuses with a text
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gen"))
import tables  # noqa: E402


def constants():
    for group in tables.load("constants.yaml"):
        yield from group["values"].items()
    for table in ("ops.yaml", "datatypes.yaml", "errors.yaml"):
        rows = {row["name"]: row for row in tables.load(table)}
        for name, row in rows.items():
            yield name, rows[row["same"]]["value"] if "same" in row else row["value"]


def values():
    """Handles are pointers and enumerations may be unsigned: all are compared as long."""
    lines = ["#include <mpi.h>\n#include <stdio.h>\n#include <stddef.h>",
             "_Static_assert(sizeof(MPI_Status) == 32 && offsetof(MPI_Status, MPI_ERROR) == 8, \"MPI_Status\");",
             "_Static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8, \"integers\");",
             "static int wrong;\n#define SAME(name, value) if ((long)(name) != (value)) wrong++, "
             "printf(#name \" is %ld, not %ld\\n\", (long)(name), (long)(value))",
             "int main(void)\n{"]
    found = list(constants())
    lines += [f"    SAME({name}, {value}L);" for name, value in found]
    lines += [f'    printf("%d of {len(found)} constants differ\\n%d passed, %d failed\\n", wrong, !wrong, !!wrong);',
              "    return wrong != 0;\n}"]
    return lines


def pointer(function, prefix, large):
    """Name of a form, and its arguments with the closing bracket."""
    name = prefix + function.name + ("_c" if large and function.has_large else "")
    return name, function.declaration(prefix, large).split("(", 1)[1]


def links():
    """Each address has the type that the tables say: the compiler compares the prototypes."""
    rows, count = [], 0
    for function in tables.functions():
        for _, large in function.forms():
            for prefix in ("MPI_", "PMPI_"):
                name, arguments = pointer(function, prefix, large)
                rows.append(f"{function.returns} (*volatile at_{name})({arguments} = {name};")
                rows.append(f"    missing += at_{name} == 0;")
                count += 1
    return ["#include <mpi.h>\n#include <stdio.h>", *(row for row in rows if row[0] != " "),
            "int main(void)\n{\n    int missing = 0;", *(row for row in rows if row[0] == " "),
            f'    printf("%d of {count} functions missing\\n%d passed, %d failed\\n", missing, !missing, !!missing);',
            "    return missing != 0;\n}"]


def calls():
    """Arguments are zeros: a function that is not written looks at none."""
    written = tables.written()
    lines = ["#include <mpi.h>\n#include <stdio.h>\n#include <string.h>", "static int wrong;",
             "static void judge(const char *name, int code)\n{\n    char text[MPI_MAX_ERROR_STRING];\n    int length;",
             "    if (code == MPI_ERR_UNSUPPORTED_OPERATION && MPI_Error_string(code, text, &length) == MPI_SUCCESS &&\n"
             "        strstr(text, name) != NULL)\n        return;",
             "    wrong++;\n    printf(\"%s gives %d\\n\", name, code);\n}", "int main(void)\n{",
             "    MPI_Init(NULL, NULL);\n    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);"]
    count = 0
    for function in tables.functions():
        for name, large in function.forms():
            own = name if function.own_twin else function.name
            if own in written or function.collective or function.returns != "int":
                continue
            shown = [p for p in function.parameters if (p.large if large else p.small) not in (None, "...")]
            lines.append(f'    judge("MPI_{name}", MPI_{name}({", ".join("0" for _ in shown)}));')
            count += 1
    lines += [f'    printf("%d of {count} say something else\\n%d passed, %d failed\\n", wrong, !wrong, !!wrong);',
              "    MPI_Finalize();\n    return wrong != 0;\n}"]
    return lines


def main():
    program = {"values": values, "links": links, "calls": calls}[sys.argv[1]]()
    tables.update(sys.argv[2], tables.generated("A test of the ABI.") + "\n".join(program) + "\n")


if __name__ == "__main__":
    main()
