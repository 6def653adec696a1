# SPDX-License-Identifier: Apache-2.0
"""HBase on HDFS, with the plugins of both in the same JVMs: calls and blocks travel by the core, and servers are killed."""
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(1, str(HERE.parent / "hadoop"))

from shared import LIMIT, LONG, Calls  # noqa: E402  (needs the path above)
from writer import Writer  # noqa: E402
from cluster import ready  # noqa: E402
from cluster.cluster import Cluster as Hadoop  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402
from servers.cluster import Cluster  # noqa: E402

ROWS = 200  # acknowledged before and after the fault
REPLICAS = 3
# One more: when a DataNode of a synced file dies, HDFS wants another in its place, or the writer fails. With three the master
# could not write its own log any more and aborts, also without us.
DATANODES = REPLICAS + 1
VICTIM, OTHER = "regionserver1", "regionserver2"
BEAN = "Hadoop:service=DataNode,name=Verbena"


def value_bytes(rows):
    """Of the values that Rows writes."""
    return sum(100 + number % 2000 for number in range(rows))


@LONG
class HdfsRootTest(Calls, unittest.TestCase):
    by_core = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        blocks, calls = os.environ["VERBENA_HADOOP_JAR"], os.environ["VERBENA_HBASE_JAR"]
        waits = {"core-site": {"verbena.hdfs.connect.wait.ms": 1000 * LIMIT}}
        cls.hadoop = Hadoop(os.path.join(folder.name, "hadoop"), DATANODES, plugin=blocks if cls.by_core else None,
                            by_core=cls.by_core,
                            properties=waits if cls.by_core else None, quick=True, tied=True)
        cls.addClassCleanup(cls.hadoop.stop)
        cls.hadoop.start()
        below = cls.hadoop.for_clients()
        root = below["fs.defaultFS"]
        waits = {"verbena.hbase.connect.wait.ms": 1000 * LIMIT} if cls.by_core else {}
        cls.cluster = Cluster(os.path.join(folder.name, "hbase"), 2, f"{calls}:{blocks}" if cls.by_core else None, quick=True,
                              tied=True, properties={**below, "hbase.rootdir": f"{root}/hbase",
                                                     "hbase.wal.dir": f"{root}/hbase-wal",
                                                     "hbase.unsafe.stream.capability.enforce": "true", **waits})
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        for system in (self.hadoop, self.cluster):
            for name in system.names():
                if name not in system.running():
                    system.launch(name)
        until(self.hadoop.check_alive, lambda: ready.hdfs(self.hadoop.ports, DATANODES), "HDFS", self.hadoop.work)
        self.cluster.await_all()

    def writer(self, table):
        writer = Writer(self.cluster, table)
        self.addCleanup(lambda: writer.process.poll() is None and writer.process.kill())
        writer.await_rows(ROWS)
        return writer

    def moved(self, direction, without=None):
        """Bytes that DataNodes have sent or received by the core, all but one."""
        names = [f"datanode{number}" for number in range(1, DATANODES + 1)]
        beans = [ready.bean(self.hadoop.ports[f"{name}-http"], BEAN) for name in names if name != without]
        return sum(bean.get(f"stream.{direction}_bytes", 0) for bean in beans)

    def await_moved(self, direction, before, count, without=None):
        """Waits until so many more have travelled: what a DataNode tells is up to a second old."""
        def lack():
            more = self.moved(direction, without) - before
            return None if more > count else f"{more} bytes were {direction} by the core, not {count}"
        until(lambda: None, lack, "HDFS", self.hadoop.work)

    def blocks(self, name):
        """What a region server's log says about the ways to DataNodes."""
        text = pathlib.Path(self.cluster.log(name)).read_text(errors="replace")
        return [line for line in text.splitlines() if "hdfs.DataNodes: Verbena" in line]

    def test_blocks_travel_by_the_core_to_each_replica_and_back(self):
        before = self.moved("received")
        rows, _ = self.writer("replicas").stop()
        self.await_moved("received", before, REPLICAS * value_bytes(rows))  # of logs, by each hop of their pipelines
        for name in (VICTIM, OTHER):
            said = self.blocks(name)
            self.assertTrue(said, f"{name} has written its log somewhere")
            self.assertEqual([line for line in said if "is reached by the core: shm" not in line], [])
            processes.end([self.cluster.daemons[name]], LIMIT)  # it writes its regions into files
        self.setUp()
        before = self.moved("sent")
        self.assertIn(f"verified {rows}", self.run_client("Rows", "verify", "replicas", rows).stdout)
        self.await_moved("sent", before, value_bytes(rows))  # of files, which nobody had in memory

    def test_no_acknowledged_row_is_lost_when_a_region_server_is_killed(self):
        self.recover("killed")

    def test_no_acknowledged_row_is_lost_when_a_data_node_is_killed_with_it(self):
        self.recover("both", "datanode1")

    def recover(self, table, datanode=None):
        before = self.moved("received", datanode)
        writer = self.writer(table)
        self.cluster.kill(VICTIM)
        if datanode:
            self.hadoop.kill(datanode)
        writer.await_rows(writer.acknowledged + ROWS)
        rows, log = writer.stop()
        if self.by_core:
            self.assertGreater(self.counts(log)[0], 50)
            self.await_moved("received", before, (1 if datanode else REPLICAS) * value_bytes(rows), datanode)
        self.assertIn(f"verified {rows}", self.run_client("Rows", "verify", table, rows).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
