#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cluster tests: real jobs on a real standalone Spark, stock against Verbena, results equal; an executor is killed.

usage: run.py [--stock] [--full] [unittest options]   --stock: stock on both sides, checks the tests themselves
"""
import glob
import os
import signal
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "ohb"))

from driver import procs  # noqa: E402  (needs the path above)
from sides import spark  # noqa: E402

STOCK_ONLY = "--stock" in sys.argv
FULL = "--full" in sys.argv
SCALE = 10 if FULL else 1
JOBS = {
    "groupby": {"job": "groupby", "maps": 6, "pairs": 3000 * SCALE, "size": 1000, "reducers": 5},
    "sortby": {"job": "sortby", "maps": 6, "pairs": 3000 * SCALE, "size": 700, "reducers": 5},
    "tiny": {"job": "tiny", "maps": 40, "pairs": 100 * SCALE, "size": 50, "reducers": 50},
    "reducebykey": {"job": "reducebykey", "maps": 6, "pairs": 20000 * SCALE, "keys": 5000, "reducers": 7},
    "large": {"job": "groupby", "maps": 2, "pairs": 3 * SCALE, "size": 9000000, "reducers": 3},
    "smj": {"job": "smj", "left": 50000 * SCALE, "right": 20000 * SCALE, "groups": 500},
}
REMOTE = {"spark.shuffle.readHostLocalDisk": "false"}


def executors(app_id):
    """Process ids of an application's executors."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                line = file.read().decode(errors="replace")
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in line and app_id in line:
            found.append(int(path.split("/")[2]))
    return found


class ClusterTest(unittest.TestCase):
    """Both applications on one cluster, host-local reads on and off."""
    properties = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="verbena-it-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.shm_before = set(glob.glob("/dev/shm/verbena-*/*"))
        cls.cluster = spark.Cluster(cls.folder.name).__enter__()
        cls.addClassCleanup(cls.cluster.stop)
        ours = spark.STOCK if STOCK_ONLY else spark.OURS
        cls.stock = cls._generator("stock", spark.STOCK)
        cls.ours = cls._generator("ours", ours)
        cls.stock.await_ready()
        cls.ours.await_ready()

    @classmethod
    def _generator(cls, name, properties):
        generator = spark.Generator(name, cls.cluster.url, ROOT, cls.folder.name, properties,
                                    {**cls.properties, "spark.executor.memory": "1g"})
        cls.addClassCleanup(generator.stop)
        return generator

    def _equal(self, job):
        for generator in (self.stock, self.ours):
            generator.warm(job, JOBS[job], timeout=300)
        first, second = self.stock.block(job, 5, 300), self.ours.block(job, 5, 300)
        self.assertGreater(first["records"], 0)
        self.assertEqual((first["records"], first["checksum"]), (second["records"], second["checksum"]))
        self.assertEqual((first["failed_tasks"], second["failed_tasks"]), (0, 0))
        for generator in (self.stock, self.ours):
            generator.ask(f"drop {job}")
        return second


class HostLocal(ClusterTest):
    def test_a_the_side_under_test_really_uses_its_shuffle_manager(self):
        wanted = "sort" if STOCK_ONLY else spark.OURS["spark.shuffle.manager"]
        self.assertEqual(self.ours.hello["shuffle_manager"], wanted)
        self.assertEqual(self.stock.hello["shuffle_manager"], "sort")

    def test_b_group_by_key_gives_the_same_groups(self):
        self._equal("groupby")

    def test_c_sort_by_key_is_sorted_and_gives_the_same_pairs(self):
        self._equal("sortby")

    def test_d_many_tiny_blocks_give_the_same_pairs(self):
        self._equal("tiny")

    def test_e_reduce_by_key_gives_the_same_sums(self):
        self._equal("reducebykey")

    def test_f_values_of_nine_megabytes_arrive_whole(self):
        self._equal("large")

    def test_g_a_sort_merge_join_gives_the_same_rows(self):
        self._equal("smj")

    def test_h_a_killed_executor_costs_time_but_not_the_result(self):
        self.stock.warm("victim", JOBS["groupby"], timeout=300)
        self.ours.warm("victim", JOBS["groupby"], timeout=300)
        wanted = self.stock.block("victim", 1, 300)
        victims = executors(self.ours.hello["app_id"])
        self.assertEqual(len(victims), 2)
        killer = threading.Timer(0.3, os.kill, (victims[0], signal.SIGKILL))
        killer.start()
        first = self.ours.block("victim", 1, 300)
        killer.join()
        self.assertNotIn(victims[0], executors(self.ours.hello["app_id"]))
        second = self.ours.block("victim", 1, 300)
        for answer in (first, second):
            self.assertEqual((answer["records"], answer["checksum"]), (wanted["records"], wanted["checksum"]))

    def test_i_nothing_stays_in_shared_memory_after_the_applications_ended(self):
        self.ours.stop()
        deadline = time.monotonic() + 30
        left = None
        while time.monotonic() < deadline:
            left = set(glob.glob("/dev/shm/verbena-*/*")) - self.shm_before
            left = {path for path in left if self.ours.hello["app_id"] in path}
            if not left:
                break
            time.sleep(0.3)
        self.assertEqual(left, set())


class ByNetwork(ClusterTest):
    properties = REMOTE

    def test_a_group_by_key_gives_the_same_groups(self):
        answer = self._equal("groupby")
        self.assertGreater(answer["shuffle_read_remote_bytes"], 0)

    def test_b_many_tiny_blocks_give_the_same_pairs(self):
        self._equal("tiny")

    def test_c_values_of_nine_megabytes_arrive_whole(self):
        self._equal("large")

    def test_d_a_sort_merge_join_gives_the_same_rows(self):
        self._equal("smj")


if __name__ == "__main__":
    procs.install_signals()
    sys.argv = [argument for argument in sys.argv if argument not in ("--stock", "--full")]
    try:
        unittest.main(verbosity=2)
    finally:
        procs.stop_all()
