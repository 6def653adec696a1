# SPDX-License-Identifier: Apache-2.0
"""With --full: Hadoop's disk balancer, which moves blocks between a DataNode's volumes of one storage type, beside tiers."""
import json
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG  # noqa: E402  (needs the path above)
from cluster import conf  # noqa: E402
from daemons.ports import HOST  # noqa: E402
from moded import MIB, Moded, ModeCase  # noqa: E402

BLOCK = 8 * MIB
PART = 3e-4  # of a file system: Hadoop's planner counts what a volume holds in parts of 1e-4 of its size
LARGEST = 512 << 30  # bytes of a file system that a test fills to this part
THRESHOLD = "0.0001"  # per cent


class Growing(Moded):
    """A DataNode that gets one more SSD when it starts again."""

    more_disks = False

    def second(self, name):
        return pathlib.Path(self.data()) / "ssd2" / name

    def site(self, name):
        site = super().site(name)
        if name.startswith("datanode") and self.more_disks:
            site["hdfs-site"]["dfs.datanode.data.dir"] += f",[SSD]file://{self.second(name)}"
        return site

    def rewrite(self, name):
        conf.write(self.conf(name), self.site(name))


@LONG
class DiskBalancerTest(ModeCase):
    mode, datanodes = "hhh", 1
    more = {"dfs.replication": 1, "verbena.hdfs.memory.persist": "async"}

    @classmethod
    def make(cls, shm):
        return Growing(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, datanodes=cls.datanodes)

    def in_memory(self):
        return sorted(path.name for path in self.memory.rglob("blk_*"))

    def copies(self):
        """Files of blocks below memory, and where."""
        return sorted(pathlib.Path(self.cluster.data()).glob("ssd*/datanode1/current/*/current/lazypersist/**/blk_*"))

    def finished(self, folder):
        return {path.name for path in pathlib.Path(folder).glob("current/*/current/finalized/**/blk_*") if path.suffix != ".meta"}

    def grow(self):
        """One more SSD, which is empty."""
        self.kill("datanode1")
        self.cluster.more_disks = True
        self.cluster.rewrite("datanode1")
        self.start("datanode1")
        self.wait_for("no block is missing", self.is_healthy)

    def alone(self, *words):
        done = self.cluster.run("hdfs", *words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")

    def plan(self, node):
        self.alone("diskbalancer", "-plan", node, "-out", "/plan", "-thresholdPercentage", THRESHOLD, "-bandwidth", "1000")
        path, = self.dfs("-ls", "-C", "/plan/*.plan.json").stdout.split()
        return path, json.loads(self.dfs("-cat", path).stdout)

    def test_it_moves_blocks_between_ssds_alone_and_those_of_memory_with_their_copies_stay(self):
        file_system = os.statvfs(self.cluster.data())
        size = file_system.f_blocks * file_system.f_frsize
        if size > LARGEST:
            self.skipTest(f"the folder for temporary files is on a file system of more than {LARGEST >> 30} GiB: set TMPDIR")
        source, hot = self.file("source", max(8 * BLOCK, int(size * PART)) // MIB), self.file("hot", 4)
        self.dfs("-mkdir", "/memory")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/memory", "-policy", "ALL_NVDIMM")
        self.put(hot, "/memory/hot", 1)
        self.dfs("-D", f"dfs.blocksize={BLOCK}", "-put", str(source), "/file")
        blocks = len(self.tiers("/file"))
        self.wait_for("blocks in memory have copies", lambda: len(self.copies()) >= 2 * 4)
        self.grow()
        held, copied = self.in_memory(), self.copies()
        node = self.identity("datanode1")
        path, plan = self.plan(node)
        kinds = [step[which]["storageType"] for step in plan["volumeSetPlans"] for which in ("sourceVolume", "destinationVolume")]
        self.assertEqual(kinds, ["SSD"] * 2)
        self.alone("diskbalancer", "-execute", path)
        address = f"{HOST}:{self.cluster.ports['datanode1-ipc']}"
        self.wait_for("the plan is done", lambda: "PLAN_DONE" in self.cluster.run("hdfs", "diskbalancer", "-query", address).stdout)
        second = self.cluster.second("datanode1")
        first = pathlib.Path(self.cluster.data()) / "ssd" / "datanode1"
        self.assertGreater(len(self.finished(second)), 0)
        self.wait_for("each block is in one volume", lambda: not self.finished(first) & self.finished(second))
        self.assert_in_place(source, hot, blocks)
        self.assertEqual((self.in_memory(), self.copies()), (held, copied))
        self.kill("datanode1")
        self.start("datanode1")
        self.wait_for("no block is missing", self.is_healthy)
        self.assert_in_place(source, hot, blocks)

    def assert_in_place(self, source, hot, blocks):
        self.wait_for_tiers("/file", [["SSD"]] * blocks)
        self.wait_for_tiers("/memory/hot", [["NVDIMM"]] * 4)
        self.assert_same(source, "/file")
        self.assert_same(hot, "/memory/hot")


if __name__ == "__main__":
    unittest.main(verbosity=2)
