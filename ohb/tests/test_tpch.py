# SPDX-License-Identifier: Apache-2.0
"""The row of all TPC-H queries: its pairs, its sum; and how rows are chosen."""
import io
import json
import os
import tempfile
import unittest
import unittest.mock

from driver import blocks, plan, run, schema, tpch
from driver.procs import Failed


class Sides:
    """Answers as generators do: query qN takes N ms on side a and half of that on side b."""

    def __init__(self, wrong=None):
        self.calls, self._wrong = [], wrong

    def warm(self, row, params, _limit):
        self.calls.append(("warm", row.name, params["query"]))

    def block(self, row, side, seed):
        number = int(row.params["query"][1:])
        self.calls.append((side, row.name, seed))
        checksum = "ff" if (row.params["query"], side) == self._wrong else f"{number:032x}"
        return {"metrics": {"wall_ms": number * (1.0 if side == "a" else 0.5)}, "records": number, "checksum": checksum}

    def drop(self, row):
        self.calls.append(("drop", row.name))

    def describe(self):
        side = {"command": "", "settings": {}, "versions": {}, "carrier": None}
        return {"a": {"name": "stock", **side}, "b": {"name": "ours", **side}}

    def notes(self):
        return []

    def carrier(self, _side):
        return ["nothing"]

    def stop(self):
        pass


def measured(sides, pairs=2):
    part = io.StringIO()
    queries = tpch.Queries(plan.select("spark.tpch")[0], {"job": "tpch", "data": "x"}, pairs, part)
    queries.warm(sides, 1)
    queries.measure(sides, range(pairs), 0)
    return queries.done, part.getvalue()


class Queries(unittest.TestCase):
    def test_every_query_runs_on_both_sides_in_turn_and_every_second_pair_is_turned_round(self):
        sides = Sides()
        done, part = measured(sides)
        order = [call[0] for call in sides.calls if call[0] in "ab" and call[2] > 0]
        self.assertEqual("".join(order), "ab" * 22 + "ba" * 22)
        self.assertEqual([name for name in done], [f"q{number}" for number in range(1, 23)])
        self.assertEqual([json.loads(line)["row"] for line in part.splitlines()][:3],
                         ["spark.tpch.q1", "spark.tpch.q1", "spark.tpch.q2"])
        self.assertEqual(blocks.reduce(done["q7"])["wall_ms"]["ratio_all"], 0.5)

    def test_the_sum_of_a_pair_is_that_of_all_its_queries(self):
        done, _ = measured(Sides())
        whole = tpch.total(done)
        self.assertEqual([(block["side"], block["index"]) for block in whole], [("a", 0), ("b", 1), ("b", 2), ("a", 3)])
        self.assertEqual([block["metrics"]["wall_ms"] for block in whole], [253.0, 126.5, 126.5, 253.0])
        self.assertEqual(whole[0]["records"], 253)
        self.assertEqual(whole[0]["checksum"], whole[1]["checksum"])

    def test_a_pair_of_the_sum_is_noisy_when_its_queries_together_ran_beside_much_other_work(self):
        done, _ = measured(Sides(), pairs=1)
        for found in done.values():
            for block in found:
                block.update(seconds=1.0, noise={**block["noise"], "foreign": 0.0, "steal": 0.0})
        done["q1"][0]["noise"]["foreign"] = 1.0
        self.assertFalse(tpch.total(done)[0]["marked"])
        done["q1"][0]["seconds"] = 10.0
        self.assertTrue(tpch.total(done)[0]["marked"])

    def test_a_query_with_other_rows_than_stock_fails_the_row(self):
        with self.assertRaisesRegex(Failed, "the results differ"):
            measured(Sides(wrong=("q5", "b")))


class Document(unittest.TestCase):
    """The whole way of the row but for Spark: a valid file with a row for each query and the sum."""

    def test_the_file_has_the_sum_and_each_query_with_its_number_to_hold(self):
        class WithoutSpark(run.Runner):
            def _with_data(self, params):
                return params

            def _sides_for(self, row):
                return Sides()

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(plan, "missing", lambda *_: None):
            path = os.path.join(folder, "r.json")
            WithoutSpark(folder, folder, path, True, 2).run(plan.select("spark.tpch"))
            document = schema.read(path)
        self.assertEqual((document["status"], len(document["runs"])), ("complete", 23))
        whole, first = document["runs"][:2]
        self.assertEqual((whole["row"], whole["hold"], len(whole["blocks"])), ("spark.tpch", 0.9, 4))
        self.assertEqual((first["row"], first["hold"], first["params"]["query"]), ("spark.tpch.q1", 1.05, "q1"))
        self.assertEqual(whole["result"]["wall_ms"]["ratio_all"], 0.5)
        self.assertTrue(whole["verified"] and first["verified"])


class Rows(unittest.TestCase):
    def test_rows_are_chosen_by_names_with_or_without_their_group(self):
        chosen = plan.select_all("spark", ["groupby", "spark.tpch", "sortby.hosts", "groupby"])
        self.assertEqual([row.name for row in chosen],
                         ["spark.groupby", "spark.tpch"] + [f"spark.sortby.hosts.{rate}" for rate in
                                                            ("1gbit", "10gbit", "25gbit", "unshaped")])
        with self.assertRaises(plan.UnknownRow):
            plan.select_all("spark", ["gruopby"])

    def test_one_query_is_a_row_of_its_own_and_takes_a_scale_factor(self):
        row = plan.with_scale(plan.select("spark.tpch.q7")[0], 0.25)
        self.assertEqual((row.kind, row.params["query"], row.parameters(True)["scale"]), ("spark", "q7", 0.25))
        with self.assertRaises(plan.UnknownRow):
            plan.select("spark.tpch.q23")

    def test_the_jobs_of_the_goals_stand_against_three_set_ups_of_stock(self):
        names = {row.name: row for row in plan.ROWS}
        for job in ("groupby", "sortby", "tiny", "reducebykey", "smj"):
            default, netty, tmpfs = (names[f"spark.{job}{end}"] for end in ("", ".netty", ".tmpfs"))
            self.assertEqual((default.stock_properties, default.tmpfs), ({}, False))
            self.assertEqual(netty.stock_properties, {"spark.shuffle.readHostLocalDisk": "false"})
            self.assertEqual((tmpfs.stock_properties, tmpfs.tmpfs), ({"spark.shuffle.compress": "false"}, True))
            for row in (default, netty, tmpfs):
                self.assertEqual((row.our_properties, row.properties), ({}, plan.DEFAULTS))
