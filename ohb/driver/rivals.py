# SPDX-License-Identifier: Apache-2.0
"""Rows with several stock sides: each is measured beside ours in pairs of its own, and the best of them counts.

Each stock side gets an entry of its own in the document, named ROW.SIDE, with its blocks; the row's own entry holds, cell
by cell, the summary of the best one.
"""
import dataclasses
import html
import json
import time

from driver import blocks, stats, verdicts
from driver.procs import Failed, Killed
from sides import mpi, mpi_rma, ranks, shmem, spark

FAMILIES = {"mpi.messages": mpi, "mpi.rma": mpi_rma, "shmem": shmem}  # by a row's name
BEST = "best"  # in the place of a stock side's name: the entry of the row itself


def family(name):
    """The module of a row's libraries, by the name of the row or of an entry of one of its sides."""
    return FAMILIES.get(name) or FAMILIES[_row(name)]


def _row(name):
    """The row of an entry ROW.SIDE."""
    return name.rpartition(".")[0]


def _peers(row, root):
    """The stock sides of a row, or the other checkout in their place."""
    sides = family(row.name)
    return [sides.before(row.against)] if row.against else sides.peers(root)


def measure(runner, row, entry, part):
    """Rounds of pairs, at least one, until all are done or another one would end after the row's limit."""
    entry["params"]["peer"] = BEST
    sides = family(row.name)
    ours = sides.Bench(sides.ours(runner.root), runner.root, runner.work)
    found = _build(runner, row)
    try:
        _rounds(runner, row, entry, part, ours, found)
    except (Failed, Killed) as problem:
        for _, own in found:
            if own["status"] == "complete":
                own["status"] = "killed" if isinstance(problem, Killed) else "failed"
                own["notes"].append(f"the row ended early: {problem}")
        raise
    done = [own for _, own in found if own["status"] == "complete"]
    if not done:
        failures = [note for run in runner.document["runs"] if run["status"] == "failed" for note in run["notes"]]
        raise Failed("every stock library failed: " + "; ".join(failures))
    _conclude(row, entry, done)


def _rounds(runner, row, entry, part, ours, found):
    start, took = time.monotonic(), 0
    for number in range(runner.pairs):
        if number and time.monotonic() - start + took > entry["params"]["limit_s"]:
            entry["notes"].append(f"{number} of {runner.pairs} pairs: the row's time limit ended it")
            break
        began = time.monotonic()
        for bench, own in found[number % max(1, len(found)):] + found[:number % max(1, len(found))]:
            _pair(ours, bench, own, number, part)
        took = time.monotonic() - began
        spark.note(f"{row.name}: pair {number + 1} of {runner.pairs} beside {len(found)} libraries, {took:.0f} s")


def _side(name, version):
    return {"name": name, "command": "the library's benchmark", "settings": {}, "versions": version, "carrier": None}


def _build(runner, row):
    """[(bench, entry)] of the stock sides that are here; the others are in the document as skipped."""
    found = []
    for peer in _peers(row, runner.root):
        own = runner.entry(dataclasses.replace(row, name=f"{row.name}.{peer.name}", stock=peer.title, metric=None),
                           {"peer": peer.name})
        runner.document["runs"].append(own)
        lacking = peer.missing()
        if lacking:
            own["status"] = "skipped"
            own["notes"].append(lacking)
            continue
        try:
            found.append((family(row.name).Bench(peer, row.against or runner.root, runner.work), own))
            own["sides"] = {"a": _side(peer.title, {peer.name: peer.version()}), "b": _side("verbena", {})}
        except Failed as failure:
            own["status"] = "failed"
            own["notes"].append(str(failure))
    return found


def _pair(ours, bench, own, number, part):
    """Both halves one after the other; which comes first changes with the pair. A stock side that fails is out."""
    if own["status"] != "complete":
        return
    halves = []
    for index, side in blocks.halves(number):
        try:
            halves.append(blocks.measure((bench if side == "a" else ours).block, side, index, 1 + number))
        except Failed as failure:
            if side == "b":
                raise
            own["status"] = "failed"
            own["notes"].append(str(failure))
            return
    own["blocks"] += halves
    for block in halves:
        part.write(json.dumps({"row": own["row"], **block}) + "\n")
    part.flush()


def _conclude(row, entry, done):
    for own in done:
        sides = family(own["row"])
        own["result"] = {name: {**summary, "unit": sides.UNITS[name.split(".")[0]], "better": sides.better(name)}
                         for name, summary in blocks.reduce(own["blocks"]).items()}
        own["verified"] = True  # the benchmark looks at what was delivered
        own["notes"] += [f"form {form} {why}" for form, why in _refused(own).items()]
    best = best_of(done)
    entry["result"] = {name: own["result"][name] for name, own in best.items()}
    entry["headline"] = verdicts.headline(entry["result"], row.metric)
    names = {name: own["params"]["peer"] for name, own in best.items()}
    versions = {key: value for own in done for key, value in own["sides"]["a"]["versions"].items()}
    title = row.stock if row.against else "the best of the stock libraries, cell by cell"
    entry["sides"] = {"a": {**_side(title, versions), "settings": {"best": names}},
                      "b": _side("verbena", {})}


def _refused(own):
    """{form: why} of those that a stock library did not run to their ends."""
    return {form: why for block in own["blocks"] for form, why in block["details"].get("refused", {}).items()}


def best_of(entries):
    """{cell: the entry of the stock side with the best median}, in the order in which cells are measured."""
    found = {}
    for own in entries:
        for name, summary in own["result"].items():
            value = summary["a_median"]
            known = found[name]["result"][name]["a_median"] if name in found else None
            if value is not None and (known is None or (value < known) == (summary["better"] == "lower")):
                found[name] = own
    return {name: found[name] for own in entries for name in own["result"] if name in found}


# ------------------------------------------------------------------------------------------------------------ table

def _number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(summary):
    if summary["ratio"] is not None:
        return f"{summary['ratio']:.2f}"
    return f"~{summary['ratio_all']:.2f}" if summary.get("ratio_all") else "-"


def _verdict(name, entries, best, value):
    """Ratio to the library that counts, its spread, and whether the promise is kept, of the ratio or of our own value."""
    sides = family(best[name]["row"])
    is_before = best[name]["params"]["peer"] == ranks.BEFORE  # what we promise is about stock
    promised, against = (None if is_before else sides.target(name)) or (None, None)
    most = None if is_before else sides.MOST.get(ranks.bare(name))
    own = next((own for own in entries if own["params"]["peer"] == against), best[name])
    summary = own["result"].get(name) or best[name]["result"][name]
    spread = f"[{summary['lo']:.2f} .. {summary['hi']:.2f}]" if summary["ratio"] is not None else ""
    if most is not None:
        return [own["params"]["peer"], _ratio(summary), spread, f"<= {most:g} {summary['unit']}",
                "held" if value <= most else "missed"]
    if promised is None:
        return [own["params"]["peer"], _ratio(summary), spread, "", ""]
    lower = summary["better"] == "lower"
    ratio = summary["ratio"] or summary["ratio_all"]
    held = ratio is not None and (ratio <= promised if lower else ratio >= promised)
    sign = "<=" if lower else ">="
    return [own["params"]["peer"], _ratio(summary), spread, f"{sign} {promised:g}", "held" if held else "missed"]


def table(document):
    """Text, or empty: for each row its cells with our median, every stock side's and the ratio to it, and what was promised."""
    entries = [run for run in document["runs"] if run["params"].get("peer", BEST) != BEST and run["result"]]
    return "\n\n".join(_table(row, [own for own in entries if _row(own["row"]) == row])
                       for row in dict.fromkeys(_row(own["row"]) for own in entries))


def _table(row, entries):
    best = best_of(entries)
    lines = [[row, "unit", "Verbena", *(own["params"]["peer"] for own in entries), "held to", "ratio", "95 %",
              "target", ""]]
    for name in sorted(best, key=lambda name: name.rsplit(".", 1)[-1] not in ("near", "far")):
        values = [block["metrics"][name] for own in entries for block in own["blocks"]
                  if block["side"] == "b" and name in block["metrics"]]
        cells = [f"{_number(own['result'][name]['a_median'])} ({_ratio(own['result'][name])})"
                 if own["result"].get(name, {}).get("a_median") is not None else "-" for own in entries]
        lines.append([name, best[name]["result"][name]["unit"], _number(stats.median(values)), *cells,
                      *_verdict(name, entries, best, stats.median(values))])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) if place < 2 else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
    dropped = sum(len(block["details"]["dropped"]) for own in entries for block in own["blocks"])
    return "\n".join(text + ["In brackets: ratio Verbena / stock of pairs at equal distance; ~: only noisy pairs. "
                             f"{dropped} cells left out: their distance changed meanwhile.",
                             *(f"{own['params']['peer']}: {note.splitlines()[0]}" for own in entries for note in own["notes"])])


def fragment(document):
    """The table as a part of a page."""
    text = table(document)
    return f"<h2>Beside each library</h2><pre>{html.escape(text)}</pre>" if text else ""
