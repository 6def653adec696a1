# SPDX-License-Identifier: Apache-2.0
"""The page of a demonstration, the lines on the terminal, the file with each single pair."""
import dataclasses
import html
import os
import time

from driver import judge, plot, report, schema, stats
from driver.board import HEADINGS, READING, UNDECIDED, word

SHADES = {judge.BETTER: "good", judge.WORSE: "bad"}


@dataclasses.dataclass(frozen=True)
class About:
    """What a demonstration is. name: of its files; ran: sentences on what was run; use, settings: for one's own system."""
    name: str
    title: str
    stock: str
    ran: tuple
    use: str
    settings: str


@dataclasses.dataclass(frozen=True)
class Shown:
    """What came out. board: the rows; unverified: names of those that deliver nothing which could be compared; travelled: lines on
    the bytes; said: Verbena's own lines."""
    board: object
    unverified: tuple
    travelled: list
    said: list = ()


def terminal(about, shown, page):
    """The text at the end of a demonstration."""
    board = shown.board
    lines = [board.first(), *board.others(), "", board.table(), "", READING, board.sure(), *shown.travelled,
             *(f"Verbena said: {line}" for line in shown.said), f"page: {page}", "", about.use, about.settings]
    return "\n".join(lines)


def _chart(board):
    entries = [(f"{name}, {metric}" + (f" ({UNDECIDED[found.outcome]})" if found.outcome in UNDECIDED else ""),
                found.ratio, found.lo, found.hi, found.outcome)
               for (name, metric), found in board.judged.items()]
    return plot.ratios(entries, "Verbena / stock, 99 % interval; left of 1 is better") if entries else ""


def _table(board):
    parts = ["<div class='wide'><table><tr>", *(f"<th>{html.escape(cell)}</th>" for cell in HEADINGS), "</tr>"]
    shades = {word(metric, outcome): shade for metric in board.metrics() for outcome, shade in SHADES.items()}
    for line in board.lines():
        shade = shades.get(line[-1], "weak")
        parts += ["<tr>", *(f"<td class='{shade}'>{html.escape(cell)}</td>" if place > 3 else f"<td>{html.escape(cell)}</td>"
                            for place, cell in enumerate(line)), "</tr>"]
    return "".join([*parts, "</table></div>"])


def _block(title, lines):
    return f"<h2>{title}</h2><pre>{html.escape(chr(10).join(lines))}</pre>" if lines else ""


def page(about, shown, machine, commit):
    """A whole page without outside parts: result, chart, table, what was run, what travelled, how to use it."""
    board, text = shown.board, html.escape
    return "".join([
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width,"
        f"initial-scale=1'/><title>{text(about.title)}</title><style>{report.STYLE}</style></head><body>",
        f"<p class='lead'><b>{text(board.first())}.</b></p>", *(f"<p class='lead'>{text(line)}</p>" for line in board.others()),
        f"<h1>{text(about.title)}</h1>", _chart(board), f"<p>{text(READING)}</p>", _table(board), f"<p>{text(board.sure())}</p>",
        "<h2>What was run</h2><ul>", *(f"<li>{text(line)}</li>" for line in about.ran), "</ul>",
        "<h2>What went through Verbena</h2>", *(f"<p>{text(line)}</p>" for line in shown.travelled),
        _block("What Verbena said", shown.said), f"<h2>For your own system</h2><p>{text(about.use)}</p>",
        f"<pre>{text(about.settings)}</pre>",
        f"<p><small>{text(machine['cpu'])}, {machine['cores']} cores, {machine['memory_kb'] // 1048576} GiB, kernel "
        f"{text(machine['kernel'])}; commit {text(commit[:12])}. Pairs in the order A B B A. Everything ran on one host: no "
        "network carried anything, so nothing is said about networks.</small></p></body></html>\n"])


def result(board, name, unit_of):
    """A row's summaries as they stand in a result file: the same numbers as on the page."""
    verdicts = {judge.BETTER: "lower", judge.WORSE: "higher", judge.FEW: "inconclusive"}
    return {metric: {"ratio": found.ratio, "lo": found.lo, "hi": found.hi, "min": found.least, "max": found.most,
                     "pairs": found.counted, "marked": found.marked, "verdict": verdicts.get(found.outcome, "no difference shown"),
                     "better": "lower",
                     "unit": unit_of[metric], "a_median": found.stock, "b_median": found.ours}
            for (row, metric), found in board.judged.items() if row == name}


def _blocks(row):
    for pair in row.taken:
        order = "ab" if pair.index % 2 == 0 else "ba"
        for half, side in enumerate(order):
            yield {"side": side, "index": 2 * pair.index + half, "seed": 1 + pair.index, "seconds": round(pair.seconds, 6),
                   "errors": 0, "metrics": {metric: values["ab".index(side)] for metric, values in pair.values.items()},
                   "noise": pair.noise, "marked": pair.marked}


def document(about, shown, root, started):
    """A result file of ohb with every pair."""
    board, side = shown.board, {"command": f"./verbena demo {about.name}", "settings": {}, "versions": {}, "carrier": None}
    runs = [{"row": f"demo.{about.name}: {row.name}", "title": about.title, "stock": about.stock, "control": False,
             "status": "complete", "params": {"pairs": len(row.taken)}, "started": started,
             "sides": {"a": {"name": "stock", **side}, "b": {"name": "verbena", **side, "carrier": list(shown.said) or None}},
             "blocks": list(_blocks(row)), "result": result(board, row.name, row.units), "headline": None, "hold": None,
             "verified": row.name not in shown.unverified, "notes": list(shown.travelled)} for row in board.rows]
    return schema.anonymous({"schema": schema.VERSION, "run_id": f"demo-{about.name}-{os.getpid()}", "started": started,
                             "commit": schema.commit(root), "machine": schema.machine(), "status": "complete", "runs": runs}, root)


def write(about, shown, root, folder, started=None):
    """Writes page and result file into a folder; the page's path."""
    os.makedirs(folder, exist_ok=True)
    made = document(about, shown, root, started or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    schema.write(os.path.join(folder, f"{about.name}.json"), made)
    path = os.path.join(folder, f"{about.name}.html")
    with open(path, "w") as file:
        file.write(page(about, shown, made["machine"], made["commit"]))
    return path
