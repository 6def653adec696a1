#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the module mpi_f08 of the standard ABI, and the functions that it calls where a buffer is an argument.

usage: gen_f08.py FOLDER INCLUDE   writes FOLDER/{f08_<chapter>.c,ts_<chapter>.c} and INCLUDE/{mpi_f08_types.f90,mpi_f08.f90}

Names are those of table 19.1 of the standard: MPI_x_f08ts where a buffer is an argument, a function of C that gets descriptors
(mpi/fortran/section.h); else MPI_x_f08, which is the function of mpif.h and of the module mpi (F4 of mpi/fortran/fortran.h).
A form with large counts has _c before the ending. ts_<chapter>.c has the same functions for MPICH's mpi_f08, whose descriptors are
gfortran's own (mpi/fortran/mpich/descriptor.h).
"""
import re
import sys

import gen_fortran as old
import tables

TYPES = ("Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win")
BY_TYPE = ("type", "even")
COUNT_KINDS = ("COUNT", "COUNTS", "COUNT_ANY", "BIG", "AINT_COUNT")
TYPE_KINDS = ("DATATYPE", "DATATYPES_IN", "DATATYPE_OR_NULL")
PLAIN = {"Free_mem", "Get_address", "Fetch_and_op", "Compare_and_swap"}  # the address alone
NOT_HERE = {"Attr_delete", "Attr_get", "Attr_put", "Keyval_create", "Keyval_free"}  # deprecated when mpi_f08 came
KINDS = "INTEGER(KIND=8)"


# ------------------------------------------------------------------------------------------- functions with descriptors
class Buffer:
    """One buffer of a function: what counts it, of which type it is, and what becomes of a section with gaps (section.h)."""

    def __init__(self, function, parameter):
        self.name, self.out = parameter.name, parameter.kind == "BUFFER_OUT"
        self.count, self.type = self.told_by(function, parameter)
        self.way = self.way_of(function)

    def told_by(self, function, parameter):
        rest = function.parameters[function.parameters.index(parameter) + 1:]
        following = next((at for at, one in enumerate(rest) if at > 0 and old.is_buffer(function, one)), len(rest))
        near = rest[:following] if function.chapter != "coll" or not any(one.kind == "OP" for one in rest) else rest
        count = next((one for one in near if one.kind in COUNT_KINDS), None)
        return count, next((one for one in near if one.kind in TYPE_KINDS), None)

    def way_of(self, function):
        """type, even (each element by itself), copy, later (a copy after the call returns), address"""
        name, lasts = function.name, any(one.kind == "REQUEST_OUT" for one in function.parameters)
        if name in PLAIN or self.count is None or name.endswith(("attach_buffer", "Buffer_attach")) or name.startswith("Win_"):
            return "address"
        spread = self.count.kind == "COUNTS" or {"Gather": "recvbuf", "Scatter": "sendbuf", "Allgather": "recvbuf"}.get(
            base_of(name)) == self.name or base_of(name) == "Alltoall"
        reduces = function.chapter == "coll" and any(one.kind == "OP" for one in function.parameters)
        if self.type is None or spread or reduces:
            return "later" if lasts else "copy"
        return "even" if name in ("Psend_init", "Precv_init") else "type"


def base_of(name):
    """Of a collective without its form: Ineighbor_allgather and Allgather_init are Allgather."""
    name = name.removesuffix("_init")
    name = name[1:].capitalize() if name.startswith("I") else name
    return name.removeprefix("Neighbor_").capitalize()


class WithBuffers(old.Entry):
    """A function whose buffers are descriptors."""

    def __init__(self, function, large):
        self.buffers = [Buffer(function, one) for one in function.parameters if old.is_buffer(function, one)]
        super().__init__(function, large)

    def add(self, parameter):
        buffer = next((one for one in self.buffers if one.name == parameter.name), None)
        told = next((one for one in self.buffers if one.way != "address" and parameter in (one.count, one.type)), None)
        single = told and told.way in BY_TYPE
        if buffer:
            self.take(f"const descriptor_t *{buffer.name}", self.address(buffer))
        elif single and parameter is told.count:
            declared = old.form(parameter, self.large).removesuffix(parameter.name)
            self.take(f"const {declared}*{parameter.name}", f"({declared.strip()}){told.name}_s.count")
        elif single and parameter is told.type:
            self.take(f"const int *{parameter.name}", f"{told.name}_s.type")
        else:
            super().add(parameter)

    def add_text(self, parameter, kind):
        """A text has a descriptor as well."""
        super().add_text(parameter, kind)
        self.lengths.pop()
        self.declared[-1] = f"const descriptor_t *{parameter.name}"
        self.before[-1] = self.before[-1].replace(f"({parameter.name}, {parameter.name}_l,",
                                                  f"({parameter.name}->base, {parameter.name}->element,")

    def address(self, buffer):
        return f"in_buffer({buffer.name}->base)" if buffer.way == "address" else f"{buffer.name}_s.address"

    def sections(self):
        return [one for one in self.buffers if one.way != "address"]

    def opened(self):
        """Statements that say what C gets."""
        for one in self.sections():
            told = f"*{one.count.name}, in_Type(*{one.type.name})" if one.way in BY_TYPE else "0, MPI_DATATYPE_NULL"
            yield f"section_t {one.name}_s = section_of({one.name}, {told});"
        yield "int code = MPI_SUCCESS;"
        for one in self.sections():
            yield f"if (code == MPI_SUCCESS && !section_dense({one.name}))\n        code = section_as_{one.way}(&{one.name}_s);"

    def closed(self, buffer):
        out = "true" if buffer.out else "false"
        if buffer.way != "later":
            return f"section_end(&{buffer.name}_s, {out});"
        persistent = "true" if self.function.name.endswith("_init") else "false"
        return f"section_leave(&{buffer.name}_s, {out}, code, request, {persistent});"

    def error(self):
        owner = next((one for one in self.function.parameters if one.kind in ("COMM", "WIN", "FILE")), None)
        if owner is None:
            return "section_error_Comm(MPI_COMM_SELF, code)"
        kind = owner.kind.capitalize()
        return f"section_error_{kind}(in_{kind}(*{owner.name}), code)"

    def text(self):
        name = self.function.name + self.large * "_c"
        call = f"C({name})({', '.join(self.arguments)})"
        lines = [*self.before]
        if self.sections():
            lines += [*self.opened(), f"code = code == MPI_SUCCESS ? {call} : {self.error()};"]
        else:
            lines.append(f"const int code = {call};")
        after = "".join(f"\n        {line}" for line in self.after)
        if after:
            lines.append(f"if (code == MPI_SUCCESS) {{{after}\n    }}")
        lines += self.ends
        lines += [self.closed(one) for one in self.sections()]
        lines.append("FORTRAN_RETURN(code);")
        shown = ", ".join([*self.declared, "int *ierror"])
        body = "\n".join(f"    {line}" for line in lines)
        return f"F08({name}, ({shown}))\n{{\n{body}\n}}\n"


def with_own_descriptors(function, large):
    """The function of MPICH's mpi_f08, which calls that of WithBuffers."""
    made = WithBuffers(function, large)
    buffers = {one.name for one in made.buffers}
    shown, lengths, passed, wholes = [], [], [], []
    for declared in [*made.declared, "int *ierror"]:
        name = re.search(r"\w+(?=(\[\])*$)", declared).group(0)
        if not declared.startswith("const descriptor_t *"):
            shown.append(declared)
            passed.append(name)
            continue
        wholes.append(f"    whole_t {name}_w;\n")
        shown.append(f"const {'gfortran_t' if name in buffers else 'char'} *{name}")
        passed.append(f"whole_of(&{name}_w, {name})" if name in buffers else f"whole_text(&{name}_w, {name}, {name}_l)")
        lengths += [] if name in buffers else [f"size_t {name}_l"]
    called = f"F08_NAME({function.name}{large * '_c'})"
    return f"void {called}({', '.join([*made.declared, 'int *ierror'])});\n" \
           f"TS({function.name.lower()}, {'_large_' if large else '_'}, ({', '.join(shown + lengths)}))\n" \
           f"{{\n{''.join(wholes)}    {called}({', '.join(passed)});\n}}\n"


def forms(function):
    """Whether the form has large counts, for each form that mpi_f08 has."""
    yield False
    if function.has_large and old.fortran_types(function, False) != old.fortran_types(function, True):
        yield True


def functions():
    return [one for one in old.fortran_functions() if one.name not in NOT_HERE]


def write_functions(folder):
    for chapter in dict.fromkeys(one.chapter for one in old.fortran_functions()):
        parts = [tables.generated(f"Functions of mpi_f08 with buffers, of the chapter {chapter}.") + '#include "section.h"\n']
        parts += [WithBuffers(one, large).text() for one in functions() if one.chapter == chapter and old.has_buffer(one)
                  for large in forms(one)]
        tables.update(f"{folder}/f08_{chapter}.c", "\n".join(parts))
        parts = [tables.generated(f"Functions of MPICH's mpi_f08 with buffers, of the chapter {chapter}."),
                 '#include "descriptor.h"\n']
        parts += [with_own_descriptors(one, large) for one in functions() if one.chapter == chapter and old.has_buffer(one)
                  for large in forms(one)]
        tables.update(f"{folder}/ts_{chapter}.c", "\n".join(parts))


# -------------------------------------------------------------------------------------------------- what the compiler sees
HEAD = "! SPDX-License-Identifier: Apache-2.0"
MADE = "Generated from the tables of mpi/api; not edited."


def write_types(path):
    """Handles and the status, which the module mpi has as well (19.1.3)."""
    lines = [HEAD, f"! Types of MPI 5.0, standard ABI 1.0, and their comparisons. {MADE}", "MODULE mpi_f08_types", "IMPLICIT NONE"]
    for name in TYPES:
        lines += [f"TYPE, BIND(C) :: MPI_{name}", "INTEGER :: MPI_VAL", "END TYPE"]
    lines += ["TYPE, BIND(C) :: MPI_Status", "INTEGER :: MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_INTERNAL(5)", "END TYPE"]
    for operator, end in ((".EQ.", "eq"), (".NE.", "ne")):
        lines.append(f"INTERFACE OPERATOR({operator})")
        for name in TYPES:
            function = f"vbnf_{name.lower()}_{end}"
            lines += [f"ELEMENTAL FUNCTION {function}(a, b)", "IMPORT", f"TYPE(MPI_{name}), INTENT(IN) :: a, b",
                      f"LOGICAL :: {function}", "END FUNCTION"]
        lines.append("END INTERFACE")
    tables.update(path, "\n".join([*lines, "END MODULE"]) + "\n")


CALLBACKS = {
    "MPI_User_function": (("invec", "P"), ("inoutvec", "P"), ("len", "INTEGER"), ("datatype", "TYPE(MPI_Datatype)")),
    "MPI_User_function_c": (("invec", "P"), ("inoutvec", "P"), ("len", KINDS), ("datatype", "TYPE(MPI_Datatype)")),
    "MPI_Grequest_query_function": (("extra_state", KINDS), ("status", "TYPE(MPI_Status)"), ("ierror", "INTEGER")),
    "MPI_Grequest_free_function": (("extra_state", KINDS), ("ierror", "INTEGER")),
    "MPI_Grequest_cancel_function": (("extra_state", KINDS), ("complete", "LOGICAL"), ("ierror", "INTEGER")),
    **{f"MPI_{kind}_errhandler_function": ((kind.lower(), f"TYPE(MPI_{kind})"), ("error_code", "INTEGER"))
       for kind in ("Comm", "File", "Session", "Win")},
}
for short, kind in (("Comm", "Comm"), ("Type", "Datatype"), ("Win", "Win")):
    CALLBACKS[f"MPI_{short}_copy_attr_function"] = (
        (f"old{short.lower()}", f"TYPE(MPI_{kind})"), (f"{short.lower()}_keyval", "INTEGER"), ("extra_state", KINDS),
        ("attribute_val_in", KINDS), ("attribute_val_out", KINDS), ("flag", "LOGICAL"), ("ierror", "INTEGER"))
    CALLBACKS[f"MPI_{short}_delete_attr_function"] = (
        (kind.lower(), f"TYPE(MPI_{kind})"), (f"{short.lower()}_keyval", "INTEGER"), ("attribute_val", KINDS),
        ("extra_state", KINDS), ("ierror", "INTEGER"))


def callbacks():
    yield "ABSTRACT INTERFACE"
    for name, arguments in CALLBACKS.items():
        yield from old.wrapped(f"SUBROUTINE {name}", [one for one, _ in arguments])
        yield "IMPORT"
        for argument, kind in arguments:
            yield f"TYPE(C_PTR), VALUE :: {argument}" if kind == "P" else f"{kind} :: {argument}"
        yield "END SUBROUTINE"
    yield "END INTERFACE"
    for kind in ("Comm", "Type", "Win"):
        yield f"PROCEDURE(MPI_{kind}_copy_attr_function) :: MPI_{kind.upper()}_NULL_COPY_FN, MPI_{kind.upper()}_DUP_FN"
        yield f"PROCEDURE(MPI_{kind}_delete_attr_function) :: MPI_{kind.upper()}_NULL_DELETE_FN"


def handle_constants():
    """(type, name, value)"""
    for group in tables.load("constants.yaml"):
        handle = group.get("handle", "")
        if handle and not handle.startswith("MPI_T_"):
            yield from ((handle, name, value) for name, value in group["values"].items())
    for table, kind in (("ops.yaml", "MPI_Op"), ("datatypes.yaml", "MPI_Datatype")):
        rows = {row["name"]: row for row in tables.load(table)}
        yield from ((kind, name, rows[row.get("same", name)]["value"]) for name, row in rows.items())


def constants():
    handles = {name: kind for kind, name, _ in handle_constants()}
    for kind, name, value in old.constants():
        value = ".TRUE." if kind == "LOGICAL" else value
        if name in handles:
            yield f"TYPE({handles[name]}), PARAMETER :: {name} = {handles[name]}({value})"
        else:
            yield f"{kind}, PARAMETER :: {name} = {value}"
    for name in old.MARKS:
        kind = "TYPE(MPI_Status)" if name.startswith("MPI_STATUS") else "INTEGER"
        name = name.partition("(")[0]
        shape = "(1)" if name in ("MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_ERRCODES_IGNORE", "MPI_STATUSES_IGNORE") else ""
        yield f'{kind}, BIND(C, NAME="vbnf_f08_{name[4:].lower()}"), TARGET :: {name}{shape}'


WRITES = {("Info_get_string", "buflen"), ("Session_get_nth_pset", "pset_len"), ("Dims_create", "dims")}  # and reads
FORTRAN_NAMES = {"indx": "index"}


def shown(function, parameter):
    if function.name == "Precv_init" and parameter.name == "dest":  # so in the header of C
        return "source"
    return FORTRAN_NAMES.get(parameter.name, parameter.name)


def intent(function, parameter):
    if (function.name, parameter.name) in WRITES or parameter.kind.endswith("INOUT"):
        return ", INTENT(INOUT)"
    return ", INTENT(OUT)" if parameter.kind.endswith("OUT") else ", INTENT(IN)"


def declared_type(function, parameter, large):
    kind = old.SAME_HANDLE.get(parameter.kind, parameter.kind)
    base = re.sub(r"S?_(IN|OUT|INOUT)$", "", kind)
    if base in old.HANDLES:
        return f"TYPE({old.c_type(old.HANDLES[base])})"
    if kind.startswith("STATUS"):
        return "TYPE(MPI_Status)"
    if kind in old.TEXTS:
        return "CHARACTER(LEN=*)"
    if parameter.name == "baseptr" or kind == "BUFFER_ADDRESS_OUT":
        return "TYPE(C_PTR)"
    if kind in ("POINTER", "POINTER_OUT"):
        return KINDS
    if old.is_logical(function, parameter):
        return "LOGICAL"
    return KINDS if re.search(r"MPI_(Aint|Offset|Count)\b", old.form(parameter, large)) else "INTEGER"


def shape_of(parameter, large):
    if parameter.kind == "RANGES_IN":
        return "(3,*)"
    plural = parameter.kind.startswith("STATUSES") or re.search(r"S_(IN|OUT|INOUT)$", parameter.kind) and \
        not parameter.kind.startswith(("STATUS", "BUFFER"))
    return "(*)" if plural or "[" in old.form(parameter, large) and parameter.kind not in old.TEXTS else ""


def dummy(function, parameter, large):
    """The declaration of a dummy argument."""
    name, lasting = shown(function, parameter), any(one.kind == "REQUEST_OUT" for one in function.parameters)
    if old.is_buffer(function, parameter):
        keeps = lasting or function.chapter in ("rma", "io") or parameter.kind == "ADDRESS" or function.name in PLAIN or \
            "attach" in function.name
        read = ", INTENT(IN)" if parameter.kind == "BUFFER_IN" else ""
        return f"TYPE(*), DIMENSION(..){read}{', ASYNCHRONOUS' if keeps else ''} :: {name}"
    if parameter.kind.endswith("FUNCTION"):
        callback = "MPI_" + parameter.kind.capitalize() + ("_c" if large else "")
        return f"PROCEDURE({callback}) :: {name}"
    aim = intent(function, parameter)
    if parameter.kind in ("STATUS_OUT", "STATUSES_OUT", "WEIGHTS_OUT"):
        aim = ""  # the place may be a mark
    shape = shape_of(parameter, large)
    late = ", ASYNCHRONOUS" if lasting and shape and function.chapter == "coll" else ""
    return f"{declared_type(function, parameter, large)}{aim}{late} :: {name}{shape}"


def arguments_of(function, large):
    parameters = old.parameters_of(function, large)
    if function.name in old.FORTRAN_ARGUMENTS:
        parameters = [one for one in parameters if one.name in old.FORTRAN_ARGUMENTS[function.name]]
    return parameters


def specific(function, prefix, large):
    """The interface of one procedure."""
    parameters = arguments_of(function, large)
    name = f"{prefix}{function.name}{large * '_c'}_f08{'ts' if old.has_buffer(function) else ''}"
    ierror = [] if function.name == "Pcontrol" else ["ierror"]
    head = old.wrapped(f"SUBROUTINE {name}", [shown(function, one) for one in parameters] + ierror)
    if old.has_buffer(function):
        head[-1] += f' &\n BIND(C, NAME="{name}")'
    yield from head
    yield "IMPORT"
    yield from (dummy(function, one, large) for one in parameters)
    if ierror:
        yield "INTEGER, OPTIONAL, INTENT(OUT) :: ierror"
    yield "END SUBROUTINE"


# Have no entry in functions.yaml. (name, arguments, declarations)
MORE = (("F_sync_reg_f08ts", "buf", ("TYPE(*), DIMENSION(..), ASYNCHRONOUS :: buf",)),
        ("Sizeof_f08ts", "x, size, ierror", ("TYPE(*), DIMENSION(..) :: x", "INTEGER, INTENT(OUT) :: size",
                                             "INTEGER, OPTIONAL, INTENT(OUT) :: ierror")),
        ("Status_f2f08_f08", "f_status, f08_status, ierror", old.status_arguments("f_status", "f08_status", ", OPTIONAL")),
        ("Status_f082f_f08", "f08_status, f_status, ierror", old.status_arguments("f08_status", "f_status", ", OPTIONAL")),
        ("Op_create_c_f08", "user_fn, commute, op, ierror",
         ("PROCEDURE(MPI_User_function_c) :: user_fn", "LOGICAL, INTENT(IN) :: commute", "TYPE(MPI_Op), INTENT(OUT) :: op",
          "INTEGER, OPTIONAL, INTENT(OUT) :: ierror")))


def procedures(prefix):
    for function in functions():
        if function.returns != "int":
            yield from ["INTERFACE", *old.interface(function, prefix), "END INTERFACE"]
            continue
        yield f"INTERFACE {prefix}{function.name}"
        for large in forms(function):
            if function.name != "Op_create" or not large:  # a generic name cannot tell callbacks
                yield from specific(function, prefix, large)
        yield "END INTERFACE"
    for name, arguments, declarations in MORE:
        end = f' BIND(C, NAME="{prefix}{name}")' if name.endswith("ts") else ""
        yield from [f"INTERFACE {prefix}{name.rpartition('_')[0]}", f"SUBROUTINE {prefix}{name}({arguments}){end}", "IMPORT",
                    *declarations, "END SUBROUTINE", "END INTERFACE"]


def write_module(path):
    lines = [HEAD, f"! The module mpi_f08 of MPI 5.0, standard ABI 1.0. {MADE}", "MODULE mpi_f08",
             "USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR", "USE mpi_f08_types", "IMPLICIT NONE", "PRIVATE :: C_PTR"]
    lines += [*constants(), *callbacks()]
    for prefix in ("MPI_", "PMPI_"):
        lines += procedures(prefix)
    tables.update(path, "\n".join([*lines, "END MODULE"]) + "\n")


def main():
    folder, include = sys.argv[1:]
    write_functions(folder)
    write_types(f"{include}/mpi_f08_types.f90")
    write_module(f"{include}/mpi_f08.f90")


if __name__ == "__main__":
    main()
