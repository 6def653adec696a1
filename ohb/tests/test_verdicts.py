# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a run: of which metric, and how many hold together."""
import contextlib
import copy
import functools
import io
import os
import random
import tempfile
import unittest
import unittest.mock

from driver import blocks, plan, report, schema, verdicts
from driver.run import Runner, describe
from sides import core, hbase, hdfs, mr

QUIET = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0, "switches": 0}


def measured(ratios, name="wall_ms", marked=()):
    """Blocks of pairs with these ratios."""
    return [{"side": side, "index": 2 * pair + half, "seed": 1, "seconds": 1.0, "errors": 0, "noise": QUIET,
             "marked": pair in marked,
             "metrics": {name: 100.0 * (ratio if side == "b" else 1), "cpu_ms": 50.0 if side == "b" else 99}}
            for pair, ratio in enumerate(ratios) for half, side in enumerate("ab")]


@functools.lru_cache
def result(ratios, marked):
    """A bootstrap takes its time."""
    return describe(blocks.reduce(measured(ratios, marked=marked)))


def run(row, ratios, control=False, marked=()):
    return {"row": row, "status": "complete", "control": control, "headline": "wall_ms", "blocks": measured(ratios, marked=marked),
            "sides": {}, "result": copy.deepcopy(result(tuple(ratios), tuple(marked)))}


def verdict_of(document):
    verdicts.settle(document)
    return [entry["result"]["wall_ms"]["verdict"] for entry in document["runs"]]


class Together(unittest.TestCase):
    CLEAR = [0.5 + step / 100 for step in range(9)]

    def document(self, rows, ratios=None):
        return {"runs": [run(f"row{number}", ratios or self.CLEAR) for number in range(rows)]}

    def test_nine_pairs_carry_the_verdicts_of_twelve_rows_and_of_no_more(self):
        self.assertEqual(verdict_of(self.document(12)), ["lower"] * 12)
        self.assertEqual(verdict_of(self.document(13)), ["not sure enough"] * 13)
        self.assertEqual(verdict_of(self.document(13, self.CLEAR + [0.6])), ["lower"] * 13)

    def test_a_metric_that_is_no_headline_has_no_verdict_however_clear_it_is(self):
        document = self.document(1)
        verdicts.settle(document)
        self.assertEqual(document["runs"][0]["result"]["cpu_ms"]["verdict"], "not judged")

    def test_rows_of_nothing_but_chance_seldom_give_a_verdict(self):
        coin, wrong, runs = random.Random(20261127), 0, 300
        for _ in range(runs):
            document = {"runs": []}
            for number in range(12):
                ratios = [coin.choice((0.9, 1.1)) for _ in range(9)]
                entry = {"row": f"row{number}", "control": False, "headline": "wall_ms", "blocks": measured(ratios), "sides": {},
                         "result": {"wall_ms": {"verdict": "lower"}}}  # whatever the intervals would say
                document["runs"].append(entry)
            wrong += "lower" in verdict_of(document)
        self.assertLess(wrong / runs, 0.08)

    def test_a_row_without_a_quiet_pair_is_counted_and_stays_inconclusive(self):
        document = self.document(12)
        document["runs"].append(run("loaded", self.CLEAR, marked=range(9)))
        self.assertEqual(verdict_of(document), ["not sure enough"] * 12 + ["inconclusive"])

    def test_a_control_is_judged_alone(self):
        document = self.document(12)
        document["runs"].append(run("aa.echo", self.CLEAR, control=True))
        self.assertEqual(verdict_of(document), ["lower"] * 13)

    def test_of_several_stock_sides_the_pairs_of_the_best_are_those_of_the_verdict(self):
        best, other = run("mpi.one", self.CLEAR), run("mpi.two", [0.5, 2] * 4 + [0.5])
        row = {**run("mpi", self.CLEAR), "blocks": [], "sides": {"a": {"settings": {"best": {"wall_ms": "one"}}}}}
        best["headline"] = other["headline"] = None
        document = {"runs": [row, best, other]}
        self.assertEqual(verdict_of(copy.deepcopy(document)), ["lower", "not judged", "not judged"])
        row["sides"]["a"]["settings"]["best"]["wall_ms"] = "two"
        self.assertEqual(verdict_of(document)[0], "not sure enough")


class Headline(unittest.TestCase):
    def names(self, cells):
        return [core.metric_name(cell) for cell in cells]

    def test_every_row_of_cells_has_one_among_its_cells_also_among_the_quick_ones(self):
        rows = {row.name: row for row in plan.ROWS}
        large = "hdfs.write.r3.c1.67108864.throughput"
        others = {"hdfs": large, "hdfs.writes": large, "hdfs.hhh": large, "hdfs.hhh-m": large,
                  "hdfs.hhh.slow": large, "hdfs.hhh-m.slow": large, "hdfs.small": "hdfs.write.r3.c1.65536.throughput",
                  "hdfs.pread": "hdfs.positioned.c1.4096.latency"}
        side = unittest.mock.Mock()
        side.ask.return_value = (1, 1 << 20, 1)
        for name, row in rows.items():
            for quick in (False, True) if row.kind == "hdfs" else ():
                self.has(others.get(name, "hdfs.read.r1.c1.67108864.throughput"), row,
                         self.names(hdfs.measured(row.parameters(quick)["cells"])((side, side), 0)))
        side.ask.return_value = {"calls": 1, "ns": 1, "p50_ns": 1}, 1
        for name, row in rows.items():
            for quick in (False, True) if row.kind == "hbase" else ():
                cells = [cell for cell in hbase.SETS[row.parameters(quick)["cells"]] if cell[0] != hbase.IDLE]
                self.has(f"hbase.{'aget' if name == 'hbase.transport' else 'get'}.t1.1024.latency", row,
                         self.names(hbase.pairs((side, side), cells, 0)))
        side.run.return_value = 1, {mr.FRAMEWORK: {"CPU time spent (ms)": 1}}, "seen"
        for cells in (mr.CELLS, mr.QUICK):
            names = self.names(mr.pairs((side, side), cells, 0))
            self.has(names[0], rows["mr"], names)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "vbn_perf.txt")) as file:
            names = [f"{core.metric_name(entry)}.near" for entry in map(core.parse, file) if entry]
        self.has("am.latency.shm.8.one-way-latency.near", rows["core"], names)

    def has(self, name, row, names):
        self.assertEqual(verdicts.headline(names, row.metric), name)

    def test_of_a_part_of_a_row_it_is_the_first_cell(self):
        self.assertEqual(verdicts.headline(["put.bandwidth.shm.8", "put.bandwidth.tcp.8"], "am.latency.shm.8.*"),
                         "put.bandwidth.shm.8")
        self.assertIsNone(verdicts.headline([], "am.*"))


class Run(unittest.TestCase):
    def test_a_real_run_says_how_many_verdicts_there_are_and_judges_no_other_metric(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "result.json")
            Runner(work, work, path, True, 2).run(plan.select("aa.echo"))
            document = schema.read(path)
        self.assertEqual(document["runs"][0]["result"]["cpu_ms"]["verdict"], "not judged")
        self.assertIn("not judged", report.table(document))
        self.assertIsNone(verdicts.sentence(document), "a control has no verdict to speak of")
        document["runs"][0]["control"] = False
        self.assertIn("1 in all. Holm's rule keeps the chance that any of them is wrong below 5 %, and needs 8 quiet pairs",
                      report.table(document))

    def test_more_rows_than_the_pairs_carry_are_pointed_out_before_they_are_measured(self):
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as work, contextlib.redirect_stderr(said), \
                unittest.mock.patch("driver.plan.missing", return_value="not here"):
            for rows in (12, 13):
                self.assertEqual(said.getvalue(), "")
                Runner(work, work, os.path.join(work, "result.json"), False, 9).run(plan.select("spark.groupby") * rows)
        self.assertIn("need 10 pairs of each: give --pairs 10", said.getvalue())


if __name__ == "__main__":
    unittest.main()
