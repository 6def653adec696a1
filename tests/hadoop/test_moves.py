# SPDX-License-Identifier: Apache-2.0
"""With --full: blocks that leave memory, come back and have copies, on real daemons: marks, reads, a host without its memory."""
import pathlib
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import ready  # noqa: E402  (needs the path above)
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402
from test_tiers import IN_MEMORY, LONG, NODES, TiersCase  # noqa: E402

HIGH, LOW = 60, 40  # per cent of four blocks: two may stay


@LONG
class MarksTest(TiersCase):
    moves = {"verbena.hdfs.memory.high": HIGH, "verbena.hdfs.memory.low": LOW, "verbena.hdfs.memory.promote": 2}

    def number(self, name, of=NODES):
        return sum(self.numbers(node).get(name, 0) for node in of)

    def test_blocks_leave_a_full_memory_and_those_that_are_read_come_back(self):
        self.dfs("-mkdir", "-p", "/data/fast")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/data/fast", "-policy", "ALL_NVDIMM")
        source = self.file("marks", IN_MEMORY - 1)
        self.dfs("-put", str(source), "/data/fast/file")
        self.wait_for("all but one block of each memory leave it",
                      lambda: all(self.stored()[name, "NVDIMM"] == 1 for name in NODES))
        stored, text = self.assert_agree(3 * (IN_MEMORY - 1))
        self.assertIn("is HEALTHY", text)
        below = sum(stored[name, "SSD"] for name in NODES)  # Hadoop itself puts blocks of this policy on disks at most
        self.assertGreater(below, 0, stored)
        self.wait_for("the DataNodes count them", lambda: self.number("tier.evictions") == below)
        log = "".join(pathlib.Path(self.cluster.log(name)).read_text(errors="replace") for name in NODES)
        self.assertRegex(log, rf"block \d+ leaves memory for SSD: memory is fuller than {HIGH} %, and the block has \d+\.\d uses")

        def back():
            self.assert_same(source, "/data/fast/file")
            return self.number("tier.promotions") > 0
        self.wait_for("a block that is read comes back into memory", back)
        self.assert_agree(3 * (IN_MEMORY - 1))
        self.assert_same(source, "/data/fast/file")


@LONG
class CopiesTest(TiersCase):
    moves = {"verbena.hdfs.memory.high": 100, "verbena.hdfs.memory.promote": 0, "verbena.hdfs.memory.persist": "async"}

    def test_a_host_that_loses_its_memory_serves_the_copies_of_files_with_one_replica(self):
        self.dfs("-mkdir", "-p", "/data/fast")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/data/fast", "-policy", "ALL_NVDIMM")
        source = self.file("copies", 2)
        self.dfs("-D", "dfs.replication=1", "-put", str(source), "/data/fast/file")
        self.wait_for("both blocks have copies", lambda: sum(self.numbers(name).get("tier.copies", 0) for name in NODES) == 2)
        stored, _ = self.assert_agree(2)
        self.assertEqual({kind for _, kind in +stored}, {"NVDIMM"})
        for name in {name for name, _ in +stored}:
            memory = [folder.parent for folder in self.roots(name)["NVDIMM"]]
            process = self.cluster.daemons[name]
            self.cluster.kill(name)
            processes.end([process])
            for folder in memory:
                shutil.rmtree(folder)
            self.cluster.launch(name)
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        self.wait_for("fsck is healthy", lambda: "is HEALTHY" in self.hdfs("fsck", "/").stdout)
        stored, _ = self.assert_agree(2)
        self.assertEqual({kind for _, kind in +stored}, {"SSD"})
        self.assert_same(source, "/data/fast/file")


if __name__ == "__main__":
    unittest.main(verbosity=2)
