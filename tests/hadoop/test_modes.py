# SPDX-License-Identifier: Apache-2.0
"""Modes hhh-l and hhh-m on real daemons."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from moded import ModeCase  # noqa: E402  (needs the path above)

LONG = unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")


class SharedPathTest(ModeCase):
    mode = "hhh-l"

    def test_one_replica_of_each_block_is_on_the_shared_path_and_a_living_data_node_adopts_those_of_a_dead_one(self):
        source = self.file("source", 2)
        self.dfs("-mkdir", "/data")
        for replicas in (1, 2, 3):
            self.put(source, f"/data/r{replicas}", replicas)
        self.assertEqual(self.tiers("/data/r1"), [["ARCHIVE"]] * 2)
        self.assertEqual(self.tiers("/data/r2"), [["ARCHIVE", "NVDIMM"]] * 2)
        self.assertEqual(self.tiers("/data/r3"), [["ARCHIVE", "NVDIMM", "SSD"]] * 2)
        self.wait_for("each DataNode owns a volume", lambda: self.owned() == {name: 1 for name in self.names()})
        dead = min(self.holders("/data/r1", "ARCHIVE"))
        self.kill(dead)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("no block is missing", self.is_healthy)
        for replicas in (1, 2, 3):
            self.assert_same(source, f"/data/r{replicas}")
        self.assertTrue(self.lines(self.identity(dead), *(name for name in self.names() if name != dead)))
        self.start(dead)
        self.wait_for("the DataNode that came back has a new volume", lambda: self.owned()[dead] == 1)
        self.assertEqual(sum(self.owned().values()), 4)
        self.assertTrue(self.is_healthy())


if __name__ == "__main__":
    unittest.main(verbosity=2)
