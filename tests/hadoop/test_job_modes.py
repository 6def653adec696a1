# SPDX-License-Identifier: Apache-2.0
"""The same jobs by our shuffle on HDFS as it is, in each mode of ours, and on lustre: with and without local disks, and through the
burst buffer, with --full; each has to give what a stock cluster gives. In the default tier one sort without local disks."""
import contextlib
import filecmp
import functools
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from burst import Burst  # noqa: E402
from case import JOBS, LONG  # noqa: E402
from cluster import conf  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from moded import NEEDS_SHM, SHM, Moded  # noqa: E402
from resident import Resident  # noqa: E402
from test_lustre import Diskless, Jobs  # noqa: E402
from workload import Workload  # noqa: E402

TWO_REPLICAS = {"hdfs-site": {"dfs.replication": 2}, "mapred-site": {"mapreduce.client.submit.file.replication": "2"}}
PLUGIN = os.environ.get("VERBENA_HADOOP_JAR")
WRITTEN = ("generated", "generated-sorted", "random", "random-sorted", "words", "counted", "pairs", "pairs-sorted")
UNFORCED = {"mapreduce.terasort.final.sync": "false"}  # a file's writer does not wait until the shared folder has it
MOVED = ("terasort", "sort", "wordcount", "secondarysort")  # jobs with reducers of their own


def given(cluster, folder, ours, more=None):
    """What the jobs give on a running cluster, and their counters."""
    client = Resident(cluster)
    try:
        work = Workload(client, pathlib.Path(folder), ours, more)
        return work.run(), work.counters
    finally:
        client.stop()


@functools.lru_cache(maxsize=None)
def stock():
    """What they give on a cluster without anything of ours."""
    with tempfile.TemporaryDirectory() as folder:
        properties = conf.merged(JOBS, TWO_REPLICAS, {"mapred-site": {conf.CONSUMER: conf.STOCK_CONSUMER}})
        with Cluster(os.path.join(folder, "hadoop"), datanodes=2, nodemanagers=1, quick=True, tied=True,
                     properties=properties) as cluster:
            return given(cluster, folder, False)[0]


@LONG
class JobModesTest(unittest.TestCase):
    def setUp(self):
        whole = contextlib.ExitStack()
        self.addCleanup(whole.close)
        self.enter = whole.enter_context
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.properties = conf.merged(conf.OURS, JOBS, TWO_REPLICAS)

    def expect(self, cluster, way="Bytes by shm", more=None, beside=lambda cluster: None):
        """way: the counter that has all bytes which went from maps to reducers. beside: is called before the first job. Gives the
        cluster, which runs."""
        self.enter(cluster)
        beside(cluster)
        found, counters = given(cluster, self.folder, True, more)
        self.assertEqual(found, stock())
        for name in MOVED:
            self.assertEqual(counters[name][jobs.GROUP].get(way, 0), counters[name]["Map-Reduce Framework"]["Reduce shuffle bytes"],
                             f"{name}: {counters[name][jobs.GROUP]}")
        return cluster

    def mode(self, mode):
        shm = pathlib.Path(self.enter(tempfile.TemporaryDirectory(prefix="verbena-modes-", dir=SHM)))
        shared = self.folder / "shared"
        shared.mkdir()
        self.expect(Moded(self.folder / "hadoop", shm, shared, mode, datanodes=2, nodemanagers=1, properties=self.properties))

    def test_hdfs_as_it_is(self):
        self.expect(Cluster(self.folder / "hadoop", datanodes=2, nodemanagers=1, quick=True, tied=True, plugin=PLUGIN,
                            properties=self.properties))

    @NEEDS_SHM
    def test_hhh(self):
        self.mode("hhh")

    @NEEDS_SHM
    def test_hhh_m(self):
        self.mode("hhh-m")

    @NEEDS_SHM
    def test_hhh_l(self):
        self.mode("hhh-l")

    def lustre(self, kind, **expected):
        root = self.folder / "root"
        root.mkdir()
        return self.expect(kind(self.folder / "hadoop", nodemanagers=1, quick=True, tied=True, plugin=PLUGIN, root=str(root),
                                properties=self.properties), **expected)

    def test_lustre_with_local_disks(self):
        self.lustre(Cluster)

    def test_lustre_without_local_disks(self):
        self.lustre(Diskless, way="Bytes by shared files", more={"verbena.shuffle.source": "shared"})

    def test_lustre_through_the_burst_buffer_while_nobody_flushes(self):
        burst = self.enter(Burst(self.folder, chunk="16k"))  # small, so that servers have bytes of each job
        cluster = self.lustre(burst.kind(), more=UNFORCED)
        self.assertGreater(burst.pinned(), 0)
        self.fetch(cluster)
        self.assertNotEqual(self.differing(), [], "the shared folder has all bytes, so that the buffer had none")
        self.flushed(burst, cluster)

    def test_lustre_through_the_burst_buffer_beside_a_flusher(self):
        burst = self.enter(Burst(self.folder, chunk="16k", fault="async-local"))
        flushers = []
        cluster = self.lustre(burst.kind(), beside=lambda cluster: flushers.append(burst.flusher(cluster)))
        self.assertGreater(burst.stored(), 0, "the buffer had no bytes of the jobs")
        self.fetch(cluster)
        self.flushed(burst, cluster)
        self.assertIsNone(flushers[0].poll(), f"the flusher has ended: {burst.said(flushers[0])}")

    def fetch(self, cluster):
        """Copies of all files that the jobs have written, as a client reads them."""
        target = self.folder / "read"
        target.mkdir()
        done = cluster.run("hadoop", "fs", "-get", *(f"/{name}" for name in WRITTEN), str(target))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def differing(self):
        """The files whose bytes on the shared folder are not those that a client read."""
        read = self.folder / "read"
        files = [path.relative_to(read) for path in read.rglob("*") if path.is_file()]
        self.assertGreater(len(files), len(WRITTEN))
        return [file for file in files if not filecmp.cmp(read / file, self.folder / "root" / file, shallow=False)]

    def flushed(self, burst, cluster):
        """The shared folder has the same bytes without the servers, and nothing of the buffer."""
        burst.flush_all(cluster, self.folder / "root")
        self.assertEqual(self.differing(), [])


class ShortTest(Jobs):
    def test_without_local_disks_a_reducer_reads_map_outputs_from_the_shared_files(self):
        self.start(Diskless, nodemanagers=1, umask=0o077)
        counters, _ = self.sort(ours=True, more={"verbena.shuffle.source": "shared", "mapreduce.job.reduces": "1"})
        self.assertEqual(counters[jobs.GROUP]["Bytes by shared files"], counters["Map-Reduce Framework"]["Reduce shuffle bytes"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
