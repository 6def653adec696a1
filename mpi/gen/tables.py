# SPDX-License-Identifier: Apache-2.0
"""The tables of mpi/api as objects: functions with their C prototypes in both forms, constants, datatypes, errors."""
import pathlib
import re
from dataclasses import dataclass, field

import yaml

API = pathlib.Path(__file__).resolve().parents[1] / "api"
SOURCES = pathlib.Path(__file__).resolve().parents[1] / "mpi"
# What the sources of mpi/mpi define for the function NAME of the standard: a function mpi_NAME at the start of a line.
DEFINITION = re.compile(r"^(?:int|double|MPI_\w+) mpi_([A-Z]\w*)\(", re.MULTILINE)
# Of a collective in all forms: the function that adds its steps to a schedule.
COLLECTIVE_DEFINITION = re.compile(r"^int coll_([A-Z]\w*)\(", re.MULTILINE)
# The same for intercommunicators.
NEAR_DEFINITION = re.compile(r"^int coll_near_([A-Z]\w*)\(", re.MULTILINE)
INTER_DEFINITION = re.compile(r"^int coll_inter_([A-Z]\w*)\(", re.MULTILINE)


def load(name):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((API / name).read_text(encoding="utf-8"), Loader=loader)


@dataclass
class Parameter:
    name: str
    kind: str
    rule: str  # how long an array is; empty when that is not needed
    small: str  # C declaration in the int form; None: it has no such parameter
    large: str
    check: str

    @property
    def widened(self):
        return self.small != self.large


@dataclass
class Function:
    name: str
    chapter: str
    returns: str
    has_large: bool
    own_twin: bool  # both forms are written by hand
    early: bool
    deprecated: str
    intra: bool  # takes no intercommunicators
    collective: tuple = None  # (NAME, form) where mpi/mpi has coll_NAME: the form is "", "I" or "_init"
    parameters: list = field(default_factory=list)
    deleted: bool = False  # from the standard: no header declares it
    same: str = ""  # of a deleted one: the function whose code it is
    private: bool = False  # for shims of other ABIs only: exported as vbnmpi_NAME

    def declaration(self, prefix, large):
        """The prototype without its semicolon, e.g. declaration("PMPI_", True)."""
        shown = [parameter.large if large else parameter.small for parameter in self.parameters]
        suffix = "_c" if large and self.has_large else ""
        arguments = ", ".join(one for one in shown if one) or "void"
        return f"{self.returns} {prefix}{self.name}{suffix}({arguments})"

    def forms(self):
        """(name, is the large form) of each exported function of this row."""
        yield self.name, False
        if self.has_large:
            yield self.name + "_c", True


def declare(pattern, name):
    return pattern if pattern in (None, "...") else pattern.replace("%", name)


def make_parameter(kinds, name, text):
    kind, rule = re.fullmatch(r"(\w+)(?:\((\w+)\))?", text).groups()
    row = kinds[kind]
    small = declare(row["c"], name)
    large = declare(row.get("large", row["c"]), name)
    return Parameter(name, kind, rule or "", small, large, row.get("check", ""))


def form_of(name, collectives):
    """(NAME, form) of a collective that is made of coll_NAME; None: it is not."""
    forms = {name: ""}
    if name[0] == "I":
        forms[name[1:].capitalize()] = "I"
    if name.endswith("_init"):
        forms[name[:-len("_init")]] = "_init"
    return next(((base, form) for base, form in forms.items() if base in collectives), None)


def read_functions(name, deleted=False, private=False):
    collectives = written(COLLECTIVE_DEFINITION)
    kinds = load("kinds.yaml")
    result = []
    for chapter, rows in load(name).items():
        for row in rows:
            parameters = [make_parameter(kinds, name, text) for name, text in (row.get("args") or {}).items()]
            result.append(Function(row["name"], chapter, row.get("returns", "int"), row.get("large", False),
                                   row.get("twin") == "own", row.get("early", False),
                                   str(row.get("deprecated", "")), row.get("intra", False),
                                   form_of(row["name"], collectives), parameters, deleted, row.get("same", ""), private))
    return result


def functions():
    """Those of the standard."""
    return read_functions("functions.yaml")


def deleted_functions():
    """Those that the standard had once."""
    return read_functions("deleted.yaml", deleted=True)


def private_functions():
    """Those that only shims of other ABIs call."""
    return read_functions("private.yaml", private=True)


def written(pattern=DEFINITION):
    """Names of the functions that mpi/mpi implements."""
    names = set()
    for path in sorted(SOURCES.rglob("*.c")):
        names.update(pattern.findall(path.read_text(encoding="utf-8")))
    return names


def update(path, text):
    """Writes a generated file only when it changes, so that nothing is built in vain."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generated(purpose):
    return f"/* SPDX-License-Identifier: Apache-2.0\n * {purpose}\n * Generated from the tables of mpi/api; not edited. */\n"
