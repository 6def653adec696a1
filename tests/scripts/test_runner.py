# SPDX-License-Identifier: Apache-2.0
"""The runner of suites (tests/runner) over small suites of its own, in a folder that looks like this repository."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "runner"), str(TESTS / "lib")]

import report  # noqa: E402  (needs the path above)
import table  # noqa: E402
from jobs import Result  # noqa: E402

LIMIT = 120  # seconds for one run
PROGRAM = """import sys
ids = {ids}
words = sys.argv[1:]
if "--list" in words:
    print("\\n".join(ids))
    sys.exit(0)
chosen = [one for one in ids if not words or any(word in one for word in words)]
for one in chosen:
    print(("FAIL " if one in {bad} else "ok   ") + one)
failed = sum(one in {bad} for one in chosen)
print(f"{{len(chosen) - failed}} passed, {{failed}} failed, 0 skipped")
sys.exit(1 if failed else 0)
"""


def program(ids, bad=()):
    return PROGRAM.format(ids=list(ids), bad=list(bad))


class Tree:
    """A repository with the runner, a script 'verbena' that makes products, and these suites."""

    def __init__(self, folder, rows, products="{}", make="exit 0"):
        self.root = pathlib.Path(folder) / "root"
        for name in ("runner", "lib"):
            shutil.copytree(TESTS / name, self.root / "tests" / name, ignore=shutil.ignore_patterns("__pycache__"))
        # Somebody may install a package while these tests run, such as the same run of './verbena test' on a fresh machine.
        self.write("tests/runner/machine.py", "def text():\n    return 'a machine'\n")
        (self.root / "tests/suites.yaml").write_text(f"products: {products}\nsuites:\n{rows}")
        self.write("verbena", f"#!/bin/sh\nshift\n{make}\n").chmod(0o755)
        self.write(".gitignore", "state\ncache\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def start(self, *words):
        env = {**os.environ, "VERBENA_STATE": f"{self.root}/state", "VERBENA_CACHE": f"{self.root}/cache"}
        env.pop("VERBENA_TEST_FULL", None)
        return subprocess.Popen([sys.executable, "-B", self.root / "tests/runner/run.py", *words], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ours may be ignored

    def run(self, *words):
        """(status, output) of one run."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output


def row(name, run, more=""):
    return f"  {name}: {{part: p, inputs: [in-{name}], run: [{run}]{', ' + more if more else ''}}}\n"


def says(name, text, more=""):
    return row(name, f"sh, -c, {json.dumps(text)}", more)


class RunnerCase(unittest.TestCase):
    def tree(self, *arguments, **named):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Tree(folder.name, *arguments, **named)


class SuitesTest(RunnerCase):
    LONG = "setsid sleep 1000 & echo $! >$VERBENA_STATE/pid; mv $VERBENA_STATE/pid $VERBENA_STATE/up; wait"

    def test_counts_of_all_suites_are_added_in_the_last_line(self):
        tree = self.tree(says("one", "echo 3 passed, 1 failed, 2 skipped; exit 1") + says("two", "echo 5 passed, 0 failed"))
        status, output = tree.run()
        self.assertEqual(status, 1)
        self.assertEqual(output.splitlines()[-1], "8 passed, 1 failed, 2 skipped")
        self.assertRegex(output, r"(?m)^verbena: two +5 passed +0 failed +0 skipped +\d+ s +\d+ CPU s$")

    def test_what_a_suite_needs_is_made_once_and_before_it(self):
        tree = self.tree(says("one", "cat state/made && echo $MADE passed, 0 failed", "needs: [b]") +
                         says("two", "echo 1 passed, 0 failed", "needs: [b]"), "{a: {inputs: [a]}, b: {inputs: [b], needs: [a]}}",
                         "echo $1 >>state/made; echo export MADE=$1 | sed s/[ab]$/4/")
        os.makedirs(tree.root / "state")
        run = f"cd {tree.root} && VERBENA_STATE=state VERBENA_CACHE=cache {sys.executable} tests/runner/run.py"
        process = subprocess.run(["sh", "-c", run], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(process.stdout.splitlines()[-1], "5 passed, 0 failed, 0 skipped", process.stdout + process.stderr)
        self.assertEqual((tree.root / "state/made").read_text(), "a\nb\n")

    def test_a_suite_may_have_the_name_of_what_it_needs(self):
        tree = self.tree(says("a", "echo 1 passed, 0 failed", "needs: [a]"), "{a: {inputs: [a]}}")
        output = tree.run()[1]
        self.assertEqual(output.splitlines()[-1], "1 passed, 0 failed, 0 skipped")
        self.assertIn("verbena: make a ", output)

    def test_a_suite_without_its_product_fails_and_says_which(self):
        tree = self.tree(says("one", "echo 1 passed, 0 failed", "needs: [a]"), "{a: {inputs: [a]}}", "echo broken; exit 3")
        status, output = tree.run()
        self.assertEqual((status, output.splitlines()[-1]), (1, "0 passed, 2 failed, 0 skipped"))
        self.assertIn("one: not run, because make a failed", output)
        self.assertIn("make a: broken", output)

    def test_what_cannot_be_had_here_is_skipped_with_its_reason(self):
        tree = self.tree(says("one", "echo 1 passed, 0 failed", "needs: [a]") + says("two", "echo no device; exit 77"),
                         "{a: {inputs: [a]}}", "echo no network; exit 77")
        status, output = tree.run()
        self.assertEqual((status, output.splitlines()[-1]), (0, "0 passed, 0 failed, 2 skipped"))
        self.assertRegex(output, r"one +skipped: no network\n")
        self.assertIn("two: no device", output)

    def test_a_suite_that_runs_no_test_or_dies_after_its_tests_has_failed(self):
        for text, told in (("true", "no test ran"), ("echo 4 passed, 0 failed; exit 9", "status 9")):
            with self.subTest(text):
                status, output = self.tree(says("one", text)).run()
                self.assertEqual(status, 1)
                self.assertIn(told, output)

    def test_exclusive_suites_do_not_run_at_once(self):
        text = "mkdir lock && sleep 0.5 && rmdir lock && echo 1 passed, 0 failed"
        tree = self.tree("".join(says(name, f"cd $VERBENA_STATE && {text}", "exclusive: [disk]")
                                 for name in ("one", "two", "three")))
        self.assertEqual(tree.run()[1].splitlines()[-1], "3 passed, 0 failed, 0 skipped")

    def test_suites_run_beside_each_other(self):
        wait = "until [ -e $VERBENA_STATE/{} ]; do sleep 0.02; done; echo 1 passed, 0 failed"
        tree = self.tree(says("one", "touch $VERBENA_STATE/one; " + wait.format("two"), "limit: 60") +
                         says("two", "touch $VERBENA_STATE/two; " + wait.format("one"), "limit: 60"))
        self.assertEqual(tree.run()[1].splitlines()[-1], "2 passed, 0 failed, 0 skipped")

    def test_a_suite_that_does_not_end_is_ended_with_all_that_it_started(self):
        for limit in (1, 8, 64):  # a loaded machine may not have started it sooner
            tree = self.tree(says("one", self.LONG, f"limit: {limit}"))
            status, output = tree.run()
            self.assertEqual(status, 1)
            self.assertIn(f"no end within {limit} s", output)
            if (tree.root / "state/up").exists():
                break
        self.assert_gone(int((tree.root / "state/up").read_text()))

    def test_what_a_suite_leaves_behind_is_killed_and_counted(self):
        burn = f"{sys.executable} -c \"import time\nwhile time.process_time() < 1.5: pass\" & echo 1 passed, 0 failed"
        tree = self.tree(says("one", burn, "linger: 100"))  # on a loaded machine it takes longer than the usual 10 s
        output = tree.run()[1]
        self.assertRegex(output, r"one +1 passed +0 failed +0 skipped +\d+ s +[1-9]\d* CPU s")

    def test_what_does_not_end_by_itself_is_named(self):
        status, output = self.tree(says("one", "setsid sleep 1000 & echo 1 passed, 0 failed")).run()
        self.assertEqual((status, output.splitlines()[-1]), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertRegex(output, "one: left behind and killed: process [0-9]+: sleep 1000")

    def test_a_failure_counts_also_where_the_program_says_that_it_cannot_run(self):
        status, output = self.tree(says("one", "echo 3 passed, 2 failed; exit 77")).run()
        self.assertEqual((status, output.splitlines()[-1]), (1, "3 passed, 2 failed, 0 skipped"))

    def test_a_signal_ends_the_run_and_leaves_nothing(self):
        tree = self.tree(says("one", self.LONG))
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process = tree.start()
                self.await_true((tree.root / "state/up").exists)
                process.send_signal(number)
                output, _ = process.communicate(timeout=LIMIT)
                self.assertEqual(process.returncode, 130)
                self.assertIn("stopped by a signal", output.splitlines()[-1])
                self.assert_gone(int((tree.root / "state/up").read_text()))
                (tree.root / "state/up").unlink()

    def test_a_killed_run_leaves_nothing(self):
        tree = self.tree(says("one", self.LONG))
        process = tree.start()
        self.await_true((tree.root / "state/up").exists)
        process.kill()
        process.communicate(timeout=LIMIT)
        self.assert_gone(int((tree.root / "state/up").read_text()))

    def await_true(self, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, "not in time")
            time.sleep(0.02)

    def assert_gone(self, pid):
        def is_gone():
            try:
                return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                return True
        self.await_true(is_gone)


class ChoiceTest(RunnerCase):
    ROWS = row("one", "python3, '{root}/one.py'") + row("two", "python3, '{root}/two.py'", "tier: full") + \
        row("three", "python3, '{root}/three.py'", "tier: quick").replace("part: p", "part: q")

    def three(self):
        tree = self.tree(self.ROWS)
        tree.write("one.py", program(["file.Class.function", "locks n=4 hosts"]))
        tree.write("two.py", program(["other.Long.function"], bad=["other.Long.function"]))
        tree.write("three.py", program(["unit.Small.quick"]))
        return tree

    def test_each_tier_holds_the_one_before(self):
        tree = self.three()
        for words, wanted in ((["--quick"], "1 passed, 0 failed"), ([], "3 passed, 0 failed"), (["--full"], "3 passed, 1 failed")):
            self.assertIn(wanted, tree.run("--fresh", *words)[1].splitlines()[-1])

    def test_a_name_is_a_part_a_suite_a_class_a_function_or_a_piece_of_an_id(self):
        tree = self.three()
        for word, count in (("p", 2), ("q", 1), ("one", 2), ("Class", 1), ("Class.function", 1), ("quick", 1), ("locks n=4", 1),
                            ("one:locks", 1)):
            with self.subTest(word):
                self.assertEqual(tree.run("--fresh", word)[1].splitlines()[-1], f"{count} passed, 0 failed, 0 skipped")

    def test_several_names_of_one_suite_run_together(self):
        status, output = self.three().run("Class", "locks n=4", "quick")
        self.assertEqual((status, output.splitlines()[-1]), (0, "3 passed, 0 failed, 0 skipped"))

    def test_a_name_that_matches_nothing_is_an_error_with_a_guess(self):
        tree = self.three()
        for word, told in (("nosuch", "nothing is named 'nosuch'"), ("thre", "did you mean three"),
                           ("one:nosuch", "suite one has no test 'nosuch'")):
            status, output = tree.run(word)
            self.assertEqual(status, 2)
            self.assertIn(told, output)

    def test_where_a_program_lacks_a_package_the_sources_name_its_tests(self):
        tree = self.tree(row("one", "python3, '{root}/one.py', '{root}/cases'"))
        tree.write("one.py", "import nosuch\n")
        tree.write("cases/test_file.py", "class Case:\n    def test_function(self):\n        pass\n")
        self.assertEqual([tree.run("--known", word) for word in ("test_file", "Case.test_function", "one")], [(0, "")] * 3)
        status, output = tree.run("--known", "Case", "test_other")
        self.assertEqual((status, len(output.splitlines())), (2, 1), output)
        self.assertIn("nothing is named 'test_other'", output)

    def test_a_failure_prints_the_line_that_runs_it_alone(self):
        tree = self.three()
        status, output = tree.run("--full", "two")
        line = re.search(r"alone: \./verbena test --full (\S+)", output)[1]
        self.assertEqual((status, line), (1, "two:other.Long.function"))
        self.assertIn("0 passed, 1 failed", tree.run(line)[1])

    def test_the_tests_of_a_suite_are_listed(self):
        self.assertEqual(self.three().run("--list", "one"), (0, "one:file.Class.function\none:locks n=4 hosts\n"))

    def test_full_reaches_the_programs_as_a_variable(self):
        tree = self.tree(says("one", "echo $((1 + VERBENA_TEST_FULL)) passed, 0 failed"))
        self.assertEqual(tree.run()[1].splitlines()[-1][0], "1")
        self.assertEqual(tree.run("--full")[1].splitlines()[-1][0], "2")

    def test_under_stress_a_suite_of_models_runs_with_each_slower_one_beside_busy_processes(self):
        tree = self.tree(says("one", "pgrep -f [w]hile.os.getppid >/dev/null && echo $MODEL && echo 1 passed, 0 failed",
                              "models: true, env: {MODEL: '{model}'}"))
        output = tree.run("--stress")[1]
        self.assertEqual(output.splitlines()[-1], "2 passed, 0 failed, 0 skipped", output)
        for model in ("far", "slow"):
            self.assertIn(f"\nverbena: one-{model} ", "\n" + output)


class GoogleTestTest(RunnerCase):
    def test_a_test_is_found_in_the_sources_and_only_its_program_is_built_and_run(self):
        rows = "  unit:\n    part: p\n    kind: ctest\n    needs: [a]\n    inputs: [c]\n    ctest:\n" \
               "      build: b\n      tests: [c]\n      programs: [['test_(\\w+)\\.(?:cc|py)', 'multi_\\1', 'target_\\1']]\n"
        tree = self.tree(rows, "{a: {inputs: [c]}}", "echo \"$*\" >$VERBENA_STATE/made")
        tree.write("c/test_tags.cc", "TEST(Tags, match)\n{\n}\nTEST_P(Each, way)\n{\n}\n")
        tree.write("c/test_other.cc", "TEST(Other, thing)\n{\n}\n")
        tree.write("bin/ctest", "#!/bin/sh\necho \"$* $GTEST_FILTER\"; echo 1 passed, 0 failed\n").chmod(0o755)
        os.environ["PATH"] = f"{tree.root}/bin:{os.environ['PATH']}"
        for word, filters in (("multi_tags", ""), ("Tags.match", "Tags.match:"), ("Each.way", "Each.way:Each.way/*:*/Each.way/*")):
            with self.subTest(word):
                status, output = tree.run(word)
                self.assertEqual(status, 0, output)
                log = (tree.root / "state/log/test-unit-alone.log").read_text()
                self.assertIn("-R ^(multi_tags)$", log)
                self.assertIn(f" {filters}", log)
                self.assertEqual((tree.root / "state/made").read_text(), "a target_tags\n")
        tree.run("Tags.match", "multi_other")
        self.assertEqual((tree.root / "state/made").read_text(), "a target_other target_tags\n")
        tree.write("c/test_script.py", "class Tool(Case):\n    def test_it(self):\n        pass\n")
        self.assertEqual(tree.run("unit:Tool.test_it")[0], 0)  # a script of ctest runs whole
        self.assertNotIn("Tool", (tree.root / "state/log/test-unit-alone.log").read_text())
        tree.run("Tags.match", "unit")
        self.assertEqual((tree.root / "state/made").read_text(), "a\n")


class MemoryTest(RunnerCase):
    def test_what_passed_with_the_same_inputs_is_not_run_again(self):
        tree = self.tree(says("one", "echo 1 passed, 0 failed", "needs: [a]") + says("two", "echo 1 passed, 0 failed"),
                         "{a: {inputs: [lib]}}")
        for name in ("in-one/x", "in-two/x", "lib/x"):
            tree.write(name, "1")
        last = [tree.run()[1].splitlines()[-1]]
        for change in (None, "in-one/x", "lib/new", "in-two/x", "elsewhere"):
            if change:
                tree.write(change, "2")
            status, output = tree.run()
            self.assertEqual(status, 0)
            last.append(output.splitlines()[-1])
        self.assertEqual([line[0] for line in last], ["2", "0", "1", "1", "1", "0"])
        self.assertRegex(output, r"(?m)^verbena: one +unchanged since it passed \(1 passed, 0 skipped, ")
        self.assertEqual(tree.run("--fresh")[1].splitlines()[-1][0], "2")

    def test_a_pass_of_inputs_that_changed_meanwhile_is_not_remembered(self):
        tree = self.tree(says("one", "echo 2 >in-one/x; echo 1 passed, 0 failed"))
        tree.write("in-one/x", "1")
        for passes in range(2):
            process = subprocess.run(["sh", "-c", f"cd {tree.root} && exec {sys.executable} -B tests/runner/run.py --fresh"],
                                     env={**os.environ, "VERBENA_STATE": f"{tree.root}/state",
                                          "VERBENA_CACHE": f"{tree.root}/cache"},
                                     capture_output=True, text=True, timeout=LIMIT)
            self.assertIn("1 passed", process.stdout.splitlines()[-1])
            self.assertEqual(len(list(tree.root.glob("cache/passed/one-*"))), passes)

    def test_inputs_count_without_git_and_below_a_folder_that_git_would_ignore(self):
        tree = self.tree(says("one", "echo 1 passed, 0 failed"))
        shutil.rmtree(tree.root / ".git")
        tree.root = tree.root.rename(tree.root.with_name("target"))
        counted = []
        for text in ("1", "1", "2"):
            tree.write("in-one/x", text)
            counted.append(tree.run()[1].splitlines()[-1][0])
        self.assertEqual(counted, ["1", "0", "1"])

    def test_an_installed_tool_counts_as_an_input(self):
        tree = self.tree(says("one", "echo 1 passed, 0 failed"))
        shutil.copy(TESTS / "runner/machine.py", tree.root / "tests/runner")
        tree.write("bin/valgrind", "").chmod(0o755)
        ask = [sys.executable, "-B", "-c", "import machine; print(machine.text())"]
        with_it, without = (subprocess.run(ask, cwd=tree.root / "tests/runner", env={**os.environ, "PATH": path}, text=True,
                                           capture_output=True, check=True).stdout
                            for path in (f"{tree.root}/bin:{os.environ['PATH']}", os.environ["PATH"]))
        self.assertIn(f"valgrind {tree.root}/bin/valgrind\n", with_it)
        self.assertNotEqual(with_it, without)

    def test_variables_that_choose_tests_do_not_reach_a_whole_suite(self):
        os.environ["GTEST_FILTER"] = "7"
        self.addCleanup(os.environ.pop, "GTEST_FILTER")
        self.assertEqual(self.tree(says("one", "echo $((0$GTEST_FILTER)) passed, 1 failed; exit 1")).run()[1].splitlines()[-1],
                         "0 passed, 1 failed, 0 skipped")

    def test_two_runs_of_one_clone_come_one_after_the_other(self):
        tree = self.tree(says("one", "mkdir $VERBENA_STATE/at && sleep 0.5 && rmdir $VERBENA_STATE/at && echo 1 passed, 0 failed"))
        runs = [tree.start("--fresh") for _ in range(2)]
        for process in runs:
            self.assertEqual(process.communicate(timeout=LIMIT)[0].splitlines()[-1], "1 passed, 0 failed, 0 skipped")

    def test_a_failure_is_never_remembered(self):
        tree = self.tree(says("one", "echo 1 passed, 1 failed; exit 1"))
        for _ in range(2):
            self.assertIn("1 failed", tree.run()[1].splitlines()[-1])


class BudgetTest(RunnerCase):
    BURN = f"{sys.executable} -c \"import time\nwhile time.process_time() < 2.2: pass\"; echo 1 passed, 0 failed"

    def test_a_suite_beyond_its_budget_is_named_and_fails_only_if_asked(self):
        tree = self.tree(says("one", self.BURN, "budget: 1"))
        for words, wanted in (([], 0), (["--budgets"], 1)):
            status, output = tree.run("--fresh", *words)
            self.assertEqual(status, wanted)
            self.assertRegex(output, r"over budget: one took \d CPU s, its budget in tests/suites.yaml is 1\n")

    def test_a_count_that_the_table_holds_may_not_grow_nor_be_missing(self):
        for text, told in (("JVMs started: 3", ""), ("JVMs started: 4", "JVMs started 4, and tests/suites.yaml allows 3"),
                           ("", "printed no line 'JVMs started: N'")):
            with self.subTest(text):
                held = says("one", f"echo {text}; echo 1 passed, 0 failed", "holds: {JVMs started: 3}")
                status, output = self.tree(held).run()
                self.assertEqual(status, 1 if told else 0)
                self.assertIn(told, output)

    def test_long_forms_may_exceed_the_counts_of_the_short_ones(self):
        held = says("one", "echo JVMs started: 4; echo 1 passed, 0 failed", "holds: {JVMs started: 3}")
        self.assertEqual([self.tree(held).run(*words)[0] for words in ((), ("--full",))], [1, 0])

    def test_the_budgets_of_the_default_tier_are_at_most_50_minutes(self):
        """45, and what the features of later issues take."""
        content = table.read(TESTS / "suites.yaml")
        suites = [suite for suite in content.suites.values() if suite.tier != "full"]
        products = {name for suite in suites for name in content.needed(suite)}
        made = sum(content.products[name].budget for name in products)
        self.assertLessEqual(sum(suite.budget for suite in suites) + made, 50 * 60)
        self.assertEqual([suite.name for suite in suites if suite.budget == 0], [])


class TableTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "suites.yaml"
            path.write_text(text)
            return table.read(path)

    def test_what_is_wrong_in_a_table_is_named(self):
        suite = "{part: p, inputs: [x], run: [true]}"
        for text, told in ((f"products: {{}}\nsuites: {{one: {suite[:-1]}, needs: [a]}}}}", "one needs 'a'"),
                           (f"products: {{a: {{needs: [b]}}, b: {{needs: [a]}}}}\nsuites: {{one: {suite}}}", "needs itself"),
                           ("products: {}\nsuites: {one: {part: p, inputs: [x], run: [true], tear: full}}", "unknown field 'tear'"),
                           ("products: {}\nsuites: {one: {part: p, inputs: [x], run: [true], tier: slow}}", "unknown tier 'slow'"),
                           ("products: {}\nsuites: {one: {part: p}}", "one lacks"), ("products: {}", "suites")):
            with self.subTest(text), self.assertRaisesRegex(table.Wrong, told):
                self.read(text)


class ReportTest(unittest.TestCase):
    def test_failed_tests_are_named_as_every_runner_names_them(self):
        for line, wanted in (("12: [  FAILED  ] Ways/Tags.match/rc, where GetParam() = rc (3 ms)", "Tags.match"),
                             ("[  FAILED  ] Tags.match (3 ms)", "Tags.match"),
                             ("FAIL: test_x (test_server.ServerTest.test_x)", "ServerTest.test_x"),
                             ("ERROR: test_x (test_server.ServerTest)", "ServerTest.test_x"),
                             ("ERROR: setUpClass (test_server.ServerTest)", "ServerTest"),
                             ("[ERROR]   StreamTest.closes_late:41 expected: <1>", "StreamTest#closes_late"),
                             ("FAIL locks n=4 turns  (3.0 s, 1.2 CPU s)", "locks n=4 turns"),
                             ("\t 12 - multi_tags (Timeout)", "multi_tags")):
            with self.subTest(line):
                self.assertEqual(report.failed_names([line]), [wanted])

    def test_a_program_is_named_only_where_no_test_of_it_is(self):
        self.assertEqual(report.failed_names(["[  FAILED  ] Tags.match (3 ms)", "  1 - multi_tags (Failed)"]), ["Tags.match"])

    def test_a_failure_without_a_log_says_why(self):
        self.assertEqual(report.problem("one", Result("failed", failed=1, why="not run"), None), ["one: not run"])


if __name__ == "__main__":
    unittest.main()
