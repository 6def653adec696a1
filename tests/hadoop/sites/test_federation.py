# SPDX-License-Identifier: Apache-2.0
"""Two name spaces on the same DataNodes, in each mode: files by viewfs, restarts, volumes of the shared path."""
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from case import new_key  # noqa: E402  (needs the path above)
from cluster.federation import SPACES, Federated  # noqa: E402
from moded import TIERS, Moded, ModeCase  # noqa: E402
from test_rpc import by_core  # noqa: E402


class FederatedModed(Federated, Moded):
    pass


class FederationCase(ModeCase):
    @classmethod
    def make(cls, shm):
        return FederatedModed(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more,
                              by_core(new_key(cls.folder / "rpc.key")), datanodes=cls.datanodes)

    def space(self, number):
        """The address of a name space."""
        return f"hdfs://127.0.0.1:{self.cluster.ports[f'namenode{number + 1}']}"

    def fsck(self, number, path):
        return self.client.run("hdfs", "fsck", "-fs", self.space(number), path, "-files", "-blocks", "-locations").stdout

    def wait_for_place(self, path):
        """A file in both name spaces lies where the mode puts it."""
        for number, space in enumerate(SPACES):
            self.wait_for(f"the tiers of {path} in {space}",
                          lambda of=number: self.tiers_of(self.fsck(of, path)) == [TIERS[self.mode]] * 3)

    def healthy(self):
        return all("is HEALTHY" in self.fsck(number, "/") for number in range(len(SPACES)))

    def in_memory(self):
        """For each block pool the files of blocks in the memory tiers."""
        return [sorted(path.name for path in self.memory.glob(f"*/current/{pool}/current/finalized/**/blk_*"))
                for pool in self.cluster.pools()]

    def restart_all(self):
        for name in self.names():
            self.kill(name)
        self.start(*self.names())
        self.cluster.await_hdfs()
        self.wait_for("no block is missing", self.healthy)

    def put_both(self, source, path):
        for space in SPACES:
            self.put(source, f"/{space}{path}", 3)

    def assert_both(self, source, path):
        for space in SPACES:
            self.assert_same(source, f"/{space}{path}")


class BothSpacesCases:
    """For each mode. Both NameNodes give their blocks the same numbers."""

    def test_files_of_both_name_spaces_lie_by_the_mode_and_outlive_restarts_of_their_data_nodes(self):
        sources = [self.file(space, 3) for space in SPACES]
        for space, source in zip(SPACES, sources):
            self.put(source, f"/{space}/file", 3)
        self.wait_for_place("/file")
        before = self.in_memory()
        self.assertEqual([len(files) for files in before], [2 * 3 * TIERS[self.mode].count("NVDIMM")] * 2)
        self.assertEqual(*before)
        for _ in range(2):  # which name space comes first is another one perhaps
            self.restart_all()
            self.assertEqual(self.in_memory(), before)
            self.wait_for_place("/file")
            for space, source in zip(SPACES, sources):
                self.assert_same(source, f"/{space}/file")
        self.dfs("-rm", "-skipTrash", "/one/file")
        self.wait_for("one name space's replicas leave memory", lambda: self.in_memory() == [[], before[1]])
        self.assert_same(sources[1], "/two/file")
        self.dfs("-rm", "-skipTrash", "/two/file")


class HhhTest(BothSpacesCases, FederationCase):
    mode = "hhh"

    def test_the_doctor_looks_at_both_name_spaces_behind_viewfs(self):
        done = self.cluster.run("org.verbena.hadoop.Doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        for name in ("namenode1", "namenode2"):
            self.assertRegex(done.stdout, rf"ok    cluster: hdfs://\S+:{self.cluster.ports[name]} has 3 DataNodes")
        self.assertEqual(len(re.findall(r"ok    DataNode \S+ is reached by the core: shm", done.stdout)), 6, done.stdout)


class MemoryTest(BothSpacesCases, FederationCase):
    mode = "hhh-m"


class CopiesTest(FederationCase):
    """Copies below memory, with which a DataNode that starts has each block twice."""

    mode, more = "hhh-m", {"verbena.hdfs.memory.persist": "async"}

    def copies(self):
        return sum(self.number(name, "tier.copies") for name in self.names())

    def test_copies_of_both_name_spaces_are_copies_again_after_a_restart(self):
        source = self.file("source", 3)
        self.put_both(source, "/file")
        self.wait_for("each replica has a copy", lambda: self.copies() == 18)
        self.restart_all()
        self.wait_for("each replica has a copy again", lambda: self.copies() == 18)
        self.wait_for_place("/file")
        self.assert_both(source, "/file")


class SharedPathTest(BothSpacesCases, FederationCase):
    mode = "hhh-l"

    def test_a_volume_is_adopted_with_the_replicas_of_both_name_spaces(self):
        source = self.file("adopted", 6)
        for space in SPACES:
            self.put(source, f"/{space}/adopted", 1)
        self.wait_for("each DataNode owns a volume", lambda: all(self.owned()[name] for name in self.names()))
        dead = self.names()[0]
        self.kill(dead)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("no block is missing", self.healthy)
        self.assert_both(source, "/adopted")
        self.start(dead)
        self.cluster.await_hdfs()


if __name__ == "__main__":
    unittest.main(verbosity=2)
