# SPDX-License-Identifier: Apache-2.0
"""Programs of HBase itself through our transport: PerformanceEvaluation and Canary."""
import os
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from servers import java  # noqa: E402  (needs the path above)
from shared import ClusterTest  # noqa: E402

LOAD = "org.apache.hadoop.hbase.PerformanceEvaluation"
ROWS = 1000


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
class ToolsTest(ClusterTest):
    def evaluate(self, *words):
        beside = f"{java.suites()}/hbase-server-{java.VERSION}-tests.jar"  # a filter that the program names
        done = self.run_client(LOAD, "--nomapred", f"--rows={ROWS}", "--valueSize=500", *words,
                               plugin=f"{self.cluster.plugin}:{beside}")
        core, _, not_answered, connecting, failures, *_ = self.counts(done.stderr)
        self.assertGreater(core + not_answered, 20)
        self.assertEqual((connecting, failures), (0, 0))
        return core

    def test_performance_evaluation_writes_reads_and_scans(self):
        core = self.evaluate("--presplit=4", "--table=load", "sequentialWrite", "2")
        core += self.evaluate("--table=load", "randomRead", "2")
        core += self.evaluate("--table=load", "scan", "1")
        self.assertGreater(core, ROWS / 2)

    def test_the_canary_finds_every_server_well(self):
        self.run_client("Rows", "check", "canary", 20)
        done = self.run_client("org.apache.hadoop.hbase.tool.CanaryTool", "-f", "true", "-t", "120000")
        self.assertGreater(len(re.findall(r"Read from canary,\S* on \S+ \S+ in \d+ms|read from region canary", done.stderr)), 0,
                           done.stderr[-3000:])
        self.assertGreater(self.counts(done.stderr)[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
