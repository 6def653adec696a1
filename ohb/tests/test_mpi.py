# SPDX-License-Identifier: Apache-2.0
"""The rows mpi.messages and mpi.rma: labels, names, targets; what a library's job says; several stock sides, the best of them."""
import contextlib
import dataclasses
import os
import pathlib
import re
import tempfile
import unittest
import unittest.mock

from driver import blocks, plan, report, rivals, schema
from driver.procs import Failed
from driver.run import Runner
from sides import mpi, mpi_demo, mpi_rma, ranks, ranks_demo

NOISE = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0.0, "switches": 0.0}


class Names(unittest.TestCase):
    def test_a_cell_is_near_or_far_only_when_both_probes_say_so(self):
        self.assertEqual([ranks.label(*ways) for ways in ((60, 66), (230, 250), (60, 230), (120, 120), (60, 120))],
                         ["near", "far", None, None, None])

    def test_names_leave_out_what_a_cell_has_not(self):
        self.assertEqual([ranks.metric("latency", 8, "near"), ranks.metric("barrier", 0, "far"), ranks.metric("barrier", 0)],
                         ["latency.8.near", "barrier.far", "barrier"])

    def test_a_target_holds_at_every_distance(self):
        self.assertEqual(mpi.target("rate.8.near"), mpi.target("rate.8.far"))
        self.assertEqual(mpi.target("four.barrier"), (1.0, "openmpi"))
        self.assertIsNone(mpi.target("alltoall.8.near"))

    def test_every_target_is_of_a_known_row_and_library(self):
        names = {None, *(peer.name for peer in mpi.peers("/nowhere"))}
        for name, (_, against) in mpi.TARGETS.items():
            self.assertIn(name.split(".")[0], mpi.UNITS)
            self.assertIn(against, names)

    def test_rates_are_better_when_higher(self):
        self.assertEqual([mpi.better(name) for name in ("rate.8.near", "bandwidth.4096.far", "latency.8.near", "launch")],
                         ["higher", "higher", "lower", "lower"])


COMPILER = """#!/bin/sh
while [ $# -gt 1 ]; do shift; done
printf '#!/bin/sh\\necho compiled\\n' >"$1" && chmod +x "$1"
"""
LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then echo "Some MPI, Version 7.8.9"; exit; fi
echo "$SECRET" >>"$0.log"
for word in "$@"; do last=$previous previous=$word; done
case $4 in
start) echo '{"row": "init", "size": 0, "unit": "ms", "value": 3, "before": 0, "after": 0}' ;;
four) echo '{"row": "barrier", "size": 0, "unit": "us", "value": 9, "before": 0, "after": 0}' ;;
two) echo '{"row": "latency", "size": 8, "unit": "us", "value": 0.5, "before": 60, "after": 61}'
     echo '{"row": "rate", "size": 8, "unit": "Mmsg/s", "value": 12, "before": 60, "after": 230}' ;;
esac
"""


def program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


class WithPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(f"{self.folder}/mpi/bench/common")
        program(f"{self.folder}/mpi/bench", "main.c", "")

    def library(self, compiler=COMPILER, launcher=LAUNCHER):
        return ranks.Library("some", "Some MPI", program(self.folder, "cc", compiler), program(self.folder, "run", launcher),
                           environment={"SECRET": "of its own"}, cure="install it")


class OneLibrary(WithPrograms):
    def test_a_block_has_every_cell_and_counts_those_whose_distance_changed(self):
        answer = mpi.Bench(self.library(), self.folder, f"{self.folder}/work").block()
        self.assertEqual(set(answer["metrics"]), {"latency.8.near", "four.barrier", "init", "launch"})
        self.assertEqual(answer["metrics"]["latency.8.near"], 0.5)
        self.assertGreater(answer["metrics"]["launch"], 0)
        self.assertEqual(set(answer["details"]["dropped"]), {"rate.8"})
        with open(f"{self.folder}/run.log") as log:
            self.assertEqual(set(log), {"of its own\n"})

    def test_a_job_that_fails_is_named_with_what_it_said(self):
        broken = self.library(launcher="#!/bin/sh\necho 'no fabric' >&2\nexit 3\n")
        with self.assertRaisesRegex(Failed, r"(?s)status 3.*no fabric"):
            mpi.Bench(broken, self.folder, f"{self.folder}/work").block()

    def test_a_compiler_that_fails_is_named_with_what_it_said_and_the_cure(self):
        with self.assertRaisesRegex(Failed, "Some MPI does not compile mpi/bench: no header; its headers .*: install it$"):
            mpi.Bench(self.library(compiler="#!/bin/sh\necho 'no header' >&2\nexit 1\n"), self.folder, self.folder)

    def test_versions_and_what_is_missing_are_said(self):
        self.assertEqual(self.library().version(), "7.8.9")
        self.assertIsNone(self.library().missing())
        self.assertEqual(ranks.Library("some", "Some MPI", "/nowhere/cc", "/bin/sh", cure="install it").missing(),
                         "Some MPI is not here; install it")


EXAMPLES = """#!/bin/sh
[ -z "$VBN_LOG_LEVEL" ] || echo 'rank 1 of 2: peer 74e6 uses shm: same host 74e6, socket @x; tcp: not needed' >&2
echo "$2 ranks, sum $SUM"
echo "seconds $SECONDS_OF_IT"
"""


class Demonstration(unittest.TestCase):
    def shown(self, **differs):
        """The demonstration with two libraries that say what their environment says."""
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/mpi/examples")
            launcher, compiler = program(folder, "run", EXAMPLES), program(folder, "cc", COMPILER)
            ours, stock = (ranks.Library(name, name.title(), compiler, launcher, environment=environment) for name, environment in
                           (("verbena", {"SUM": "7", "SECONDS_OF_IT": "0.25"}),
                            ("stock", {"SUM": "7", "SECONDS_OF_IT": "0.5", **differs})))
            return ranks_demo.show(mpi_demo.SHOW, ours, stock, folder, folder, seconds=-1)

    def test_both_sides_stand_in_one_line_with_the_ratio_and_what_was_chosen(self):
        shown = self.shown()
        lines = {line[:2]: line for line in shown.board.lines()}
        self.assertEqual(lines["stencil 1024 100, 2 ranks", "time, ms"][2:5], ("500", "250", "0.50 (seen: 0.50 to 0.50)"))
        self.assertIn(("spmv 100000 20, 4 ranks", "time with start and end, ms"), lines)
        self.assertEqual(len(lines), 2 * len(mpi_demo.RUNS))
        self.assertEqual(shown.said, ["rank 1: shm: same host"])
        self.assertIn("no proof", shown.travelled[0])

    def test_which_side_runs_first_changes_with_the_pair(self):
        turn = []

        class Named:
            def __init__(self, name):
                self.name, self.library = name, unittest.mock.Mock(title=name)

            def run(self, *_words):
                turn.append(self.name)
                return "sum 7", 0.5, 0.6

        for index in (0, 1):
            ranks_demo.pair(Named("ours"), Named("stock"), ("stencil", 2, ("1",)), "ranks", index)
        self.assertEqual(turn, ["stock", "ours", "ours", "stock"])

    def test_another_result_fails_and_both_are_shown(self):
        with self.assertRaisesRegex(Failed, "the results differ: Verbena: 2 ranks, sum 7; Stock: 2 ranks, sum 8"):
            self.shown(SUM="8")

    def test_output_without_a_result_fails(self):
        with self.assertRaisesRegex(Failed, "Stock: stencil printed no result"):
            self.shown(SECONDS_OF_IT="soon")


class FakeBench:
    """In the place of mpi.Bench: a library whose figures are known."""
    SPEED = {"verbena": 1.0, "openmpi": 2.0, "mpich": 4.0}
    REFUSED = None

    def __init__(self, library, _root, _folder):
        if library.name == self.REFUSED:
            raise Failed(f"{library.name}: no header")
        self.library, self.calls = library, 0

    def block(self, _side, seed):
        self.calls += 1
        slow = self.SPEED[self.library.name]
        if slow < 0 and self.calls > 1:
            raise Failed(f"{self.library.name} crashed")
        metrics = {"latency.8.near": abs(slow), "rate.8.near": 10 / abs(slow), "init": abs(slow)}
        if seed > 1:
            metrics["latency.8.far"] = 3 * abs(slow)
        return {"metrics": metrics, "details": {"dropped": ["barrier"]}}


def library(name, here=True):
    path = "/bin/true" if here else "/nowhere/mpicc"
    return ranks.Library(name, f"the library {name}", path, "/bin/true", cure="install it")


class SeveralStockSides(unittest.TestCase):
    def measured(self, pairs=2, rows=None, **speed):
        """The document of a run with these libraries, validated, and its entries by name; rows: instead of the row mpi."""
        sides = [library("openmpi"), library("mpich"), library("impi-rt", here=False)]
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.multiple(
                mpi, Bench=FakeBench, ours=lambda _root: library("verbena"), peers=lambda _root: sides), \
                unittest.mock.patch.dict(FakeBench.SPEED, speed), \
                unittest.mock.patch("driver.noise.between", lambda _before, _after: NOISE):
            document = Runner(work, work, f"{work}/result.json", True, pairs).run(rows or plan.select("mpi.messages"))
            schema.validate(document)
        return document, {run["row"]: run for run in document["runs"]}

    def test_another_checkout_takes_the_place_of_all_stock_sides(self):
        rows = [plan.against(row, os.path.dirname(__file__)) for row in plan.select("mpi.messages")]
        self.assertIn("run ./verbena build mpi in it", self.measured(rows=rows)[1]["mpi.messages"]["notes"][0])
        with unittest.mock.patch.object(mpi, "before", lambda _checkout: library(ranks.BEFORE)):
            document, runs = self.measured(rows=rows, before=2.0)
        self.assertEqual(set(runs), {"mpi.messages", "mpi.messages.before"})
        self.assertEqual(runs["mpi.messages"]["result"]["latency.8.near"]["ratio"], 0.5)
        self.assertTrue(runs["mpi.messages"]["sides"]["a"]["name"].startswith("Verbena at "))
        self.assertNotIn("held", "".join(rivals.table(document).splitlines()[1:]), "promises are about stock")

    def test_the_best_stock_side_of_each_cell_counts(self):
        document, runs = self.measured()
        self.assertEqual((document["status"], runs["mpi.messages"]["verified"]), ("complete", True))
        self.assertEqual(runs["mpi.messages"]["result"]["latency.8.near"]["ratio"], 0.5)
        self.assertEqual(runs["mpi.messages"]["result"]["rate.8.near"]["ratio"], 2.0)
        self.assertEqual(runs["mpi.messages.mpich"]["result"]["latency.8.near"]["ratio"], 0.25)
        self.assertEqual(set(runs["mpi.messages"]["sides"]["a"]["settings"]["best"].values()), {"openmpi"})
        self.assertEqual([block["side"] for block in runs["mpi.messages.mpich"]["blocks"]], list("abba"))

    def test_a_cell_that_only_a_later_pair_has_is_in_the_result(self):
        self.assertEqual(self.measured()[1]["mpi.messages"]["result"]["latency.8.far"]["pairs"], 1)

    def test_a_library_that_is_not_here_is_said_and_left_out(self):
        document, runs = self.measured()
        self.assertEqual(runs["mpi.messages.impi-rt"]["status"], "skipped")
        self.assertIn("mpi.messages.impi-rt: skipped: the library impi-rt is not here; install it", report.table(document))

    def test_a_stock_side_that_fails_is_out_and_the_others_go_on(self):
        document, runs = self.measured(mpich=-4.0)
        self.assertEqual((runs["mpi.messages.mpich"]["status"], runs["mpi.messages.mpich"]["notes"]), ("failed", ["mpich crashed"]))
        self.assertEqual((runs["mpi.messages"]["status"], len(runs["mpi.messages.openmpi"]["blocks"])), ("complete", 4))
        self.assertEqual(document["status"], "failed")

    def test_our_own_failure_fails_the_row(self):
        _, runs = self.measured(verbena=-1.0)
        self.assertEqual((runs["mpi.messages"]["status"], runs["mpi.messages"]["notes"]), ("failed", ["verbena crashed"]))
        self.assertEqual((runs["mpi.messages.mpich"]["status"], runs["mpi.messages.mpich"]["notes"]),
                         ("failed", ["the row ended early: verbena crashed"]))

    def test_the_row_fails_when_every_stock_side_does_and_says_why(self):
        _, runs = self.measured(mpich=-4.0, openmpi=-2.0)
        self.assertEqual(runs["mpi.messages"]["status"], "failed")
        self.assertIn("openmpi crashed; mpich crashed", runs["mpi.messages"]["notes"][0])

    def test_a_stock_side_that_cannot_be_built_is_out(self):
        with unittest.mock.patch.object(FakeBench, "REFUSED", "openmpi"):
            _, runs = self.measured()
        self.assertEqual(runs["mpi.messages.openmpi"]["notes"], ["openmpi: no header"])
        self.assertEqual(runs["mpi.messages"]["status"], "complete")
        self.assertEqual(set(runs["mpi.messages"]["sides"]["a"]["settings"]["best"].values()), {"mpich"})

    def test_without_time_there_is_one_pair_and_the_row_says_so(self):
        row = plan.select("mpi.messages")[0]
        with unittest.mock.patch.dict(row.quick, limit_s=-1):
            _, runs = self.measured()
        self.assertEqual((len(runs["mpi.messages.openmpi"]["blocks"]), runs["mpi.messages"]["notes"]),
                         (2, ["1 of 2 pairs: the row's time limit ended it"]))

    def test_the_table_shows_all_sides_and_what_was_promised(self):
        text = rivals.table(self.measured()[0])
        cells = {line.split()[0]: line for line in text.splitlines()}
        self.assertIn("2 (0.50)", cells["latency.8.near"])
        self.assertIn("4 (0.25)", cells["latency.8.near"])
        self.assertRegex(cells["latency.8.near"], r"openmpi +0\.50 .* <= 0\.95 +held$")
        self.assertRegex(cells["rate.8.near"], r"openmpi +2\.00 .* >= 1 +held$")
        self.assertRegex(cells["init"], r"<= 0\.2 +missed$")
        self.assertIn("8 cells left out", text)

    def test_the_page_plots_the_best_and_shows_the_table(self):
        document = self.measured()[0]
        page = report.page(document, "t", after=rivals.fragment(document))
        self.assertIn("mpi.messages latency.8.near", page)
        self.assertNotIn("mpi.messages.mpich latency.8.near", page)
        self.assertIn("held to", page)

    def test_other_documents_have_no_such_table(self):
        other = {"runs": [{"params": {"scale": 1}, "result": {"ratio": {}}}]}
        self.assertEqual((rivals.table(other), rivals.fragment(other)), ("", ""))


WINDOWS_LAUNCHER = """#!/bin/sh
case "$*:$ONLY" in
*" counter:tcp") [ -z "$HANGS" ] || exec sleep 1000; echo 'no such transport' >&2; exit 4 ;;
*" counter:"*) echo '{"row": "counter", "size": 0, "unit": "us", "value": 7, "before": 0, "after": 0}' ;;
*"-only 2 -n 2 "*:tcp) echo '{"row": "put", "size": 8, "unit": "us", "value": 30, "before": 60, "after": 230}' ;;
*) echo '{"row": "put", "size": 8, "unit": "us", "value": 3, "before": 60, "after": 60}'
   [ -z "$CRASHES" ] || { echo 'signal 11' >&2; exit 139; } ;;
esac
"""


class Windows(WithPrograms):
    def bench(self, name="some", **more):
        tcp = {"tcp_options": ("-only", "RANKS"), "tcp_environment": {"ONLY": "tcp"}, **more}
        return mpi_rma.Bench(dataclasses.replace(self.library(launcher=WINDOWS_LAUNCHER), name=name, **tcp), self.folder,
                             f"{self.folder}/work")

    def test_cells_by_tcp_have_names_of_their_own_and_no_distance(self):
        metrics = self.bench().block()["metrics"]
        self.assertEqual(metrics, {"put.8.near": 3, "counter": 7, "tcp.put.8": 30})

    def test_what_a_stock_library_cannot_run_is_left_out_and_said(self):
        bench = self.bench()
        for _ in range(2):
            refused = bench.block()["details"]["refused"]
            self.assertEqual(list(refused), ["tcp.counter"])
            self.assertRegex(refused["tcp.counter"], "(?s)ended early, after 0 cells: .*no such transport")

    def test_a_library_whose_windows_always_share_memory_has_no_cells_by_tcp_and_says_why(self):
        block = self.bench(no_tcp="was not run: shared").block()
        self.assertEqual(block["metrics"], {"put.8.near": 3, "counter": 7})
        self.assertEqual(block["details"]["refused"], {"tcp.rma": "was not run: shared", "tcp.counter": "was not run: shared"})

    def test_intel_mpi_has_cells_by_tcp_where_the_host_has_a_libfabric_and_else_says_that_there_is_none(self):
        for found, told in (("libfabric.so.1", ""), (None, mpi.INTEL_NEEDS_LIBFABRIC)):
            with unittest.mock.patch("ctypes.util.find_library", lambda name: {"fabric": found}[name]):
                self.assertEqual({peer.name: peer.no_tcp for peer in mpi.peers("/nowhere")}["impi-rt"], told)

    def test_cells_before_a_crash_of_a_stock_library_count_in_each_block(self):
        with unittest.mock.patch.dict(os.environ, {"CRASHES": "yes"}):
            bench = self.bench()
            for _ in range(2):
                block = bench.block()
                self.assertEqual(block["metrics"], {"put.8.near": 3, "counter": 7, "tcp.put.8": 30})
                self.assertRegex(block["details"]["refused"]["rma"], "(?s)ended early, after 1 cells: .*signal 11")

    def test_a_form_that_does_not_end_is_not_run_again(self):
        bench = self.bench()
        limit = unittest.mock.patch.object(ranks, "LIMIT_S", 10)  # within which all others end, also on a loaded machine
        with unittest.mock.patch.dict(os.environ, {"HANGS": "yes"}), limit:
            self.assertIn("tcp.counter", bench.block()["details"]["refused"])
        with unittest.mock.patch.object(bench, "_answers", wraps=bench._answers) as asked:
            block = bench.block()
        self.assertNotIn("counter", [call.args[2] for call in asked.mock_calls if call.kwargs["tcp"]])
        self.assertIn("tcp.counter", block["details"]["refused"])

    def test_what_ours_cannot_run_fails_the_row(self):
        with self.assertRaisesRegex(Failed, "no such transport"):
            self.bench("verbena").block()

    def test_every_cell_of_the_program_has_its_unit_here_and_every_unit_a_cell(self):
        text = (pathlib.Path(__file__).resolve().parents[2] / "mpi/bench/cells.c").read_text()
        cells = set(re.findall(r"(?:ONE_SIDED|SYNCHRONISATION)\((?!name)(\w+)", text)) | {"counter", "tcp"}
        self.assertEqual(cells, set(mpi_rma.UNITS))
        self.assertLessEqual({name.split(".")[0] for name in mpi_rma.TARGETS}, cells)
        self.assertEqual(mpi_rma.target("put.8.far"), (0.9, None))


class FakeWindows(FakeBench):
    """In the place of mpi_rma.Bench: one library refuses the counter."""
    def block(self, _side, _seed):
        slow = self.SPEED[self.library.name]
        refused = {"counter": "ended early, it hangs\nits log"} if self.library.name == "mpich" else {}
        return {"metrics": {"put.8.near": slow, **({} if refused else {"counter": 5 * slow})},
                "details": {"dropped": [], "refused": refused}}


class BothRows(unittest.TestCase):
    def test_the_group_mpi_has_a_table_for_each_row_and_says_what_was_refused(self):
        with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
            for module, bench in ((mpi, FakeBench), (mpi_rma, FakeWindows)):
                stack.enter_context(unittest.mock.patch.multiple(
                    module, Bench=bench, ours=lambda _root: library("verbena"),
                    peers=lambda _root: [library("openmpi"), library("mpich")], missing=lambda _root: None))
            stack.enter_context(unittest.mock.patch("driver.noise.between", lambda _before, _after: NOISE))
            document = Runner(work, work, f"{work}/result.json", True, 2).run(plan.select("mpi"))
            schema.validate(document)
        first, second = rivals.table(document).split("\n\n")
        self.assertTrue(first.startswith("mpi.messages ") and second.startswith("mpi.rma "), (first, second))
        self.assertNotIn("put.8", first)
        self.assertRegex(second, r"counter +us +5 +10 \(0\.50\) +- +openmpi +0\.50 .* held")
        self.assertIn("mpich: form counter ended early, it hangs\n", second + "\n")


class Reduce(unittest.TestCase):
    def test_cells_of_later_pairs_count(self):
        found = blocks.reduce([{"side": side, "index": index, "marked": False, "metrics": metrics} for side, index, metrics in
                               (("a", 0, {"x": 1}), ("b", 1, {"x": 2}), ("b", 2, {"x": 2, "y": 3}), ("a", 3, {"x": 1, "y": 1}))])
        self.assertEqual([(name, found[name]["ratio"], found[name]["pairs"]) for name in found], [("x", 2, 2), ("y", 3, 1)])


if __name__ == "__main__":
    unittest.main()
