# SPDX-License-Identifier: Apache-2.0
"""How many pairs a demonstration takes, and what becomes of them."""
import unittest
import unittest.mock

from driver import noise, turns

QUIET = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0, "switches": 0}


class GoOn(unittest.TestCase):
    def test_rounds_go_on_while_there_is_time(self):
        self.assertTrue(turns.go_on(done=20, quiet=0, elapsed=170, took=9, seconds=180, longest=360, needed=8))
        self.assertFalse(turns.go_on(done=20, quiet=0, elapsed=175, took=9, seconds=180, longest=360, needed=8))

    def test_the_pairs_without_which_there_is_no_verdict_have_the_longest_time(self):
        self.assertTrue(turns.go_on(done=7, quiet=0, elapsed=300, took=40, seconds=180, longest=360, needed=8))
        self.assertFalse(turns.go_on(done=7, quiet=0, elapsed=340, took=40, seconds=180, longest=360, needed=8))

    def test_pairs_that_the_longest_time_does_not_suffice_for_are_not_begun(self):
        self.assertTrue(turns.go_on(done=1, quiet=0, elapsed=40, took=40, seconds=180, longest=360, needed=9))
        self.assertFalse(turns.go_on(done=1, quiet=0, elapsed=41, took=41, seconds=180, longest=360, needed=9))

    def test_the_first_cells_that_fit_go_on(self):
        self.assertEqual(turns.fitting([10, 10, 10], times=8, left=240), 3)
        self.assertEqual(turns.fitting([10, 10, 10], times=8, left=239), 2)
        self.assertEqual(turns.fitting([10, 10, 10], times=8, left=0), 1)

    def test_enough_quiet_pairs_end_them_early_and_loaded_ones_do_not(self):
        self.assertFalse(turns.go_on(done=15, quiet=15, elapsed=20, took=1, seconds=180, longest=360, needed=8))
        self.assertTrue(turns.go_on(done=40, quiet=14, elapsed=20, took=1, seconds=180, longest=360, needed=8))


class Rounds(unittest.TestCase):
    def rounds(self, cells, guard, seconds=0.0):
        with unittest.mock.patch.object(noise, "between", lambda _before, _after: guard):
            return turns.rounds(cells, seconds, lambda _text: None)

    def test_every_cell_is_measured_once_in_each_round_until_there_is_enough(self):
        asked = []

        def cell(name):
            def measure(index):
                asked.append((name, index))
                return {name: {turns.TIME: (10.0, 5.0, "us"), turns.PROCESSOR: (3.0, 4.0, "ms")}}
            return measure

        rows = self.rounds([cell("get"), cell("set")], QUIET, seconds=600)
        self.assertEqual(asked[:4], [("get", 0), ("set", 0), ("get", 1), ("set", 1)])
        self.assertEqual((list(rows), len(rows["get"].taken)), (["get", "set"], turns.ENOUGH))
        pair = rows["set"].pairs(turns.PROCESSOR)[0]
        self.assertEqual((pair.stock, pair.ours, pair.marked, rows["set"].units[turns.PROCESSOR]), (3, 4, False, "ms"))

    def test_where_all_rows_do_not_fit_the_last_ones_end_and_the_first_have_their_pairs(self):
        clock = [0.0]

        def cell(name, seconds):
            def measure(_index):
                clock[0] += seconds
                return {name: {turns.TIME: (10.0, 5.0, "us")}}
            return measure

        with unittest.mock.patch.object(turns, "time", unittest.mock.Mock(monotonic=lambda: clock[0])):
            rows = self.rounds([cell("first", 15), cell("last", 15)], {**QUIET, "foreign": 0.9}, seconds=100)
        self.assertEqual({name: len(row.taken) for name, row in rows.items()}, {"first": 8, "last": 1})

    def test_what_is_run_once_before_is_in_no_pair(self):
        asked = []

        def cell(index):
            asked.append(index)
            return {"get": {turns.TIME: (1.0, 2.0, "us")}}

        rows = self.rounds(turns.once([cell]), {**QUIET, "foreign": 0.9}, seconds=-1)
        self.assertEqual((asked, len(rows["get"].taken)), ([0, 0], 1))

    def test_without_time_there_is_one_round_and_load_marks_its_pairs(self):
        rows = self.rounds([lambda _index: {"get": {turns.TIME: (1.0, 2.0, "us")}}], {**QUIET, "foreign": 0.9}, seconds=-1)
        self.assertEqual([pair.marked for pair in rows["get"].pairs(turns.TIME)], [True])


if __name__ == "__main__":
    unittest.main()
