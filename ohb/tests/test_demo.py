# SPDX-License-Identifier: Apache-2.0
"""The demonstration of Spark: pairs out of blocks, what it shows of them, its time, its settings."""
import os
import pathlib
import tempfile
import unittest

from driver import demo, demopage, plan, turns

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0, "switches": 0}
BUSY = {**QUIET, "foreign": 0.9}


def found(pairs, ratio, processor=0.5, loaded=()):
    """Blocks of a job, A B B A; loaded: numbers of blocks beside other load."""
    for index in range(2 * pairs):
        side = "abba"[index % 4]
        slow = 1 + index // 2 / 1000
        yield {"side": side, "index": index, "seconds": 0.5, "marked": index in loaded, "noise": BUSY if index in loaded else QUIET,
               "metrics": {"wall_ms": 1000 * slow * (ratio if side == "b" else 1), "executor_cpu_ms": 7,
                           "task_cpu_ms": 500 * (processor if side == "b" else 1)}}


def entry(job, blocks, control=False):
    return {"row": job.row, "control": control, "blocks": list(blocks), "result": {}}


class Pairs(unittest.TestCase):
    def test_halves_are_put_together_whichever_came_first(self):
        pairs = list(demo.taken(list(found(3, 0.5))))
        self.assertEqual([pair.index for pair in pairs], [0, 1, 2])
        for pair in pairs:
            stock, ours = pair.values[turns.TIME]
            self.assertAlmostEqual(ours / stock, 0.5)
            self.assertEqual(pair.values[turns.PROCESSOR], (500, 250))

    def test_a_pair_is_marked_when_either_half_is(self):
        self.assertEqual([pair.marked for pair in demo.taken(list(found(3, 0.5, loaded=(1, 4))))], [True, False, True])

    def test_half_a_pair_at_the_end_is_none(self):
        self.assertEqual(len(list(demo.taken(list(found(3, 0.5))[:-1]))), 2)


class Shown(unittest.TestCase):
    def board(self, *entries):
        return demo.board({"runs": list(entries)})

    def test_the_first_sentence_counts_all_jobs_also_those_without_time(self):
        jobs = demo.JOBS
        shown = self.board(entry(jobs[0], found(9, 0.5)), entry(jobs[1], found(9, 2)), entry(jobs[2], found(9, 1)),
                           entry(jobs[3], found(2, 0.5)), entry(jobs[4], []))
        self.assertEqual(shown.first(), "Verbena faster in 1 of 5 rows, slower in 1, no difference in 1, too few pairs in 1, "
                         "not measured in 1; results identical; machine quiet")
        self.assertEqual(shown.others(), ["Processor time less in 3 of 5 rows, more in 0, no difference in 0, too few pairs in 1, "
                                          "not measured in 1."])

    def test_on_a_busy_machine_there_are_verdicts(self):
        shown = self.board(*(entry(job, found(12, 0.6, loaded=range(24))) for job in demo.JOBS))
        self.assertEqual(shown.first(), "Verbena faster in 5 of 5 rows, slower in 0, no difference in 0; results identical; "
                         "machine busy")

    def test_stock_beside_itself_is_not_called_verbena(self):
        shown = self.board(entry(demo.JOBS[0], found(9, 1), control=True))
        self.assertTrue(shown.first().startswith("Stock beside itself faster in 0 of 1 rows"))

    def test_the_result_file_has_the_numbers_of_the_table(self):
        document = {"runs": [entry(demo.JOBS[0], found(9, 0.5)), entry(demo.JOBS[1], [])]}
        runs = demo.judged(document, demo.board(document))["runs"]
        self.assertEqual(runs[0]["result"]["wall_ms"]["verdict"], "lower")
        self.assertAlmostEqual(runs[0]["result"]["task_cpu_ms"]["ratio"], 0.5)
        self.assertEqual(runs[1]["result"], {})

    def test_no_name_of_a_metric_stands_unexplained(self):
        document = {"runs": [entry(demo.JOBS[0], found(9, 0.5))]}
        text = demopage.terminal(demo._about("/nowhere"), demopage.Shown(demo.board(document), (), ["x"]), "page")
        self.assertNotIn("_ms", text)
        self.assertIn("group by key  time, ms", text)


class Time(unittest.TestCase):
    def test_what_a_job_leaves_goes_to_the_others(self):
        self.assertEqual(demo.shares(now=0, deadline=480, latest=960, jobs_left=5), (96, 960))
        self.assertEqual(demo.shares(now=180, deadline=480, latest=960, jobs_left=3), (100, 780))

    def test_every_job_can_have_the_pairs_of_a_verdict_after_others_took_too_long(self):
        seconds, longest = demo.shares(now=500, deadline=480, latest=960, jobs_left=2)
        self.assertTrue(turns.go_on(demo.NEEDED - 1, 0, 100, 20, seconds, longest, demo.NEEDED))
        self.assertFalse(turns.go_on(demo.NEEDED, 0, 100, 20, seconds, longest, demo.NEEDED))


class Settings(unittest.TestCase):
    def test_they_are_those_of_readme_and_doctor(self):
        settings = [line.split()[0] for line in demo._about("/nowhere").settings.splitlines()]
        self.assertEqual(settings, ["spark.jars", "spark.plugins"])
        for page in ("README.md", "docs/spark.md"):
            self.assertIn(f"spark.plugins={demo.SETTINGS['spark.plugins']}", (ROOT / page).read_text())
        doctor = (ROOT / "spark-rdma-shuffle/common/src/main/java/org/verbena/spark/Doctor.java").read_text()
        self.assertIn('List.of("spark.jars " + jar, plugin)', doctor)

    def test_every_job_is_a_row_of_the_catalogue(self):
        for job in demo.JOBS:
            params = plan.select(job.row)[0].params
            self.assertLessEqual(set(job.sizes), set(params))


class Summary(unittest.TestCase):
    def test_the_last_line_of_this_run_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            line = "26/11/27 04:00:00 INFO V: Verbena, all 2 executors together: wrote {} MiB of map outputs to memory\n"
            pathlib.Path(path).write_text(line.format(1))
            log = demo.Log(path)
            self.assertIsNone(log.summary())
            with open(path, "a") as file:
                file.write(line.format(58) + "26/11/27 04:00:01 INFO SparkContext: stopped\n")
            self.assertEqual(log.summary(), "Verbena, all 2 executors together: wrote 58 MiB of map outputs to memory")

    def test_no_log_is_no_summary(self):
        self.assertIsNone(demo.Log("/nowhere/log").summary())


if __name__ == "__main__":
    unittest.main()
