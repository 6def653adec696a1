# SPDX-License-Identifier: Apache-2.0
"""Modes hhh-l and hhh-m on real daemons."""
import pathlib
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG  # noqa: E402  (needs the path above)
from cluster import java  # noqa: E402
from moded import LIMIT, MIB, LeavingCase, ModeCase  # noqa: E402


class SharedPathTest(ModeCase):
    mode = "hhh-l"

    def test_one_replica_of_each_block_is_on_the_shared_path_and_a_living_data_node_adopts_those_of_a_dead_one(self):
        source = self.file("source", 2)
        self.dfs("-mkdir", "/data")
        for replicas in (1, 2, 3):
            self.put(source, f"/data/r{replicas}", replicas)
        for path, tiers in (("/data/r1", ["ARCHIVE"]), ("/data/r2", ["ARCHIVE", "NVDIMM"]),
                            ("/data/r3", ["ARCHIVE", "NVDIMM", "SSD"])):
            self.wait_for_tiers(path, [tiers] * 2)
        self.wait_for("each DataNode owns a volume", lambda: all(self.owned()[name] for name in self.names()))
        dead = min(self.holders("/data/r1", "ARCHIVE"))
        self.kill(dead)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("no block is missing", self.is_healthy)
        for replicas in (1, 2, 3):
            self.assert_same(source, f"/data/r{replicas}")
        self.start(dead)
        self.wait_for("the DataNode that came back has a new volume", lambda: self.owned()[dead])


@LONG
class SharedPathFaultsTest(LeavingCase):
    mode = "hhh-l"

    def setUp(self):
        self.start(*(name for name in self.names() if name not in self.cluster.running()))
        self.wait_for("each DataNode owns a volume", lambda: all(self.owned()[name] for name in self.names()))
        self.dfs("-rm", "-r", "-f", "-skipTrash", "/data")
        # A DataNode that is killed between the two files of a block leaves one until Hadoop's scan of the folder, hours later.
        self.wait_for("no block is left of other tests", lambda: not self.blocks_on_path())
        self.dfs("-mkdir", "/data")

    def blocks_on_path(self):
        return [path for path in self.shared.rglob("blk_*")]

    def with_path(self):
        """Whether a new file has a replica on the shared path."""
        self.dfs("-rm", "-r", "-f", "-skipTrash", "/data/probe")
        self.put(self.file("probe", 1), "/data/probe", 2)
        return "ARCHIVE" in self.tiers("/data/probe")[0]

    def test_what_is_deleted_leaves_nothing_on_the_shared_path(self):
        self.put(self.file("source", 3), "/data/file", 3)
        self.assertEqual(len(self.blocks_on_path()), 6)
        self.dfs("-rm", "-skipTrash", "/data/file")
        self.wait_for("the files of the blocks are deleted", lambda: not self.blocks_on_path())

    def test_blocks_whose_file_is_deleted_while_nobody_serves_them_are_deleted_by_the_adopter(self):
        self.put(self.file("source", 3), "/data/file", 1)
        for dead in self.holders("/data/file", "ARCHIVE"):
            self.kill(dead)
        self.dfs("-rm", "-skipTrash", "/data/file")
        self.start(*(name for name in self.names() if name not in self.cluster.running()))
        self.wait_for("the files of the blocks are deleted", lambda: not self.blocks_on_path())

    def test_a_data_node_that_sleeps_longer_than_its_lease_gives_up_its_volume_and_never_has_it_beside_another(self):
        source = self.file("source", 2)
        self.put(source, "/data/file", 1)
        name = min(self.holders("/data/file", "ARCHIVE"))
        mine = [volume for volume, (node, _) in self.owners().items() if node == self.identity(name)]
        self.cluster.kill(name, signal.SIGSTOP)
        try:
            self.wait_for("another DataNode owns its volume", lambda: self.owned()[name] == 0)
        finally:
            self.cluster.kill(name, signal.SIGCONT)
        self.wait_for("it has noticed", lambda: self.lines(f"volume {mine[0]} has another owner now", name))
        self.wait_for("it has a new one", lambda: self.owned()[name])
        self.wait_for("no block is missing", self.is_healthy)
        self.assert_same(source, "/data/file")
        self.assertIn(name, self.cluster.running())

    def test_without_the_shared_path_files_go_to_other_tiers_with_one_line_and_later_ones_have_it_again(self):
        source = self.file("source", 2)
        self.put(source, "/data/before", 3)
        self.put(source, "/data/alone", 1)
        away = self.folder / "away"
        self.shared.rename(away)
        try:
            self.wait_for("the NameNode places files without it", lambda: not self.with_path()
                          and self.lines("go without a replica on the shared path", "namenode"))
            self.put(source, "/data/without", 3)
            self.assertNotIn("ARCHIVE", sum(self.tiers("/data/without"), []))
            self.assertEqual(len(self.lines("go without a replica on the shared path", "namenode")), 1)
            self.assert_same(source, "/data/before")
            self.assertNotEqual(self.client.run("hdfs", "dfs", "-cat", "/data/alone").returncode, 0)
            for name in self.names():
                self.assertIn(name, self.cluster.running())
                self.assertEqual(len(self.lines("gets no new replicas for a minute", name)), 1)
        finally:
            away.rename(self.shared)
        self.wait_for("new files have it again", self.with_path)
        self.assert_same(source, "/data/before")
        self.assert_same(source, "/data/without")
        self.assert_same(source, "/data/alone")  # readers have found no files of it meanwhile

    def syncs(self):
        return sum(self.number(name, "tier.shared.syncs") for name in self.names())

    def test_data_is_forced_to_the_servers_of_the_path_by_hsync_alone(self):
        before = self.syncs()
        self.put(self.file("source", 12), "/data/file", 3)
        self.write("/data/flushed", f"flush {MIB // 4}\nclose\n")
        self.write("/data/synced", f"sync {MIB // 4}\nclose\n")
        self.wait_for("hsync is counted", lambda: self.syncs() > before)
        self.assertLessEqual(self.syncs() - before, 6, "data, checksums and folder of one block, at hsync and at its end")

    def write(self, path, commands):
        argv = java.argv(str(HERE / "java" / "Writer.java"), [path], self.cluster.client_conf(), self.cluster.plugin,
                         options=java.QUICK)
        done = subprocess.run(argv, env=self.cluster.environment(), input=commands, text=True, capture_output=True, timeout=LIMIT,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_data_node_that_is_decommissioned_is_left_by_its_replicas_and_the_balancer_finds_all_balanced(self):
        source = self.file("source", 4)
        self.put(source, "/data/file", 2)
        name = min(self.holders("/data/file", "ARCHIVE"))
        with self.decommissioned(name):
            for tiers in self.tiers("/data/file"):  # those of the DataNode that leaves are told, too
                self.assertGreaterEqual(len(tiers), 2)
            self.assert_same(source, "/data/file")
            self.assertTrue(self.owned()[name], "it lives, and keeps its volume")
        self.wait_for("each block has two replicas, one of them on the path", lambda: all(
            len(tiers) == 2 and tiers.count("ARCHIVE") == 1 for tiers in self.tiers("/data/file")))
        done = self.cluster.run("hdfs", "balancer", "-threshold", "20")
        self.assertIn("The cluster is balanced", done.stdout)
        self.assertTrue(self.is_healthy())

    def test_the_mover_brings_replicas_of_memory_and_shared_path_to_disks_for_the_way_back(self):
        source = self.file("source", 2)
        self.put(source, "/data/file", 2)
        self.wait_for_tiers("/data/file", [["ARCHIVE", "NVDIMM"]] * 2)
        self.move_to_disks("/data/file", [["DISK", "DISK"]] * 2)
        self.assert_same(source, "/data/file")

    def test_the_doctor_looks_at_the_shared_path(self):
        said = self.cluster.run("org.verbena.hadoop.Doctor").stdout
        self.assertRegex(said, rf"(?:ok  |warn)  shared path: {self.shared} has \d+ MiB free, its file system is \S+, ")
        self.assertIn("ok    dfs.net.topology.impl names VerbenaTopology", said)
        self.assertEqual([path for path in self.shared.iterdir() if path.name.startswith(".")], [], "it leaves nothing there")

    def test_appends_and_changes_of_the_number_of_replicas_keep_one_on_the_shared_path(self):
        source = self.file("source", 1)
        source.write_bytes(source.read_bytes()[:MIB // 2])
        whole = self.folder / "whole"
        whole.write_bytes(source.read_bytes() * 2)
        self.put(source, "/data/file", 3)
        self.dfs("-appendToFile", str(source), "/data/file")
        self.assert_same(whole, "/data/file")
        self.wait_for_tiers("/data/file", [["ARCHIVE", "NVDIMM", "SSD"]])
        self.dfs("-setrep", "2", "/data/file")
        self.wait_for_tiers("/data/file", [["ARCHIVE", "NVDIMM"]])
        self.dfs("-setrep", "1", "/data/file")
        self.wait_for_tiers("/data/file", [["ARCHIVE"]])
        self.dfs("-setrep", "3", "/data/file")
        self.wait_for_tiers("/data/file", [["ARCHIVE", "NVDIMM", "SSD"]])
        self.assert_same(whole, "/data/file")

    def test_the_adopter_keeps_one_replica_of_a_block_that_it_has_in_memory_too(self):
        source = self.file("source", 4)
        self.put(source, "/data/file", 3)  # each DataNode has each block
        dead = min(self.holders("/data/file", "ARCHIVE"))
        self.kill(dead)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("the blocks have two replicas, one of them on the shared path",
                      lambda: all(len(tiers) == 2 and tiers.count("ARCHIVE") == 1 for tiers in self.tiers("/data/file")))
        self.assert_same(source, "/data/file")
        self.start(dead)
        self.wait_for("the blocks have three again", lambda: all(
            len(tiers) == 3 and tiers.count("ARCHIVE") == 1 for tiers in self.tiers("/data/file")))
        self.assert_same(source, "/data/file")


@LONG
class LongLeaseTest(ModeCase):
    """A lease that does not end while a DataNode starts."""

    mode, more = "hhh-l", {"verbena.hdfs.shared.lease.ms": 3600000}

    def test_a_data_node_that_is_killed_and_started_again_has_its_volume_at_once_and_no_other_one(self):
        source = self.file("source", 2)
        self.put(source, "/file", 1)
        name = min(self.holders("/file", "ARCHIVE"))
        before = self.owners()
        self.kill(name)
        self.start(name)
        self.wait_for("no block is missing", self.is_healthy)
        self.assertEqual(self.owners().keys(), before.keys())
        self.assertEqual({volume: node for volume, (node, _) in self.owners().items()},
                         {volume: node for volume, (node, _) in before.items()})
        self.assert_same(source, "/file")


@LONG
class AllInMemoryTest(ModeCase):
    mode = "hhh-m"

    def on_disks(self):
        data = pathlib.Path(self.cluster.work) / "data"
        return [path for path in data.rglob("blk_*") if path.suffix != ".meta"]

    def test_all_replicas_are_in_memory_and_survive_all_data_nodes_but_one_and_a_full_memory_is_followed_by_the_ssd(self):
        source = self.file("source", 2)
        self.dfs("-mkdir", "/data")
        refused = self.client.run("hdfs", "dfs", "-D", "dfs.replication=1", "-put", str(source), "/data/r1")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Verbena hhh-m refuses to write /data/r1", refused.stdout + refused.stderr)
        self.assertIn("with one replica, in the memory of one host alone; write it with dfs.replication=2 or more, or set "
                      "verbena.hdfs.memory.alone=true for the NameNode", refused.stdout + refused.stderr)
        self.dfs("-rm", "-skipTrash", "-f", "/data/r1._COPYING_", "/data/r1")
        self.put(source, "/data/r3", 3)
        self.wait_for_tiers("/data/r3", [["NVDIMM"] * 3] * 2)
        self.assertEqual(self.on_disks(), [])
        for name in self.names()[:2]:
            self.kill(name)
        self.assert_same(source, "/data/r3")
        self.start(*self.names()[:2])
        self.wait_for("no block is missing", self.is_healthy)
        self.put(self.file("many", 24), "/data/many", 2)
        self.assertTrue(self.on_disks())
        self.assertIn("NVDIMM", sum(self.tiers("/data/many"), []))
        self.assertTrue(self.lines("goes to SSD in place of NVDIMM") or "SSD" in sum(self.tiers("/data/many"), []))
        self.assertTrue(self.is_healthy())


@LONG
class AloneInMemoryTest(ModeCase):
    mode, more, datanodes = "hhh-m", {"verbena.hdfs.memory.alone": "true"}, 1

    def test_a_single_replica_lies_in_memory_where_that_is_allowed(self):
        self.put(self.file("source", 2), "/file", 1)
        self.assertEqual(self.tiers("/file"), [["NVDIMM"]] * 2)


@LONG
class SmallSharedVolumesTest(ModeCase):
    mode, more = "hhh-l", {"verbena.hdfs.shared.size": 4 * MIB}

    def test_a_volume_takes_no_more_than_its_size_and_the_ssd_takes_over(self):
        source = self.file("source", 20)
        self.put(source, "/many", 2)
        tiers = self.tiers("/many")
        self.assertEqual(len(tiers), 20)
        on_path = sum(of.count("ARCHIVE") for of in tiers)
        self.assertTrue(0 < on_path <= 3 * 4, tiers)
        self.assertTrue(all(len(of) == 2 for of in tiers), tiers)
        for volume in self.shared.glob("*/*"):
            self.assertLessEqual(sum(path.stat().st_size for path in volume.rglob("blk_*")), 4 * MIB)
        self.assert_same(source, "/many")


@LONG
class WrongSharedPathTest(ModeCase):
    mode = "hhh-l"
    more = {"verbena.hdfs.shared.dir": "/proc/verbena/hdfs"}

    def test_a_path_that_is_not_there_is_said_in_one_line_and_files_are_kept_in_the_other_tiers(self):
        source = self.file("source", 2)
        self.put(source, "/file", 3)
        self.assertNotIn("ARCHIVE", sum(self.tiers("/file"), []))
        self.assertTrue(self.is_healthy())
        for name in self.names():
            self.assertEqual(len(self.lines("no volume on the shared path, replicas go to memory, SSD and disk: "
                                            "verbena.hdfs.shared.dir=/proc/verbena/hdfs: there is no such folder", name)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
