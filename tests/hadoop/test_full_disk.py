# SPDX-License-Identifier: Apache-2.0
"""With --full: a NodeManager whose local disk becomes full. The job that fills it fails and says so; the next one runs."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import LONG  # noqa: E402
from cluster import conf  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons.errors import Failed  # noqa: E402

MIB = 1 << 20
DISK = 24  # MiB
MANY, FEW = 300_000, 5_000  # rows of 100 bytes: more than the disk takes, and less
MOUNTS = ["unshare", "--mount", "--propagation", "private"]
FULL = r"No space left on device|Could not find any valid local directory|DiskErrorException|local-dirs are bad"


def mounts():
    """Whether this process may mount something for its children."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*MOUNTS, "mount", "-t", "tmpfs", "none", folder], capture_output=True, check=False).returncode == 0


class SmallDisk(Cluster):
    """The local folder of the NodeManager and of its containers is a file system of a few MiB, which only they see."""

    def wrapper(self, name):
        if name != "nodemanager1":
            return []
        folder = os.path.join(self.local(), name)
        os.makedirs(folder, exist_ok=True)
        return [*MOUNTS, "sh", "-c", f'mount -t tmpfs -o size={DISK}m,mode=755 none "$0" && exec "$@"', folder]


@LONG
class FullDiskTest(unittest.TestCase):
    def setUp(self):
        if not mounts():
            self.skipTest("mounts nothing here: run it as root, with CAP_SYS_ADMIN")

    def rows(self, cluster, folder, name, count):
        """Puts rows there; gives the digest of the sorted ones."""
        made = jobs.rows(folder / name, 0, count)
        done = cluster.run("hdfs", "dfs", "-put", str(folder / name), f"/{name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return hashlib.sha256(b"".join(sorted(made))).hexdigest()

    def test_the_job_that_fills_the_disk_says_so_and_the_next_one_runs_by_the_core(self):
        settings = {"yarn-site": {"yarn.nodemanager.disk-health-checker.interval-ms": 1000},
                    "hdfs-site": {"dfs.replication": 1},
                    "mapred-site": {"mapreduce.map.maxattempts": "1", "mapreduce.reduce.maxattempts": "1",
                                    "mapreduce.am.max-attempts": "1", "verbena.shuffle.connect.wait.ms": "600000"}}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with SmallDisk(folder / "hadoop", datanodes=1, nodemanagers=1, quick=True, tied=True,
                           plugin=os.environ["VERBENA_HADOOP_JAR"], properties=conf.merged(conf.OURS, settings)) as cluster:
                self.rows(cluster, folder, "many", MANY)
                expected = self.rows(cluster, folder, "few", FEW)
                with self.assertRaisesRegex(Failed, r"ended with status"):
                    jobs.run(cluster, "terasort", True, ["/many", "/many-sorted"], timeout=900)
                self.assertRegex(jobs.task_logs(cluster), FULL)
                counters, _ = jobs.run(cluster, "terasort", True, ["/few", "/few-sorted"], timeout=900)
                self.assertEqual(jobs.digest(cluster, "/few-sorted"), expected)
                ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
                self.assertEqual(ours["Bytes by shm"], framework["Reduce shuffle bytes"])
                self.assertIn("nodemanager1", cluster.running())


if __name__ == "__main__":
    unittest.main(verbosity=2)
