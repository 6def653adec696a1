# SPDX-License-Identifier: Apache-2.0
"""Clients that see two name spaces through Hadoop's router: blocks by the core, the mode, small files, a killed DataNode."""
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from case import new_key  # noqa: E402  (needs the path above)
from cluster.federation import SPACES  # noqa: E402
from cluster.router import Routed  # noqa: E402
from moded import Moded  # noqa: E402
from test_federation import FederationCase  # noqa: E402
from test_rpc import by_core  # noqa: E402


class RoutedModed(Routed, Moded):
    pass


class RouterTest(FederationCase):
    mode = "hhh"

    @classmethod
    def make(cls, shm):
        return RoutedModed(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more,
                           by_core(new_key(cls.folder / "rpc.key")), datanodes=cls.datanodes)

    def setUp(self):
        self.report_blocks()
        self.empty_memory()  # what other tests have deleted leaves it later, and no block comes into it until then

    def test_files_of_both_name_spaces_travel_by_the_core_and_lie_by_the_mode(self):
        source = self.file("source", 3)
        for space in SPACES:
            done = self.cluster.run("hdfs", "dfs", "-put", str(source), f"/{space}/file")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP")
        self.wait_for_place("/file")
        self.assert_both(source, "/file")
        self.dfs("-appendToFile", str(source), "/one/file")
        whole = self.folder / "whole"
        whole.write_bytes(source.read_bytes() * 2)
        self.assert_same(whole, "/one/file")
        self.dfs("-rm", "-skipTrash", "/one/file", "/two/file")

    def test_calls_to_the_router_and_its_own_to_each_name_node_go_by_the_core(self):
        def called():
            """A server is reached by the core some calls after the first one."""
            self.dfs("-ls", "/one", "/two")
            return self.lines(f"calls port {self.cluster.ports['router']} by the core: shm", "router")
        self.wait_for("a client calls the router by the core", called)
        for name in ("namenode1", "namenode2"):
            self.wait_for(f"the router calls {name} by the core", lambda of=name: self.lines(
                f":{self.cluster.ports[of]} is reached by the core: shm", "router"))

    def test_small_files_are_written_to_all_replicas_at_once(self):
        for space in SPACES:
            with self.small_files(f"/{space}/small"):
                pass
            self.assertNotIn(f"/{space}/small/1/", self.handed_over())
        self.dfs("-rm", "-r", "-skipTrash", "/one/small", "/two/small")

    def test_a_small_file_outlives_a_data_node_that_is_killed(self):
        with self.small_files("/two/killed"):
            self.kill("datanode3")
        self.assertIn("/two/killed/1/", self.handed_over())
        self.start("datanode3")
        self.cluster.await_hdfs()
        self.wait_for("no block is missing", self.healthy)
        self.dfs("-rm", "-r", "-skipTrash", "/two/killed")

    def test_the_doctor_finds_all_data_nodes_behind_the_router(self):
        done = self.cluster.run("org.verbena.hadoop.Doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(re.findall(r"ok    DataNode \S+ is reached by the core: shm", done.stdout)), 3, done.stdout)
        self.assertIn("quotas: not all folders could be looked at: The quota system is disabled in Router.\n", done.stdout)
        self.assertNotIn("\tat ", done.stdout)

    def handed_over(self):
        """What writers of small files say of those that Hadoop's pipeline wrote."""
        lines = pathlib.Path(self.cluster.log("mix")).read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if "Hadoop's pipeline writes the file" in line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
