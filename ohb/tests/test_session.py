# SPDX-License-Identifier: Apache-2.0
"""What a generator answers, as it goes into the result file; and sides that are started several times."""
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from driver import plan, run, schema
from driver.session import Sides

OHB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", "ohb")

ANSWER = {"row": "x", "seed": 1, "wall_ms": 5.0, "executor_cpu_ms": 7, "disk_written_bytes": 30, "disk_read_bytes": 0, "records": 1,
          "checksum": "c", "failed_tasks": 0}


class Generator:
    """Answers each block in the same way."""

    def block(self, _row, _seed):
        return dict(ANSWER)


class Block(unittest.TestCase):
    def metrics(self, name):
        row = plan.select(name)[0]
        with tempfile.TemporaryDirectory() as work:
            sides = Sides(row, work, work)
            sides.generators = {"b": Generator()}
            return sides.block(row, "b", 1)["metrics"]

    def test_disk_bytes_are_metrics_of_rows_about_the_disk_also_where_there_are_none(self):
        self.assertEqual(self.metrics("spark.spill.groupby.cached.1"), {
            "wall_ms": 5.0, "executor_cpu_ms": 7, "disk_written_bytes": 30, "disk_read_bytes": 0, "disk_bytes": 30})

    def test_other_rows_have_them_as_details(self):
        self.assertEqual(self.metrics("spark.groupby"), {"wall_ms": 5.0, "executor_cpu_ms": 7})


class Starts(unittest.TestCase):
    def test_each_start_has_new_processes_and_its_share_of_the_pairs(self):
        pids = []

        class Noting(Sides):
            def __enter__(self):
                super().__enter__()
                pids.append({generator.pid for generator in self.generators.values()})
                return self

        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(run, "Sides", Noting):
            path = os.path.join(work, "result.json")
            run.Runner(work, work, path, True, 5, 2).run(plan.select("aa.echo"))
            measured = schema.read(path)["runs"][0]
        self.assertEqual((measured["status"], measured["params"]["starts"]), ("complete", 2))
        self.assertEqual([block["start"] for block in measured["blocks"]], [0] * 4 + [1] * 6)
        self.assertEqual([block["index"] for block in measured["blocks"]], list(range(10)))
        self.assertEqual((len(pids), len(set.union(*pids))), (2, 4))

    def test_rows_without_sides_that_stay_up_and_more_starts_than_pairs_are_refused(self):
        for row, starts, reason in (("core", "2", "row core keeps no processes"), ("aa.echo", "4", "there are 3; give --pairs")):
            done = subprocess.run([sys.executable, OHB, "run", row, "--quick", "--starts", starts], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main()
