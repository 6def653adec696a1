# SPDX-License-Identifier: Apache-2.0
"""With --full: each mode with Verbena's reader at a client and in all DataNodes: a file is read at any place while its blocks
move, grow, and lose DataNodes."""
import contextlib
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG, NO_OTHERS  # noqa: E402  (needs the path above)
from cluster import conf  # noqa: E402
from moded import MIB, TIERS, Moded, ModeCase  # noqa: E402
from reading import READS, Preads  # noqa: E402

OURS = {**conf.PARALLEL, "verbena.hdfs.connect.wait.ms": 600_000}
BLOCKS, ODD = 4, 12345
# Of a memory tier of twelve blocks; of those that fill it, one replica is in memory: more than half of one of the three tiers.
MARKS = {"verbena.hdfs.memory.high": 50, "verbena.hdfs.memory.low": 20, "verbena.hdfs.memory.promote": 2}
FILLING = 24


class Reading:
    """The test of each mode."""

    more = MARKS

    @classmethod
    def make(cls, shm):
        return Moded(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, {"core-site": OURS}, datanodes=cls.datanodes)

    def total(self, which):
        return sum(self.number(name, which) for name in self.names())

    def test_a_file_is_read_right_while_its_blocks_move_and_grow_and_lose_data_nodes(self):
        source = self.folder / "source"
        source.write_bytes(os.urandom(BLOCKS * MIB + ODD))
        self.put(source, "/file", 3)
        self.wait_for_tiers("/file", [TIERS[self.mode]] * (BLOCKS + 1))
        with contextlib.closing(Preads(self.cluster, "/file", source)) as reader:
            self.wait_for("the first reads", reader.more(READS))
            self.put(self.file("filling", FILLING), "/filling", 3)
            if self.mode != "hhh-m":  # whose blocks have nowhere to go but into another memory
                self.wait_for("blocks leave memory", lambda: self.total("tier.evictions") > 0)
            self.wait_for("reads beside that", reader.more(READS))
            self.dfs("-rm", "-skipTrash", "/filling")
            more = self.folder / "more"
            more.write_bytes(os.urandom(ODD))
            self.dfs("-appendToFile", str(more), "/file")
            self.wait_for("reads of a file that has grown", reader.more(READS))
            self.kill("datanode2")
            self.wait_for("reads without a DataNode", reader.more(READS))
            self.dfs("-D", NO_OTHERS, "-appendToFile", str(more), "/file")
            self.start("datanode2")
            self.wait_for("reads after it has come back", reader.more(READS))
            self.assertTrue(reader.end(), reader.last)
        self.assertGreater(self.total("reader.reads"), 2 * READS)
        source.write_bytes(source.read_bytes() + 2 * more.read_bytes())
        self.assert_same(source, "/file")


@LONG
class MemoryFirstTest(Reading, ModeCase):
    mode = "hhh"


@LONG
class MemoryAloneTest(Reading, ModeCase):
    mode = "hhh-m"


@LONG
class SharedPathTest(Reading, ModeCase):
    mode = "hhh-l"


if __name__ == "__main__":
    unittest.main(verbosity=2)
