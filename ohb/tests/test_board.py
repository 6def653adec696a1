# SPDX-License-Identifier: Apache-2.0
"""The first sentence, the table and the page of demonstrations, out of synthetic pairs."""
import json
import os
import re
import tempfile
import unittest

from driver import board, demopage, schema, turns

QUIET = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0, "switches": 0}
BUSY = {**QUIET, "foreign": 0.8}
ABOUT = demopage.About("some", "Some system with and without Verbena", "some stock", ("One thing <was> run.",), "Set this:",
                       "key value")


def row(name, ratio, pairs=10, busy=False, processor=None):
    """Of pairs that all have nearly this ratio."""
    units = {turns.TIME: "ms", **({turns.PROCESSOR: "s"} if processor else {})}
    taken = [turns.Taken(index, {turns.TIME: (100.0 + index, (100 + index) * ratio * (1 + index / 1000)),
                                 **({turns.PROCESSOR: (5.0, 5 * processor)} if processor else {})}, 0.5, BUSY if busy else QUIET)
             for index in range(pairs)]
    return turns.Row(name, units, taken)


class FirstSentence(unittest.TestCase):
    def test_it_has_one_form_that_counts_gains_losses_and_the_rest(self):
        rows = [row(f"g{place}", 0.5) for place in range(3)] + [row("l", 2)] + [row(f"s{place}", 1) for place in range(4)]
        self.assertEqual(board.Board(rows).first(),
                         "Verbena faster in 3 of 8 rows, slower in 1, no difference in 4; results identical; machine quiet")

    def test_losses_alone_are_said_in_the_same_form(self):
        self.assertEqual(board.Board([row("a", 1.3), row("b", 1.2)]).first(),
                         "Verbena faster in 0 of 2 rows, slower in 2, no difference in 0; results identical; machine quiet")

    def test_a_busy_machine_is_said_and_has_verdicts_all_the_same(self):
        self.assertEqual(board.Board([row("a", 0.5, busy=True), row("b", 2, busy=True)]).first(),
                         "Verbena faster in 1 of 2 rows, slower in 1, no difference in 0; results identical; machine busy")

    def test_a_row_that_would_be_won_alone_counts_as_no_difference_and_is_named(self):
        shown = board.Board([row("a", 0.5, pairs=8), *(row(f"s{place}", 1) for place in range(9))])
        self.assertIn("faster in 0 of 10 rows, slower in 0, no difference in 10", shown.first())
        self.assertEqual(next(shown.lines())[-1], "not sure enough")
        self.assertIn("the pairs suffice for one comparison, but not for 10", shown.sure())

    def test_rows_with_too_few_pairs_and_rows_without_any_are_counted(self):
        self.assertEqual(board.Board([row("a", 0.5), row("b", 0.5, pairs=3)], missing=["c"]).first(),
                         "Verbena faster in 1 of 3 rows, slower in 0, no difference in 0, too few pairs in 1, not measured in 1; "
                         "results identical; machine quiet")

    def test_other_metrics_have_a_sentence_of_their_own(self):
        self.assertEqual(board.Board([row("a", 1, processor=0.5), row("b", 1, processor=2), row("c", 1)]).others(),
                         ["Processor time less in 1 of 2 rows, more in 1, no difference in 0."])

    def test_a_row_that_has_only_another_metric_counts_there_alone(self):
        idle = turns.Row("idle", {turns.PROCESSOR: "ms"}, [turns.Taken(index, {turns.PROCESSOR: (2.0, 1.0)}, 1, QUIET)
                                                           for index in range(9)])
        shown = board.Board([idle, row("a", 0.5)])
        self.assertIn("faster in 1 of 1 rows", shown.first())
        self.assertIn("less in 1 of 1 rows", shown.others()[0])


class Table(unittest.TestCase):
    def test_each_line_has_both_sides_the_ratio_the_pairs_and_a_verdict(self):
        lines = board.Board([row("a", 0.5, processor=0.5), row("b", 1.0, pairs=3)], missing=["c"]).table().splitlines()
        self.assertRegex(lines[1], r"^a +time, ms +1\d\d +5\d\.?\d* +0\.50 \[0\.50 \.\. 0\.50\] +10 +faster$")
        self.assertRegex(lines[2], r"^ +processor time, s +5 +2\.5 +0\.50 \[.*\] +10 +less$")
        self.assertRegex(lines[3], r"^b .* 1\.00 \(seen: 1\.00 to 1\.00\) +3 +too few pairs$")
        self.assertRegex(lines[4], r"^c +time .* not measured$")

    def test_no_line_contradicts_itself(self):
        rows = [row(f"r{ratio}", ratio, busy=place % 2 == 0) for place, ratio in enumerate((0.2, 0.9, 0.99, 1.0, 1.02, 1.4, 7))]
        for line in board.Board(rows).lines():
            stock, ours, ratio = (float(cell.split()[0].replace(",", "")) for cell in line[2:5])
            self.assertAlmostEqual(ours / stock, ratio, delta=0.02 * ratio)
            lo, hi = map(float, re.findall(r"[\d.]+", line[4].split("[")[1].replace("..", " ")))
            self.assertEqual(line[-1] == "faster", hi < 0.97)
            self.assertEqual(line[-1] == "slower", lo > 1.03)

    def test_time_stands_first_in_every_row(self):
        taken = [turns.Taken(index, {turns.PROCESSOR: (5.0, 4.0), turns.TIME: (2.0, 1.0)}, 1, QUIET) for index in range(9)]
        lines = board.Board([turns.Row("a", {turns.PROCESSOR: "s", turns.TIME: "ms"}, taken)]).lines()
        self.assertEqual([line[1] for line in lines], ["time, ms", "processor time, s"])

    def test_small_ratios_are_not_rounded_to_nothing(self):
        self.assertEqual(next(board.Board([row("a", 0.0042)]).lines())[4], "0.0042 [0.0042 .. 0.0042]")

    def test_pairs_that_do_not_count_are_named(self):
        taken = row("a", 0.5).taken
        loaded = [turns.Taken(pair.index, pair.values, pair.seconds, BUSY if pair.index < 2 else QUIET) for pair in taken]
        shown = board.Board([turns.Row("a", {turns.TIME: "ms"}, loaded)])
        self.assertEqual(next(shown.lines())[5], "8 of 10")
        self.assertIn("20 % of the pairs ran beside other load. These pairs do not count", shown.sure())

    def test_what_was_done_about_load_is_said(self):
        self.assertIn("They count, too", board.Board([row("a", 0.5, busy=True)]).sure())
        self.assertIn("No pair ran beside other load", board.Board([row("a", 0.5)]).sure())


class Page(unittest.TestCase):
    def setUp(self):
        rows = [row("won", 0.5, processor=0.4), row("lost", 2), row("like", 1), row("short", 0.5, pairs=2)]
        self.shown = demopage.Shown(board.Board(rows, missing=["absent"]), ("like",), ["Through Verbena went 3 MiB."],
                                    ["peer uses shm"])

    def written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = demopage.write(ABOUT, self.shown, folder, folder, "today")
            self.assertEqual(os.path.basename(path), "some.html")
            with open(path) as file, open(os.path.join(folder, "some.json")) as result:
                return file.read(), json.load(result)

    def test_the_first_sentence_stands_first_on_page_and_terminal(self):
        text = re.sub(r"<[^>]*>", "", self.written()[0].split("<body>")[1])
        self.assertTrue(text.startswith(self.shown.board.first()))
        self.assertEqual(demopage.terminal(ABOUT, self.shown, "x").splitlines()[0], self.shown.board.first())

    def test_every_row_is_drawn_and_one_without_a_verdict_is_named_so(self):
        chart = self.written()[0].split("<svg")[1].split("</svg>")[0]
        for label in ("won, time", "won, processor time", "lost, time", "like, time (no difference)",
                      "short, time (too few pairs)"):
            self.assertIn(label, chart)
        self.assertNotIn("won, time (", chart)

    def test_the_page_says_what_was_run_what_travelled_and_how_to_use_it(self):
        page = self.written()[0]
        for words in ("One thing &lt;was&gt; run.", "Through Verbena went 3 MiB.", "peer uses shm", "Set this:", "key value",
                      "not measured", "below 1 is faster", "prefers-color-scheme:dark"):
            self.assertIn(words, page)

    def test_the_result_file_has_every_pair_and_the_numbers_of_the_page(self):
        document = self.written()[1]
        schema.validate(document)
        run = document["runs"][0]
        self.assertEqual((run["row"], len(run["blocks"]), [block["side"] for block in run["blocks"][:4]]),
                         ("demo.some: won", 20, list("abba")))
        self.assertEqual(run["result"][turns.TIME]["verdict"], "lower")
        self.assertAlmostEqual(run["result"][turns.PROCESSOR]["ratio"], 0.4)

    def test_a_row_that_delivers_nothing_is_not_called_verified(self):
        self.assertEqual([run["verified"] for run in self.written()[1]["runs"]], [True, True, False, True])


if __name__ == "__main__":
    unittest.main()
