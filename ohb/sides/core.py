# SPDX-License-Identifier: Apache-2.0
"""The core rows: vbn_perf measures both sides in turns; with --blocks 1 each of its JSON lines is one paired block."""
import json
import os

from driver.procs import Failed, Process

FIELDS = {"row": str, "transport": str, "size": (int, float), "metric": str, "unit": str, "ours": (int, float),
          "raw": (int, float)}


def program(root):
    """Path of vbn_perf, or None."""
    folders = [os.environ.get("VERBENA_NATIVE_BIN"), os.path.join(root, ".verbena", "build", "release")]
    for folder in filter(None, folders):
        path = os.path.join(folder, "vbn_perf")
        if os.access(path, os.X_OK):
            return path
    return None


def better(unit):
    """Rates (per second) are better when higher, everything else when lower."""
    return "higher" if unit.rstrip().endswith("/s") else "lower"


def parse(line):
    """A checked paired block, or None when the line is not JSON (a table, a comment)."""
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise Failed(f"vbn_perf printed a broken line ({error}): {line[:200]}") from None
    for field, kind in FIELDS.items():
        if not isinstance(entry.get(field), kind) or isinstance(entry.get(field), bool):
            raise Failed(f"vbn_perf printed a line without a usable '{field}': {line[:200]}")
    if entry["ours"] <= 0 or entry["raw"] <= 0:
        raise Failed(f"vbn_perf measured nothing: {line[:200]}")
    return entry


def metric_name(entry):
    """Name of the cell, as it stands in the result: row.transport.size.metric, without "core." and blanks."""
    name = f"{entry['row']}.{entry['transport']}.{entry['size']:g}.{entry['metric']}"
    return name.removeprefix("core.").replace(" ", "-")


def belongs(entry, row):
    """True when a cell is part of the row: core is all, core.am is core.am.latency and core.am.rate."""
    return row == "core" or (entry["row"] + ".").startswith(row + ".")


def run(root, log, options=("--blocks", "1"), timeout=300):
    """Runs the program once; the list of its paired blocks."""
    path = program(root)
    if not path:
        raise Failed("the program vbn_perf is not built: run ./verbena build native")
    process = Process("vbn_perf", [path, *options], log, lines=True)
    entries = []
    try:
        while True:
            try:
                line = process.line(timeout)
            except Failed:
                if process.wait(1) == 0:
                    return entries
                raise
            entry = parse(line)
            if entry:
                entries.append(entry)
    finally:
        process.stop()
