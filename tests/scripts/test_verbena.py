# SPDX-License-Identifier: Apache-2.0
"""The ./verbena command itself: help, wrong input, use from another folder and through a link; tests side by side."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBENA = ROOT / "verbena"
COMMANDS = ["demo", "test", "fuzz", "build", "bench", "doctor", "guest", "spark", "clean"]


def run(*arguments, program=VERBENA, cwd=None):
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)


class VerbenaTest(unittest.TestCase):
    def test_help_names_every_command(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for command in COMMANDS:
            self.assertIn(command, result.stdout)

    def test_every_command_has_help_of_its_own(self):
        for command in COMMANDS:
            with self.subTest(command):
                result = run(command, "--help")
                self.assertEqual(result.returncode, 0)
                self.assertIn(f"usage: ./verbena {command}", result.stdout)

    def test_an_unknown_command_is_named_and_fails(self):
        result = run("frobnicate")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown command 'frobnicate'", result.stderr)

    def test_an_unknown_test_part_is_named_with_the_known_ones(self):
        result = run("test", "nosuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown part 'nosuch'", result.stderr)
        self.assertIn("core", result.stderr)

    def test_a_bad_number_of_minutes_is_named_before_anything_is_built(self):
        result = run("fuzz", "tcp", "soon")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'soon' is not a number of minutes", result.stderr)

    def test_it_works_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "v"
            link.symlink_to(VERBENA)
            result = run("test", "nosuch", program=link, cwd=folder)
            self.assertIn("unknown part 'nosuch'", result.stderr)


def script(folder, body):
    """The functions of ./verbena and then body, with its state in folder."""
    lines = [line for line in VERBENA.read_text().splitlines() if not line.startswith(("ROOT=", "main "))]
    text = f"ROOT={ROOT}\n" + "\n".join(lines) + f"\nSTATE={folder}\n{body}\n"
    return subprocess.Popen(["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class LanesTest(unittest.TestCase):
    def test_counts_of_lanes_are_added_and_their_lines_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                lane one suite one echo '3 passed, 0 failed, 1 skipped'
                lane two suite two sh -c 'echo "2 passed, 1 failed, 0 skipped"; exit 1'
                suite here echo '5 passed, 0 failed, 0 skipped'
                lanes_end
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertIn("sum 10 1 1", output)
        for name in ("one", "two", "here"):
            self.assertIn(f"verbena: {name} ", output)

    def test_a_suite_says_how_much_processor_time_its_processes_took(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                echo 'while __import__("time").process_time() < 1.5: sum(range(100000))' >"$STATE/burn.py"
                suite busy sh -c '"$0" "$1"; echo "1 passed, 0 failed"' "$PYTHON" "$STATE/burn.py"
                """).communicate(timeout=60)
        self.assertRegex(output, r"busy +1 passed +0 failed +0 skipped +\d+ s +[1-9]\d* CPU s")

    def test_what_failed_in_a_suite_is_kept_for_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            script(folder, """
                suite good echo '1 passed, 0 failed'
                suite bad sh -c 'echo "x.cc:1: Failure"; echo "0 passed, 1 failed"; exit 1' """).communicate(timeout=60)
            told = (pathlib.Path(folder) / "log/failed").read_text()
        self.assertRegex(told, r"\Abad: x.cc:1: Failure\n(bad: .*\n)*bad: whole output: \S+/test-bad.log\n\Z")

    def test_a_suite_that_could_not_run_here_is_skipped_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                suite elsewhere sh -c 'echo much; echo no machine here; exit 77'
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertRegex(output, r"elsewhere +0 passed +0 failed +1 skipped .*\nno machine here\nsum 0 0 1\n")

    def test_a_lane_that_ends_early_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                lane lost exit 3
                lanes_end
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertIn("sum 0 1 0", output)
        self.assertIn("the tests 'lost' ended before they had counted", output)

    def test_lanes_end_with_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            started = script(folder, """
                lane long sleep 600
                echo "${LANES[0]}"
                wait """)
            lane = int(started.stdout.readline().split(":")[1])
            started.send_signal(signal.SIGTERM)
            started.communicate(timeout=60)
            with self.assertRaises(ProcessLookupError):
                for _ in range(600):
                    os.killpg(lane, 0)
                    time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
