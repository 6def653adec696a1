# SPDX-License-Identifier: Apache-2.0
"""With --full: two attempts of one map at once. The reducers take the output of the one that the application master names, and
what they cannot get of it is missing and not empty."""
import errno
import os
import pathlib
import shutil
import signal
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import LONG  # noqa: E402
from held import HeldJobs  # noqa: E402

# One second attempt in all: that of another map would wait at the FIFO of its first one.
SETTINGS = {"mapreduce.map.speculative": "true", "mapreduce.job.speculative.minimum-allowed-tasks": "1",
            "mapreduce.job.speculative.retry-after-speculate": "3600000", "mapreduce.map.maxattempts": "4",
            "mapreduce.reduce.maxattempts": "4", "mapreduce.reduce.shuffle.retry-delay.max.ms": "1000"}
FIRST, LAST = "the first words\n", "the last words\n"


@LONG
class SpeculationTest(HeldJobs):
    """No map has ended until both wait at their FIFOs, so that none has a second attempt before."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.input / "first")
        self.start()
        self.expected.update((FIRST + LAST).split())

    def reader(self, name):
        """The open end of a FIFO that an attempt reads."""
        found = []

        def opened():
            try:
                found.append(os.open(self.input / name, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
            return found
        self.wait_for(f"an attempt reads {name}", opened)
        return found[0]

    @staticmethod
    def feed(end, text):
        os.write(end, text.encode())
        os.close(end)

    def replace(self, make):
        """The next attempt of the last map reads another file."""
        (self.input / "last").unlink()
        make(self.input / "last")

    def whole(self):
        self.replace(lambda path: path.write_text(LAST))

    def another(self, known):
        """Waits until one more attempt has ended, and the application master knows it; gives the folder of its output."""
        found = []

        def ended():
            said = jobs.task_logs(self.cluster)
            found[:] = [path.parent for path in set(self.outputs()) - set(known)
                        if f"Task succeeded with attempt {path.parent.name}" in said]
            return found
        self.wait_for("another attempt ends", ended)
        return found[0]

    def signal_master(self, number):
        """While the ResourceManager stands still no reducer starts."""
        self.cluster.kill("resourcemanager", number)

    def assert_fetched(self, attempts, reducers=1):
        self.assert_right(attempts, reducers)
        ours = self.counters[jobs.GROUP]
        self.assertEqual(ours.get("Segments by the core"), 2, ours)
        self.assertNotIn("Bytes by HTTP", ours)

    def test_a_second_attempt_that_ends_first_is_the_one_that_is_fetched(self):
        with self.job(**SETTINGS):
            first, last = self.reader("first"), self.reader("last")
            self.whole()
            self.feed(first, FIRST)
            self.wait_for("both maps have ended", lambda: len(self.outputs()) == 2)
        os.close(last)
        self.assert_fetched(attempts=3)
        self.assertEqual(self.counters["Job Counters"]["Killed map tasks"], 1)

    def test_of_two_attempts_that_end_at_once_one_is_fetched(self):
        with self.job(**SETTINGS):
            first, last = self.reader("first"), self.reader("last")
            self.replace(os.mkfifo)
            self.feed(first, FIRST)
            second = self.reader("last")
            self.feed(last, LAST)
            self.feed(second, LAST)
        self.assert_fetched(attempts=3)

    def test_an_output_that_is_gone_is_not_empty_and_not_that_of_the_attempt_that_was_killed(self):
        more = {"mapreduce.job.reduce.slowstart.completedmaps": "1", "mapreduce.reduce.maxattempts": "20"}
        with self.job(**{**SETTINGS, **more}):
            first, last = self.reader("first"), self.reader("last")
            self.replace(os.mkfifo)
            self.feed(first, FIRST)
            second, known = self.reader("last"), self.outputs()
            self.signal_master(signal.SIGSTOP)
            self.feed(last, LAST)
            gone = self.another(known)
            self.whole()
            shutil.rmtree(gone)
            self.signal_master(signal.SIGCONT)
        os.close(second)
        # Hadoop gives a reducer up that cannot fetch one of only two outputs, and whose wait is half as long as its work was.
        self.assert_fetched(attempts=4, reducers=None)
        self.assertIn(f"Too many fetch-failures for output of task attempt: {gone.name}", jobs.task_logs(self.cluster))


if __name__ == "__main__":
    unittest.main(verbosity=2)
