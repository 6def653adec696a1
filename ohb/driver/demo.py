# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the same Spark jobs with the stock shuffle and with Verbena's, compared exactly."""
import html
import os
import time

from driver import blocks, plan, plot, report, run, schema
from driver.procs import Failed, Killed
from driver.session import Sides
from sides import spark

MAX_PAIRS = 3
ROWS = ("spark.groupby", "spark.sortby", "spark.tiny", "spark.reducebykey", "spark.smj",
        *(f"spark.tpch.{query}" for query in plan.TPCH))
SIZES = {"spark.groupby": {"pairs": 31250}, "spark.sortby": {"pairs": 31250},
         "spark.tiny": {"maps": 60, "pairs": 500, "reducers": 100}, "spark.reducebykey": {"pairs": 200000},
         "spark.smj": {"left": 300000, "right": 150000}}
HEADINGS = ("job", "time ms", "", "CPU ms", "", "written MiB", "", "read local/remote MiB", "ratio", "")
SUBHEADINGS = ("", "stock", "ours", "stock", "ours", "stock", "ours", "ours", "time", "CPU")


def _mib(value):
    return f"{value / 1048576:.1f}"


class Demo:
    """One run of the demonstration; the document is a result file of ohb like any other."""

    def __init__(self, root, work, scale, minutes, stock_only):
        self._root, self._work, self._scale, self._control = root, work, scale, stock_only
        self._deadline = time.monotonic() + minutes * 60
        self.runner = run.Runner(root, work, os.path.join(work, "result.json"), False, MAX_PAIRS)

    def execute(self):
        data = os.path.join(self._work, f"tpch-{self._scale:g}")
        spark.note(f"generating TPC-H data, scale {self._scale:g}, into {data}")
        spark.generate_tpch(self._root, data, self._scale, os.path.join(self._work, "tpch.log"))
        first = plan.select(ROWS[0])[0]
        if self._control:
            first = plan.select("aa.spark")[0]
        spark.note("starting a Spark master and two workers on loopback, and both applications")
        with Sides(first, self._root, os.path.join(self._work, "spark")) as sides:
            for place, name in enumerate(ROWS):
                row = plan.select(name)[0]
                params = {**row.params, **SIZES.get(name, {})}
                if params["job"] == "tpch":
                    params["data"] = data
                    del params["scale"]
                self._job(sides, row, params, len(ROWS) - place)
            carrier = None if self._control else sides.carrier("b")
        return carrier

    def _job(self, sides, row, params, jobs_left):
        spark.note(f"{row.name}: {row.title}")
        entry = {"row": row.name, "title": row.title, "stock": row.stock, "control": self._control,
                 "status": "complete", "params": params, "started": run.now(), "sides": sides.describe(),
                 "blocks": [], "result": {}, "headline": row.metric, "hold": None, "verified": False, "notes": []}
        self.runner.document["runs"].append(entry)
        if time.monotonic() > self._deadline:
            entry["status"] = "skipped"
            entry["notes"].append("no time left; allow more with --minutes")
            spark.note(f"{row.name}: skipped, {entry['notes'][0]}")
            return
        try:
            sides.warm(row, params, 0)
            start = time.monotonic()
            pair = self._pair(sides, row, entry, 0)
            left = (self._deadline - time.monotonic()) / jobs_left - 2 * pair  # the others warm up too
            wanted = max(1, min(MAX_PAIRS, 1 + int(left / max(pair, 0.1))))
            for number in range(1, wanted):
                self._pair(sides, row, entry, number)
            sides.drop(row)
            entry["result"] = run.describe(blocks.reduce(entry["blocks"]))
            entry["verified"] = True
            spark.note(f"{row.name}: results equal ({entry['blocks'][0]['records']} records), {wanted} pairs in "
                       f"{time.monotonic() - start:.0f} s")
        except (Failed, Killed) as problem:
            entry["status"] = "killed" if isinstance(problem, Killed) else "failed"
            entry["notes"].append(str(problem))
            raise

    @staticmethod
    def _pair(sides, row, entry, number):
        start = time.monotonic()
        for half in (0, 1):
            side = blocks.order(number + 1)[2 * number + half]
            entry["blocks"].append(blocks.measure(lambda which, seed: sides.block(row, which, seed), side,
                                                  2 * number + half, 1 + number))
        blocks.same_content(*entry["blocks"][-2:])
        return time.monotonic() - start


def _line(entry):
    """Cells of one job: medians of both sides and ratios of all pairs, noisy ones included and said so."""
    wall, cpu = entry["result"]["wall_ms"], entry["result"].get("executor_cpu_ms")
    last = {block["side"]: block["details"] for block in entry["blocks"]}
    read = f"{_mib(last['b']['shuffle_read_local_bytes'])}/{_mib(last['b']['shuffle_read_remote_bytes'])}"
    return (entry["row"].removeprefix("spark."), f"{wall['a_median']:.0f}", f"{wall['b_median']:.0f}",
            f"{cpu['a_median']:.0f}" if cpu else "-", f"{cpu['b_median']:.0f}" if cpu else "-",
            _mib(last["a"]["shuffle_write_bytes"]), _mib(last["b"]["shuffle_write_bytes"]), read,
            f"{wall['ratio_all']:.2f}", f"{cpu['ratio_all']:.2f}" if cpu else "-")


def _table(document):
    lines = [HEADINGS, SUBHEADINGS] + [_line(entry) for entry in document["runs"] if entry["result"]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                               for place, (cell, width) in enumerate(zip(line, widths))) for line in lines)


def _defaults(root):
    jar = spark.plugin_jar(root) or "/path/to/spark-rdma-shuffle-0.1.0.jar"
    return "\n".join([f"spark.jars             {jar}"]
                     + [f"{key:22} {value}" for key, value in spark.OURS.items()])


def _page(document, root, carrier, path):
    done = [entry for entry in document["runs"] if entry["result"]]
    bars = [(entry["row"].removeprefix("spark."), entry["result"]["wall_ms"]["a_median"],
             entry["result"]["wall_ms"]["b_median"]) for entry in done]
    before = ("<p>The same jobs on the same cluster, in turns, with Spark's own shuffle and with Verbena's. Every "
              "result was compared by record count and a 128-bit checksum of its whole content.</p>")
    if bars:
        before += plot.bars(bars, "ms per job")
    after = f"<h2>All numbers</h2><pre>{html.escape(_table(document))}</pre>"
    if carrier:
        after += "<h2>What the plugin said</h2><pre>" + html.escape("\n".join(carrier)) + "</pre>"
    after += f"<h2>Your own spark-defaults.conf</h2><pre>{html.escape(_defaults(root))}</pre>"
    with open(path, "w") as file:
        file.write(report.page(document, "Apache Spark with and without Verbena", before, after))


def run_checked(demo):
    """Executes and returns (carrier lines, problem or None); the document's status is set."""
    try:
        return demo.execute(), None
    except (Failed, Killed) as problem:
        demo.runner.document["status"] = "killed" if isinstance(problem, Killed) else "failed"
        return None, problem


def main_lines(document, root, carrier, page):
    """What stands on the terminal at the end."""
    lines = [_table(document), ""]
    pairs = [len(entry["blocks"]) // 2 for entry in document["runs"] if entry["result"]]
    noisy = sum(block["marked"] for entry in document["runs"] for block in entry["blocks"])
    lines.append(f"{len(pairs)} jobs, results identical on both sides; medians of {min(pairs)} to {max(pairs)} pairs; "
                 f"{noisy} blocks ran beside other load.")
    skipped = [entry["row"] for entry in document["runs"] if entry["status"] == "skipped"]
    if skipped:
        lines.append("skipped for lack of time (see --minutes): " + " ".join(skipped))
    lines += [f"plugin: {line}" for line in carrier or []]
    lines += [f"page: {page}", "", "For your own Spark, put into spark-defaults.conf:", _defaults(root)]
    return "\n".join(lines)


def run_demo(root, work, scale, minutes, stock_only):
    os.makedirs(work, exist_ok=True)
    demo = Demo(root, work, scale, minutes, stock_only)
    carrier, problem = run_checked(demo)
    document = schema.anonymous(demo.runner.document, root)
    schema.write(os.path.join(work, "result.json"), document)
    page = os.path.join(work, "index.html")
    _page(document, root, carrier, page)
    if problem is not None:
        raise problem
    print(main_lines(document, root, carrier, page))
    return 0
