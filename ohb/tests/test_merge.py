# SPDX-License-Identifier: Apache-2.0
"""The row mr.merge: whose turn it is, what an answer becomes, that other records end it."""
import unittest

from driver.procs import Failed
from sides import core, merge

PARAMS = {"segments": 20, "records": 3}


class Scripted:
    """A side that takes a given time and reads given records; it notes that it was asked."""

    def __init__(self, name, nanos, asked, **seen):
        self._name, self._asked = name, asked
        self._answer = {"ns": 2 * nanos, "cpu_ns": nanos, "records": 60, "sum": 7, **seen}

    def ask(self, segments, records):
        self._asked.append((self._name, segments, records))
        return self._answer


class Pairs(unittest.TestCase):
    def test_the_first_side_changes_and_times_have_names(self):
        for index, order in ((0, ["stock", "ours"]), (1, ["ours", "stock"])):
            asked = []
            entries = merge.pairs((Scripted("stock", 4e9, asked), Scripted("ours", 1e9, asked)), PARAMS, index)
            self.assertEqual(asked, [(name, 20, 3) for name in order])
            named = {core.metric_name(entry): (entry["raw"], entry["ours"]) for entry in entries}
            self.assertEqual(named, {"mr.merge.s20.6000.cpu": (4, 1), "mr.merge.s20.6000.wall": (8, 2)})

    def test_other_records_and_missing_ones_are_failures(self):
        for stock, ours in (({}, {"sum": 8}), ({"records": 59}, {"records": 59}), ({}, {"records": 0})):
            sides = (Scripted("stock", 1, [], **stock), Scripted("ours", 1, [], **ours))
            with self.assertRaisesRegex(Failed, "20 segments of 3 records"):
                merge.pairs(sides, PARAMS, 0)


if __name__ == "__main__":
    unittest.main()
