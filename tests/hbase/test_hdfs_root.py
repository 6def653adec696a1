# SPDX-License-Identifier: Apache-2.0
"""HBase on HDFS, with the plugins of both in the same JVMs: calls travel by the core, and a region server is killed. Blocks need
not: test_hdfs of tests/hadoop looks at those."""
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(1, str(HERE.parent / "hadoop"))

from shared import LIMIT, Calls  # noqa: E402  (needs the path above)
from writer import Writer  # noqa: E402
from cluster.cluster import Cluster as Hadoop  # noqa: E402
from servers.cluster import Cluster  # noqa: E402

ROWS = 200  # acknowledged before and after the fault
DATANODES = 3
VICTIM = "regionserver1"


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
class HdfsRootTest(Calls, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        blocks, calls = os.environ["VERBENA_HADOOP_JAR"], os.environ["VERBENA_HBASE_JAR"]
        cls.hadoop = Hadoop(os.path.join(folder.name, "hadoop"), DATANODES, plugin=blocks, by_core=True, quick=True, tied=True)
        cls.addClassCleanup(cls.hadoop.stop)
        cls.hadoop.start()
        below = {name: value for part in cls.hadoop._site("client").values() for name, value in part.items()}
        root = below["fs.defaultFS"]
        cls.cluster = Cluster(os.path.join(folder.name, "hbase"), 2, f"{calls}:{blocks}", quick=True, tied=True,
                              properties={**below, "hbase.rootdir": f"{root}/hbase", "hbase.wal.dir": f"{root}/hbase-wal",
                                          "verbena.hbase.connect.wait.ms": 1000 * LIMIT})
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def test_no_acknowledged_row_is_lost_when_a_region_server_is_killed(self):
        writer = Writer(self.cluster, "killed")
        self.addCleanup(lambda: writer.process.poll() is None and writer.process.kill())
        writer.await_rows(ROWS)
        self.cluster.kill(VICTIM)
        writer.await_rows(writer.acknowledged + ROWS)
        rows, log = writer.stop()
        self.assertGreater(self.counts(log)[0], 50)
        self.assertIn(f"verified {rows}", self.run_client("Rows", "verify", "killed", rows).stdout)
        said = pathlib.Path(self.cluster.log("regionserver2")).read_text()
        self.assertRegex(said, r"Verbena 0\.1\.0 answers calls of ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
