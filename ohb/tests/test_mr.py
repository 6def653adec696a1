# SPDX-License-Identifier: Apache-2.0
"""The row mr: whose turn it is, what a job's counters become, that different results end it."""
import tempfile
import unittest
import unittest.mock

from driver import plan, turns
from driver.procs import Failed
from sides import core, mr, mr_demo

CELL = mr.Cell("avg", 2, 2, 1000)


class Scripted:
    """A side whose jobs take a given time and see given records; it notes what it was asked."""

    def __init__(self, name, seconds, asked, records=1000):
        self._name, self._seconds, self._asked, self._records = name, seconds, asked, records

    def run(self, cell):
        self._asked.append((self._name, cell))
        counters = {mr.FRAMEWORK: {"CPU time spent (ms)": self._seconds * 500}, mr.OURS: {"Bytes by shm": 7, "Bytes by HTTP": 0}}
        return self._seconds, counters, self._records and {"RECORDS": self._records}


class Pairs(unittest.TestCase):
    def _both(self, stock=1000, ours=1000):
        asked = []
        return (Scripted("stock", 4, asked, stock), Scripted("ours", 2, asked, ours)), asked

    def test_both_shuffles_do_the_same_and_the_first_one_changes(self):
        for index, order in ((0, ["stock", "ours"]), (1, ["ours", "stock"]), (2, ["stock", "ours"])):
            both, asked = self._both()
            mr.pairs(both, [CELL], index)
            self.assertEqual(asked, [(name, CELL) for name in order])

    def test_rows_have_cells_and_compressed_outputs_have_a_name_of_their_own(self):
        for row in plan.ROWS:
            if row.kind == "mr":
                for quick in (False, True):
                    self.assertTrue(mr.SETS[row.parameters(quick)["cells"]], row.name)
        entries = mr.pairs(self._both()[0], [mr.Cell("terasort", 20, 1, 1000, True)], 0)
        self.assertEqual({core.metric_name(entry) for entry in entries},
                         {f"mr.terasort.m20.r1.snappy.100000.{metric}" for metric in ("wall", "cpu")})

    def test_maps_get_splits_of_their_number_a_codec_and_quick_jvms_where_the_cell_says_so(self):
        asked = []
        side = mr.Side.__new__(mr.Side)
        side._ours, side._jobs = True, unittest.mock.MagicMock(side=lambda ours, more: more)
        side._java = unittest.mock.MagicMock(QUICK=["-quick"], OPENS=["-opens"])
        side._sort = lambda cell, options: asked.append(options)
        for snappy in (False, True):
            side.run(mr.Cell("terasort", 20, 1, 1001, snappy))
        self.assertNotIn("mapreduce.map.output.compress", asked[0])
        self.assertEqual(asked[1]["mapreduce.input.fileinputformat.split.maxsize"], 5005)
        self.assertNotIn("mapreduce.map.java.opts", asked[0])
        self.assertEqual(asked[1]["mapreduce.map.java.opts"], "-Xmx600m -quick -opens")
        self.assertIn("SnappyCodec", asked[1]["mapreduce.map.output.compress.codec"])

    def test_times_have_names_and_directions(self):
        entries = mr.pairs(self._both()[0], [CELL], 0)
        named = {core.metric_name(entry): entry for entry in entries}
        wall, cpu = named["mr.avg.m2.r2.1016000.wall"], named["mr.avg.m2.r2.1016000.cpu"]
        self.assertEqual((wall["raw"], wall["ours"], cpu["raw"], cpu["ours"]), (4, 2, 2, 1))
        self.assertEqual(core.better(wall["unit"]), "lower")

    def test_different_results_and_none_at_all_are_failures(self):
        for stock, ours in ((1000, 999), (0, 0)):
            with self.assertRaisesRegex(Failed, "avg: the results differ: "):
                mr.pairs(self._both(stock, ours)[0], [CELL], 0)

    def test_the_demonstration_has_both_times_and_adds_up_what_came_how(self):
        (both, asked), counted = self._both(), {}
        measure = mr_demo.cell(both, CELL, counted)
        self.assertEqual(measure(0), {"MR-AVG, all reducers get the same, 1 MB": {
            turns.TIME: (4, 2, "s"), turns.PROCESSOR: (2, 1, "s")}})
        measure(1)
        self.assertEqual([name for name, _ in asked], ["stock", "ours", "ours", "stock"])
        self.assertEqual(mr_demo.carried(counted),
                         ["Through Verbena went 14 bytes of map outputs, as the counters of its jobs say: 14 bytes by shm."])

    def test_the_demonstration_says_when_nothing_came_by_the_core(self):
        self.assertIn("no proof", mr_demo.carried({"Bytes by HTTP": 7, "Segments by the core": 0})[0])


class Missing(unittest.TestCase):
    def test_what_is_not_built_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertIn("run ./verbena build", plan.missing(plan.select("mr")[0], empty))


if __name__ == "__main__":
    unittest.main()
