# SPDX-License-Identifier: Apache-2.0
"""The way back to stock from each mode, step by step as docs/hdfs.md says under "Remove it"."""
import pathlib
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cluster import conf  # noqa: E402  (needs the path above)
from moded import ModeCase  # noqa: E402

ON_DISKS = [["DISK"] * 2], [["DISK"] * 3]


class RemovalCase(ModeCase):
    def restart(self, name, *without):
        """A daemon without some of its properties."""
        site = self.cluster.site(name)
        site["hdfs-site"].update(dict.fromkeys(without))
        conf.write(self.cluster.conf(name), site)
        self.kill(name)
        self.start(name)

    def doctor(self):
        return self.cluster.run("org.verbena.hadoop.Doctor").stdout

    def placed(self):
        """The tiers of both files, as the command of the page shows them."""
        return self.tiers("/fast/file"), self.tiers("/usual")

    def moved(self):
        self.cluster.run("hdfs", "mover", "-p", "/")
        return self.placed() == ON_DISKS


class RemovalCases:
    """For each mode."""

    alone = 1  # of two files, those whose replicas are all in memory

    def test_what_is_found_is_moved_and_then_the_mode_goes_and_its_folders_are_deleted(self):
        source = self.file("source", 1)
        self.dfs("-mkdir", "/fast")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/fast", "-policy", "ALL_NVDIMM")
        self.put(source, "/fast/file", 2)
        self.put(source, "/usual", 3)
        self.wait_for("all replicas", lambda: list(map(len, sum(self.placed(), []))) == [2, 3])
        self.assertRegex(self.doctor(), rf"memory tier: {self.alone} of 2 files have blocks in memory alone, ")
        self.restart("namenode", "dfs.block.replicator.classname", "dfs.net.topology.impl")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/fast", "-policy", "HOT")
        self.wait_for("all has moved to disks", self.moved)
        self.assertIn("memory tier: no block of 2 files lies in memory alone", self.doctor())
        for name in self.names():
            self.restart(name, "verbena.hdfs.mode", "dfs.datanode.fsdataset.factory")
        shutil.rmtree(self.memory)
        for folder in self.shared.glob("CID-*"):
            shutil.rmtree(folder)
        self.wait_for("no block is missing", self.is_healthy)
        for name in self.names():  # each finds its replicas without the folders
            self.restart(name, "verbena.hdfs.mode", "dfs.datanode.fsdataset.factory")
        self.put(source, "/new", 3)
        for path in ("/fast/file", "/usual", "/new"):
            self.assert_same(source, path)
        self.wait_for_tiers("/new", [["DISK"] * 3])
        self.assertEqual(self.placed(), ON_DISKS)
        self.assertTrue(self.is_healthy())


class HhhTest(RemovalCases, RemovalCase):
    mode = "hhh"


class MemoryTest(RemovalCases, RemovalCase):
    mode, alone = "hhh-m", 2


class SharedPathTest(RemovalCases, RemovalCase):
    mode = "hhh-l"


if __name__ == "__main__":
    unittest.main(verbosity=2)
