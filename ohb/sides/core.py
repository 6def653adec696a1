# SPDX-License-Identifier: Apache-2.0
"""The core rows: vbn-perf measures both sides in turns; with --blocks 1 each of its JSON lines is one paired block. And
core.jni: the same operation from Java and from C."""
import glob
import json
import os
import re
import shutil
import subprocess

from driver import noise
from driver.procs import Failed, Process
from sides import spark

FIELDS = {"row": str, "transport": str, "size": (int, float), "metric": str, "unit": str, "ours": (int, float),
          "raw": (int, float)}


def program(root):
    """Path of vbn-perf, or None."""
    return _executable(os.environ.get("VERBENA_NATIVE_BIN")) or built_program(root)


def built_program(checkout):
    """Path of the vbn-perf that was built in a checkout, or None."""
    return _executable(os.path.join(checkout, ".verbena", "build", "release"))


def _executable(folder):
    path = os.path.join(folder or "", "vbn-perf")
    return path if folder and os.access(path, os.X_OK) else None


def pypi_ucx():
    """Folder of PyPI's UCX, or None."""
    installed = os.environ.get("VERBENA_UCX")
    found = glob.glob(os.path.join(glob.escape(installed), "lib", "python3*", "site-packages", "libucx")) if installed else []
    return found[0] if found else None


def ucx_versions(cells):
    """{"ucx": Debian's version, "pypi-ucx": PyPI's} of those with cells, as the loaded libraries say."""
    pypi, found = pypi_ucx(), {}
    for name, folder, more in (("ucx", "/usr", {}), ("pypi-ucx", pypi, {"LD_LIBRARY_PATH": f"{pypi}/lib"})):
        if any(cell.startswith(name + ".") for cell in cells):
            said = re.search(r"[Vv]ersion:? (\d+(\.\d+)+)", _said([f"{folder}/bin/ucx_info", "-v"], more))
            found[name] = said[1] if said else "unknown"
    return found


def _said(argv, more):
    """What a program prints; nothing where it does not run, or does not end: the row's result is worth more than a version."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=60, check=False,
                              env={**os.environ, **more}).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


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
        raise Failed(f"vbn-perf printed a broken line ({error}): {line[:200]}") from None
    for field, kind in FIELDS.items():
        if not isinstance(entry.get(field), kind) or isinstance(entry.get(field), bool):
            raise Failed(f"vbn-perf printed a line without a usable '{field}': {line[:200]}")
    if entry["ours"] <= 0 or entry["raw"] <= 0:
        raise Failed(f"vbn-perf measured nothing: {line[:200]}")
    return entry


def metric_name(entry):
    """Name of the cell, as it stands in the result: row.transport.size.metric[.placement], without "core." and blanks."""
    name = f"{entry['row']}.{entry['transport']}.{entry['size']:.12g}.{entry['metric']}"
    place = f".{entry['placement']}" if entry.get("placement") else ""
    return name.removeprefix("core.").replace(" ", "-") + place


def belongs(entry, row):
    """True when a cell is part of the row: core is all, core.am is core.am.latency and core.am.rate."""
    return row == "core" or (entry["row"] + ".").startswith(row + ".")


def _words(cpu, path):
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/{path}") as file:
            return file.read().strip()
    except OSError:
        return ""


def _distance(first, second):
    """smt: one core; near: one last-level cache; far: neither. What the machine (or its hypervisor) says."""
    def alike(path):
        return _words(first, path) != "" and _words(first, path) == _words(second, path)

    if alike("topology/thread_siblings_list"):
        return "smt"
    caches = [index for index in range(8) if _words(first, f"cache/index{index}/level")]
    return "near" if not caches or alike(f"cache/index{caches[-1]}/shared_cpu_list") else "far"


def placements(cpus=None, distance=_distance):
    """[(label, "cpu,cpu")]: one pair of processors near to each other and one far, as far as there are such."""
    cpus = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    found = {}
    for other in cpus[1:]:
        found.setdefault(distance(cpus[0], other), f"{cpus[0]},{other}")
    wanted = [label for label in ("near", "far") if label in found] or list(found)
    return [(label, found[label]) for label in wanted] or [("one-cpu", f"{cpus[0]},{cpus[0]}")]


def pairs(root, log, row, scale):
    """Every cell of the row once: ours and raw, measured one after the other."""
    entries, ucx = [], pypi_ucx()
    rival = ["--pypi-ucx", ucx] if ucx else []
    if not row.startswith("core.jni"):
        for label, cpus in placements():
            options = ["--blocks", "1", "--scale", str(scale), "--cpus", cpus, *rival]
            entries += [{**entry, "placement": label} for entry in run(root, log, options) if belongs(entry, row)]
    if row == "core" or row.startswith("core.jni"):
        entries += jni_pairs(root, log, scale)
    return entries


def pairs_against(root, other, log, row, scale, index):
    """Every cell of the row as this checkout and another one measure it; which comes first changes with the pair."""
    entries = []
    for label, cpus in placements():
        options = ["--blocks", "1", "--scale", str(scale), "--cpus", cpus]
        found = {}
        for path in (built_program(other), program(root))[::-1 if index % 2 else 1]:
            found[path] = {metric_name(entry): entry for entry in run(root, log, options, path=path) if belongs(entry, row)}
        before, now = found[built_program(other)], found[program(root)]
        entries += [{**now[name], "raw": before[name]["ours"], "placement": label} for name in now if name in before]
    return entries


def jni_pairs(root, log, scale):
    """The same operation issued from Java and from C; nothing when Java's side is not built."""
    jar = spark.plugin_jar(root)
    java = shutil.which(os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")) or shutil.which("java")
    if not jar or not java:
        return []
    bare = {entry["name"]: entry for entry in json_lines(
        [program(root), "--self", "--blocks", "1", "--scale", str(scale)], log)}
    command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", jar, "org.verbena.core.bench.JniBench"]
    ours = {entry["name"].removeprefix("jni."): entry for entry in json_lines(command, log)}
    return [{"row": "core.jni", "transport": "self", "size": 8, "metric": name, "unit": "ns",
             "ours": ours[name]["value"], "raw": bare[name]["value"]} for name in ours if name in bare]


def json_lines(command, log, timeout=180, environment=None, found=None):
    """What a program prints, line by line as JSON, once it has ended well. found: a list that gets the lines in any case."""
    process = Process(os.path.basename(command[0]), command, log, env=environment, lines=True)
    lines = [] if found is None else found
    try:
        while True:
            try:
                lines.append(json.loads(process.line(timeout)))
            except Failed:
                if process.wait(1) == 0:
                    return lines
                raise
    except ValueError as error:
        raise Failed(f"{command[0]} printed a broken line: {error}") from None
    finally:
        process.stop()


def blocks(entries, index, seconds, guard):
    """Both halves of pair `index` as they stand in the result file. All its cells share one look at the machine."""
    shared = {"seed": 1 + index, "seconds": round(seconds, 6), "errors": 0, "noise": guard,
              "marked": noise.is_marked(guard)}
    return [{"side": side, "index": 2 * index + place, **shared,
             "metrics": {metric_name(entry): entry[field] for entry in entries}}
            for place, (side, field) in enumerate((("a", "raw"), ("b", "ours")))]


def run(root, log, options=("--blocks", "1"), timeout=300, path=None):
    """Runs the program once (path: another one than the root's); the list of its paired blocks."""
    path = path or program(root)
    if not path:
        raise Failed("the program vbn-perf is not built: run ./verbena build native")
    process = Process("vbn-perf", [path, *options], log, lines=True)
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
