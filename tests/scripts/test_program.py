# SPDX-License-Identifier: Apache-2.0
"""tests/lib/program.py: the names, signals, last lines and exit statuses of every program of tests."""
import contextlib
import io
import pathlib
import signal
import subprocess
import sys
import unittest

LIB = pathlib.Path(__file__).resolve().parents[1] / "lib"
sys.path.insert(0, str(LIB))
import program  # noqa: E402  (needs the path above)

LIMIT = 120  # seconds, also on a loaded machine
IDS = ["test_a.Server.start", "test_a.Server.stop", "locks n=2", "locks n=2 hosts", "starts n=1"]
# Says that it is up, waits for a signal, and after it for a word: a second signal comes between the two.
WAITS = f"""
import sys, time
sys.path.insert(0, {str(LIB)!r})
import program

def run(_):
    try:
        print("up", flush=True)
        while True:  # a pause would miss a signal that comes just before it
            time.sleep(0.05)
    finally:
        print("ending", flush=True)
        print("ended", sys.stdin.readline().strip(), flush=True)

program.COUNTERS["made"] = lambda: 3
sys.exit(program.serve(program.read(program.parser("text")), lambda names: ["one"], run))
"""


class ChooseTest(unittest.TestCase):
    def test_a_whole_id_means_one_test_whole_parts_come_before_pieces(self):
        for name, wanted in (("locks n=2", ["locks n=2"]), ("Server.stop", ["test_a.Server.stop"]), ("test_a.py", IDS[:2]),
                             ("Server#start", IDS[:1]), ("start", IDS[:1]), ("lock", IDS[2:4]), ("starts", IDS[4:])):
            with self.subTest(name):
                self.assertEqual(program.choose(IDS, [name]), wanted)

    def test_names_add_up_in_the_order_of_the_tests_and_without_any_all_run(self):
        self.assertEqual(program.choose(IDS, ["starts", "stop"]), [IDS[1], IDS[4]])
        self.assertEqual(program.choose(IDS, []), IDS)

    def test_the_long_form_is_reached_by_a_name_that_means_nothing_else(self):
        self.assertEqual(program.choose(IDS, [], IDS[:3]), IDS[:3])
        self.assertEqual(program.choose(IDS, ["locks"], IDS[:3]), IDS[2:3])
        self.assertEqual(program.choose(IDS, ["locks n=2 hosts"], IDS[:3]), IDS[3:4])
        self.assertEqual(program.choose(IDS, ["starts"], IDS[:3]), IDS[4:])

    def test_a_name_of_no_test_is_told(self):
        with self.assertRaisesRegex(program.NoMatch, "^nosuch$"):
            program.choose(IDS, ["stop", "nosuch"])


class TallyTest(unittest.TestCase):
    def told(self, *calls):
        """(status, output) of calls [(name of a method, arguments ...)] and the end."""
        out, tally = io.StringIO(), program.Tally()
        with contextlib.redirect_stdout(out):
            for name, *arguments in calls:
                getattr(tally, name)(*arguments)
            status = tally.end()
        return status, out.getvalue()

    def test_each_test_has_its_line_and_the_last_one_has_the_sums(self):
        told = self.told(("tell", "a", [], " 1 s"), ("skip", "b", "no device"), ("tell", "c", ["x", "y"]), ("add", 4, 0, 1))
        self.assertEqual(told, (1, "ok   a 1 s\nskip b: no device\nFAIL c\n    x\n    y\n5 passed, 1 failed, 2 skipped\n"))

    def test_a_failure_is_cut_where_it_is_long(self):
        lines = self.told(("tell", "a", ["x"] * (program.MOST + 3)))[1].splitlines()
        self.assertEqual((len(lines), lines[-2]), (program.MOST + 3, "    and 3 more"))

    def test_the_status_is_0_only_where_something_ended_and_nothing_failed(self):
        self.assertEqual([self.told(*calls)[0] for calls in ([], [("skip", "a", "")], [("add", 1, 0, 0)], [("add", 1, 1, 0)])],
                         [1, 0, 0, 1])


class SignalTest(unittest.TestCase):
    def test_the_first_signal_ends_the_tests_in_their_own_way_and_a_second_one_is_ignored(self):
        for number in program.SIGNALS:
            with self.subTest(number), subprocess.Popen(
                    [sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                    preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in program.SIGNALS]) as process:
                self.assertEqual(process.stdout.readline(), "up\n")
                process.send_signal(number)
                self.assertEqual(process.stdout.readline(), "ending\n")
                for again in program.SIGNALS:
                    process.send_signal(again)
                output, _ = process.communicate("well\n", timeout=LIMIT)
                last = f"ended by {signal.Signals(number).name}: tests that are not listed above did not run\nmade: 3\n"
                self.assertEqual((process.returncode, output), (program.INTERRUPTED, f"ended well\n{last}"))

    def test_a_signal_that_is_ignored_stays_so(self):
        with subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: [signal.signal(one, signal.SIG_IGN if one == signal.SIGHUP else signal.SIG_DFL)
                                                  for one in program.SIGNALS]) as process:
            self.assertEqual(process.stdout.readline(), "up\n")
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate("well\n", timeout=LIMIT)
            self.assertIn("ended by SIGTERM", output)


if __name__ == "__main__":
    unittest.main()
