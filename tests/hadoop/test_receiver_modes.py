# SPDX-License-Identifier: Apache-2.0
"""Each mode with Verbena's receiver in all DataNodes: blocks in their tiers, appends, a pipeline that loses a DataNode."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG, NO_OTHERS  # noqa: E402  (needs the path above)
from moded import MIB, TIERS, ModeCase  # noqa: E402

WAIT = 600_000  # ms for the core's first connection
BLOCKS, ODD = 3, 12345


class Receiving:
    """The test of each mode."""

    more = {"verbena.hdfs.connect.wait.ms": WAIT}
    left = 0  # replicas of each block that are Hadoop's receiver's

    def taken(self, which):
        return sum(self.number(name, which) for name in self.names())

    def test_blocks_lie_in_their_tiers_are_appended_to_and_outlive_a_data_node_of_their_pipeline(self):
        content = os.urandom(BLOCKS * MIB + ODD)
        source = self.folder / "source"
        source.write_bytes(content)
        self.put(source, "/file", 3)
        blocks = BLOCKS + 1
        self.wait_for_tiers("/file", [TIERS[self.mode]] * blocks)
        # A client that has waited too long writes a block again.
        self.wait_for("our receivers have taken what they can", lambda: self.taken("receiver.blocks") >= blocks * (3 - self.left))
        self.wait_for("Hadoop's have the others", lambda: self.taken("receiver.stock.blocks") >= blocks * self.left)
        self.assert_same(source, "/file")
        more = self.folder / "more"
        for dead in (None, "datanode2"):
            if dead:
                self.kill(dead)
            more.write_bytes(os.urandom(ODD))
            content += more.read_bytes()
            self.dfs("-D", NO_OTHERS, "-appendToFile", str(more), "/file")
            source.write_bytes(content)
            self.assert_same(source, "/file")
        self.start("datanode2")
        self.wait_for("all replicas are there again", lambda: len(self.tiers("/file")) == blocks
                      and all(len(kinds) == 3 for kinds in self.tiers("/file")) and self.is_healthy())


@LONG
class MemoryFirstTest(Receiving, ModeCase):
    mode = "hhh"


@LONG
class MemoryAloneTest(Receiving, ModeCase):
    mode = "hhh-m"


@LONG
class SharedPathTest(Receiving, ModeCase):
    mode = "hhh-l"
    left = 1


if __name__ == "__main__":
    unittest.main(verbosity=2)
