# SPDX-License-Identifier: Apache-2.0
"""Killed and failing runs: nothing stays behind, and the result says what happened."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from driver import plan, procs
from driver.run import Runner
from driver.session import Sides

OHB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", "ohb")
LIMIT = 120  # seconds that anything here may take at most, on a loaded machine


def wait_until(condition):
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    """Ids of the processes whose parent is pid."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(path.split("/")[2]))
        except OSError:
            continue
    return found


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = folder.name
        self.log = os.path.join(self.work, "log")

    def test_stop_kills_the_children_of_a_child_too(self):
        process = procs.Process("shell", ["sh", "-c", "sleep 300 & echo $!; wait"], self.log, lines=True)
        grandchild = int(process.line(LIMIT))
        process.stop(grace=1)
        self.assertTrue(wait_until(lambda: not running(grandchild)))
        self.assertFalse(process.alive())

    def test_a_child_that_ignores_sigterm_is_killed(self):
        process = procs.Process("stubborn", ["sh", "-c", "trap '' TERM; echo on; while :; do sleep 1; done"],
                                self.log, lines=True)
        self.assertEqual(process.line(LIMIT), "on")
        process.stop(grace=0.3)
        self.assertFalse(running(process.pid))

    def test_an_answer_that_never_comes_is_a_failure_that_names_the_log(self):
        process = procs.Process("mute", ["sleep", "300"], self.log, lines=True)
        try:
            with self.assertRaisesRegex(procs.Failed, "mute did not answer within 0 s.*log"):
                process.line(0.2)
        finally:
            process.stop(grace=1)

    def test_a_program_that_is_not_there_is_a_failure(self):
        with self.assertRaisesRegex(procs.Failed, "could not be started"):
            procs.Process("nothing", ["/nonexistent/program"], self.log)

    def test_a_generator_killed_during_a_run_fails_the_row_and_leaves_no_process(self):
        row = plan.select("aa.echo")[0]
        runner = Runner(self.work, self.work, os.path.join(self.work, "r.json"), True, 2)
        victims = []

        class Killing(Sides):
            def warm(self, *arguments):
                super().warm(*arguments)
                victims.extend(generator.pid for generator in self.generators.values())
                os.kill(self.generators["b"].pid, signal.SIGKILL)

        import driver.run
        original = driver.run.Sides
        driver.run.Sides = Killing
        try:
            document = runner.run([row])
        finally:
            driver.run.Sides = original
        self.assertEqual((document["status"], document["runs"][0]["status"]), ("failed", "failed"))
        self.assertRegex(document["runs"][0]["notes"][0], "echo generator b")
        self.assertEqual(len(victims), 2)
        self.assertTrue(wait_until(lambda: not any(running(pid) for pid in victims)))

    def _start_long_run(self, result):
        driver = subprocess.Popen([sys.executable, OHB, "run", "aa.echo", "--pairs", "100000", "--json", result,
                                   "--work", self.work], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (driver.kill(), driver.wait()))
        part = result + ".part"
        self.assertTrue(wait_until(lambda: os.path.exists(part) and os.path.getsize(part) > 0))
        generators = children(driver.pid)
        self.assertEqual(len(generators), 2)
        return driver, generators

    def test_a_driver_ended_by_sigterm_leaves_no_process_and_a_result_that_says_so(self):
        result = os.path.join(self.work, "r.json")
        driver, generators = self._start_long_run(result)
        driver.send_signal(signal.SIGTERM)
        self.assertEqual(driver.wait(LIMIT), 130)
        self.assertTrue(wait_until(lambda: not any(running(pid) for pid in generators)))
        with open(result) as file:
            document = json.load(file)
        self.assertEqual((document["status"], document["runs"][0]["status"]), ("killed", "killed"))
        self.assertIn("ended by SIGTERM", document["runs"][0]["notes"])
        self.assertGreater(len(document["runs"][0]["blocks"]), 0)

    def test_a_driver_killed_with_sigkill_leaves_no_process_and_the_blocks_so_far(self):
        result = os.path.join(self.work, "r.json")
        driver, generators = self._start_long_run(result)
        driver.kill()
        driver.wait(LIMIT)
        self.assertTrue(wait_until(lambda: not any(running(pid) for pid in generators)))
        with open(result + ".part") as file:
            self.assertEqual(json.loads(file.readline())["side"], "a")

    def test_compare_ends_with_status_1_on_a_regression_and_2_is_an_unknown_row(self):
        result = os.path.join(self.work, "r.json")
        Runner(self.work, self.work, result, True, 2).run(plan.select("aa.echo"))
        with open(result) as file:
            document = json.load(file)
        for ratio, name in ((0.5, "old.json"), (0.9, "new.json")):
            document["runs"][0]["result"]["wall_ms"].update(ratio=ratio, lo=ratio, hi=ratio)
            with open(os.path.join(self.work, name), "w") as file:
                json.dump(document, file)

        def ohb(*arguments):
            done = subprocess.run([sys.executable, OHB, *arguments], cwd=self.work, capture_output=True, timeout=LIMIT)
            return done.returncode

        self.assertEqual(ohb("compare", "old.json", "old.json"), 0)
        self.assertEqual(ohb("compare", "old.json", "new.json"), 1)
        self.assertEqual(ohb("compare", "new.json", "old.json"), 0)
        self.assertEqual(ohb("run", "no.such.row"), 2)
