#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the library of another ABI: entry points that convert arguments, call the function of the standard ABI by its private
name, and convert results.

usage: gen_shim.py FAMILY FOLDER   writes FOLDER/{shim_names.h,shim_values.h,shim_data.c,shim_<chapter>.c}

The sources in mpi/shim define shim_NAME, with a line SHIM_NAME(NAME), for each function whose conversion is more than that of its
arguments; all others are written here, argument by argument, by the kinds of kinds.yaml. in_KIND gives the value of the
standard ABI, out_KIND the other one; F_Comm is the program's MPI_Comm. See mpi/shim/README.md.
"""
import re
import sys

import tables

SHIM = tables.API.parent / "shim"
HAND_WRITTEN = re.compile(r"^SHIM_NAME\((\w+)\);", re.MULTILINE)
HANDLES = {"COMM": "Comm", "DATATYPE": "Datatype", "ERRHANDLER": "Errhandler", "FILE": "File", "GROUP": "Group", "INFO": "Info",
           "MESSAGE": "Message", "OP": "Op", "REQUEST": "Request", "SESSION": "Session", "WIN": "Win"}
SAME_HANDLE = {"COMM_AT_LEADER": "COMM", "COMM_OR_NULL": "COMM", "DATATYPE_OR_NULL": "DATATYPE", "WIN_OR_NULL": "WIN"}
FOREIGN = re.compile(r"\bMPI_(" + "|".join([*HANDLES.values(), "Status"]) + r")\b")
CALLBACK = re.compile(r"\bMPI_\w+_function(_c)? \*")
# Kinds of arguments to the ints of families.yaml.
INTS = {"RANK": "RANK", "SOURCE": "RANK", "ROOT": "RANK", "RANK_ONLY": "RANK", "TAG": "TAG", "RECV_TAG": "TAG", "TAG_ONLY": "TAG",
        "THREAD": "THREAD", "KEYVAL": "KEYVAL", "SPLIT_TYPE": "SPLIT_TYPE", "ORDER": "ORDER", "TYPECLASS": "TYPECLASS",
        "LOCK": "LOCK", "WHENCE": "WHENCE", "ASSERT": "ASSERT", "AMODE": "AMODE", "ERRCODE": "ERRCODE"}
INTS_BACK = {"RANK_OUT": "RANK", "TAG_OUT": "TAG", "THREAD_OUT": "THREAD", "COMPARE_OUT": "COMPARE", "TOPO_OUT": "TOPO",
             "COMBINER_OUT": "COMBINER", "KEYVAL_OUT": "KEYVAL", "ERRCODE_OUT": "ERRCODE", "AMODE_OUT": "AMODE"}
INT_ARRAYS = {"RANKS_IN": "RANK", "DISTRIBS_IN": "DISTRIB", "DARGS_IN": "DARG"}
HANDLE_ARRAYS = {"DATATYPES_IN": "Datatype", "INFOS_IN": "Info", "REQUESTS_IN": "Request"}
PLACES = ("comm", "in", "out")  # lengths that the communicator knows


def foreign(text):
    """A declaration of the standard ABI as one of the family."""
    return CALLBACK.sub("F_callback ", FOREIGN.sub(r"F_\1", text))


class Call:
    """One form of a function: what its entry point does before and after the call, and with which arguments."""

    def __init__(self, function, large):
        self.function, self.large = function, large
        self.before, self.arguments, self.after, self.ends = [], [], [], []
        for parameter in function.parameters:
            declared = parameter.large if large else parameter.small
            if declared not in (None, "..."):
                self.add(parameter, declared)

    def find(self, *kinds):
        return next((one.name for one in self.function.parameters if one.kind in kinds), None)

    def length(self, rule):
        return f"shim_length_{rule}(in_Comm({self.find('COMM')}))" if rule in PLACES else f"shim_length({rule})"

    def add(self, parameter, declared):
        name, kind = parameter.name, SAME_HANDLE.get(parameter.kind, parameter.kind)
        base, _, way = kind.rpartition("_")
        if kind in HANDLES:
            self.arguments.append(f"in_{HANDLES[kind]}({name})")
        elif base in HANDLES and way in ("OUT", "INOUT"):
            self.add_handle(name, HANDLES[base], way)
        elif kind in INTS:
            self.arguments.append(f"in_{INTS[kind]}({name})")
        elif kind in INTS_BACK or kind == "RANKS_OUT":
            self.add_back(parameter, kind)
        elif kind in INT_ARRAYS:
            self.add_array("int", f"in_{INT_ARRAYS[kind]}", parameter)
        elif kind in HANDLE_ARRAYS:
            self.add_array(f"MPI_{HANDLE_ARRAYS[kind]}", f"in_{HANDLE_ARRAYS[kind]}", parameter)
        elif kind in OTHERS:
            OTHERS[kind](self, parameter)
        elif CALLBACK.search(declared):
            self.arguments.append(f"({declared.replace(name, '').strip()}){name}")
        else:
            self.arguments.append(name)

    def pass_local(self, name):
        self.arguments.append(f"{name} == NULL ? NULL : &{name}_s")

    def add_handle(self, name, handle, way):
        """A handle that the call gives: what it has not set stays as the program had it."""
        start = f"{name} == NULL ? NULL : in_{handle}(*{name})" if way == "INOUT" else "NULL"
        self.before += [f"MPI_{handle} {name}_s = {start};", f"const MPI_{handle} {name}_b = {name}_s;"]
        self.pass_local(name)
        self.after.append(f"if ({name}_s != {name}_b)\n        *{name} = out_{handle}({name}_s);")

    def add_back(self, parameter, kind):
        name = parameter.name
        self.arguments.append(name)
        if kind == "RANKS_OUT":
            self.after.append(f"for (size_t i = 0; rc == MPI_SUCCESS && i < {self.length(parameter.rule)}; i++)\n"
                              f"        {name}[i] = out_RANK({name}[i]);")
        else:
            self.after.append(f"if (rc == MPI_SUCCESS)\n        *{name} = out_{INTS_BACK[kind]}(*{name});")

    def add_array(self, ctype, convert, parameter):
        name = parameter.name
        self.before += [f"const size_t {name}_n = {name} == NULL ? 0 : {self.length(parameter.rule)};",
                        f"SHIM_ARRAY({ctype}, {name}_s, {name}_n);",
                        f"for (size_t i = 0; i < {name}_n; i++)\n        {name}_s[i] = {convert}({name}[i]);"]
        self.arguments.append(f"{name} == NULL ? NULL : {name}_s")
        self.ends.append(f"SHIM_ARRAY_END({name}_s);")

    def add_requests(self, parameter):
        name, length = parameter.name, self.length(parameter.rule)
        self.before.append(f"SHIM_REQUESTS_IN({name}, {length});")
        self.arguments.append(f"SHIM_REQUESTS({name})")
        self.after.append(f"SHIM_REQUESTS_OUT({name}, {length});")

    def add_status(self, parameter):
        name = parameter.name
        fill = "status_none" if parameter.kind == "STATUS_OUT" else "in_Status"
        self.before += [f"MPI_Status {name}_s;", f"{fill}(&{name}_s, {name});"]
        self.arguments.append(f"shim_has_status({name}) ? &{name}_s : NULL")
        if parameter.kind != "STATUS_IN":
            self.after.append(f"out_Status({name}, &{name}_s);")

    def add_statuses(self, parameter):
        name, count = parameter.name, self.find("SIZE")
        self.before += [f"const size_t {name}_n = {name} == F_STATUSES_IGNORE ? 0 : shim_length({count});",
                        f"SHIM_ARRAY(MPI_Status, {name}_s, {name}_n);",
                        f"for (size_t i = 0; i < {name}_n; i++)\n        status_none(&{name}_s[i], &{name}[i]);"]
        self.arguments.append(f"{name} == F_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : {name}_s")
        self.after.append(f"for (size_t i = 0; i < {name}_n; i++)\n        out_Status_at(&{name}[i], &{name}_s[i]);")
        self.ends.append(f"SHIM_ARRAY_END({name}_s);")

    def add_text(self, parameter):
        name, limit = parameter.name, parameter.rule
        self.before.append(f"char {name}_s[{limit}];")
        self.arguments.append(f"{name} == NULL ? NULL : {name}_s")
        length = self.find("INT_OUT") or "NULL"
        self.after.append(f"if (rc == MPI_SUCCESS)\n        shim_text({name}, {name}_s, F_{limit[4:]}, {length});")

    def add_keyval(self, parameter):
        name = parameter.name
        self.before.append(f"int {name}_s = {name} == NULL ? 0 : in_KEYVAL(*{name});")
        self.pass_local(name)
        self.after.append(f"if (rc == MPI_SUCCESS)\n        *{name} = out_KEYVAL({name}_s);")

    def add_weights(self, parameter):
        self.arguments.append(f"in_weights({parameter.name})")

    def add_buffer(self, parameter):
        self.arguments.append(f"in_buffer({parameter.name})")

    def add_buffer_address(self, parameter):
        self.arguments.append(parameter.name)
        self.after.append(f"if (rc == MPI_SUCCESS)\n        out_buffer({parameter.name});")

    def add_no_types(self, parameter):
        """Of events, which the library has none of."""
        self.before.append(f"(void){parameter.name};")
        self.arguments.append("NULL")

    def add_status_ignored(self, parameter):
        """As a status, where the program may pass MPI_STATUS_IGNORE."""
        self.add_status(parameter)
        name = parameter.name
        self.arguments[-1] = f"{name} == F_STATUS_IGNORE ? MPI_STATUS_IGNORE : &{name}_s"


OTHERS = {"REQUESTS_INOUT": Call.add_requests, "STATUS_OUT": Call.add_status_ignored, "STATUS_IN": Call.add_status,
          "STATUS_INOUT": Call.add_status, "STATUSES_OUT": Call.add_statuses, "TEXT_OUT": Call.add_text,
          "KEYVAL_INOUT": Call.add_keyval, "WEIGHTS_IN": Call.add_weights, "WEIGHTS_OUT": Call.add_weights,
          "DATATYPES_OUT": Call.add_no_types, "BUFFER_ADDRESS_OUT": Call.add_buffer_address,
          "BUFFER_IN": Call.add_buffer, "BUFFER_OUT": Call.add_buffer}


def declaration(function, large):
    return foreign(function.declaration("shim_", large))


def entry(function, name, large):
    call = Call(function, large)
    target = f"vbnmpi_{name}({', '.join(call.arguments)})"
    handle = FOREIGN.fullmatch(function.returns)
    if handle:
        lines = [f"return out_{handle.group(1)}({target});"]
    elif function.returns != "int" or name.endswith("_toint"):  # values, no error codes
        lines = [f"return {target};"]
    else:
        lines = [*call.before, f"const int rc = {target};", *call.after, *call.ends, "return out_ERRCODE(rc);"]
    text = "\n".join(f"    {line}" for line in lines)
    return f"{declaration(function, large)}\n{{\n{text}\n}}\nSHIM_NAME({name});\n"


def write_entries(folder, functions, more, hand):
    for chapter in sorted({function.chapter for function in functions}):
        parts = [tables.generated(f"Entry points of the chapter {chapter} for programs of another ABI.") + '#include "shim.h"\n']
        for function in functions:
            forms = [(name, large) for name, large in function.forms() if function.chapter == chapter and name not in hand]
            parts += [entry(function, name, large) for name, large in forms]
            parts += [f"SHIM_OTHER_NAME({name}, {other});\n" for name, _ in forms for other in more if other[5:] == name]
        tables.update(f"{folder}/shim_{chapter}.c", "\n".join(parts))


def write_names(folder, functions):
    lines = [f"{declaration(function, large)} SHIM_PUBLIC(PMPI_{name});" for function in functions
             for name, large in function.forms()]
    tables.update(f"{folder}/shim_names.h", tables.generated("Prototypes of the entry points.")
                  + "#ifndef VERBENA_SHIM_NAMES_H\n#define VERBENA_SHIM_NAMES_H\n\n" + "\n".join(lines) + "\n\n#endif\n")


def switch(name, rows, default, first=""):
    cases = "\n".join(f"    case {key}: return {value};" for key, value in rows)
    return f"static inline int {name}(int value)\n{{\n{first}    switch (value) {{\n{cases}\n    default: return {default};\n" \
           "    }\n}\n"


REST = {"none": ("SHIM_INVALID", "value"), "same": ("value < 0 ? SHIM_INVALID : value", "value"), "all": ("value", "value")}


def flags(kind, values):
    """Bits that neither side knows stay, above all others, where they are invalid."""
    known = " | ".join(str(value) for value in values.values())
    there = " | ".join(f"((value & {value}) != 0 ? {name} : 0)" for name, value in values.items())
    back = " | ".join(f"((value & {name}) != 0 ? {value} : 0)" for name, value in values.items())
    unknown = f"((value & ~({known})) != 0 ? 1 << 30 : 0)"
    return f"static inline int in_{kind}(int value)\n{{\n    return ({there}) |\n        {unknown};\n}}\n" \
           f"static inline int out_{kind}(int value)\n{{\n    return {back};\n}}\n"


def error_codes(family):
    """A class that the family lacks is shown as another one; one that the standard lacks stands for itself (version.c)."""
    rows, last = [*family["errors"].items()], family["lastcode"]
    away = f"value > {last} && value - {last} < SHIM_CODES ? value - {last} + MPI_ERR_LASTCODE : " \
           "value <= 0 ? value : MPI_ERR_UNKNOWN"
    back = f"value > MPI_ERR_LASTCODE && value - MPI_ERR_LASTCODE < SHIM_CODES ? value - MPI_ERR_LASTCODE + {last} : value"
    shown = [(name, family["errors"][other]) for name, other in family["shown_as"].items()]
    foreign = [(value, 1) for value in family["foreign"].values()]
    return switch("in_ERRCODE", [(value, name) for name, value in rows] + [(last, "MPI_ERR_LASTCODE")], away) + \
        switch("shim_error_code", [*rows, *shown, ("MPI_ERR_LASTCODE", last)], back) + \
        switch("shim_is_foreign", foreign, 0)


def standard_ints():
    return {name: value for group in tables.load("constants.yaml") if "enum" in group for name, value in group["values"].items()}


def plain(row, standard):
    """Of ranks and tags, most of which are no constants: those from the least number on that is the same on both sides."""
    there = {value: standard[name] for name, value in row["values"].items()}
    least = 0
    while there.get(least - 1) == least - 1:
        least -= 1
    if row["rest"] == "none" or max([*there, *there.values()]) >= 0:
        return ""
    return f"    if (value >= {least})\n        return value;\n"


def write_values(folder, family):
    parts = [tables.generated("Values of the other ABI, there and back."),
             "#ifndef VERBENA_SHIM_VALUES_H\n#define VERBENA_SHIM_VALUES_H\n\n#include <mpi.h>\n\n#define SHIM_INVALID (-99999)",
             "#define SHIM_CODES (1 << 24) /* codes of programs are so many at most */\n"]
    parts += [f"#define F_{name[4:]} {value}" for group in ("limits", "weights") for name, value in family[group].items()]
    parts += [f"#define F_{name} {value}" for name, value in family["level"].items()]
    standard = standard_ints()
    for kind, row in family["ints"].items():
        values, (there, back) = row["values"], REST[row["rest"]]
        first = plain(row, standard)
        parts.append(switch(f"in_{kind}", [(value, name) for name, value in values.items()], there, first))
        parts.append(switch(f"out_{kind}", values.items(), back, first))
    parts += [flags(kind, values) for kind, values in family["flags"].items()]
    parts += [error_codes(family), "#endif\n"]
    tables.update(f"{folder}/shim_values.h", "\n".join(parts))


def standard_values():
    """(name, handle type) to value of all predefined handles of the standard ABI."""
    found = {}
    for group in tables.load("constants.yaml"):
        if "handle" in group and not group["handle"].startswith("MPI_T_"):
            found.update({(name, group["handle"]): value for name, value in group["values"].items()})
    for table, handle in (("datatypes.yaml", "MPI_Datatype"), ("ops.yaml", "MPI_Op")):
        rows = {row["name"]: row for row in tables.load(table)}
        found.update({(name, handle): rows[row.get("same", name)]["value"] for name, row in rows.items()})
    return found


def symbols(family, values):
    """symbol to (handle type, value of the standard ABI)."""
    found = {row["symbol"]: (handle, values[name, handle]) for handle, rows in family["handles"].items()
             for name, row in rows.items()}
    found.update({symbol: (row["of"], values[row["as"], row["of"]]) for symbol, row in family["others"].items()})
    return found


def write_symbols(folder, family):
    """Predefined handles are addresses: what lies there begins with the value of the standard ABI, in the program's copy too."""
    values = standard_values()
    found = symbols(family, values)
    named = {values[name, handle]: row["symbol"] for handle, rows in family["handles"].items() for name, row in rows.items()}
    named.update({values[row["as"], row["of"]]: symbol for symbol, row in family["others"].items() if row.get("back")})
    lines = [tables.generated("Predefined handles.") + '#include "shim.h"\n']
    lines += [f"SHIM_SYMBOL({symbol}, {value:#x}, {family['sizes'][handle]});" for symbol, (handle, value) in found.items()]
    lines += [f"SHIM_UNNAMED(unnamed_{value:x}, {value:#x});" for value in sorted({*values.values()} - named.keys())]
    rows = [f"    [{value:#x}] = &{named.get(value, f'unnamed_{value:x}')}," for value in sorted({*values.values()})]
    lines += ["\nconst void *const shim_addresses[SHIM_PREDEFINED] = {", *rows, "};"]
    for handle, handles in family["handles"].items():
        lines.append(f"const uint16_t shim_numbers_{handle[4:]}[SHIM_NUMBERS] = {{")
        rows = {row["fortran"]: values[name, handle] for name, row in handles.items() if "fortran" in row}
        lines += [f"    [{number}] = {value:#x}," for number, value in rows.items()]
        lines.append("};")
    lines.append("const int16_t shim_fortran[SHIM_PREDEFINED] = {")
    back = {values[name, handle]: row["fortran"] for handle, handles in family["handles"].items()
            for name, row in handles.items() if "fortran" in row}
    lines += [f"    [{value:#x}] = {number} + 1," for value, number in back.items()]
    tables.update(f"{folder}/shim_data.c", "\n".join([*lines, "};"]) + "\n")


def row_of(handle):
    """Where a predefined handle that is an int stands in the table of its type (mpich/family.h)."""
    return handle >> 23 & 0x180 | handle & 0x7f


def write_ints(folder, family):
    """Predefined handles are ints: tables there, one for each type, and back."""
    values, back = standard_values(), {}
    lines = [tables.generated("Predefined handles.") + '#include "shim.h"\n']
    for handle, rows in family["handles"].items():
        found = {row["int"]: values[name, handle] for name, row in rows.items()}
        back.update({value: number for number, value in found.items()})
        found.update({row["int"]: values[row["as"], handle] for row in family["others"].values() if row["of"] == handle})
        lines.append(f"const shim_row_t shim_rows_{handle[4:]}[SHIM_ROWS] = {{")
        lines += [f"    [{row_of(number):#x}] = {{{number:#x}, {value:#x}}}," for number, value in sorted(found.items())]
        lines.append("};")
    lines.append("const uint32_t shim_handles[SHIM_PREDEFINED] = {")
    lines += [f"    [{value:#x}] = {number:#x}," for value, number in sorted(back.items())]
    tables.update(f"{folder}/shim_data.c", "\n".join([*lines, "};"]) + "\n")


def hand_written(name):
    names = set()
    for path in sorted([*SHIM.glob("*.c"), *(SHIM / name).glob("*.c")]):
        names.update(HAND_WRITTEN.findall(path.read_text(encoding="utf-8")))
    return names


def main():
    name, folder = sys.argv[1:]
    family = tables.load("families.yaml")[name]
    functions = tables.functions() + tables.deleted_functions()
    write_entries(folder, functions, family["more"], hand_written(name))
    write_names(folder, functions)
    write_values(folder, family)
    (write_symbols if "sizes" in family else write_ints)(folder, family)


if __name__ == "__main__":
    main()
