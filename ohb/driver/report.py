# SPDX-License-Identifier: Apache-2.0
"""The table on the terminal, the self-contained HTML page, the comparison of two result files."""
import html

from driver import plot, story, verdicts
from driver.story import outcome

REGRESSION = 0.03

STYLE = """:root{color-scheme:light dark;--text:#1f2937;--page:#fff;--line:#d1d5db;--box:#f3f4f6;--good:#2a7f62;--bad:#b5403a;
--weak:#6b7280}@media(prefers-color-scheme:dark){:root{--text:#e5e7eb;--page:#111827;--line:#374151;--box:#1f2937;--good:#5cc79f;
--bad:#f08a84;--weak:#9ca3af}}body{font:16px/1.5 sans-serif;max-width:62em;margin:1.5em auto;padding:0 1em;color:var(--text);
background:var(--page)}table{border-collapse:collapse}td,th{padding:.25em .6em;border-bottom:1px solid var(--line);
text-align:right;white-space:nowrap}td:first-child,th:first-child{text-align:left}.wide{overflow-x:auto}pre{background:var(--box);
padding:1em;overflow-x:auto}.good{color:var(--good)}.bad{color:var(--bad)}.lead{font-size:1.2em}svg{width:100%;max-width:46em;
height:auto}small,.weak{color:var(--weak)}"""


def advantage(summary):
    """Ratio turned so that more than 1 means that we lose."""
    if not summary["ratio"]:  # none, or of nothing: 0 bytes written
        return 0
    return summary["ratio"] if summary["better"] == "lower" else 1 / summary["ratio"]


def rows(document):
    """(run, metric name, summary) of all complete runs, the ones we lose first."""
    found = [(run, name, summary) for run in document["runs"] for name, summary in run["result"].items()]
    return sorted(found, key=lambda entry: (outcome(entry[2]) != "worse", -advantage(entry[2])))


def _number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _cells(run, name, summary):
    if summary["ratio"] is not None:
        ratio = f"{summary['ratio']:.3f} [{summary['lo']:.3f} .. {summary['hi']:.3f}]"
    else:
        ratio = f"({summary['ratio_all']:.3f} with noisy pairs)" if summary.get("ratio_all") else "-"
    pairs = f"{summary['pairs']}" + (f" (+{summary['marked']} noisy)" if summary["marked"] else "")
    return [f"{run['row']} {name}", f"{_number(summary['a_median'])} {summary['unit']}",
            f"{_number(summary['b_median'])} {summary['unit']}", ratio, pairs, outcome(summary)]


SHADES = {"better": " class='good'", "worse": " class='bad'"}
HEADINGS = ["row and metric", "stock", "Verbena", "ratio [95 % interval]", "pairs", "verdict"]


def warnings(document):
    """Lines about rows that failed, were skipped, were not verified, or do not hold their number."""
    lines = []
    for run in document["runs"]:
        if run["status"] != "complete":
            lines.append(f"{run['row']}: {run['status']}: " + "; ".join(run["notes"]))
        elif not run["verified"]:
            lines.append(f"{run['row']}: times and rates alone: nothing compared the delivered data")
        summary = run["result"].get(run.get("headline") or "")
        if not summary or summary["ratio"] is None:
            continue
        if line := story.contradiction(f"{run['row']} {run['headline']}", summary):
            lines.append(line)
        if run.get("hold") and advantage(summary) > run["hold"] and not run["control"]:
            lines.append(f"{run['row']}: {run['headline']} ratio {summary['ratio']:.2f} does not hold "
                         f"{run['hold']:.2f} (warning only)")
        if run["control"] and outcome(summary) in ("better", "worse"):
            lines.append(f"{run['row']}: a control row shows a difference: do not trust this run")
    return lines


def table(document):
    """Text table of all results with warnings under it."""
    found = [_cells(*entry) for entry in rows(document) if "peer" not in entry[0]["params"]]  # else: rivals.table
    lines = [HEADINGS, *found] if found else []
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(len(HEADINGS))]
    text = ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(line, widths))) for line in lines]
    return "\n".join(text + [*filter(None, [verdicts.sentence(document)] if found else []), *warnings(document)])


def page(document, title, after=""):
    """A whole HTML page without outside parts; after is an HTML fragment behind the results."""
    entries = [entry for entry in rows(document) if entry[0]["params"].get("peer", "best") == "best"]
    plotted = [(f"{run['row']} {name}", summary["ratio"], summary["lo"], summary["hi"], outcome(summary))
               for run, name, summary in entries if summary["ratio"] is not None
               and ("wall_ms" not in run["result"] or name in (run.get("headline"), "wall_ms", "executor_cpu_ms"))]
    parts = [f"<!doctype html><html lang='en'><head><meta charset='utf-8'>"
             f"<meta name='viewport' content='width=device-width,initial-scale=1'/><title>{html.escape(title)}</title>"
             f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>"]
    if plotted:
        parts.append(plot.ratios(plotted))
    undrawn = [f"{run['row']} {name}" for run, name, summary in entries if summary["ratio"] is None]
    if undrawn:
        parts.append(f"<p>Not drawn, as no pair was quiet: {html.escape(', '.join(undrawn))}.</p>")
    parts += [f"<p>{html.escape(line)}</p>" for line in filter(None, (story.READING, verdicts.sentence(document)))]
    parts.append("<div class='wide'><table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in HEADINGS) + "</tr>")
    for entry in entries:
        cells = _cells(*entry)
        shade = SHADES.get(cells[-1], "")
        parts.append("<tr>" + "".join(f"<td{shade if place > 2 else ''}>{html.escape(cell)}</td>"
                                      for place, cell in enumerate(cells)) + "</tr>")
    parts.append("</table></div>")
    parts += [f"<p class='bad'>{html.escape(line)}</p>" for line in warnings(document)]
    machine = document["machine"]
    parts.append(f"<p><small>{html.escape(machine['cpu'])}, {machine['cores']} cores, "
                 f"{machine['memory_kb'] // 1048576} GiB, kernel {html.escape(machine['kernel'])}; commit "
                 f"{html.escape(document['commit'][:12])}; {html.escape(document['started'])}. Pairs in the order "
                 "A B B A; noisy pairs, beside which others computed, are counted but left out of the ratio.</small></p>")
    return "".join(parts + [after, "</body></html>\n"])


def _vanished(old, new):
    """(row or row and metric, why) of what the first document measured and the second did not."""
    now = {run["row"]: run for run in new["runs"]}
    for run in old["runs"]:
        later = now.get(run["row"])
        if run["status"] != "complete":
            continue
        if later is None:
            yield run["row"], "not in the second file"
        elif later["status"] != "complete":
            yield run["row"], "; ".join([later["status"], *later["notes"]])
        else:
            yield from ((f"{run['row']} {name}", "not measured in the second file")
                        for name in run["result"] if name not in later["result"])


def compare(old, new):
    """(lines, regressions) between two documents: worse by 3 % and with intervals that do not meet, or no longer measured."""
    before = {(run["row"], name): (run, summary) for run, name, summary in rows(old)}
    lines, regressions = [], 0
    for run, name, summary in rows(new):
        earlier, reference = before.get((run["row"], name), (None, None))
        label = f"{run['row']} {name}"
        if reference is None:
            lines.append(f"{label}: only in the second file")
            continue
        if summary["ratio"] is None or not reference["ratio"]:
            lines.append(f"{label}: inconclusive")
            continue
        apart = summary["lo"] > reference["hi"] if summary["better"] == "lower" else summary["hi"] < reference["lo"]
        change = advantage(summary) / advantage(reference) - 1
        worse = apart and change >= REGRESSION
        regressions += worse
        other = "" if earlier["params"] == run["params"] else " (other parameters)"
        lines.append(f"{label}: {reference['ratio']:.3f} -> {summary['ratio']:.3f}{other}"
                     + (f"  REGRESSION by {change:.0%}" if worse else ""))
    lost = [f"{label}: REGRESSION: was measured; now: {why}" for label, why in _vanished(old, new)]
    return lines + lost, regressions + len(lost)
