# SPDX-License-Identifier: Apache-2.0
"""Local mode, in which newcomers begin: one process is driver and executor."""
import json
import os
import tempfile
import unittest

from shared import FULL, HERE, spark
from clients import submit

PROPERTIES = [{}, spark.OURS, {**spark.OURS, "spark.verbena.compress": "as-spark"}]


@unittest.skipUnless(FULL, "runs with --full: an application of its own")
class Local(unittest.TestCase):
    def test_adaptive_execution_plans_with_stocks_sizes_whether_map_outputs_are_compressed_or_not(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer")
            submit("spark-submit", "local[2]", {}, [os.path.join(HERE, "planned_job.py"), answer, *map(json.dumps, PROPERTIES)],
                   answer + ".log")
            with open(answer) as file:
                stock, off, as_spark = json.load(file)
        self.assertEqual([one["compress"] for one in (stock, off, as_spark)], ["true", "false", "true"])
        self.assertEqual(off["sizes"], stock["sizes"])
        self.assertEqual(as_spark["sizes"], stock["sizes"])
