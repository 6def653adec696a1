# SPDX-License-Identifier: Apache-2.0
"""The row hbase: its cells, whose turn it is, what a client's answer becomes."""
import os
import tempfile
import unittest

from driver import plan, turns
from sides import core, hadoop, hbase, hbase_demo, netty

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Scripted:
    """A side whose calls take a given time; it notes what it was asked."""

    def __init__(self, name, microseconds, asked):
        self._name, self._microseconds, self._asked = name, microseconds, asked

    def ask(self, *words):
        self._asked.append((self._name, *words))
        calls = words[1] * words[2]
        nanoseconds = self._microseconds * 1000
        return {"ns": nanoseconds * words[1], "calls": calls, "p50_ns": nanoseconds, "p99_ns": nanoseconds}, calls / 1e4

    def processor_seconds(self):
        self._asked.append((self._name, "time"))
        return self._microseconds * sum(name == (self._name, "time") for name in self._asked)


class Parts(unittest.TestCase):
    def site(self, name):
        """What a region server of ours has, of three settings, in the row of a part."""
        conf = hadoop.harness(ROOT, "servers.conf")
        cluster = hadoop.harness(ROOT, "servers.cluster").Cluster("/nowhere", plugin="jar", **hbase.part(ROOT, name))
        cluster.ports = {"zookeeper": 1, "master": 2, "regionserver1": 3}
        found = cluster.site("regionserver1")
        return tuple(found.get(key) is not None for key in (conf.CLIENT, conf.SERVER, conf.SCHEDULER))

    def test_each_row_has_its_part_alone(self):
        self.assertEqual({name: self.site(name) for name in ("all", "transport", "inline")},
                         {"all": (True, True, True), "transport": (True, True, False), "inline": (False, False, True)})
        rows = {row.name: row.params.get("part", "all") for row in plan.ROWS if row.kind == "hbase"}
        self.assertEqual(rows, {"hbase": "all", "hbase.transport": "transport", "hbase.inline": "inline"})

    def test_calls_that_no_thread_drives_are_a_cell_of_their_own(self):
        self.assertEqual([cell[0] for cell in hbase.PART_CELLS[:2]], ["get", "aget"])


class Pairs(unittest.TestCase):
    def _pairs(self, cells, index):
        asked = []
        return hbase.pairs((Scripted("stock", 200, asked), Scripted("ours", 100, asked)), cells, index), asked

    def test_both_sides_do_the_same_and_the_first_one_changes(self):
        for index, first in ((0, "stock"), (1, "ours"), (2, "stock")):
            _, asked = self._pairs([("get", 8, 500)], index)
            self.assertEqual([words[0] for words in asked], [first, "ours" if first == "stock" else "stock"])
            self.assertEqual({words[1:] for words in asked}, {("get", 500, 8)})

    def test_what_was_put_is_read_back_and_only_that(self):
        asked = self._pairs([("get", 1, 5), ("put", 8, 5)], 0)[1]
        self.assertEqual([words[1] for words in asked if words[0] == "ours"], ["get", "put", "check"])

    def test_latency_of_one_thread_and_throughput_of_several_have_directions(self):
        entries, _ = self._pairs([("get", 1, 100), ("get", 8, 500)], 0)
        named = {core.metric_name(entry): entry for entry in entries}
        latency = next(entry for name, entry in named.items() if name.startswith("hbase.get.t1") and name.endswith("latency"))
        self.assertEqual((latency["raw"], latency["ours"], core.better(latency["unit"])), (200, 100, "lower"))
        rate = next(entry for name, entry in named.items() if name.startswith("hbase.get.t8") and name.endswith("throughput"))
        self.assertEqual((rate["raw"], rate["ours"], core.better(rate["unit"])), (40000, 80000, "higher"))
        self.assertEqual({entry["raw"] for entry in entries if entry["metric"] == "cpu"}, {100})

    def test_both_are_idle_at_once_and_less_processor_time_is_better(self):
        entries, asked = self._pairs([("idle", 0, 0.01)], 0)
        self.assertEqual(asked, [("stock", "time"), ("ours", "time")] * 2)
        self.assertEqual([(core.metric_name(entry), entry["raw"], entry["ours"]) for entry in entries],
                         [("hbase.idle.t0.0.cpu", 200_000, 100_000)])
        self.assertEqual(core.better(entries[0]["unit"]), "lower")

    def test_the_demonstration_has_rows_of_costs_with_words(self):
        entries, _ = self._pairs([("scan", 1, 10), ("get", 8, 500), ("idle", 0, 0.01)], 0)
        rows = hbase_demo.values(entries)
        self.assertEqual(rows["scan 100 rows, 1 thread"][turns.TIME], (200, 100, "us"))
        self.assertEqual(rows["get 1 KiB, 8 threads"][turns.TIME], (25, 12.5, "us"))  # of 40,000 and 80,000 calls a second
        self.assertEqual(rows["get 1 KiB, 8 threads"][turns.PROCESSOR], (100, 100, "s/M"))
        self.assertEqual(list(rows["nobody calls for 3 s"]), [turns.PROCESSOR])


class Echo(unittest.TestCase):
    def test_both_transports_do_the_same_rounds(self):
        asked = []

        class Side:
            def __init__(self, name, microseconds):
                self._name, self._microseconds = name, microseconds

            def ask(self, rounds):
                asked.append((self._name, rounds))
                return {"calls": rounds, "p50_ns": 1000 * self._microseconds}, rounds / 1e5

        entries = netty.pairs((Side("epoll", 40), Side("core", 10)), 5000, 1)
        self.assertEqual(asked, [("core", 5000), ("epoll", 5000)])
        latency = next(entry for entry in entries if entry["metric"] == "latency")
        self.assertEqual((core.metric_name(latency), latency["raw"], latency["ours"]), ("netty.echo.t1.64.latency", 40, 10))


class Missing(unittest.TestCase):
    def test_what_is_not_built_is_named_with_the_command(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(plan.missing(plan.select("hbase")[0], empty),
                             "the load generator of HBase is not built: run ./verbena build")


if __name__ == "__main__":
    unittest.main()
