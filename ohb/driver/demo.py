# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the same Spark jobs with the stock shuffle and with Verbena's, compared exactly."""
import dataclasses
import html
import os
import time

from driver import blocks, plan, report, run, schema, story
from driver.procs import Failed, Killed
from driver.session import Sides
from sides import spark

MAX_PAIRS = 9


@dataclasses.dataclass(frozen=True)
class Job:
    """A row of the catalogue, as the demonstration names and sizes it."""
    row: str
    name: str
    what: str
    sizes: dict = dataclasses.field(default_factory=dict)


JOBS = (
    Job("spark.groupby", "group by key", "250 MB of pairs brought together by key", {"pairs": 31250}),
    Job("spark.tiny", "tiny blocks", "6,000 blocks of a few hundred bytes, as a wide shuffle has them",
        {"maps": 60, "pairs": 500, "reducers": 100}),
    Job("spark.smj", "SQL join", "two tables of wide rows joined by sorting, then summed up", {"left": 300000, "right": 150000}),
    Job("spark.tpch.q3", "TPC-H 3", "query 3 of TPC-H: orders not yet shipped"),
    Job("spark.tpch.q9", "TPC-H 9", "query 9 of TPC-H: profit by nation and year"),
)
NAMES = {job.row: job for job in JOBS}
METRICS = (("wall_ms", "time ms"), ("executor_cpu_ms", "processor time ms"))


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
        first = plan.select(JOBS[0].row)[0]
        if self._control:
            first = plan.select("aa.spark")[0]
        spark.note("starting a Spark master and two workers on loopback, and both applications")
        with Sides(first, self._root, os.path.join(self._work, "spark")) as sides:
            for place, job in enumerate(JOBS):
                row = plan.select(job.row)[0]
                params = {**row.params, **job.sizes}
                if params["job"] == "tpch":
                    params["data"] = data
                    del params["scale"]
                self._job(sides, row, params, len(JOBS) - place)
            carrier = None if self._control else sides.carrier("b")
        return carrier

    def _job(self, sides, row, params, jobs_left):
        spark.note(f"{NAMES[row.name].name}: {NAMES[row.name].what}")
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
        blocks.run_pair(lambda side, seed: sides.block(row, side, seed), number, entry["blocks"].append)
        return time.monotonic() - start


def _compared(summary):
    """Cells of one metric. With too few quiet pairs all pairs give the ratio, and the verdict says so."""
    if not summary:
        return ("-", "-", "-", "-")
    ratio = summary["ratio"] if summary["ratio"] is not None else summary["ratio_all"]
    return (f"{summary['a_median']:,.0f}", f"{summary['b_median']:,.0f}", f"{ratio:.2f}", story.outcome(summary))


def table(document):
    """Both sides of each job: times, processor times, their ratios and verdicts; as text."""
    lines = [("", *(cell for _, title in METRICS for cell in (title, "", "", ""))),
             ("job", *("stock", "Verbena", "ratio", "verdict") * len(METRICS))]
    lines += [(NAMES[entry["row"]].name, *(cell for metric, _ in METRICS for cell in _compared(entry["result"].get(metric))))
              for entry in document["runs"] if entry["result"]]
    widths = [max(len(line[column]) for line in lines[1:]) for column in range(len(lines[1]))]
    return "\n".join("  ".join(cell.rjust(width) if place % 4 in (1, 2, 3) and line is not lines[0] else cell.ljust(width)
                               for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def lead(document):
    """What was won and lost, in two sentences, and on what."""
    done = [entry["result"] for entry in document["runs"] if entry["result"]]
    return " ".join(["Verbena beside Spark's own shuffle.", story.sentence([result["wall_ms"] for result in done]),
                     story.sentence([result["executor_cpu_ms"] for result in done if "executor_cpu_ms" in result],
                                    "the processor time of the executors was", "less", "more"), story.ONE_HOST])


def _defaults(root):
    jar = spark.plugin_jar(root) or "/path/to/spark-rdma-shuffle-0.1.0.jar"
    return "\n".join([f"spark.jars             {jar}"]
                     + [f"{key:22} {value}" for key, value in spark.OURS.items()])


def _named(document):
    """The document with the names of the demonstration in place of rows."""
    return {**document, "runs": [{**entry, "row": NAMES[entry["row"]].name} for entry in document["runs"]]}


def _page(document, root, carrier, path):
    explained = "".join(f"<li><b>{html.escape(job.name)}</b>: {html.escape(job.what)}</li>" for job in JOBS)
    before = (f"<p class='lead'>{html.escape(lead(document))}</p><p>The same jobs on the same cluster, in turns, with Spark's own "
              "shuffle and with Verbena's. Every result was compared by record count and a 128-bit checksum of its whole "
              f"content.</p><ul>{explained}</ul>")
    after = ""
    if carrier:
        after += "<h2>What the plugin said</h2><pre>" + html.escape("\n".join(carrier)) + "</pre>"
    after += f"<h2>Your own spark-defaults.conf</h2><pre>{html.escape(_defaults(root))}</pre>"
    with open(path, "w") as file:
        file.write(report.page(_named(document), "Apache Spark with and without Verbena", before, after))


def run_checked(demo):
    """Executes and returns (carrier lines, problem or None); the document's status is set."""
    try:
        return demo.execute(), None
    except (Failed, Killed) as problem:
        demo.runner.document["status"] = "killed" if isinstance(problem, Killed) else "failed"
        return None, problem


def main_lines(document, root, carrier, page):
    """What stands on the terminal at the end."""
    lines = [table(document), "", lead(document), story.READING, ""]
    pairs = [len(entry["blocks"]) // 2 for entry in document["runs"] if entry["result"]]
    noisy = sum(block["marked"] for entry in document["runs"] for block in entry["blocks"])
    lines.append(f"{len(pairs)} jobs, results identical on both sides; pairs of each: {', '.join(map(str, pairs))}; "
                 f"{noisy} of {2 * sum(pairs)} halves ran beside other load.")
    lines += report.warnings(_named(document))
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
