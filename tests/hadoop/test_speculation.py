# SPDX-License-Identifier: Apache-2.0
"""With --full: two attempts of one map at once. The reducers take the output of the one that the application master names."""
import errno
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import LONG  # noqa: E402
from held import HeldJobs  # noqa: E402

# One map may have a second attempt: a second one would wait at the FIFO of the first.
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

    def assert_fetched(self, attempts):
        self.assert_right(maps=attempts)
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
