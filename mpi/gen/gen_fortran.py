#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Fortran of the standard ABI: the functions of libmpifort_abi, mpif.h and the module mpi.

usage: gen_fortran.py FOLDER INCLUDE   writes FOLDER/fortran_<chapter>.c and INCLUDE/{mpif.h,mpi.f90}

The sources in mpi/fortran define the functions whose conversion is more than that of their arguments, by FORTRAN(name, NAME, ...);
all others are written here, argument by argument, by the kinds of kinds.yaml. See mpi/fortran/README.md.
"""
import re
import sys

import tables

SOURCES = tables.API.parent / "fortran"
HAND_WRITTEN = re.compile(r"^FORTRAN(?:_FUNCTION)?\((\w+),", re.MULTILINE)
BY_OBJECT = {f"{kind}_{rest}" for kind in ("comm", "type", "win") for rest in ("create_keyval", "set_attr", "get_attr")} | \
    {f"{kind}_create_errhandler" for kind in ("comm", "file", "session", "win")} | {"op_create", "op_create_c"} | \
    {f"{kind}{end}" for kind in ("buffer_detach", "comm_detach_buffer", "session_detach_buffer") for end in ("", "_c")}  # by macros
# Have no form here: C's alone, or not written in C either.
ABSENT = {"Abi_get_fortran_booleans", "Abi_set_fortran_booleans", "Comm_spawn", "Comm_spawn_multiple", "Register_datarep"}
HANDLES = {"COMM": "Comm", "DATATYPE": "Type", "ERRHANDLER": "Errhandler", "FILE": "File", "GROUP": "Group", "INFO": "Info",
           "MESSAGE": "Message", "OP": "Op", "REQUEST": "Request", "SESSION": "Session", "WIN": "Win"}
SAME_HANDLE = {"COMM_AT_LEADER": "COMM", "COMM_OR_NULL": "COMM", "DATATYPE_OR_NULL": "DATATYPE", "WIN_OR_NULL": "WIN"}
C_TYPES = {"Type": "MPI_Datatype"}
LOGICALS = {"reorder", "high", "commute", "weighted", "periods", "remain_dims"}
LOGICAL_FLAGS = ("Status_set_cancelled", "File_set_atomicity")
LIMITS = {"port_name": "MPI_MAX_PORT_NAME", "datarep": "MPI_MAX_DATAREP_STRING"}
LENGTHS = ("comm", "in", "out")
TEXTS = {"STRING", "STRING_ARRAY", "TEXT_OUT", "STRING_OUT"}
KINDS = "INTEGER(KIND=8)"


def is_logical(function, parameter):
    return parameter.kind == "FLAG_OUT" or parameter.name in LOGICALS or \
        parameter.name == "flag" and function.name in LOGICAL_FLAGS


def c_type(handle):
    return C_TYPES.get(handle, f"MPI_{handle}")


def form(parameter, large):
    return parameter.large if large else parameter.small


def parameters_of(function, large=False):
    return [one for one in function.parameters if form(one, large) not in (None, "...")]


class Entry:
    """One function: what it does before and after the call of C, and with which arguments."""

    def __init__(self, function, large=False):
        self.function, self.large = function, large
        self.declared, self.lengths, self.before, self.arguments, self.after, self.ends = [], [], [], [], [], []
        for parameter in parameters_of(function, large):
            self.add(parameter)

    def find(self, *kinds):
        return next((one.name for one in self.function.parameters if one.kind in kinds), None)

    def length(self, rule):
        return f"fortran_length_{rule}(in_Comm(*{self.find('COMM')}))" if rule in LENGTHS else f"length_of(*{rule})"

    def add(self, parameter):
        name, kind = parameter.name, SAME_HANDLE.get(parameter.kind, parameter.kind)
        base, _, way = kind.rpartition("_")
        declared = form(parameter, self.large)
        if kind in HANDLES:
            self.take(f"const int *{name}", f"in_{HANDLES[kind]}(*{name})")
            if self.function.name == "Request_get_status":
                self.add_later(f"*{name}", f"in_Request(*{name})")
        elif base in HANDLES and way in ("OUT", "INOUT"):
            self.add_handle(name, HANDLES[base], way)
        elif kind in ("DATATYPES_IN", "REQUESTS_IN", "REQUESTS_INOUT", "DATATYPES_OUT"):
            self.add_handles(parameter, kind)
        elif kind in TEXTS:
            self.add_text(parameter, kind)
        elif kind in ("BUFFER_IN", "BUFFER_OUT", "ADDRESS"):
            self.take(f"void *{name}", name if name == "baseptr" else f"in_buffer({name})")
        elif kind in ("WEIGHTS_IN", "WEIGHTS_OUT"):
            self.take(f"int *{name}", f"in_weights({name})")
        elif kind in ("STATUS_OUT", "STATUS_IN", "STATUS_INOUT"):
            self.take(f"int *{name}", f"in_Status({name})")
        elif kind == "STATUSES_OUT":
            self.take(f"int *{name}", f"in_Statuses({name})")
        elif "*" in declared or "[" in declared:
            self.add_place(parameter, declared)
        else:
            self.take(f"const {declared.removeprefix('const ').removesuffix(name)}*{name}", f"*{name}")

    def take(self, declared, argument):
        self.declared.append(declared)
        self.arguments.append(argument)

    def add_place(self, parameter, declared):
        """What C reads or writes where it is; indices count from 1 here, and flags are 0 or 1."""
        name = parameter.name
        self.take(declared, name)
        if is_logical(self.function, parameter) and parameter.kind in ("FLAG_OUT", "INT_OUT"):
            self.after.append(f"*{name} = *{name} != 0;")
        elif name == "indx" and self.function.chapter == "p2p":
            self.after.append(f"if (*{name} >= 0)\n            ++*{name};")
        elif name == "array_of_indices":
            self.after.append(f"for (int i = 0; i < *outcount; i++)\n            {name}[i]++;")

    def add_handle(self, name, handle, way):
        start = f"in_{handle}(*{name})" if way == "INOUT" else "0"
        self.before += [f"{c_type(handle)} {name}_s = {start};", f"const {c_type(handle)} {name}_b = {name}_s;"]
        self.take(f"int *{name}", f"&{name}_s")
        if handle == "Request" and way == "INOUT":
            self.add_later(f"*{name}", f"{name}_s")
        self.ends.append(f"if ({name}_s != {name}_b)\n        *{name} = out_{handle}({name}_s);")

    def add_handles(self, parameter, kind):
        name, handle = parameter.name, HANDLES[kind.split("S_")[0]]
        self.take(f"int *{name}", f"{name}_s")
        self.before += [f"const size_t {name}_n = {self.length(parameter.rule or 'max_datatypes')};",
                        f"FORTRAN_ARRAY({c_type(handle)}, {name}_s, {name}_n);"]
        start = "0" if kind == "DATATYPES_OUT" else f"in_{handle}({name}[i])"
        self.before.append(f"for (size_t i = 0; i < {name}_n; i++)\n        {name}_s[i] = {start};")
        if handle == "Request":
            self.add_later(f"{name}[i]", f"{name}_s[i]", f"for (size_t i = 0; i < {name}_n; i++)\n        ")
        if kind == "REQUESTS_INOUT": # a request stays what it is, or ends
            self.ends.append(f"for (size_t i = 0; i < {name}_n; i++)\n        if ({name}_s[i] == MPI_REQUEST_NULL)\n"
                             f"            {name}[i] = out_Request(MPI_REQUEST_NULL);")
        if kind == "DATATYPES_OUT":
            self.after.append(f"for (size_t i = 0; i < {name}_n && {name}_s[i] != 0; i++)\n"
                              f"            {name}[i] = out_{handle}({name}_s[i]);")
        self.ends.append(f"FORTRAN_ARRAY_END({name}_s);")

    def add_later(self, number, request, each=""):
        """What mpi_f08 has copied goes back when the request is complete (mpi/fortran/later.h)."""
        if self.function.name in ("Start", "Startall"):
            self.before.append(f"{each}later_begin({number});")
        elif self.function.name not in ("Cancel", "Grequest_complete"):
            self.ends.append(f"{each}later_done({number}, {request});")

    def add_text(self, parameter, kind):
        name = parameter.name
        self.lengths.append(f"size_t {name}_l")
        self.take(f"{'char' if kind.endswith('OUT') else 'const char'} *{name}", f"{name}_s")
        if not kind.endswith("OUT"):
            lead = int(self.function.chapter == "info")
            self.before.append(f"char *{name}_s = fortran_text_in({name}, {name}_l, {lead});\n    if ({name}_s == NULL)\n"
                               "        FORTRAN_RETURN(MPI_ERR_NO_MEM);")
            self.ends.append(f"free({name}_s);")
            return
        self.before.append(f"char {name}_s[{parameter.rule or LIMITS[name]}] = \"\";")
        self.after.append(f"fortran_text_out({name}, {name}_l, {name}_s);")
        length = self.find("INT_OUT") if parameter.rule else None
        if length == "resultlen":
            self.after.append(f"if (length_of(*{length}) > {name}_l)\n            *{length} = (int){name}_l;")


def entry(function, large=False):
    made = Entry(function, large)
    name = function.name + large * "_c"
    shown = ", ".join([*made.declared, "int *ierror", *made.lengths])
    after = "".join(f"\n        {line}" for line in made.after)
    lines = [*made.before, f"const int code = C({name})({', '.join(made.arguments)});"]
    if after:
        lines.append(f"if (code == MPI_SUCCESS) {{{after}\n    }}")
    text = "\n".join(f"    {line}" for line in lines + made.ends + ["FORTRAN_RETURN(code);"])
    return f"FORTRAN({name.lower()}, {name.upper()}, ({shown}))\n{{\n{text}\n}}\n"


def fortran_functions():
    for function in tables.functions():
        if function.chapter == "tool" and function.name != "Pcontrol" or function.name in ABSENT:
            continue
        if not function.name.endswith(("_fromint", "_toint")):
            yield function


def hand_written():
    names = set(BY_OBJECT)
    for path in sorted(SOURCES.glob("*.c")):
        names.update(HAND_WRITTEN.findall(path.read_text(encoding="utf-8")))
    return names


def has_buffer(function):
    """It takes memory of any type (mpi_f08 then describes it by a descriptor)."""
    return any(is_buffer(function, one) for one in function.parameters)


def is_buffer(function, parameter):
    return parameter.kind in ("BUFFER_IN", "BUFFER_OUT", "ADDRESS") and parameter.name != "baseptr"


def fortran_types(function, large):
    return [re.sub(r"MPI_(Aint|Offset|Count)\b", "wide", form(one, large)) for one in parameters_of(function, large)]


def needs_large(function):
    """mpi_f08 has a form with large counts, which Fortran can tell from the other one, and no buffer."""
    return function.has_large and not has_buffer(function) and fortran_types(function, False) != fortran_types(function, True)


def write_functions(folder):
    hand = hand_written()
    functions = [one for one in fortran_functions() if one.name.lower() not in hand]
    for chapter in dict.fromkeys(one.chapter for one in fortran_functions()):
        parts = [tables.generated(f"Functions of Fortran of the chapter {chapter}.") + '#include "later.h"\n']
        parts += [entry(one, large) for one in functions for large in (False, True) if one.chapter == chapter
                  and (not large or needs_large(one) and f"{one.name.lower()}_c" not in hand)]
        tables.update(f"{folder}/fortran_{chapter}.c", "\n".join(parts))


# ------------------------------------------------------------------------------------ what the compiler sees
def constants():
    """(type, name, value)"""
    for group in tables.load("constants.yaml"):
        handle = group.get("handle", "")
        kind = KINDS if group.get("define") == "MPI_Offset" else "INTEGER"
        if handle.startswith("MPI_T_") or group.get("enum") or group.get("define") not in (None, "", "MPI_Offset"):
            continue
        for name, value in group["values"].items():
            if not name.startswith(("MPI_F_", "MPI_T_")):
                # strings of Fortran have no end: a place less
                yield kind, name, value - 1 if name.startswith("MPI_MAX_") else value
    for table in ("ops.yaml", "datatypes.yaml"):
        rows = {row["name"]: row for row in tables.load(table)}
        for name, row in rows.items():
            yield "INTEGER", name, rows[row.get("same", name)]["value"]
    for row in tables.load("errors.yaml"):
        yield "INTEGER", row["name"], row["value"]
    for name, value in {"MPI_STATUS_SIZE": 8, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3, "MPI_ADDRESS_KIND": 8,
                        "MPI_COUNT_KIND": 8, "MPI_OFFSET_KIND": 8, "MPI_INTEGER_KIND": 4}.items():
        yield "INTEGER", name, value
    yield "LOGICAL", "MPI_SUBARRAYS_SUPPORTED", ".FALSE."
    yield "LOGICAL", "MPI_ASYNC_PROTECTS_NONBLOCKING", ".FALSE."


# In the order of mpi/fortran/marks.c.
MARKS = ("MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED(1)", "MPI_WEIGHTS_EMPTY(1)",
         "MPI_ERRCODES_IGNORE(1)", "MPI_STATUS_IGNORE(8)", "MPI_STATUSES_IGNORE(8,1)")
STANDARD_FUNCTIONS = [f"MPI_{kind}{rest}" for kind in ("", "COMM_", "TYPE_", "WIN_")
                      for rest in ("NULL_COPY_FN", "DUP_FN", "NULL_DELETE_FN")]
VALUES = [("DOUBLE PRECISION", "WTIME"), ("DOUBLE PRECISION", "WTICK"), (KINDS, "AINT_ADD"), (KINDS, "AINT_DIFF")]


def declarations():
    """Lines for both source forms, without those of functions that have an interface in the module."""
    yield "! SPDX-License-Identifier: Apache-2.0"
    yield "! MPI 5.0 for Fortran, standard ABI 1.0. Generated from the tables"
    yield "! of mpi/api; not edited. For both source forms."
    for kind, name, value in constants():
        yield f"      {kind} {name}"
        yield f"      PARAMETER ({name}={value})"
    for name in STANDARD_FUNCTIONS:
        yield f"      EXTERNAL {name}"


def write_mpif(path):
    lines = list(declarations())
    lines += [f"      INTEGER {name}" for name in MARKS]
    lines += [f"      COMMON /VBNF_MARKS/ {name.split('(')[0]}" for name in MARKS]
    lines.append("      SAVE /VBNF_MARKS/")
    for kind, name in VALUES:
        for prefix in ("MPI_", "PMPI_"):
            lines += [f"      {kind} {prefix}{name}", f"      EXTERNAL {prefix}{name}"]
    tables.update(path, "\n".join(lines) + "\n")


def choice(name):
    return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"!DIR$ IGNORE_TKR {name}", f"REAL :: {name}(*)"]


def dummy(function, parameter):
    """Declarations of a dummy argument in an interface of the module mpi."""
    name, kind, declared = parameter.name, parameter.kind, parameter.small
    if kind in ("BUFFER_IN", "BUFFER_OUT", "BUFFER_ADDRESS_OUT", "ADDRESS") or kind == "POINTER_OUT" and \
            function.name.lower()[-4:] != "attr" and function.name != "Attr_get":
        return choice(name)
    if kind.endswith("FUNCTION"):
        return [f"EXTERNAL :: {name}"]
    if kind in TEXTS:
        return [f"CHARACTER(LEN=*) :: {name}"]
    if kind.startswith("STATUSES"):
        return [f"INTEGER :: {name}(8,*)"]
    if kind.startswith("STATUS"):
        return [f"INTEGER :: {name}(8)"]
    if kind == "RANGES_IN":
        return [f"INTEGER :: {name}(3,*)"]
    if kind in ("POINTER", "POINTER_OUT"):
        old = function.name in ("Attr_put", "Attr_get", "Keyval_create")
        return [f"{'INTEGER' if old else KINDS} :: {name}"]
    base = "LOGICAL" if is_logical(function, parameter) else \
        KINDS if declared and re.search(r"MPI_(Aint|Offset|Count)\b", declared) else "INTEGER"
    return [f"{base} :: {name}{'(*)' if '[' in (declared or '') else ''}"]


def wrapped(head, names):
    """A statement in lines of the length that every compiler takes."""
    lines = [head + "("]
    for at, name in enumerate(names):
        word = name + (")" if at + 1 == len(names) else ", ")
        if len(lines[-1]) + len(word) > 110:
            lines[-1] += " &"
            lines.append("    ")
        lines[-1] += word
    return lines


FORTRAN_ARGUMENTS = {"Init": (), "Init_thread": ("required", "provided"), "Info_create_env": ("info",)}


def interface(function, prefix):
    parameters = [one for one in function.parameters if one.small not in (None, "...")]
    if function.name in FORTRAN_ARGUMENTS:
        parameters = [one for one in parameters if one.name in FORTRAN_ARGUMENTS[function.name]]
    if function.returns != "int":
        kind = "DOUBLE PRECISION" if function.returns == "double" else KINDS
        yield f"FUNCTION {prefix}{function.name}({', '.join(one.name for one in parameters)})"
        yield f"{kind} :: {prefix}{function.name}"
        ierror, end = [], "FUNCTION"
    else:
        ierror, end = [] if function.name == "Pcontrol" else ["ierror"], "SUBROUTINE"
        yield from wrapped(f"SUBROUTINE {prefix}{function.name}", [one.name for one in parameters] + ierror)
    for parameter in parameters:
        yield from dummy(function, parameter)
    if ierror:
        yield "INTEGER :: ierror"
    yield f"END {end}"


SIZES = [("INTEGER", 1), ("INTEGER", 2), ("INTEGER", 4), ("INTEGER", 8), ("REAL", 4), ("REAL", 8), ("COMPLEX", 4), ("COMPLEX", 8),
         ("LOGICAL", 1), ("LOGICAL", 4), ("CHARACTER", 1)]


def sizes():
    for kind, bytes_ in SIZES:
        for rank, shape in ((0, ""), (1, "(*)")):
            yield kind, bytes_, f"VBNF_SIZEOF_{kind}{bytes_}_{rank}", shape


def status_arguments(first, second, optional):
    """Of the conversions between the two kinds of statuses."""
    kinds = {"f_status": "INTEGER", "f08_status": "TYPE(MPI_Status)"}
    shape = {"f_status": "(8)"}
    return [*(f"{kinds[name]}, INTENT({way}) :: {name}{shape.get(name, '')}" for name, way in ((first, "IN"), (second, "OUT"))),
            f"INTEGER{optional}, INTENT(OUT) :: ierror"]


def write_module(path):
    lines = ["! SPDX-License-Identifier: Apache-2.0", "! The module mpi of MPI 5.0, standard ABI 1.0. Generated from the tables of "
             "mpi/api; not edited.", "MODULE mpi", "USE mpi_f08_types", "IMPLICIT NONE", *list(declarations())[3:]]
    lines += [f'INTEGER, BIND(C, NAME="vbnf_mpi_{name.partition("(")[0][4:].lower()}") :: {name}' for name in MARKS]
    lines.append("INTERFACE")
    for prefix in ("MPI_", "PMPI_"):
        for function in fortran_functions():
            lines += list(interface(function, prefix))
        lines += [f"SUBROUTINE {prefix}F_sync_reg(buf)", *choice("buf"), "END SUBROUTINE"]
        for first, second in (("f_status", "f08_status"), ("f08_status", "f_status")):
            lines += [f"SUBROUTINE {prefix}Status_{first[:-7]}2{second[:-7]}({first}, {second}, ierror)", "IMPORT",
                      *status_arguments(first, second, ""), "END SUBROUTINE"]
    lines += ["END INTERFACE", "INTERFACE MPI_Sizeof"]
    for kind, bytes_, name, shape in sizes():
        lines += [f"SUBROUTINE {name}(x, size, ierror)", f"{kind}(KIND={bytes_}) :: x{shape}", "INTEGER :: size, ierror",
                  "END SUBROUTINE"]
    tables.update(path, "\n".join([*lines, "END INTERFACE", "END MODULE mpi"]) + "\n")


def write_sizes(path):
    parts = [tables.generated("MPI_Sizeof for each type and rank.") + '#include "fortran.h"\n']
    for kind, bytes_, name, _ in sizes():
        size = bytes_ * 2 if kind == "COMPLEX" else bytes_
        lower = name.lower()
        parts.append(f"FORTRAN_SPELL({lower}, {name}, void, (const void *x, int *size, int *ierror))\n{{\n    (void)x;\n"
                     f"    *size = {size};\n    *ierror = MPI_SUCCESS;\n}}\n")
    tables.update(path, "\n".join(parts))


def main():
    folder, include = sys.argv[1:]
    write_functions(folder)
    write_sizes(f"{folder}/fortran_sizes.c")
    write_mpif(f"{include}/mpif.h")
    write_module(f"{include}/mpi.f90")


if __name__ == "__main__":
    main()
