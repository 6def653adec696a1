#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the entry points of libmpi_abi: argument checks, int forms of large functions, entering
the runtime, functions not written yet.

usage: gen_entry.py FOLDER   writes FOLDER/{entry_<chapter>.c,mpi_impl.h,vbnmpi.h}
       gen_entry.py --remaining   prints how many functions are not written yet, chapter by chapter

The sources in mpi/mpi define mpi_NAME for each function that is written, always in its large form (and mpi_NAME_c beside
mpi_NAME where the table says twin: own). Which are written is read from those sources: nobody has to list them.
Of a collective there is one function, coll_NAME: it adds the collective's steps to a schedule. NAME, INAME and NAME_init are
what happens to the schedule then. For intercommunicators it is coll_inter_NAME; the entry point chooses by the communicator.
"""
import sys

import tables

EXTRA = {"Psend_init_c": "Psend_init", "Precv_init_c": "Precv_init"}  # names of the stub library, same functions
# What a function that is not written gives as its handle.
NULLS = {"COMM_OUT": "MPI_COMM_NULL", "FILE_OUT": "MPI_FILE_NULL", "GROUP_OUT": "MPI_GROUP_NULL", "INFO_OUT": "MPI_INFO_NULL",
         "ERRHANDLER_OUT": "MPI_ERRHANDLER_NULL", "REQUEST_OUT": "MPI_REQUEST_NULL", "WIN_OUT": "MPI_WIN_NULL"}
# Read what no call changes, or end the job: they do not wait for the thread that is inside the runtime.
# What opens and closes the library enters by itself.
# What calls an error handler, or reduces by itself, is outside while it does (rt/threads.h, T4).
UNLOCKED = {"Abi_get_info", "Abi_get_version", "Abort", "Comm_call_errhandler", "Comm_rank", "Comm_remote_size", "Comm_size",
            "Comm_test_inter", "File_call_errhandler", "Finalize", "Finalized", "Get_address", "Get_count", "Get_elements",
            "Get_elements_x", "Get_hw_resource_info", "Get_library_version", "Get_processor_name", "Get_version", "Group_rank",
            "Group_size", "Init", "Init_thread", "Initialized", "Is_thread_main", "Query_thread", "Session_call_errhandler",
            "Session_create_errhandler", "Session_finalize", "Session_init", "Status_get_error", "Status_get_source",
            "Status_get_tag", "Status_set_cancelled", "Status_set_elements", "Status_set_elements_x", "Status_set_error",
            "Status_set_source", "Status_set_tag", "Test_cancelled", "Type_get_extent", "Type_get_extent_x", "Type_size",
            "Type_size_x", "Win_call_errhandler"}
# Always thread-safe, also below MPI_THREAD_MULTIPLE, before MPI_Init and after MPI_Finalize (MPI 5.0, 11.4.1), where the gate of
# the runtime is for one thread: they take the lock of small objects instead (mpi/obj/lock.c).
ALWAYS = {"Abi_get_fortran_booleans", "Abi_get_fortran_info", "Abi_set_fortran_booleans", "Abi_set_fortran_info",
          "Add_error_class", "Add_error_code", "Add_error_string", "Errhandler_free", "Errhandler_set_state", "Error_class",
          "Error_string", "Info_create", "Info_create_env", "Info_delete", "Info_dup", "Info_free", "Info_get",
          "Info_get_nkeys", "Info_get_nthkey", "Info_get_string", "Info_get_valuelen", "Info_set", "Remove_error_class",
          "Remove_error_code", "Remove_error_string"}
LENGTHS = ("comm", "local", "in", "out", "root")  # of arrays, where no argument says it
WIDE_ARRAYS = {"COUNTS": "MPI_Count", "DISPLS": "MPI_Aint"}


# What an entry point does with the schedule of a collective, and its form.
FORMS = {"": ("coll_run(&coll, {})", "COLL_BLOCKING"), "I": ("coll_begin(&coll, {}, request)", "COLL_NONBLOCKING"),
         "_init": ("coll_keep(&coll, {}, info, request)", "COLL_PERSISTENT")}


NEAR = tables.written(tables.NEAR_DEFINITION)  # collectives with a short way for ranks of one node


def is_written(function, large, written):
    name = function.name + ("_c" if large and function.own_twin else "")
    return name in written or function.collective is not None


def first(function, kind):
    return next((parameter.name for parameter in function.parameters if parameter.kind == kind), None)


def check_of_groups(function, comm, inter):
    """Whether the communicator may have two groups."""
    if comm is None or not (function.intra or function.chapter == "coll"):
        return []
    if function.collective and function.collective[0] in inter:
        return []
    return [f'check_intra{"" if function.intra else "_so_far"}({comm}, "{comm}")']


def checks(function, inter, large):
    """C expressions, each MPI_SUCCESS or an error class, in the order of the parameters; communicators and windows come first."""
    comm, win = first(function, "COMM"), first(function, "WIN")
    result = [] if function.early else ["check_ready()"]
    ordered = sorted(function.parameters, key=lambda parameter: parameter.check not in ("comm", "win"))
    for parameter in ordered:
        check = parameter.check
        if (parameter.large if large else parameter.small) is None: # this form has no such argument
            continue
        if check == "rank" and comm is None and win is not None:
            check = "target"
        if not check or (check in ("rank", "source", "root") and comm is None):
            continue
        if check in ("count", "datatype") and function.chapter == "coll":
            continue  # not significant at every rank: the collective looks at what it uses
        if check == "array" and parameter.rule in ("", *LENGTHS):
            continue  # how long it is depends on the communicator, or on what other arrays say
        context = f"{win}, " if check == "target" else f"{comm}, " if check in ("rank", "source", "root") else ""
        length = f"{parameter.rule}, " if check == "array" else ""
        result.append(f'check_{check}({context}{parameter.name}, {length}"{parameter.name}")')
        if parameter.name == comm:
            result += check_of_groups(function, comm, inter)
    return result


def length_of(function, rule):
    if rule in LENGTHS[:-1]:
        return f"entry_length_{rule}({first(function, 'COMM')})"
    if rule == "root":
        return f"entry_length_root({first(function, 'COMM')}, {first(function, 'ROOT')})"
    return f"(MPI_Count){rule}"


class Call:
    """How one form calls mpi_NAME: the arguments, what must be prepared and what follows."""

    def __init__(self, function, large):
        self.before, self.after, self.arguments, self.ends = [], [], [], []
        for parameter in function.parameters:
            if parameter.small is None and not large and not function.own_twin:
                raise ValueError(f"{function.name}: {parameter.name} has no int form; the row needs twin: own")
            if (parameter.large if large else parameter.small) not in (None, "..."):
                self.add(function, parameter, large or function.own_twin)

    def add(self, function, parameter, plain):
        name = parameter.name
        if plain or not parameter.widened or parameter.kind in ("COUNT", "COUNT_ANY", "STRIDE", "AINT_COUNT"):
            self.arguments.append(name)
        elif parameter.kind in WIDE_ARRAYS:
            self.before.append(f"    entry_wide_t {name}_w = {{0}};")
            self.before.append(f"    if (rc == MPI_SUCCESS)\n        rc = entry_widen(&{name}_w, {name}, "
                               f"{length_of(function, parameter.rule)});")
            self.arguments.append(f"(const {WIDE_ARRAYS[parameter.kind]} *){name}_w.values")
            self.ends.append(f"    entry_narrow_end(&{name}_w);")
        elif parameter.kind in ("COUNT_OUT", "COUNT_INOUT"):
            start = f"rc == MPI_SUCCESS ? *{name} : 0" if parameter.kind == "COUNT_INOUT" else "0"
            self.before.append(f"    MPI_Count {name}_w = {start};")
            self.arguments.append(f"&{name}_w")
            self.after.append(f"        *{name} = entry_narrow({name}_w);")
        elif parameter.kind == "DISP_UNIT_OUT":
            self.before.append(f"    MPI_Aint {name}_w = 0;")
            self.arguments.append(f"&{name}_w")
            self.after.append(f"        *{name} = entry_narrow({name}_w);")
        else:  # types of equal size: MPI_Aint and MPI_Count
            target = parameter.large.replace(name, "").replace("[]", "*").strip()
            self.arguments.append(f"({target}){name}")


def collective_call(function, arguments, comm, inter):
    name, form = function.collective
    use, counted = FORMS[form]
    own = ", ".join(["&coll", *(one for one in arguments.split(", ") if one not in ("info", "request"))])
    steps = f"coll_{name}({own})"
    if name in inter:
        steps = f"comm_is_inter(coll.comm) ? coll_inter_{name}({own}) : {steps}"
    near = f"(rc = coll_near_{name}({arguments})) != COLL_FAR ? rc : " if name in NEAR and form == "" else ""
    opens = f'coll_open(&coll, {comm}, {counted}, "MPI_{function.name}")'
    return near + f"(rc = {opens}) != MPI_SUCCESS ? rc : {use.format(steps)}"


def call_of(function, suffix, arguments, comm, inter):
    if function.collective:
        return collective_call(function, arguments, comm, inter)
    return f"mpi_{function.name}{suffix}({arguments})"


def raise_of(function, comm, name):
    """What an error does: the handler of the object that the call is about, or of the one that it should have made."""
    session, handler = first(function, "SESSION"), first(function, "ERRHANDLER")
    win, ending = first(function, "WIN"), first(function, "WIN_INOUT")
    if function.chapter == "tool":
        return "rc" # tools get codes, no handler is called
    if function.chapter == "io":
        return f'err_raise_file("MPI_{name}", rc)'
    if win or ending:
        return f'err_raise_win({win or f"{ending} == NULL ? MPI_WIN_NULL : *{ending}"}, "MPI_{name}", rc)'
    if comm is None and session:
        return f'err_raise_session({session}, "MPI_{name}", rc)'
    if comm is None and handler:
        return f'err_raise_by({handler}, "MPI_{name}", rc)'
    return f'err_raise({comm or "MPI_COMM_NULL"}, "MPI_{name}", rc)'


def is_watched(function):
    """Blocking collectives, and what makes communicators and windows by several of them: ranks that wait in one ask each other."""
    if function.collective is not None:
        return function.collective[1] == ""
    kinds = {parameter.kind for parameter in function.parameters}
    return first(function, "COMM") is not None and function.name != "Comm_create_group" and \
        bool(kinds & {"COMM_OUT", "WIN_OUT"}) and "REQUEST_OUT" not in kinds


def body(function, name, large, inter):
    comm = first(function, "COMM")
    call = Call(function, large)
    suffix = "_c" if large and function.own_twin else ""
    conditions = checks(function, inter, large)
    lines = ["    int rc = MPI_SUCCESS;"]
    if function.collective:
        lines.append("    coll_t coll;")
    for condition in conditions:
        lines.append(f"    if (rc == MPI_SUCCESS)\n        rc = {condition};")
    lines += call.before
    target = call_of(function, suffix, ", ".join(call.arguments), comm, inter)
    if function.name in UNLOCKED:
        lines.append(f"    if (rc == MPI_SUCCESS)\n        rc = {target};")
    else:
        enter, leave = ("obj_lock", "obj_unlock") if function.name in ALWAYS else ("rt_enter", "rt_leave")
        blocks = is_watched(function)
        before = f'        coll_enter({comm}, "MPI_{function.name}");\n' if blocks else ""
        after = f"        coll_leave({comm});\n" if blocks else ""
        lines.append(f"    if (rc == MPI_SUCCESS) {{\n        {enter}();\n{before}        rc = {target};\n{after}"
                     f"        {leave}();\n    }}")
    if function.chapter == "dt" and function.has_large and not large and first(function, "DATATYPE_OUT"):
        call.after.append(f"        dt_note_small(*{first(function, 'DATATYPE_OUT')});")
    if call.after:
        lines += ["    if (rc == MPI_SUCCESS) {", *call.after, "    }"]
    lines += call.ends
    lines.append(f"    return rc == MPI_SUCCESS ? rc : {raise_of(function, comm, name)};")
    return "\n".join(lines)


def unwritten(function, name):
    """The class of a function that is not there; its handles are null ones, for programs that do not look."""
    lines = [f"    (void)({parameter.name});" for parameter in function.parameters if parameter.small != "..."]
    lines += [f"    if ({parameter.name} != NULL)\n        *{parameter.name} = {NULLS[parameter.kind]};"
              for parameter in function.parameters if parameter.kind in NULLS]
    lines.append(f'    const int rc = err_unsupported("MPI_{name}");')
    own = function.chapter in ("io", "tool")
    comm = first(function, "COMM") or "MPI_COMM_NULL" # an error handler is not looked at
    raised = raise_of(function, None, name) if own else f'err_raise({comm}, "MPI_{name}", rc)'
    lines.append(f"    return {raised};")
    return "\n".join(lines)


def unwritten_parameters(function, large):
    return [p for p in function.parameters if (p.large if large else p.small) is not None]


def entry(function, name, large, written, inter):
    declaration = function.declaration("PMPI_", large)
    if not is_written(function, large, written):
        shown = type("Shown", (), {**vars(function), "parameters": unwritten_parameters(function, large)})
        text = unwritten(shown, name)
    elif function.returns != "int" or function.name.endswith("_toint"): # they give values, not error codes
        arguments = ", ".join(parameter.name for parameter in function.parameters)
        text = f"    return mpi_{function.name}({arguments});"
    else:
        text = body(function, name, large, inter)
    if function.private:
        return f"{declaration.replace('PMPI_', 'vbnmpi_', 1)}\n{{\n{text}\n}}\n"
    return f"{declaration}\n{{\n{text}\n}}\n{aliases(declaration, name)}"


def aliases(declaration, name, strong=""):
    """The other names of PMPI_<name>: the weak one, and the private one, which no tool and no shim takes over."""
    weak, private = (declaration.replace("PMPI_", prefix, 1) for prefix in ("MPI_", "vbnmpi_"))
    return f'{strong}{weak} __attribute__((weak, alias("PMPI_{name}")));\n{private} __attribute__((alias("PMPI_{name}")));\n'


def other_names(function):
    """A deleted function that is one of today by its old name."""
    declaration = function.declaration("PMPI_", False)
    yield aliases(declaration, function.same, f'{declaration} __attribute__((alias("PMPI_{function.same}")));\n')


def extra_entries(functions):
    for name, target in EXTRA.items():
        function = next(one for one in functions if one.name == target)
        declaration = function.declaration("PMPI_", True).replace(target, name, 1)
        yield aliases(declaration, target, f'{declaration} __attribute__((alias("PMPI_{target}")));\n')


def write_entries(folder, functions, written, inter):
    for chapter in sorted({function.chapter for function in functions}):
        rows = [function for function in functions if function.chapter == chapter]
        parts = [tables.generated(f"Entry points of the chapter {chapter}: check arguments, call mpi_NAME, raise errors."),
                 '#include "entry/check.h"\n#include "err/err.h"\n#include "mpi_impl.h"\n#include "vbnmpi.h"\n']
        parts += [function.declaration("PMPI_", False) + ";\n" for function in rows if function.deleted and not function.same]
        parts += [entry(function, name, large, written, inter) for function in rows if not function.same
                  for name, large in function.forms()]
        parts += [text for function in rows if function.same for text in other_names(function)]
        if chapter == "p2p":
            parts += extra_entries(functions)
        tables.update(f"{folder}/entry_{chapter}.c", "\n".join(parts))


def write_private_prototypes(folder, functions):
    """What shims call: every function by its private name."""
    lines = [function.declaration("vbnmpi_", large) + ";" for function in functions for _, large in function.forms()]
    tables.update(f"{folder}/vbnmpi.h", tables.generated("Private names of all functions, for the shims of other ABIs.")
                  + "#ifndef VERBENA_VBNMPI_H\n#define VERBENA_VBNMPI_H\n\n#include <mpi.h>\n\n"
                  + "\n".join(lines) + "\n\n#endif\n")


def write_prototypes(folder, functions, inter):
    lines = [tables.generated("Prototypes of what mpi/mpi implements; internals never call MPI_* functions."),
             "#ifndef VERBENA_MPI_IMPL_H\n#define VERBENA_MPI_IMPL_H\n\n#include <mpi.h>\n\nstruct coll;\n"]
    for function in functions:
        forms = [False, True] if function.own_twin else [True]
        for large in forms:
            declaration = function.declaration("mpi_", large)
            lines.append(declaration if function.own_twin else declaration.replace("_c(", "(", 1)
                         if function.has_large else declaration)
            lines[-1] += ";"
            if function.collective and function.collective[1] == "":
                lines[-1] = lines[-1].replace("mpi_", "coll_", 1).replace("(", "(struct coll *coll, ", 1)
                steps = lines[-1]
                if function.name in inter:
                    lines.append(steps.replace("coll_", "coll_inter_", 1))
                if function.name in NEAR:
                    lines.append(steps.replace("struct coll *coll, ", "", 1).replace("coll_", "coll_near_", 1))
    tables.update(f"{folder}/mpi_impl.h", "\n".join(lines) + "\n\n#endif\n")


def remaining(functions, written):
    """Prints, chapter by chapter, how many exported functions are not written yet."""
    total = left = 0
    for chapter in dict.fromkeys(function.chapter for function in functions):
        forms = [(function, large) for function in functions if function.chapter == chapter
                 for _, large in function.forms()]
        missing = sum(not is_written(function, large, written) for function, large in forms)
        total, left = total + len(forms), left + missing
        print(f"  {chapter:<9} {len(forms) - missing:4} of {len(forms):4} written")
    print(f"MPI functions: {total - left} of {total} written, {left} remain")


def main():
    functions = tables.functions()
    deleted, private = tables.deleted_functions(), tables.private_functions()
    written = tables.written()
    inter = tables.written(tables.INTER_DEFINITION)
    unknown = written - {name for function in functions + deleted + private
                         for name, _ in function.forms()}
    if unknown:
        sys.exit(f"gen_entry.py: mpi/mpi defines mpi_{sorted(unknown)[0]}, but functions.yaml has no such function")
    if sys.argv[1] != "--remaining":
        write_entries(sys.argv[1], functions + deleted + private, written, inter)
        write_prototypes(sys.argv[1], functions + [one for one in deleted if not one.same] + private, inter)
        write_private_prototypes(sys.argv[1], functions + deleted + private)
    remaining(functions, written)


if __name__ == "__main__":
    main()
