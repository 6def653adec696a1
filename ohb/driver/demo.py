# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the same Spark jobs with the stock shuffle and with Verbena's, compared exactly."""
import dataclasses
import itertools
import os
import re
import time

from driver import blocks, demopage, judge, noise, plan, run, schema, turns
from driver.board import Board
from driver.procs import Failed, Killed
from driver.session import Sides
from sides import spark


@dataclasses.dataclass(frozen=True)
class Job:
    """A row of the catalogue, as the demonstration names and sizes it."""
    row: str
    name: str
    what: str
    sizes: dict = dataclasses.field(default_factory=dict)


JOBS = (
    Job("spark.groupby", "group by key", "125 MB of pairs brought together by key", {"pairs": 15625}),
    Job("spark.tiny", "tiny blocks", "6,000 blocks of a few hundred bytes, as a wide shuffle has them",
        {"maps": 60, "pairs": 500, "reducers": 100}),
    Job("spark.smj", "SQL join", "two tables of wide rows joined by sorting, then summed up", {"left": 200000, "right": 100000}),
    Job("spark.tpch.q3", "TPC-H 3", "query 3 of TPC-H: orders not yet shipped"),
    Job("spark.tpch.q9", "TPC-H 9", "query 9 of TPC-H: profit by nation and year"),
)
NAMES = {job.row: job for job in JOBS}
METRICS = {"wall_ms": turns.TIME, "task_cpu_ms": turns.PROCESSOR}
UNITS = {turns.TIME: "ms", turns.PROCESSOR: "ms"}
NEEDED = judge.pairs_needed(len(METRICS) * len(JOBS))
PAUSE = 10  # seconds between two lines on the pairs of a job
SETTINGS = spark.PLUGIN  # what README and './verbena doctor spark' say for Spark 4
SUMMARY = re.compile(r"(?:Verbena, all \d+ executors together|Verbena was not used): .*")


def shares(now, deadline, latest, jobs_left):
    """(seconds for a job, seconds while it lacks the pairs that a verdict needs): the rest of the time is divided equally among
    the jobs that are left. latest: the deadline of a verdict. A few jobs with one say more than all without."""
    return (deadline - now) / jobs_left, latest - now


class Demo:
    """One run of the demonstration; the document is a result file of ohb like any other."""

    def __init__(self, root, work, scale, minutes, stock_only):
        self._root, self._work, self._scale, self._control, self._minutes = root, work, scale, stock_only, minutes
        self._deadline = self._latest = None  # of the jobs, which begin when data and both applications are there
        self.runner = run.Runner(root, work, os.path.join(work, "result.json"), False, 1)

    def execute(self):
        """What Verbena said, and its summary of what it moved."""
        data = os.path.join(self._work, f"tpch-{self._scale:g}")
        spark.note(f"generating TPC-H data, scale {self._scale:g}, into {data}")
        spark.generate_tpch(self._root, data, self._scale, os.path.join(self._work, "tpch.log"))
        first = plan.select("aa.spark" if self._control else JOBS[0].row)[0]
        spark.note("starting a Spark master and two workers on loopback, and both applications")
        folder = os.path.join(self._work, "spark")
        log = Log(os.path.join(folder, "generator-ours.log"))
        with Sides(first, self._root, folder) as sides:
            start = time.monotonic()
            self._deadline, self._latest = start + self._minutes * 60, start + 2 * self._minutes * 60
            for place, job in enumerate(JOBS):
                row = plan.select(job.row)[0]
                params = {**row.params, **job.sizes}
                if params["job"] == "tpch":
                    params["data"] = data
                    del params["scale"]
                self._job(sides, row, params, len(JOBS) - place)
            said = None if self._control else sides.carrier("b")
        return said or [], log.summary()

    def _job(self, sides, row, params, jobs_left):
        spark.note(f"{NAMES[row.name].name}: {NAMES[row.name].what}")
        entry = {"row": row.name, "title": row.title, "stock": row.stock, "control": self._control,
                 "status": "complete", "params": params, "started": run.now(), "sides": sides.describe(),
                 "blocks": [], "result": {}, "headline": row.metric, "hold": None, "verified": False, "notes": []}
        self.runner.document["runs"].append(entry)
        start = time.monotonic()
        seconds, longest = shares(start, self._deadline, self._latest, jobs_left)
        if longest <= 0:
            entry["status"] = "skipped"
            entry["notes"].append("the time is over; --minutes gives more")
            spark.note(f"{row.name}: skipped, {entry['notes'][0]}")
            return
        try:
            sides.warm(row, params, 0)
            self._pairs(sides, row, entry, start, seconds, longest)
            sides.drop(row)
            entry["verified"] = True
        except (Failed, Killed) as problem:
            entry["status"] = "killed" if isinstance(problem, Killed) else "failed"
            entry["notes"].append(str(problem))
            raise

    @staticmethod
    def _pairs(sides, row, entry, start, seconds, longest):
        found = entry["blocks"]
        began = said = time.monotonic()
        for number in itertools.count():
            blocks.run_pair(lambda side, seed: sides.block(row, side, seed), number, found.append)
            quiet = sum(not pair.marked for pair in taken(found))
            elapsed, took = time.monotonic() - start, (time.monotonic() - began) / (number + 1)
            ends = not turns.go_on(number + 1, quiet, elapsed, took, seconds, longest, NEEDED)
            if ends or time.monotonic() - said > PAUSE:
                said = time.monotonic()
                spark.note(f"{row.name}: results equal ({found[0]['records']} records), {number + 1} pair{'s' if number else ''}, "
                           f"{quiet} quiet, in {elapsed:.0f} s")
            if ends:
                return


class Log:
    """What a driver adds to its log from now on."""

    def __init__(self, path):
        self._path, self._from = path, os.path.getsize(path) if os.path.exists(path) else 0

    def summary(self):
        """The plugin's line at the end of the application, on what all executors moved; None if there is none."""
        try:
            with open(self._path, errors="replace") as file:
                file.seek(self._from)
                return next((found[0].strip() for found in map(SUMMARY.search, reversed(file.readlines())) if found), None)
        except OSError:
            return None


def taken(found):
    """The complete pairs of a job's blocks, as a row of the board has them."""
    for first, second in zip(found[::2], found[1::2]):
        sides = {block["side"]: block for block in (first, second)}
        values = {name: (sides["a"]["metrics"][key], sides["b"]["metrics"][key]) for key, name in METRICS.items()
                  if all(block["metrics"].get(key) for block in sides.values())}
        loaded = max(first, second, key=lambda block: (noise.is_marked(block["noise"]), block["noise"]["foreign"]))
        yield turns.Taken(first["index"] // 2, values, first["seconds"] + second["seconds"], loaded["noise"])


def board(document):
    """The jobs of a document as rows with verdicts."""
    rows, missing = [], []
    for entry in document["runs"]:
        pairs = list(taken(entry["blocks"]))
        if pairs:
            metrics = dict.fromkeys(metric for pair in pairs for metric in pair.values)
            rows.append(turns.Row(NAMES[entry["row"]].name, {metric: UNITS[metric] for metric in metrics}, pairs))
        else:
            missing.append(NAMES[entry["row"]].name)
    control = any(entry["control"] for entry in document["runs"])
    return Board(rows, missing, "Stock beside itself" if control else "Verbena")


def judged(document, shown):
    """The document with the numbers of the board as its results."""
    keys = {name: key for key, name in METRICS.items()}
    runs = [{**entry, "result": {keys[metric]: summary for metric, summary in
                                 demopage.result(shown, NAMES[entry["row"]].name, UNITS).items()}} for entry in document["runs"]]
    return {**document, "runs": runs}


def _about(root):
    jar = spark.plugin_jar(root) or "/path/to/spark-rdma-shuffle-0.1.0.jar"
    settings = {"spark.jars": jar, **SETTINGS}
    return demopage.About(
        "index", "Apache Spark with and without Verbena", "the same Apache Spark with its own shuffle",
        ("A standalone Spark on loopback: a master, two workers, and two applications with two executors each, one with Spark's "
         "own shuffle and one with Verbena's. Each job runs on both in turns.",
         *(f"{job.name}: {job.what}." for job in JOBS),
         "Time: from the call to the result, in the driver. Processor time: of all tasks of the job, as Spark's own metrics say.",
         "The results of each pair were compared by record count and a 128-bit checksum of their whole content.",
         "Both applications were started once. Results of a start, such as compiled code, are the same in all pairs."),
        "For your own Spark 4, put into spark-defaults.conf (docs/spark.md has Spark 3.5; ./verbena doctor spark names each "
        "obstacle):", "\n".join(f"{key:14} {value}" for key, value in settings.items()))


def _travelled(summary, control):
    if control:
        return ["Verbena was not used: stock ran beside stock."]
    return [f"{summary}."] if summary else ["The plugin's driver has not printed its totals: see generator-ours.log."]


def run_checked(demo):
    """Executes and returns (what Verbena said, its summary, problem or None); the document's status is set."""
    try:
        return *demo.execute(), None
    except (Failed, Killed) as problem:
        demo.runner.document["status"] = "killed" if isinstance(problem, Killed) else "failed"
        return [], None, problem


def run_demo(root, work, scale, minutes, stock_only):
    os.makedirs(work, exist_ok=True)
    demo = Demo(root, work, scale, minutes, stock_only)
    said, summary, problem = run_checked(demo)
    document = schema.anonymous(demo.runner.document, root)
    shown = board(document)
    schema.write(os.path.join(work, "result.json"), judged(document, shown))
    if problem is not None:
        raise problem
    about, result = _about(root), demopage.Shown(shown, (), _travelled(summary, stock_only), said)
    page = os.path.join(work, "index.html")
    with open(page, "w") as file:
        file.write(demopage.page(about, result, document["machine"], document["commit"]))
    print(demopage.terminal(about, result, page))
    return 0
