# SPDX-License-Identifier: Apache-2.0
"""Small files that a client writes to all replicas at once, with DataNodes that are killed or stand still."""
import os
import pathlib
import resource
import signal
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG, WITH_PLUGIN, HdfsCase  # noqa: E402  (needs the path above)
from cluster import conf  # noqa: E402

# The resident JVM keeps the file system of other tests.
IN_PARALLEL = ("-D", f"fs.hdfs.impl={conf.PARALLEL['fs.hdfs.impl']}", "-D", "fs.hdfs.impl.disable.cache=true")
SIZES = (0, 1, 65536, 300_001, 1 << 20)
FILES = 12  # while DataNodes come and go


class SmallFilesTest(HdfsCase):
    def small(self, size):
        """A local file of its own of this size."""
        path = self.folder / f"small{size}"
        if not path.exists():
            path.write_bytes(os.urandom(size))
        return path

    def put(self, size, name):
        return self.dfs(*IN_PARALLEL, "-put", "-f", str(self.small(size)), name)

    def assert_there(self, size, name):
        copy = self.folder / "small-copy"
        copy.unlink(missing_ok=True)
        self.dfs("-get", name, str(copy))
        self.assertEqual(copy.read_bytes(), self.small(size).read_bytes(), f"{name} differs")

    def replicas(self, name):
        """How many the NameNode knows of a file of one block."""
        return self.client.run("hdfs", "fsck", name, "-files", "-blocks", "-locations").stdout.count("DatanodeInfoWithStorage[")

    def test_small_files_have_all_replicas_and_all_bytes(self):
        for size in SIZES:
            self.put(size, f"/small{size}")
            self.assert_there(size, f"/small{size}")
            self.wait_for("three replicas", lambda name=f"/small{size}", size=size: self.replicas(name) == (3 if size else 0))
        self.assert_healthy()

    @LONG
    def test_small_files_are_written_while_data_nodes_are_killed(self):
        for number in range(FILES):
            if number % 3 == 1:
                self.kill(WITH_PLUGIN[number // 3 % 2])  # the NameNode takes it for alive for a while
            size = SIZES[1 + number % (len(SIZES) - 1)]
            self.put(size, f"/killed{number}")
            self.assert_there(size, f"/killed{number}")
            if number % 3 == 2:
                self.setUp()
        for number in range(FILES):
            self.assert_there(SIZES[1 + number % (len(SIZES) - 1)], f"/killed{number}")
        self.assert_healthy()

    @LONG
    def test_small_files_are_written_past_a_data_node_whose_disk_is_full(self):
        """The kernel refuses to write files beyond a limit, as it refuses to on a full disk."""
        pid = self.cluster.daemons[WITH_PLUGIN[0]][0]
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            said = "".join(self.put(size, f"/full{size}").stderr for size in SIZES)
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.assertIn("Hadoop's pipeline writes the file, as ", said)
        for size in SIZES:
            self.assert_there(size, f"/full{size}")
        self.assert_healthy()

    @LONG
    def test_small_files_are_written_past_a_data_node_that_stands_still(self):
        self.cluster.kill(WITH_PLUGIN[0], signal.SIGSTOP)
        try:
            for size in (65536, 1 << 20):  # the second is more than a socket takes
                self.put(size, f"/past{size}")
                self.assert_there(size, f"/past{size}")
        finally:
            self.cluster.kill(WITH_PLUGIN[0], signal.SIGCONT)
        for size in (65536, 1 << 20):
            self.wait_for("three replicas", lambda size=size: self.replicas(f"/past{size}") == 3)
        self.assert_healthy()


if __name__ == "__main__":
    unittest.main(verbosity=2)
