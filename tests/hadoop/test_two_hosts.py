# SPDX-License-Identifier: Apache-2.0
"""Two hosts with names and networks of their own: HDFS with a DataNode on each, and a job whose reducers fetch from both."""
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "ohb"))

import jobs  # noqa: E402  (needs the paths above)
from case import JOBS, LONG  # noqa: E402
from cluster import conf  # noqa: E402
from cluster.twohosts import NAMES, TwoHosts, table  # noqa: E402
from sides import hosts  # noqa: E402

ROWS = 100_000
TCP = {"core-site": {"verbena.core.tl.enable": "self,tcp"}, "hdfs-site": {"dfs.replication": 2}}
PATIENT = {"verbena.shuffle.connect.wait.ms": "600000"}  # a loaded machine may take long to connect


@LONG
class TwoHostsTest(unittest.TestCase):
    def setUp(self):
        why = hosts.missing()
        if why:
            self.skipTest(why)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "hosts").write_text(table(hosts.ADDRESSES))
        pair = hosts.Hosts(str(folder / "pair"))
        self.addCleanup(pair.stop)
        pair.start()
        kind = type("Pair", (TwoHosts,), {"pair": pair, "hosts": folder / "hosts"})
        self.cluster = kind(folder / "hadoop", datanodes=2, nodemanagers=2, quick=True, tied=True,
                            plugin=os.environ["VERBENA_HADOOP_JAR"], properties=conf.merged(conf.OURS, JOBS, TCP))
        self.addCleanup(self.cluster.stop)
        self.cluster.start()

    def test_hdfs_and_a_job_use_both_hosts(self):
        jobs.run(self.cluster, "teragen", True, [str(ROWS), "/rows"])
        where = self.cluster.run("hdfs", "fsck", "/rows", "-files", "-blocks", "-locations")
        self.assertEqual(where.returncode, 0, where.stdout + where.stderr)
        for address in hosts.ADDRESSES:
            self.assertIn(f"[{address}:", where.stdout)
        nodes = self.cluster.run("yarn", "node", "-list").stdout
        for name in NAMES:
            self.assertIn(name, nodes)
        counters, _ = jobs.run(self.cluster, "terasort", True, ["/rows", "/sorted"], PATIENT)
        self.assertEqual(counters[jobs.GROUP]["Bytes by tcp"], counters["Map-Reduce Framework"]["Reduce shuffle bytes"])
        jobs.run(self.cluster, "teravalidate", True, ["/sorted", "/valid"], PATIENT)
        report = self.cluster.run("hdfs", "dfs", "-cat", "/valid/part-*").stdout
        self.assertIn("checksum", report)
        self.assertNotIn("error", report)


if __name__ == "__main__":
    unittest.main(verbosity=2)
