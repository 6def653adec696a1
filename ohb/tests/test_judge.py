# SPDX-License-Identifier: Apache-2.0
"""Which pairs of a demonstration count, what is won and lost, and that all verdicts together hold: synthetic pairs."""
import math
import random
import unittest

from driver import judge, stats
from driver.judge import Pair

GAIN, LOSS, EQUAL = ([Pair(100, 100 * ratio * (1 + step / 1000)) for step in range(10)] for ratio in (0.6, 1.5, 1.0))


def marked(pairs, count):
    """The same pairs, the first of them beside other load."""
    return [Pair(pair.stock, pair.ours, place < count) for place, pair in enumerate(pairs)]


def outcomes(*series):
    return [found.outcome for found in judge.judge(series)]


class Outcomes(unittest.TestCase):
    def test_a_gain_a_loss_and_no_difference_are_told_apart(self):
        self.assertEqual(outcomes(GAIN, LOSS, EQUAL), [judge.BETTER, judge.WORSE, judge.SAME])

    def test_fewer_than_eight_pairs_are_too_few_whatever_they_say(self):
        self.assertEqual(outcomes(GAIN[:7], GAIN[:8]), [judge.FEW, judge.BETTER])

    def test_an_outcome_has_an_interval_on_its_side_of_one(self):
        gain, loss = judge.judge([GAIN, LOSS])
        self.assertLess(gain.hi, 1)
        self.assertGreater(loss.lo, 1)
        self.assertTrue(gain.lo <= gain.ratio <= gain.hi)


class CountingPairs(unittest.TestCase):
    def test_a_few_marked_pairs_are_left_out_where_enough_quiet_ones_remain(self):
        found, = judge.judge([marked(GAIN, 2)])
        self.assertEqual((found.counted, found.measured, found.marked), (8, 10, 2))

    def test_on_a_busy_machine_all_pairs_count_and_the_verdict_works(self):
        self.assertEqual(outcomes(marked(GAIN, 10), marked(LOSS, 8), marked(EQUAL, 10)), [judge.BETTER, judge.WORSE, judge.SAME])
        self.assertEqual(judge.judge([marked(GAIN, 10)])[0].counted, 10)

    def test_all_pairs_count_where_the_quiet_ones_are_too_few_for_a_verdict(self):
        self.assertEqual(judge.judge([marked(GAIN, 3)])[0].counted, 10)

    def test_the_machine_is_busy_when_most_pairs_are_marked(self):
        self.assertFalse(judge.busy([marked(GAIN, 5), marked(LOSS, 5)]))
        self.assertTrue(judge.busy([marked(GAIN, 10), marked(LOSS, 1)]))
        self.assertFalse(judge.busy([]))

    def test_load_that_hits_either_half_alike_gives_no_verdict(self):
        generator, loads = random.Random(3), lambda: [math.exp(generator.gauss(0, 0.7)) for _ in range(15)]
        unlike = [stats.sign_test([ours / stock for stock, ours in zip(loads(), loads())]) <= 0.01 for _ in range(1000)]
        self.assertLess(sum(unlike), 15)  # 0.74 % are expected
        self.assertEqual(outcomes([Pair(stock, ours, True) for stock, ours in zip(loads(), loads())]), [judge.SAME])

    def test_load_widens_the_interval(self):
        generator = random.Random(5)
        loaded = [Pair(100 * math.exp(generator.gauss(0, 0.5)), 60 * math.exp(generator.gauss(0, 0.5)), True) for _ in range(20)]
        quiet, busy = judge.judge([GAIN, loaded])
        self.assertGreater(busy.hi - busy.lo, quiet.hi - quiet.lo)


class NoContradiction(unittest.TestCase):
    def test_the_values_that_stand_beside_a_ratio_give_it(self):
        generator = random.Random(9)
        for count in range(1, 30):
            pairs = [Pair(generator.uniform(1, 5), generator.uniform(1, 5), generator.random() < 0.5) for _ in range(count)]
            found, = judge.judge([pairs])
            self.assertAlmostEqual(found.ours / found.stock, found.ratio)
            self.assertTrue(found.lo <= found.ratio <= found.hi)

    def test_a_machine_that_slows_down_meanwhile_turns_nothing_round(self):
        # as seen: medians of 3,171 and 2,292 ms beside a ratio of 1.07
        slow, quick = [Pair(3171, 3300, True)] * 4, [Pair(1000, 1070)] * 5
        unlucky = [Pair(3200, 3500), *slow, *quick]
        found, = judge.judge([unlucky])
        self.assertEqual(found.ours > found.stock, found.ratio > 1)

    def test_of_an_odd_number_the_pair_in_the_middle_is_shown(self):
        self.assertEqual(judge.middle([Pair(10, 5), Pair(20, 20), Pair(4, 8)]), (20, 20))


class Together(unittest.TestCase):
    def test_holm_lets_one_of_many_fall_only_when_it_is_sure_among_all(self):
        self.assertEqual(stats.holm([0.01, 0.04, 0.03], 0.05), [True, False, False])
        self.assertEqual(stats.holm([0.04, 0.01, 0.02], 0.05), [True, True, True])
        self.assertEqual(stats.holm([], 0.05), [])

    def test_the_sign_test_counts_the_pairs_on_the_other_side(self):
        self.assertEqual(stats.sign_test([0.5] * 8), 2 / 2 ** 8)
        self.assertEqual(stats.sign_test([0.5] * 7 + [2]), 2 * (1 + 8) / 2 ** 8)
        self.assertEqual(stats.sign_test([1.0] * 8), 1)

    def test_eight_pairs_that_suffice_alone_do_not_among_ten_rows_without_a_difference(self):
        coins = [[Pair(100, 90 if (pair + row) % 2 else 110) for pair in range(8)] for row in range(9)]
        self.assertEqual(outcomes(GAIN[:8]), [judge.BETTER])
        self.assertEqual(outcomes(GAIN[:8], *coins)[0], judge.UNSURE)
        self.assertEqual(outcomes(GAIN[:9], *coins)[0], judge.BETTER)

    def test_the_pairs_that_are_needed_grow_with_the_rows(self):
        self.assertEqual([judge.pairs_needed(rows) for rows in (1, 6, 7, 12, 13, 25)], [8, 8, 9, 9, 10, 10])
        for rows in (1, 6, 7, 12, 13, 25):
            self.assertLessEqual(stats.sign_test([0.5] * judge.pairs_needed(rows)), judge.TOGETHER / rows)

    def test_same_against_same_in_twelve_rows_gives_a_verdict_in_few_of_many_runs(self):
        generator, wrong, alone = random.Random(1), 0, 0
        for _ in range(400):
            rows = [stats.sign_test([math.exp(generator.gauss(0, 0.3)) for _ in range(12)]) for _ in range(12)]
            wrong += any(stats.holm(rows, judge.TOGETHER))
            alone += any(probability <= judge.TOGETHER for probability in rows)
        self.assertLessEqual(wrong, 20)
        self.assertGreater(alone, 60)


if __name__ == "__main__":
    unittest.main()
