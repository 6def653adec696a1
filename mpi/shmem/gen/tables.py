# SPDX-License-Identifier: Apache-2.0
"""The tables of mpi/shmem/api as objects: every function of OpenSHMEM 1.6 with its C prototype and what implements it."""
import pathlib
import re
from dataclasses import dataclass

import yaml

API = pathlib.Path(__file__).resolve().parents[1] / "api"
SIZES = (8, 16, 32, 64, 128)
TOTAL, TEMPLATES, DEPRECATED = 1685, 185, 103  # of the specification: a lost row is an error


def load(name):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((API / name).read_text(encoding="utf-8"), Loader=loader)


TYPES = load("types.yaml")["types"]
TABLES = load("types.yaml")["tables"]


@dataclass
class Function:
    name: str
    group: str
    row: dict
    type: str  # TYPENAME, or empty
    size: int  # bits, or 0
    has_ctx: bool

    def fill(self, text):
        """The row's text for this function."""
        ctype = TYPES[self.type]["c"] if self.type else ""
        for word, value in (("MPITYPE", TYPES[self.type]["mpi"] if self.type else ""), ("BYTES", str(self.size // 8)),
                            ("NAME", self.type), ("KIND", self.kind),
                            ("UNLESS_INVALID", "if (ctx == SHMEM_CTX_INVALID) return;" if self.has_ctx else ""),
                            ("CTX", "shm_ctx(ctx, FUNC)" if self.has_ctx else "&shm_default"),
                            ("FUNC", f'"{self.name}"'), ("TYPE", ctype)):
            text = re.sub(rf"(?<![A-Za-z0-9]){word}\b", value, text)
        return text

    @property
    def kind(self):
        """How a wait compares the type."""
        if not self.type:
            return ""
        row = TYPES[self.type]
        return f"{'SHM_SIGNED | ' if row.get('signed') else ''}sizeof({row['c']})"

    @property
    def returns(self):
        return self.fill(self.row.get("returns", "void"))

    @property
    def args(self):
        own = self.fill(self.row["args"])
        if not self.has_ctx:
            return own
        return "shmem_ctx_t ctx" if own == "void" else f"shmem_ctx_t ctx, {own}"

    @property
    def parameters(self):
        """Names of the arguments."""
        return [re.search(r"(\w+)$", one.strip()).group(1) for one in self.args.split(",") if one.strip() not in ("void", "...")]

    @property
    def body(self):
        """What implements it; None: it is not written yet."""
        return self.fill(self.row["do"]) if "do" in self.row else None

    @property
    def generic(self):
        """The C11 name, or None."""
        name = self.row.get("generic", True)
        if name is True:
            return self.row["form"].replace("^", "").replace("TYPE_", "") if self.type else None
        return name or None

    def prototype(self, prefix=""):
        star = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{star}{prefix}{self.name}({self.args})"

    @property
    def profiling(self):
        """The name behind which the function also stands, for profilers."""
        return "pshmem_" + self.name[len("shmem_"):] if self.name.startswith("shmem_") else "p" + self.name


def expand(group, row):
    form = row["form"]
    contexts = (False, True) if "^" in form else (False,)
    types = TABLES[row["types"]] if "types" in row else ("",)
    sizes = SIZES if "SIZE" in form else (0,)
    for has_ctx in contexts:
        for one in types:
            for size in sizes:
                name = form.replace("^", "ctx_" if has_ctx else "").replace("TYPE", one).replace("SIZE", str(size))
                yield Function(name, group, row, one, size, has_ctx)


def functions():
    """All of them; ends the program when their number is not the specification's."""
    groups = load("templates.yaml")
    result = [function for group, rows in groups.items() for row in rows for function in expand(group, row)]
    old = sum(function.group == "deprecated" for function in result)
    templates = sum(2 if "^" in row["form"] else 1 for group, rows in groups.items() if group != "deprecated" for row in rows)
    if (len(result) - old, templates, old) != (TOTAL, TEMPLATES, DEPRECATED) or len({one.name for one in result}) != len(result):
        raise SystemExit(f"templates.yaml: {len(result) - old} functions of {templates} templates and {old} deprecated ones; "
                         f"the specification has {TOTAL} of {TEMPLATES} and {DEPRECATED}")
    return result


def generics(all_functions):
    """{C11 name: functions}, each C type once: of two names of a type the one that is no other name of it, where it is there."""
    found = {}
    for function in all_functions:
        if function.generic:
            found.setdefault(function.generic, []).append(function)
    return {name: [one for one in functions if not is_repeated(one, functions)] for name, functions in found.items()}


def is_repeated(function, functions):
    same = TYPES[function.type].get("same") if function.type else None
    return any(other.type == same and other.has_ctx == function.has_ctx for other in functions) if same else False


def update(path, text):
    """Writes a generated file only when it changes, so that nothing is built in vain."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generated(purpose):
    return f"/* SPDX-License-Identifier: Apache-2.0\n * {purpose}\n * Generated from the tables of mpi/shmem/api; not edited. */\n"
