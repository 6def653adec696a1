# SPDX-License-Identifier: Apache-2.0
"""Statistics: known answers and the A/A control on synthetic data."""
import math
import random
import unittest

from driver import stats


class Median(unittest.TestCase):
    def test_median_of_odd_and_even_counts_is_the_middle(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)

    def test_quantile_interpolates_between_neighbours(self):
        self.assertAlmostEqual(stats.quantile([0, 10], 0.25), 2.5)
        self.assertEqual(stats.quantile([1, 2, 3], 1), 3)


class Bootstrap(unittest.TestCase):
    def test_interval_of_equal_values_is_that_value(self):
        self.assertEqual(stats.bootstrap([0.7] * 9, 0.95), (0.7, 0.7))

    def test_interval_of_three_values_is_their_range(self):
        # P(the median of 3 draws is the smallest value) = 7/27: far more than 2.5 %
        self.assertEqual(stats.bootstrap([1.0, 2.0, 3.0], 0.95), (1.0, 3.0))

    def test_95_percent_interval_of_nine_ranks_ends_at_ranks_two_and_eight(self):
        # exact resampling: P(median <= rank 1) = 0.14 %, P(median <= rank 2) = 2.85 %, P(median <= rank 3) = 14.5 %
        lo, hi = stats.bootstrap([float(rank) for rank in range(1, 10)], 0.95)
        self.assertEqual((lo, hi), (2.0, 8.0))

    def test_same_input_gives_the_same_interval(self):
        values = [random.Random(4).uniform(0.5, 1.5) for _ in range(12)]
        self.assertEqual(stats.bootstrap(values, 0.99), stats.bootstrap(values, 0.99))

    def test_values_of_one_start_alone_are_drawn_together(self):
        # Three starts, each with values all alike: P(two of three draws are the first) = 7/27, far more than 0.5 %
        values, starts = [0.6] * 3 + [0.7] * 3 + [0.9] * 3, [0] * 3 + [1] * 3 + [2] * 3
        self.assertEqual(stats.bootstrap(values, 0.99, starts), (0.6, 0.9))
        self.assertEqual(stats.bootstrap(values, 0.99, [7] * 9), stats.bootstrap(values, 0.99))

    def test_95_percent_interval_of_starts_covers_the_true_median_more_often_than_that_of_pairs(self):
        generator, with_starts, without = random.Random(12), 0, 0
        for _ in range(60):
            luck = [generator.gauss(0, 0.2) for _ in range(5)]
            values = [1 + luck[pair // 3] + generator.gauss(0, 0.02) for pair in range(15)]
            lo, hi = stats.bootstrap(values, 0.95, [pair // 3 for pair in range(15)])
            with_starts += lo <= 1 <= hi
            lo, hi = stats.bootstrap(values, 0.95)
            without += lo <= 1 <= hi
        self.assertGreater(with_starts, without)

    def test_95_percent_interval_covers_the_true_median_nearly_always(self):
        generator, covered = random.Random(11), 0
        for _ in range(100):
            lo, hi = stats.bootstrap([generator.gauss(1, 0.2) for _ in range(25)], 0.95)
            covered += lo <= 1 <= hi
        self.assertGreaterEqual(covered, 88)


class OrderInterval(unittest.TestCase):
    def test_nine_values_need_their_whole_range_for_99_percent(self):
        self.assertEqual(stats.order_interval(list(range(9)), 0.99), (0, 8))

    def test_seven_values_have_no_99_percent_interval(self):
        self.assertIsNone(stats.order_interval(list(range(7)), 0.99))

    def test_many_values_give_an_interval_inside_the_range(self):
        lo, hi = stats.order_interval(list(range(101)), 0.99)
        self.assertEqual((lo, hi), (37, 63))  # binomial(101, 1/2): 2 P(X <= 36) = 0.0053, 2 P(X <= 37) = 0.0094


class Verdict(unittest.TestCase):
    def test_a_clear_gain_is_lower_and_a_clear_loss_higher(self):
        self.assertEqual(stats.verdict([0.6 + step / 100 for step in range(9)]), "lower")
        self.assertEqual(stats.verdict([1.4 + step / 100 for step in range(9)]), "higher")

    def test_less_than_three_percent_is_no_verdict(self):
        self.assertEqual(stats.verdict([0.98] * 9), "no difference shown")

    def test_one_pair_on_the_other_side_of_nine_forbids_a_verdict(self):
        self.assertEqual(stats.verdict([0.7] * 8 + [1.1]), "no difference shown")

    def test_few_pairs_never_give_a_verdict(self):
        self.assertEqual(stats.verdict([0.1] * 7), "no difference shown")

    def test_same_against_same_gives_no_verdict_in_20_runs(self):
        generator, verdicts = random.Random(7), []
        for _ in range(20):
            ratios = [math.exp(generator.gauss(0, 0.3)) / math.exp(generator.gauss(0, 0.3)) for _ in range(9)]
            verdicts.append(stats.verdict(ratios))
        self.assertEqual(verdicts, ["no difference shown"] * 20)

    def test_same_against_same_is_flagged_in_less_than_one_percent_of_1000_runs(self):
        generator, flagged = random.Random(8), 0
        for _ in range(1000):
            ratios = [math.exp(generator.gauss(0, 0.3)) for _ in range(9)]
            lo, hi = stats.order_interval(ratios, 0.99)
            flagged += not lo <= 1 <= hi
        self.assertLess(flagged, 10)

    def test_summary_without_quiet_pairs_is_inconclusive(self):
        self.assertEqual(stats.summary([], 9)["verdict"], "inconclusive")
        self.assertEqual(stats.summary([], 9)["marked"], 9)
