# SPDX-License-Identifier: Apache-2.0
"""Interleaving, pairing, marking, and the noise guard on real counters."""
import os
import subprocess
import sys
import time
import unittest

from driver import blocks, noise
from driver.procs import Failed

QUIET = {"idle": 1, "steal": 0, "foreign": 0, "runq": 1, "switches": 0}


def block(index, side, value, marked=False, checksum="x"):
    return {"side": side, "index": index, "seed": 1, "seconds": 1, "errors": 0, "metrics": {"wall_ms": value},
            "records": 1, "checksum": checksum, "noise": QUIET, "marked": marked}


class Order(unittest.TestCase):
    def test_blocks_run_in_the_order_a_b_b_a_a_b(self):
        self.assertEqual([blocks.halves(pair) for pair in range(3)],
                         [[(0, "a"), (1, "b")], [(2, "b"), (3, "a")], [(4, "a"), (5, "b")]])

    def test_starts_of_the_sides_share_the_pairs_evenly_and_none_goes_without(self):
        self.assertEqual(blocks.shares(9, 1), [range(9)])
        self.assertEqual(blocks.shares(9, 3), [range(3), range(3, 6), range(6, 9)])
        self.assertEqual([len(pairs) for pairs in blocks.shares(8, 3)], [2, 3, 3])
        self.assertEqual([len(pairs) for pairs in blocks.shares(3, 3)], [1, 1, 1])

    def test_every_pair_runs_each_side_once_with_the_same_seed(self):
        calls = []

        def run(side, seed):
            calls.append((side, seed))
            return {"metrics": {"wall_ms": 1.0}, "records": 1, "checksum": "x"}

        done = []
        blocks.run_pairs(run, range(3), done.append)
        self.assertEqual(calls, [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)])
        self.assertEqual([entry["index"] for entry in done], [0, 1, 2, 3, 4, 5])


class Reduce(unittest.TestCase):
    def test_ratio_is_ours_by_stock_whatever_the_order_in_the_pair(self):
        done = [block(0, "a", 100), block(1, "b", 50), block(2, "b", 60), block(3, "a", 100)]
        result = blocks.reduce(done)["wall_ms"]
        self.assertAlmostEqual(result["ratio"], 0.55)
        self.assertEqual((result["pairs"], result["a_median"], result["b_median"]), (2, 100, 55))

    def test_marked_pairs_are_counted_but_left_out_of_the_ratio(self):
        done = [block(0, "a", 100), block(1, "b", 50), block(2, "b", 900, marked=True), block(3, "a", 100)]
        result = blocks.reduce(done)["wall_ms"]
        self.assertEqual((result["ratio"], result["pairs"], result["marked"]), (0.5, 1, 1))
        self.assertAlmostEqual(result["ratio_all"], 4.75)
        self.assertEqual((result["a_median"], result["b_median"]), (100, 50))

    def test_without_quiet_pairs_medians_are_those_of_all(self):
        result = blocks.reduce([block(0, "a", 100), block(1, "b", 900, marked=True)])["wall_ms"]
        self.assertEqual((result["ratio"], result["a_median"], result["b_median"]), (None, 100, 900))

    def test_nothing_of_ours_is_a_ratio_of_nothing_and_of_stock_no_pair(self):
        result = blocks.reduce([block(0, "a", 100), block(1, "b", 0), block(2, "b", 100), block(3, "a", 0)])["wall_ms"]
        self.assertEqual((result["ratio"], result["pairs"]), (0, 1))

    def test_a_difference_between_starts_widens_the_interval(self):
        done = [{**block(index, "ab"[index % 2], 100 if index % 2 == 0 else (60, 90, 120)[index // 6]), "start": index // 6}
                for index in range(18)]
        result = blocks.reduce(done)["wall_ms"]
        self.assertEqual((result["ratio"], result["lo"], result["hi"]), (0.9, 0.6, 1.2))
        alone = blocks.reduce([{**entry, "start": 0} for entry in done])["wall_ms"]
        self.assertLess(alone["hi"] - alone["lo"], 0.61)
        self.assertEqual(result["verdict"], "no difference shown")

    def test_an_incomplete_pair_is_ignored(self):
        self.assertEqual(blocks.reduce([block(0, "a", 100)]), {})

    def test_different_content_in_one_pair_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "results differ.*checksum"):
            blocks.same_content(block(0, "a", 1), block(1, "b", 1, checksum="y"))


class Counters:
    """A snapshot with the ticks that the test says."""

    def __init__(self, total, idle, steal, own):
        self.total, self.idle, self.steal, self.own, self.switches, self.queue = total, idle, steal, own, 0, 1


class Noise(unittest.TestCase):
    def test_work_of_our_own_children_is_counted_as_ours(self):
        before, used = noise.Snapshot(), os.times()
        subprocess.run([sys.executable, "-c", "sum(range(20_000_000))"], check=True)
        after, now = noise.Snapshot(), os.times()
        seconds = sum(now[:4]) - sum(used[:4])  # this process and the children it has waited for
        self.assertGreater(after.own, before.own)
        self.assertLess(abs(after.own - before.own - seconds * os.sysconf("SC_CLK_TCK")), 8)  # each of 8 counters rounds

    def test_what_is_neither_idle_nor_ours_is_foreign(self):
        between = noise.between(Counters(1000, 100, 5, 50), Counters(2000, 500, 15, 250))
        self.assertEqual((between["idle"], between["steal"], between["foreign"]), (0.4, 0.01, 0.4))

    def test_ticks_that_round_to_more_than_there_were_leave_no_foreign_work(self):
        self.assertEqual(noise.between(Counters(0, 0, 0, 0), Counters(74, 37, 0, 39))["foreign"], 0)

    def test_work_outside_the_tree_is_foreign(self):
        burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        stranger = subprocess.Popen(["sleep", "60"])  # the tree under test: it does nothing
        try:
            before, deadline = noise.Snapshot(root=stranger.pid), time.monotonic() + 60
            between = None
            while between is None or (between["foreign"] <= 0.05 and time.monotonic() < deadline):
                time.sleep(0.1)
                between = noise.between(before, noise.Snapshot(root=stranger.pid))
        finally:
            for process in (*burners, stranger):
                process.kill()
                process.wait()
        self.assertGreater(between["foreign"], 0.05)

    def test_a_block_beside_more_than_15_percent_of_foreign_work_or_steal_is_marked(self):
        self.assertFalse(noise.is_marked(QUIET))
        self.assertTrue(noise.is_marked({**QUIET, "foreign": 0.16}))
        self.assertTrue(noise.is_marked({**QUIET, "steal": 0.2}))
