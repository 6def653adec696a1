# SPDX-License-Identifier: Apache-2.0
"""What Spark's rows give to both sides: stock as its users have it."""
import os
import unittest

from driver import plan
from driver.session import properties_of_sides
from sides import spark

ROWS = [row for row in plan.ROWS if row.kind in ("spark", "tpch")]
HEADLINES = ("spark.groupby", "spark.sortby", "spark.tiny", "spark.reducebykey", "spark.terasort", "spark.pagerank")


def settings(row):
    """{side: all that spark-submit is given}."""
    return {side: spark.settings(own, row.properties) for side, own in properties_of_sides(row).items()}


class Settings(unittest.TestCase):
    def test_ours_adds_the_plugin_and_nothing_else(self):
        for row in ROWS:
            found = settings(row)
            if not row.control:
                ours = {key: value for key, value in found["b"].items() if found["a"].get(key) != value}
                self.assertEqual(ours, {"spark.plugins": "org.verbena.spark.VerbenaPlugin", **row.our_properties}, row.name)
            self.assertFalse(set(found["a"]) & set(spark.OURS), row.name)

    def test_no_row_sets_where_tasks_run_or_how_large_a_broadcast_table_is(self):
        for row in [*ROWS, plan.select("spark.tpch.q3")[0]]:
            for found in settings(row).values():
                self.assertFalse(set(plan.DEFAULTS) & set(found), row.name)

    def test_another_build_of_verbena_has_the_same_properties(self):
        row = plan.against(plan.select("spark.spill.groupby.cached.1")[0], os.path.dirname(__file__))
        self.assertEqual(len({tuple(sorted(found.items())) for found in settings(row).values()}), 1)

    def test_a_property_without_a_value_is_left_to_spark_and_a_side_has_the_last_word(self):
        found = spark.settings({"spark.locality.wait": "1s"}, {"spark.locality.wait": None, "spark.executor.memory": None})
        self.assertEqual(found["spark.locality.wait"], "1s")
        self.assertNotIn("spark.executor.memory", found)


class Values(unittest.TestCase):
    def test_pairs_have_the_class_tags_of_scala_and_a_row_beside_shows_those_of_java(self):
        rows = {row.name: row for row in ROWS}
        for name in HEADLINES:
            self.assertEqual((rows[name].params["tags"], rows[name + ".java"].params["tags"]), ("scala", "java"))
            self.assertEqual({**rows[name].params, "tags": "java"}, rows[name + ".java"].params)
        for row in ROWS:
            if row.params.get("job") in [name.partition(".")[2] for name in HEADLINES]:
                self.assertEqual(row.params["tags"], "java" if row.name.endswith(".java") else "scala", row.name)

    def test_random_values_have_a_row_beside_them_of_values_that_shrink(self):
        for name in HEADLINES[:3]:
            random, words = plan.select(name)[0], plan.select(name + ".words")[0]
            self.assertEqual({**random.params, "words": 256}, words.params)


if __name__ == "__main__":
    unittest.main()
