# SPDX-License-Identifier: Apache-2.0
"""What a generator answers, as it goes into the result file."""
import tempfile
import unittest

from driver import plan
from driver.session import Sides

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


if __name__ == "__main__":
    unittest.main()
