# SPDX-License-Identifier: Apache-2.0
"""What a reader of rows is told beside the numbers."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from driver import report, stats, story

MANY = 9


def summary(ratio, pairs=MANY, better="lower", medians=None):
    """Of pairs that all have this ratio."""
    stock, ours = medians or (1000, 1000 * ratio)
    return {**stats.summary([ratio] * pairs, 0), "unit": "ms", "better": better, "a_median": stock, "b_median": ours,
            "ratio_all": ratio}


NONE = {**stats.summary([], MANY), "unit": "ms", "better": "lower", "a_median": 1000, "b_median": 900, "ratio_all": 0.9}


def entry(row, time, processor):
    return {"row": row, "status": "complete", "notes": [], "headline": "wall_ms", "hold": None, "control": False, "params": {},
            "verified": True,
            "blocks": [], "result": {"wall_ms": time, "executor_cpu_ms": processor}}


def document(*entries):
    return {"runs": list(entries), "commit": "0123456789abcdef", "started": "today",
            "machine": {"cpu": "a", "cores": 2, "memory_kb": 1 << 20, "kernel": "b"}}


class Outcome(unittest.TestCase):
    def test_a_verdict_is_told_by_its_direction(self):
        self.assertEqual(story.outcome(summary(0.5)), "better")
        self.assertEqual(story.outcome(summary(2)), "worse")
        self.assertEqual(story.outcome(summary(2, better="higher")), "better")
        self.assertEqual(story.outcome(summary(1.01)), "no difference shown")

    def test_too_few_pairs_are_said_to_be_too_few(self):
        self.assertEqual(story.outcome(summary(0.5, pairs=3)), "3 pairs: too few")
        self.assertEqual(story.outcome(summary(0.5, pairs=1)), "1 pair: too few")
        self.assertEqual(story.outcome(NONE), "too noisy")


class Contradiction(unittest.TestCase):
    def test_medians_that_tell_the_opposite_of_the_pairs_are_pointed_out(self):
        self.assertIn("the pairs decide", story.contradiction("job", summary(0.8, medians=(1000, 1200))))
        self.assertIn("job: ", story.contradiction("job", summary(1.2, medians=(1000, 800))))

    def test_medians_that_agree_are_not(self):
        self.assertIsNone(story.contradiction("job", summary(0.8)))
        self.assertIsNone(story.contradiction("job", summary(0.8, medians=(1000, 1010))))
        self.assertIsNone(story.contradiction("job", NONE))


class Page(unittest.TestCase):
    DOCUMENT = document(entry("spark.groupby", summary(0.7), summary(0.5)), entry("spark.smj", NONE, summary(2)))

    def test_a_page_shows_every_verdict_and_no_unit_wraps(self):
        page = report.page(self.DOCUMENT, "t")
        for words in ("better", "worse", "too noisy", "Not drawn, as no pair was quiet: spark.smj wall_ms.",
                      "below 1 is faster", "white-space:nowrap", "prefers-color-scheme:dark",
                      "width=device-width"):
            self.assertIn(words, page)


if __name__ == "__main__":
    unittest.main()
