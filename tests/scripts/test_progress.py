# SPDX-License-Identifier: Apache-2.0
"""tests/command/progress.sh: a long command tells how far it is, waits for others of its kind, and leaves nothing running."""
import os
import pathlib
import re
import signal
import tempfile
import time
import unittest

import command


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena progress ")  # with a space
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, body, **environment):
        process = command.start(self.folder, body, **environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def read_until(self, process, pattern):
        """The lines up to one that matches. The output ends when the processes do, which a failing test kills."""
        lines = []
        for line in process.stdout:
            lines.append(line)
            if re.search(pattern, line):
                return lines
        self.fail(f"no line matches {pattern!r}: {''.join(lines)}")


class AdvanceTest(Case):
    def advance(self, text):
        log = self.folder / "log"
        log.write_text(text)
        return command.run(self.folder, f"advance_of '{log}'")[1].strip()

    def test_steps_of_ninja_and_modules_of_maven_are_told_as_n_of_m(self):
        self.assertEqual(self.advance("[1/9] Building C a\n[2/9] Building C b\n"), "2 of 9")
        maven = "[INFO] Building Verbena core 0.1.0   [2/17]\n[INFO]   from native-core/pom.xml\n"
        self.assertEqual(self.advance(maven), "module 2 of 17")
        self.assertEqual(self.advance(maven + "[7/300] Building C c\n"), "module 2 of 17, 7 of 300")

    def test_of_other_programs_the_last_line_is_told(self):
        last = "Downloading pyspark-4.2.0.tar.gz (434 MB)"
        self.assertEqual(self.advance(f"a\n  {last}\n\n"), last)
        self.assertEqual(self.advance(""), "")


class QuietTest(Case):
    def test_a_quiet_command_tells_how_far_it_is_while_it_runs(self):
        process = self.start(f"""
            long() {{ echo "[3/7] x"; until [ -e '{self.folder}/go' ]; do sleep 0.05; done; }}
            quiet it long && echo done""", VERBENA_PROGRESS="1")
        self.read_until(process, r"^verbena: it, \d+ s: 3 of 7$")
        (self.folder / "go").touch()
        self.read_until(process, "^done$")
        self.assertEqual(process.wait(), 0)

    def test_a_command_that_fails_shows_its_log_and_says_where_it_is(self):
        status, output = command.run(self.folder, "bad() { echo why; false; }\nquiet it bad a && echo no; echo no")
        log = self.folder / "state/log/it.log"
        self.assertEqual((status, output), (1, f"why\nverbena: failed: bad a (whole output: {log})\n"))
        self.assertEqual(log.read_text(), "why\n")


class InterruptedTest(Case):
    def interrupted(self, body):
        """Ctrl-C while a sleep runs, as a terminal does it. The output. Not sooner: a signal that a shell with a trap
        gets between fork and exec is lost with the shell's handler."""
        process = self.start(f"""
            on_signals
            echo ready
            {body}
            echo NOT INTERRUPTED""")
        self.read_until(process, "^ready$")
        while "sleep" not in command.names_in_session(process.pid):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output)
        end = time.monotonic() + 60 # for those that have the signal and not yet the processor
        while command.in_session(process.pid):
            self.assertLess(time.monotonic(), end, command.names_in_session(process.pid))
            time.sleep(0.01)
        return output

    def test_it_ends_with_one_line_and_leaves_nothing_running(self):
        for body in ("quiet it sleep 1000", 'alone "$CACHE/x.lock" quiet it sleep 1000',
                     '(quiet it sleep 1000) || say "it is left out"'):
            with self.subTest(body):
                output = self.interrupted(body)
                self.assertRegex(output, r"\Averbena: stopped by a signal; nothing is left running; [^\n]*\n\Z")

    def test_a_program_that_ends_by_itself_on_a_signal_is_no_failure_to_tell(self):
        """Ninja, pip and Maven do."""
        output = self.interrupted("""
            own() { bash -c 'trap "echo interrupted; exit 2" INT; sleep 1000'; }
            alone "$CACHE/x.lock" quiet it own""")
        self.assertEqual(len(output.splitlines()), 1, output)


class AloneTest(Case):
    def test_the_second_one_says_that_it_waits_and_then_runs(self):
        body = f"""
            enter() {{ echo "$1 is in"; until [ -e '{self.folder}/'$1 ]; do sleep 0.05; done; }}
            alone "$CACHE/it.lock" enter """
        first = self.start(body + "first")
        self.read_until(first, "^first is in$")
        second = self.start(body + "second")
        self.read_until(second, f"^verbena: waiting for another ./verbena, which has {self.folder}/cache/it.lock$")
        (self.folder / "first").touch()
        self.read_until(second, "^second is in$")
        (self.folder / "second").touch()
        self.assertEqual((first.wait(), second.wait()), (0, 0))

    def test_a_lock_that_cannot_be_made_is_one_line(self):
        status, output = command.run(self.folder, "alone /proc/nosuch/it.lock true")
        self.assertEqual((status, len(output.splitlines())), (1, 1), output)
        self.assertIn("cannot write /proc/nosuch/it.lock: another user", output)

    def test_the_status_is_that_of_the_command(self):
        self.assertEqual(command.run(self.folder, 'fails() { return 7; }\nalone "$CACHE/x.lock" fails || echo $?'), (0, "7\n"))


if __name__ == "__main__":
    unittest.main()
