# SPDX-License-Identifier: Apache-2.0
"""The table of suites (tests/suites.yaml): what is read, and what is refused."""
import dataclasses
import re
import sys

try:
    import yaml
except ImportError:
    sys.exit("verbena: test: this Python has no yaml: install python3-yaml (python3-pyyaml on RHEL, python3-PyYAML on SLES)")

TIERS = ("quick", "default", "full")  # each holds the tiers before it
LIMIT = 2700  # seconds after which a suite is ended that says no other limit


class Wrong(Exception):
    """The table contradicts itself; the text says where."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """What products and suites have in common. needs: names of products. budget: CPU seconds. holds: {count that the output
    names: the most it may be}, of a suite without --full. exclusive: things that one entry at a time may have. load: share of
    the places to run at. limit: seconds after which it is ended. linger: seconds that a process which outlives it has, before
    it is named and killed."""
    name: str
    needs: tuple = ()
    inputs: tuple = ()
    budget: int = 0
    holds: dict = dataclasses.field(default_factory=dict)
    exclusive: tuple = ()
    load: int = 1
    limit: int = LIMIT
    linger: int = 10


@dataclasses.dataclass(frozen=True)
class Product(Entry):
    """Something that suites need, made by './verbena make NAME'."""


@dataclasses.dataclass(frozen=True)
class Suite(Entry):
    """One program of tests. run: its command line; whole: words more where all of it runs. kind: how a test in it is named
    (kinds.py). env: variables. full_needs: products more with --full. models: with --stress it runs once with each of the
    slower cost models. ctest: of the kind ctest, the build folder, what select chooses of it, and where its tests are."""
    part: str = ""
    tier: str = "default"
    kind: str = "program"
    run: tuple = ()
    whole: tuple = ()
    full_needs: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    models: bool = False
    ctest: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Table:
    products: dict
    suites: dict

    @property
    def parts(self):
        return list(dict.fromkeys(suite.part for suite in self.suites.values()))

    def needed(self, entry):
        """Names of all products that an entry needs, also through others."""
        found = []
        for name in entry.needs:
            found += [one for one in (*self.needed(self.products[name]), name) if one not in found]
        return found


def made(kind, name, fields):
    """An entry of the table from its YAML mapping."""
    known = {field.name for field in dataclasses.fields(kind)} - {"name"}
    if unknown := set(fields) - known:
        raise Wrong(f"{name}: unknown field '{sorted(unknown)[0]}' (one of: {', '.join(sorted(known))})")
    return kind(name=name, **{key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()})


def check(table):
    """Raises Wrong where a name is used that does not exist, or a product needs itself."""
    for entry in (*table.products.values(), *table.suites.values()):
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", entry.name):
            raise Wrong(f"'{entry.name}' is no name of small letters, digits and dashes")
        if missing := [name for name in (*entry.needs, *getattr(entry, "full_needs", ())) if name not in table.products]:
            raise Wrong(f"{entry.name} needs '{missing[0]}', which is no product")
    for suite in table.suites.values():
        if suite.tier not in TIERS:
            raise Wrong(f"{suite.name}: unknown tier '{suite.tier}' (one of: {', '.join(TIERS)})")
        if not suite.part or not suite.inputs or (not suite.run and suite.kind == "program"):
            raise Wrong(f"{suite.name} lacks a part, inputs, or a command (run)")
    for name in table.products:
        check_circle(table, name, ())


def check_circle(table, name, above):
    if name in above:
        raise Wrong(f"product {name} needs itself: {' needs '.join((*above, name))}")
    for need in table.products[name].needs:
        check_circle(table, need, (*above, name))


def in_full(table):
    """Long forms need more, and what holds for the short ones does not hold for them."""
    return Table(table.products, {name: dataclasses.replace(suite, needs=(*suite.needs, *suite.full_needs), holds={})
                                  for name, suite in table.suites.items()})


def read(path, full=False):
    """The table of a file; full: of the suites' long forms. Raises Wrong."""
    try:
        content = yaml.safe_load(path.read_text())
        table = Table({name: made(Product, name, fields or {}) for name, fields in content["products"].items()},
                      {name: made(Suite, name, fields or {}) for name, fields in content["suites"].items()})
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise Wrong(f"{path}: {error}") from None
    check(table)
    return in_full(table) if full else table
