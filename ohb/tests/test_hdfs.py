# SPDX-License-Identifier: Apache-2.0
"""The row hdfs: its cells, whose turn it is, what a client's answer becomes."""
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

from driver import plan, turns
from driver.procs import Failed, Process
from driver.run import Runner
from sides import core, hdfs, hdfs_demo

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Scripted:
    """A side that writes and reads at a given speed; it notes what it was asked."""

    def __init__(self, name, seconds, asked):
        self._name, self._seconds, self._asked, self._bytes = name, seconds, asked, 0

    def ask(self, *words):
        self._asked.append((self._name, *words))
        if words[0] == "write":
            self._bytes = words[1] * words[2] * words[4]
        moved = words[1] * words[2] if words[0] == "positioned" else 0 if words[0] == "delete" else self._bytes
        return self._seconds, moved, 2 * self._seconds


class Pairs(unittest.TestCase):
    def _pairs(self, cells, index):
        asked = []
        entries = hdfs.pairs((Scripted("stock", 2, asked), Scripted("ours", 1, asked)), cells, index)
        return entries, asked

    def test_both_sides_do_the_same_and_the_first_one_changes(self):
        for index, first in ((0, "stock"), (1, "ours"), (2, "stock")):
            _, asked = self._pairs([(hdfs.MIB, 3, 4)], index)
            self.assertEqual(asked[0][0], first)
            self.assertEqual([words[1:] for words in asked if words[0] == "stock"],
                             [words[1:] for words in asked if words[0] == "ours"])
            self.assertEqual(asked[0][1:], ("write", hdfs.MIB, hdfs.FILES // 4, 3, 4, 1000 * index))
            self.assertEqual(asked[-1][1:], ("delete",))

    def test_throughput_processor_time_and_latency_have_names_and_directions(self):
        entries, _ = self._pairs([(64 * hdfs.MIB, 1, 1)], 0)
        named = {core.metric_name(entry): entry for entry in entries}
        write = named["hdfs.write.r1.c1.67108864.throughput"]
        self.assertEqual((write["raw"], write["ours"], core.better(write["unit"])), (64, 128, "higher"))
        processor = named["hdfs.read.r1.c1.67108864.cpu"]
        self.assertEqual((processor["raw"], processor["ours"], core.better(processor["unit"])), (32, 16, "lower"))
        self.assertEqual(named["hdfs.positioned.r1.c1.67108864.latency"]["ours"], 1e6 / hdfs.READS)

    def test_small_files_are_bounded_in_number_and_large_ones_are_whole(self):
        _, asked = self._pairs([(64 << 10, 1, 4), (1024 * hdfs.MIB, 1, 1)], 0)
        self.assertEqual([words[1:5] for words in asked if words[:2] == ("ours", "write")],
                         [("write", 64 << 10, hdfs.FILES // 4, 1), ("write", 1024 * hdfs.MIB, 1, 1)])

    def test_small_files_are_read_more_than_once_and_all_reads_count(self):
        entries, asked = self._pairs([(64 << 10, 1, 4), (64 * hdfs.MIB, 1, 1)], 0)
        self.assertEqual([words[1] for words in asked if words[0] == "ours"],
                         ["write", *["read"] * hdfs.ROUNDS, "delete", "write", "read", "positioned", "delete"])
        read = {core.metric_name(entry): entry for entry in entries}["hdfs.read.r1.c4.65536.throughput"]
        self.assertEqual((read["raw"], read["ours"]), (2, 4))  # 4 MiB in two seconds, and in one

    def test_the_demonstration_has_rows_of_costs_with_words(self):
        entries, _ = self._pairs([(64 << 10, 3, 1), (64 * hdfs.MIB, 1, 1)], 0)
        rows = hdfs_demo.values(entries)
        self.assertEqual(rows["64 KiB written, 3 replicas"][turns.TIME], (512, 256, "s/GiB"))  # of 2 and 4 MiB/s
        self.assertEqual(rows["64 MiB read, 1 replica"][turns.PROCESSOR], (32, 16, "s/GiB"))
        self.assertEqual(rows["4 KiB read at any place, 1 replica"], {turns.TIME: (2e6 / hdfs.READS, 1e6 / hdfs.READS, "us")})

    def test_the_demonstration_says_how_many_bytes_and_reads_a_cell_has(self):
        asked = []
        sides = Scripted("stock", 2, asked), Scripted("ours", 1, asked)
        hdfs.pairs(sides, [(64 * hdfs.MIB, 1, 1)], 0, 64 * hdfs.MIB, 500)
        self.assertEqual(asked[0][1:4], ("write", 64 * hdfs.MIB, 1))
        self.assertIn(("stock", "positioned", 500, 4096), asked)
        asked.clear()
        hdfs.pairs(sides, [(64 * hdfs.MIB, 1, 1)], 0, 64 * hdfs.MIB, 0)
        self.assertNotIn("positioned", [words[1] for words in asked])


class PositionedReads(unittest.TestCase):
    def test_a_latency_is_that_of_a_call_and_both_sides_make_the_same(self):
        asked = []
        sides = Scripted("stock", 2, asked), Scripted("ours", 1, asked)
        entries = hdfs.measured("pread")(sides, 1)
        named = {core.metric_name(entry): (entry["raw"], entry["ours"]) for entry in entries}
        self.assertEqual(named["hdfs.positioned.c1.4096.latency"], (2e6 / hdfs.READS, 1e6 / hdfs.READS))
        self.assertEqual(named["hdfs.vectored.c1.4096.latency"], (8e6 / hdfs.READS, 4e6 / hdfs.READS))
        self.assertEqual(named["hdfs.positioned.c4.4096.cpu"], (2e6 / hdfs.READS, 1e6 / hdfs.READS))  # 4 clients, half the reads
        self.assertEqual([words[1:] for words in asked if words[0] == "stock"],
                         [words[1:] for words in asked if words[0] == "ours"])
        self.assertIn(("ours", "vectored", hdfs.READS // 4, hdfs.RANGES, 4096), asked)
        self.assertEqual(asked[0][0], "ours")


class AskTest(unittest.TestCase):
    def _side(self, answer):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        side = hdfs.Side.__new__(hdfs.Side)
        side._cluster, side._short_circuit = unittest.mock.Mock(daemons={"datanode1": (os.getpid(), 0)}), False
        side._disk = None
        program = f"import sys; sys.stdin.readline(); print({answer!r}, flush=True); sys.stdin.readline()"
        side._load = Process("the client", [sys.executable, "-c", program], os.path.join(folder.name, "log"), lines=True)
        self.addCleanup(side.stop)
        return side

    def test_an_answer_is_seconds_and_bytes(self):
        seconds, moved, processor = self._side(json.dumps({"ns": 1500000000, "bytes": 7})).ask("read")
        self.assertEqual((seconds, moved), (1.5, 7))
        self.assertGreaterEqual(processor, 0)

    def test_files_on_a_slow_disk_are_deleted_when_no_datanode_has_a_block_of_them(self):
        side = self._side(json.dumps({"ns": 1, "bytes": 0}))
        with tempfile.TemporaryDirectory() as folder:
            blocks = [os.path.join(folder, place, "blk_1") for place in ("disk", "memory")]
            for block in blocks:
                os.mkdir(os.path.dirname(block))
                open(block, "w").close()
            side._disk, side._cache = unittest.mock.Mock(seen=lambda path: path), 0
            side._cluster.blocks.return_value = os.path.dirname(blocks[0])
            side._cluster.site.return_value = {"hdfs-site": {"verbena.hdfs.memory.dir": os.path.dirname(blocks[1])}}
            with unittest.mock.patch.object(hdfs.time, "sleep", lambda _: os.unlink(blocks.pop())):
                side.ask("delete")
        self.assertEqual(blocks, [])

    def test_a_failure_of_the_client_is_the_rows(self):
        with self.assertRaisesRegex(Failed, "the client: read: differs; its log is "):
            self._side(json.dumps({"error": "read: differs"})).ask("read")


    def short_circuit(self, read):
        side = self._side(json.dumps({"ns": 1, "bytes": 100, "short_circuit": read}))
        side._short_circuit = True
        return side.ask("read")

    def test_a_stock_side_that_reads_otherwise_than_by_short_circuit_is_not_measured(self):
        self.assertEqual(self.short_circuit(100)[1], 100)
        with self.assertRaisesRegex(Failed, "read 60 of 100 bytes by short-circuit"):
            self.short_circuit(60)


class Small(unittest.TestCase):
    def test_only_our_side_of_a_row_has_our_file_system(self):
        asked = {}
        for name in ("hdfs", "hdfs.small", "hdfs.pread"):
            def clusters(_root, _folder, stock, _network, ours, name=name):
                asked[name] = [side.get("core-site", {}).get("fs.hdfs.impl", "stock").rpartition(".")[2] for side in (stock, ours)]
                raise Failed("enough")
            with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(hdfs, "clusters", clusters), \
                    unittest.mock.patch("driver.plan.missing", return_value=None):
                Runner(work, work, os.path.join(work, "r.json"), True, 1).run(plan.select(name)[:1])
        self.assertEqual(asked, {"hdfs": ["stock", "stock"], "hdfs.small": ["stock", "VerbenaFileSystem"],
                                 "hdfs.pread": ["stock", "VerbenaFileSystem"]})


class Properties(unittest.TestCase):
    def test_of_rows_with_a_slow_disk_stock_has_as_much_page_cache_as_ours_has_memory(self):
        memory = 256 * hdfs.MIB
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(hdfs, "slowdisk") as slow, \
                unittest.mock.patch.object(hdfs, "SHM", work), unittest.mock.patch.object(hdfs, "clusters") as clusters, \
                unittest.mock.patch("driver.plan.missing", return_value=None):
            clusters.side_effect = Failed("enough")
            for name in ("hdfs.hhh.slow", "hdfs.hhh-m.slow"):
                Runner(ROOT, work, os.path.join(work, "r.json"), True, 1).run(plan.select(name)[:1])
                ours = clusters.call_args.args[4]["hdfs-site"]
                self.assertEqual((ours["verbena.hdfs.mode"], ours["verbena.hdfs.memory.size"]), (name.split(".")[1], memory))
                self.assertEqual(clusters.call_args.kwargs, {"disk": slow.Disk().__enter__(), "cache": hdfs.DATANODES * memory})

    def test_datanodes_alone_are_inside_of_the_slow_disk(self):
        disk = unittest.mock.Mock(folder="/slow")
        disk.enter.return_value = ["enter"]
        with tempfile.TemporaryDirectory() as folder:
            cluster = hdfs._cluster(ROOT, None, disk)(os.path.join(folder, "stock"), datanodes=1)
            cluster.ports = {name: 1 for name in cluster.port_names()}
            self.assertEqual([cluster.wrapper(name) for name in ("namenode", "client", "datanode1")], [[], [], ["enter"]])
            self.assertEqual(cluster.site("datanode1")["hdfs-site"]["dfs.datanode.data.dir"], "file:///slow/stock/datanode1")
            cluster._properties = {"hdfs-site": {"verbena.hdfs.mode": "hhh"}}
            self.assertEqual(cluster.site("datanode1")["hdfs-site"]["dfs.datanode.data.dir"],
                             "[SSD]file:///slow/stock/ssd/datanode1,[DISK]file:///slow/stock/datanode1")

    def test_only_stock_has_short_circuit_and_only_ours_a_mode_each_in_its_row(self):
        asked = {}
        for name in ("hdfs", "hdfs.shortcircuit", "hdfs.hosts.10gbit", "hdfs.writes", "hdfs.hhh", "hdfs.hhh-m", "hdfs.pread"):
            def clusters(_root, _folder, stock, network, ours, name=name):
                of_both = stock.get("hdfs-site", {}), ours.get("hdfs-site", {})
                asked[name] = of_both[0].get("dfs.client.read.shortcircuit"), network, of_both[1].get("verbena.hdfs.mode")
                raise Failed("enough")
            with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(hdfs, "clusters", clusters), \
                    unittest.mock.patch("driver.plan.missing", return_value=None), \
                    unittest.mock.patch.multiple(hdfs, SHM=work, MEMORY=1):
                Runner(ROOT, work, os.path.join(work, "r.json"), True, 1).run(plan.select(name)[:1])
        self.assertEqual(asked, {"hdfs": (None, None, None), "hdfs.shortcircuit": ("true", None, None),
                                 "hdfs.hosts.10gbit": (None, "10gbit", None), "hdfs.writes": (None, None, None),
                                 "hdfs.hhh": (None, None, "hhh"), "hdfs.hhh-m": (None, None, "hhh-m"),
                                 "hdfs.pread": (None, None, None)})


class Hosts(unittest.TestCase):
    def test_daemons_are_reached_at_the_address_of_their_host_and_their_pages_on_loopback(self):
        moved = hdfs.reached_at("10.77.0.1", {"hdfs-site": {
            "fs.defaultFS": "hdfs://127.0.0.1:9000", "dfs.datanode.hostname": "127.0.0.1",
            "dfs.datanode.http.address": "127.0.0.1:1", "dfs.namenode.http-address": "127.0.0.1:2", "dfs.replication": 3}})
        self.assertEqual(moved, {"hdfs-site": {
            "fs.defaultFS": "hdfs://10.77.0.1:9000", "dfs.datanode.hostname": "10.77.0.1",
            "dfs.datanode.http.address": "127.0.0.1:1", "dfs.namenode.http-address": "127.0.0.1:2", "dfs.replication": 3}})

    def test_the_classes_of_a_cluster_keep_their_sites_on_loopback(self):
        with tempfile.TemporaryDirectory() as folder:
            for address, wanted in ((None, "hdfs://127.0.0.1:5"), ("10.77.0.1", "hdfs://10.77.0.1:5")):
                cluster = hdfs._cluster(ROOT, address)(folder, datanodes=0)
                cluster.ports = {"namenode": 5, "namenode-http": 6}
                self.assertEqual(cluster.site("client")["core-site"]["fs.defaultFS"], wanted)

    def test_rows_between_hosts_say_what_namespaces_lack(self):
        with unittest.mock.patch("sides.hosts.missing", return_value="two hosts need root"):
            self.assertEqual(plan.missing(plan.select("hdfs.hosts.1gbit")[0], ROOT), "two hosts need root")


class Missing(unittest.TestCase):
    def test_what_is_not_built_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertIn("run ./verbena build", plan.missing(plan.select("hdfs")[0], empty))


if __name__ == "__main__":
    unittest.main()
