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

    def test_enough_quiet_pairs_end_them_early_and_loaded_ones_do_not(self):
        self.assertFalse(turns.go_on(done=15, quiet=15, elapsed=20, took=1, seconds=180, longest=360, needed=8))
        self.assertTrue(turns.go_on(done=40, quiet=14, elapsed=20, took=1, seconds=180, longest=360, needed=8))


class Choose(unittest.TestCase):
    @staticmethod
    def cell(done, seconds, quiet=0):
        cell = turns.Cell(None)
        for place in range(done):
            cell.add(seconds, place < quiet)
        return cell

    def chosen(self, cells, **more):
        found = turns.choose(cells, **{"needed": 9, "left": 100, "longest": 200, **more})
        return [cells.index(cell) for cell in found]

    def test_all_go_on_where_their_pairs_fit(self):
        self.assertEqual(self.chosen([self.cell(1, 10), self.cell(1, 10)]), [0, 1])

    def test_the_first_that_fit_go_on(self):
        self.assertEqual(self.chosen([self.cell(1, 10), self.cell(1, 16)]), [0])
        self.assertEqual(self.chosen([self.cell(1, 10), self.cell(1, 10)], slower=2), [0])

    def test_who_lacks_pairs_comes_before_who_has_them(self):
        self.assertEqual(self.chosen([self.cell(9, 10), self.cell(2, 10)]), [1])

    def test_who_has_its_pairs_goes_on_while_there_is_time(self):
        self.assertEqual(self.chosen([self.cell(9, 10), self.cell(9, 10), self.cell(1, 60)]), [0, 1])
        self.assertEqual(self.chosen([self.cell(9, 60), self.cell(9, 60)]), [])

    def test_enough_quiet_pairs_of_all_end_it_and_loaded_ones_do_not(self):
        self.assertEqual(self.chosen([self.cell(15, 1, quiet=15), self.cell(15, 1, quiet=15)]), [])
        self.assertEqual(self.chosen([self.cell(15, 1, quiet=15), self.cell(15, 1, quiet=14)]), [0, 1])

    def test_nobody_goes_on_without_time(self):
        self.assertEqual(self.chosen([self.cell(1, 10)], left=-1, longest=-1), [])


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

    def paced(self, paces, seconds):
        """Pairs of each of two cells whose first pair takes a time, and further ones another."""
        clock = [0.0]

        def cell(name, first, later):
            def measure(index):
                clock[0] += later if index else first
                return {name: {turns.TIME: (10.0, 5.0, "us")}}
            return measure

        with unittest.mock.patch.object(turns, "time", unittest.mock.Mock(monotonic=lambda: clock[0])):
            rows = self.rounds([cell(*pace) for pace in paces], {**QUIET, "foreign": 0.9}, seconds)
        return {name: len(row.taken) for name, row in rows.items()}

    def test_where_all_rows_do_not_fit_the_first_have_their_pairs(self):
        self.assertEqual(self.paced([("first", 15, 15), ("last", 15, 15)], seconds=100), {"first": 8, "last": 1})

    def test_rows_that_one_slow_round_left_out_come_back_when_there_is_time(self):
        self.assertEqual(self.paced([("first", 30, 2), ("last", 30, 2)], seconds=100), {"first": 11, "last": 11})

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
