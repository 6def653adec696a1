# SPDX-License-Identifier: Apache-2.0
"""Result files, comparison, report, catalogue, and the core row's lines."""
import copy
import json
import os
import pathlib
import re
import socket
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

from driver import plan, plot, report, schema
from driver.procs import Failed
from driver.run import Runner
from sides import core


def measured(work, pairs=2):
    path = os.path.join(work, "result.json")
    return Runner(work, work, path, True, pairs).run(plan.select("aa.echo")), path


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.document, cls.path = measured(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_real_run_is_valid_and_complete(self):
        document = schema.read(self.path)
        self.assertEqual((document["status"], document["runs"][0]["verified"]), ("complete", True))
        self.assertNotIn("nothing looked at", report.table(document))
        self.assertEqual([entry["side"] for entry in document["runs"][0]["blocks"]], list("abba"))
        self.assertFalse(os.path.exists(self.path + ".part"))

    def test_a_missing_field_an_unknown_field_and_a_wrong_type_are_refused(self):
        for change in (lambda run: run.pop("status"), lambda run: run.update(extra=1),
                       lambda run: run["blocks"][0].update(marked="yes")):
            broken = copy.deepcopy(self.document)
            change(broken["runs"][0])
            with self.assertRaises(schema.Invalid):
                schema.validate(broken)

    def test_a_file_that_is_not_json_is_refused_with_its_name(self):
        path = os.path.join(self.folder.name, "broken.json")
        with open(path, "w") as file:
            file.write("{")
        with self.assertRaisesRegex(schema.Invalid, "broken.json"):
            schema.read(path)

    def test_no_path_of_the_checkout_stands_in_the_file(self):
        found = schema.anonymous({"command": [f"{self.folder.name}/x --jar"]}, self.folder.name)
        self.assertEqual(found, {"command": ["$VERBENA/x --jar"]})
        with open(self.path) as file:
            text = file.read()
        self.assertNotIn(self.folder.name, text)
        if len(socket.gethostname()) > 3 and socket.gethostname() != "localhost":
            self.assertNotIn(socket.gethostname(), text)


def with_ratio(document, ratio, spread=0.01):
    changed = copy.deepcopy(document)
    changed["runs"][0]["result"]["wall_ms"].update(ratio=ratio, lo=ratio - spread, hi=ratio + spread)
    return changed


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            document, _ = measured(folder)
        for summary in document["runs"][0]["result"].values():
            summary.update(ratio=0.5, lo=0.49, hi=0.51)
        cls.document = document

    def test_a_file_against_itself_has_no_regression(self):
        self.assertEqual(report.compare(self.document, self.document)[1], 0)

    def test_a_worse_ratio_with_separate_intervals_is_a_regression(self):
        lines, regressions = report.compare(self.document, with_ratio(self.document, 0.7))
        self.assertEqual(regressions, 1)
        self.assertTrue(any("REGRESSION by 40%" in line for line in lines))

    def test_overlapping_intervals_and_better_ratios_are_no_regression(self):
        self.assertEqual(report.compare(self.document, with_ratio(self.document, 0.7, 0.3))[1], 0)
        self.assertEqual(report.compare(self.document, with_ratio(self.document, 0.3))[1], 0)

    def test_for_a_rate_the_lower_ratio_is_the_worse_one(self):
        rates = copy.deepcopy(self.document)
        rates["runs"][0]["result"]["wall_ms"]["better"] = "higher"
        self.assertEqual(report.compare(rates, with_ratio(rates, 0.3))[1], 1)

    def test_a_row_that_now_fails_is_a_regression(self):
        failed = copy.deepcopy(self.document)
        failed["runs"][0].update(status="failed", result={})
        self.assertEqual(report.compare(self.document, failed)[1], 1)

    def test_a_row_that_vanished_or_is_skipped_is_one_regression_and_is_named_with_the_reason(self):
        absent, skipped = copy.deepcopy(self.document), copy.deepcopy(self.document)
        absent["runs"] = []
        skipped["runs"][0].update(status="skipped", result={}, notes=["no loop device"])
        for second, reason in ((absent, "not in the second file"), (skipped, "skipped; no loop device")):
            lines, regressions = report.compare(self.document, second)
            self.assertEqual((lines, regressions), ([f"aa.echo: REGRESSION: was measured; now: {reason}"], 1))

    def test_a_metric_that_vanished_from_a_complete_row_is_a_regression(self):
        second = copy.deepcopy(self.document)
        second["runs"][0]["result"].pop("wall_ms")
        lines, regressions = report.compare(self.document, second)
        self.assertEqual(regressions, 1)
        self.assertIn("aa.echo wall_ms: REGRESSION: was measured; now: not measured in the second file", lines)

    def test_a_row_that_was_not_complete_before_or_is_new_is_no_regression(self):
        before, nothing = copy.deepcopy(self.document), copy.deepcopy(self.document)
        before["runs"][0].update(status="skipped", result={})
        nothing["runs"] = []
        for first, second in ((before, nothing), (before, self.document), (nothing, self.document)):
            self.assertEqual(report.compare(first, second)[1], 0)

    def test_the_page_is_whole_xml_free_of_outside_parts_and_lists_lost_rows_first(self):
        lost = with_ratio(self.document, 2.0)
        lost["runs"][0]["result"]["wall_ms"]["verdict"] = "higher"
        page = report.page(lost, "a < b")
        for outside in ("<script", "<link", " src=", "@import"):
            self.assertNotIn(outside, page)
        self.assertIn("<svg", page)
        self.assertIn("a &lt; b", page)
        self.assertLess(page.index("<td>aa.echo wall_ms"), page.index("<td>aa.echo cpu_ms"))

    def test_a_plot_is_well_formed_svg_in_the_colours_of_the_verdicts_and_of_the_page(self):
        svg = plot.ratios([("row", 0.5, 0.4, 0.6, "better"), ("other", 0.5, 0.4, 0.6, "3 pairs: too few")])
        self.assertTrue(xml.etree.ElementTree.fromstring(svg).tag.endswith("svg"))
        self.assertIn(plot.GOOD, svg)
        self.assertIn(plot.NEUTRAL, svg)
        self.assertIn("currentColor", svg)


class Catalogue(unittest.TestCase):
    def test_a_group_selects_all_its_rows_and_a_name_only_itself(self):
        self.assertGreater(len(plan.select("spark")), 5)
        self.assertEqual([row.name for row in plan.select("spark.groupby")], ["spark.groupby"])

    def test_an_unknown_row_names_the_rows_there_are(self):
        with self.assertRaisesRegex(plan.UnknownRow, "spark.groupby"):
            plan.select("spark.gruopby")

    def test_quick_parameters_override_the_full_ones(self):
        row = plan.select("spark.groupby")[0]
        self.assertLess(row.parameters(True)["pairs"], row.parameters(False)["pairs"])
        self.assertEqual(row.parameters(True)["job"], "groupby")

    def test_rows_beyond_memory_have_a_size_for_each_multiple_of_it_on_both_disks(self):
        chosen = plan.select_all("spark", ["spill"])
        self.assertEqual(len(chosen), 26)
        for row in chosen:
            _, _, job, disk, multiple = row.name.split(".", 4)
            self.assertEqual("words" in row.params, job == "words")
            job = "groupby" if job == "words" else job
            total = row.params["maps"] * row.params["pairs"] * (row.params["size"] + 10)
            self.assertAlmostEqual(total / (2 * 64 << 20), float(multiple), places=2)
            self.assertEqual((row.params["job"], row.disk), (job, disk))
            self.assertEqual(row.our_properties["spark.verbena.memory"], "64m")
            self.assertEqual(plan.against(row, ".").stock_cache, 0, "Verbena before has slabs, as after")

    def test_a_word_of_their_names_is_all_rows_that_have_it(self):
        def names(*words):
            return [row.name for row in plan.select_all("spark", words)]

        self.assertEqual(names("service"), ["spark.groupby.service", "spark.sortby.service"])
        self.assertIn("spark.spill.sortby.slow.2", names("slow"))
        self.assertTrue(all(".slow." in name for name in names("slow")))
        self.assertEqual(names("tiny"), ["spark.tiny"], "a row of that name comes first")
        with self.assertRaises(plan.UnknownRow):
            names("nosuch")

    def test_a_row_on_a_slow_disk_says_why_there_can_be_none(self):
        row = plan.select("spark.spill.sortby.slow")[0]
        with unittest.mock.patch("sides.slowdisk.missing", return_value="no loop device"):
            self.assertEqual(plan.missing(row, "."), "no loop device")

    def test_each_row_is_described_on_a_page(self):
        pages = "".join(path.read_text() for path in sorted((pathlib.Path(__file__).resolve().parents[2] / "docs").glob("*.md")))
        for row in plan.ROWS:
            group, _, name = row.name.partition(".")
            name = name.replace(f"hosts.{row.network}", "hosts.RATE")
            if group != "spark":
                told = rf"(`|bench |run ){group}{re.escape('.' + name if name else '')}\b"
            elif name.startswith("spill."):
                told = r"`\.spill\.JOB\.DISK\.MULTIPLE`"
            else:  # a job, or words behind it
                told = rf"`\.{re.escape(name.partition('.')[2])}\b" if "." in name else rf"\b{name}\b"
            self.assertTrue(re.search(told, pages), f"no page describes the row {row.name}")

    def test_names_are_unique(self):
        self.assertEqual(len({row.name for row in plan.ROWS}), len(plan.ROWS))


class CoreLines(unittest.TestCase):
    LINE = {"row": "core.am.latency", "transport": "shm", "size": 8, "metric": "p50", "unit": "ns", "ours": 180.5,
            "raw": 120, "ratio": 1.504}

    def test_a_line_becomes_a_named_cell(self):
        entry = core.parse(json.dumps(self.LINE))
        self.assertEqual(core.metric_name(entry), "am.latency.shm.8.p50")
        self.assertEqual(core.metric_name({**entry, "placement": "near"}), "am.latency.shm.8.p50.near")
        self.assertEqual(core.metric_name({**entry, "size": 64 << 20}), "am.latency.shm.67108864.p50")

    def test_recorded_output_of_the_real_program_is_understood(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "vbn_perf.txt")) as file:
            entries = [entry for entry in map(core.parse, file.read().splitlines()) if entry]
        cells = {core.metric_name(entry) for entry in entries}
        self.assertEqual(len(cells), len(entries))
        self.assertIn("am.latency.shm.8.one-way-latency", cells)
        self.assertIn("am.rate.tcp.64.message-rate", cells)
        for entry in entries:
            self.assertAlmostEqual(entry["ours"] / entry["raw"], entry["ratio"], delta=0.01)

    def test_a_core_pair_becomes_two_blocks_with_one_noise_entry_that_marks_both(self):
        guard = {"idle": 0.1, "steal": 0.0, "foreign": 0.5, "runq": 4, "switches": 9}
        halves = core.blocks([self.LINE], 3, 1.5, guard)
        self.assertEqual([(block["side"], block["index"], block["marked"]) for block in halves],
                         [("a", 6, True), ("b", 7, True)])
        name = core.metric_name(self.LINE)
        self.assertEqual([block["metrics"][name] for block in halves], [self.LINE["raw"], self.LINE["ours"]])
        self.assertTrue(all(not block["marked"] for block in core.blocks([self.LINE], 0, 1.5, {**guard, "foreign": 0})))

    def test_near_and_far_processors_are_chosen_and_labelled(self):
        kinds = {1: "smt", 2: "near", 3: "near", 8: "far"}
        self.assertEqual(core.placements([0, 1, 2, 3, 8], lambda _, other: kinds[other]),
                         [("near", "0,2"), ("far", "0,8")])
        self.assertEqual(core.placements([4], None), [("one-cpu", "4,4")])
        self.assertEqual(core.placements([0, 1], lambda *_: "smt"), [("smt", "0,1")])

    def test_a_part_of_the_core_row_selects_by_whole_words(self):
        self.assertTrue(core.belongs(self.LINE, "core"))
        self.assertTrue(core.belongs(self.LINE, "core.am"))
        self.assertTrue(core.belongs(self.LINE, "core.am.latency"))
        self.assertFalse(core.belongs(self.LINE, "core.am.lat"))
        self.assertFalse(core.belongs(self.LINE, "core.put"))

    def test_other_output_is_skipped(self):
        self.assertIsNone(core.parse("# warming up"))

    def test_broken_or_empty_measurements_are_refused(self):
        for line in ("{", json.dumps({**self.LINE, "ours": 0}), json.dumps({**self.LINE, "raw": "fast"}),
                     json.dumps({key: value for key, value in self.LINE.items() if key != "unit"})):
            with self.assertRaises(Failed):
                core.parse(line)

    def test_rates_are_better_when_higher_and_times_when_lower(self):
        self.assertEqual([core.better(unit) for unit in ("GB/s", "msg/s", "ns", "us")],
                         ["higher", "higher", "lower", "lower"])


class Against(unittest.TestCase):
    """Two checkouts of which each prints what it measured and who ran when."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.now, self.before = self._checkout("now", 90), self._checkout("before", 100)

    def _checkout(self, name, ours):
        path = os.path.join(self.folder.name, name)
        program = os.path.join(path, ".verbena", "build", "release", "vbn-perf")
        os.makedirs(os.path.dirname(program))
        line = json.dumps({**CoreLines.LINE, "ours": ours, "raw": 1})
        with open(program, "w") as file:
            file.write(f"#!/bin/sh\necho {name} >>'{self.folder.name}/order'\necho '{line}'\n")
        os.chmod(program, 0o755)
        return path

    def _measured(self, row="core"):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("VERBENA_NATIVE_BIN", None)
            rows = [plan.against(row, self.before) for row in plan.select(row)]
            return Runner(self.now, self.now, os.path.join(self.now, "result.json"), True, 2).run(rows)

    def test_the_other_checkout_takes_the_stock_side_and_the_order_changes(self):
        document = self._measured()
        run = document["runs"][0]
        self.assertEqual((run["status"], run["sides"]["a"]["name"]), ("complete", "before"), run["notes"])
        values = {(block["side"], value) for block in run["blocks"] for value in block["metrics"].values()}
        self.assertEqual(values, {("a", 100), ("b", 90)})
        self.assertFalse(run["verified"], "vbn-perf looks at no payload")
        self.assertIn("core: times and rates alone: nothing compared the delivered data", report.table(document))
        with open(os.path.join(self.folder.name, "order")) as file:
            order = file.read().split()
        half = len(order) // 2
        self.assertEqual(order, ["before", "now"] * (half // 2) + ["now", "before"] * (half // 2))

    def test_a_checkout_that_is_not_built_and_a_row_without_versions_are_skipped_with_the_reason(self):
        os.unlink(core.built_program(self.before))
        self.assertIn("not built", self._measured()["runs"][0]["notes"][0])
        self.assertIn("cannot compare two checkouts", self._measured("aa.echo")["runs"][0]["notes"][0])

    def test_the_result_does_not_name_its_folder(self):
        self._measured()
        with open(os.path.join(self.now, "result.json")) as file:
            self.assertNotIn(self.folder.name, file.read())
