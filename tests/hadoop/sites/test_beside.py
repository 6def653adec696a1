# SPDX-License-Identifier: Apache-2.0
"""What administrators use in HDFS beside each mode: snapshots, erasure coding, a rolling upgrade, decommissioning, the
balancer, the mover and the way back."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from daemons import processes  # noqa: E402  (needs the path above)
from moded import MIB, TIERS, LeavingCase  # noqa: E402

TWO = {"hhh": ["NVDIMM", "SSD"], "hhh-m": ["NVDIMM"] * 2, "hhh-l": ["ARCHIVE", "NVDIMM"]}


class BesideCase(LeavingCase):
    def setUp(self):
        self.empty_memory()
        self.dfs("-mkdir", "-p", "/data")
        self.addCleanup(self.dfs, "-rm", "-r", "-f", "-skipTrash", "/data")

    def upgrade(self, name):
        """Restarts a DataNode as an administrator does who upgrades it."""
        process = self.cluster.daemons[name]
        self.client.end_for_upgrade(name)
        self.wait_for(f"{name} ends", lambda: not processes.alive(*process))
        self.start(name)


class BesideCases:
    """For each mode."""

    def test_a_snapshot_keeps_what_is_appended_to_truncated_and_deleted(self):
        source = self.file("source", 2)
        half = self.folder / "half"
        half.write_bytes(source.read_bytes()[:MIB + MIB // 2])
        self.admin("-allowSnapshot", "/data")
        for name in ("appended", "truncated", "deleted"):
            self.put(source if name != "appended" else half, f"/data/{name}", 3)
        self.dfs("-createSnapshot", "/data", "before")
        self.addCleanup(self.client.run, "hdfs", "dfs", "-deleteSnapshot", "/data", "before")  # after a failure: it keeps /data
        self.dfs("-appendToFile", str(source), "/data/appended")
        self.dfs("-truncate", "-w", str(MIB + MIB // 2), "/data/truncated")
        # The command waits for the length alone, which the NameNode tells before a DataNode has the shorter block.
        self.wait_for("the truncated file is closed", lambda: self.is_closed("/data/truncated"))
        self.dfs("-rm", "-skipTrash", "/data/deleted")
        whole = self.folder / "whole"
        whole.write_bytes(half.read_bytes() + source.read_bytes())
        for path, content in (("/data/appended", whole), ("/data/truncated", half), ("/data/.snapshot/before/appended", half),
                              ("/data/.snapshot/before/truncated", source), ("/data/.snapshot/before/deleted", source)):
            self.assert_same(content, path)
        self.wait_for("no block is missing", self.is_healthy)
        self.dfs("-deleteSnapshot", "/data", "before")
        self.admin("-disallowSnapshot", "/data")
        self.assert_same(whole, "/data/appended")

    def test_erasure_coded_files_lie_on_disks_and_are_read_without_one_of_their_data_nodes(self):
        source = self.file("source", 4)
        self.dfs("-mkdir", "/data/coded")
        self.hdfs("ec", "-enablePolicy", "-policy", "XOR-2-1-1024k")
        self.hdfs("ec", "-setPolicy", "-path", "/data/coded", "-policy", "XOR-2-1-1024k")
        self.put(source, "/data/coded/file", 1)
        self.put(source, "/data/plain", 3)
        self.wait_for_tiers("/data/plain", [TIERS[self.mode]] * 4)
        self.assertEqual(set(sum(self.tiers("/data/coded"), [])), {"DISK"})
        name = self.names()[0]
        self.kill(name)
        self.assert_same(source, "/data/coded/file")
        self.start(name)
        self.wait_for("no block is missing", self.is_healthy)

    def test_a_rolling_upgrade_keeps_files_in_their_tiers(self):
        source = self.file("source", 2)
        self.put(source, "/data/file", 3)
        self.put(source, "/data/old", 3)
        self.addCleanup(self.client.run, "hdfs", "dfsadmin", "-rollingUpgrade", "finalize")  # also after a failure
        self.admin("-safemode", "enter")
        self.admin("-rollingUpgrade", "prepare")
        self.admin("-safemode", "leave")
        self.wait_for("an image for the way back",
                      lambda: "Proceed with rolling upgrade" in self.admin("-rollingUpgrade", "query"))
        self.dfs("-rm", "-skipTrash", "/data/old")
        # A DataNode that restarts before it hears of a deletion is told hours later, also without a mode.
        kept = 2 * 2 * TIERS[self.mode].count("NVDIMM")  # files of blocks and checksums of the other file
        self.wait_for("deleted blocks have left", lambda: len(list(
            self.memory.glob("*/current/BP-*/current/finalized/**/blk_*"))) == kept)
        for name in self.names():
            self.upgrade(name)
        self.wait_for("no block is missing", self.is_healthy)
        self.put(source, "/data/new", 3)
        for path in ("/data/file", "/data/new"):
            self.wait_for_tiers(path, [TIERS[self.mode]] * 2)
            self.assert_same(source, path)
        self.dfs("-rm", "-skipTrash", "/data/file", "/data/new")
        self.admin("-rollingUpgrade", "finalize")  # until then all that was deleted takes its place in memory
        self.empty_memory()

    def test_a_data_node_is_decommissioned_and_comes_back_and_the_balancer_finds_all_balanced(self):
        source = self.file("source", 4)
        self.put(source, "/data/file", 2)
        self.wait_for_tiers("/data/file", [TWO[self.mode]] * 4)
        name = min(self.holders("/data/file", "NVDIMM"))
        with self.decommissioned(name):
            self.assert_same(source, "/data/file")
        self.wait_for_tiers("/data/file", [TWO[self.mode]] * 4)
        done = self.cluster.run("hdfs", "balancer", "-threshold", "50")
        self.assertIn("The cluster is balanced", done.stdout)
        self.assertTrue(self.is_healthy())

    def test_fsck_names_tiers_and_the_mover_brings_all_to_disks_for_the_way_back(self):
        source = self.file("source", 2)
        self.put(source, "/data/file", 3)
        self.wait_for_tiers("/data/file", [TIERS[self.mode]] * 2)
        self.assertIn("The storage policy of /data is unspecified", self.hdfs(
            "storagepolicies", "-getStoragePolicy", "-path", "/data").stdout)
        self.assertRegex(self.hdfs("fsck", "/data", "-storagepolicies").stdout, r"NVDIMM:\d")
        self.move_to_disks("/data/file", [["DISK"] * 3] * 2)
        self.assert_same(source, "/data/file")
        self.assertEqual(len(self.lines("files of the storage policy HOT get", "namenode")), 1)  # however often fsck ran


class HhhTest(BesideCases, BesideCase):
    mode = "hhh"


class MemoryTest(BesideCases, BesideCase):
    mode = "hhh-m"


class SharedPathTest(BesideCases, BesideCase):
    mode = "hhh-l"


if __name__ == "__main__":
    unittest.main(verbosity=2)
