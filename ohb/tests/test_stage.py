# SPDX-License-Identifier: Apache-2.0
"""How a small demonstration ends: with its page, with what is missing, with what failed, by a signal."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

from driver import board, demopage, procs, stage, turns
from sides import ranks, ranks_demo

QUIET = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0, "switches": 0}
ABOUT = demopage.About("some", "Some system", "stock", ("It ran.",), "Set this:", "key value")


class Play(unittest.TestCase):
    def play(self, show, missing=lambda _root: None, words=()):
        """(status, standard output, standard error, names of the files) of a demonstration."""
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as root, unittest.mock.patch.dict(os.environ, VERBENA_ROOT=root), \
                unittest.mock.patch.object(procs, "install_signals"), \
                unittest.mock.patch.object(sys, "argv", ["demo", *words]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = stage.play(ABOUT, show, missing)
            folder = os.path.join(root, ".verbena", "demo")
            return status, out.getvalue(), err.getvalue(), sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def test_the_first_line_is_the_first_sentence_and_page_and_result_are_written(self):
        row = turns.Row("a", {turns.TIME: "ms"}, [turns.Taken(index, {turns.TIME: (2.0, 1.0)}, 1, QUIET) for index in range(9)])
        status, out, _, files = self.play(lambda *_: demopage.Shown(board.Board([row]), (), ["It went through."]))
        self.assertEqual((status, files), (0, ["some.html", "some.json"]))
        self.assertTrue(out.startswith("Verbena faster in 1 of 1 rows, "), out)
        self.assertIn("It went through.", out)

    def test_what_is_missing_and_what_fails_is_one_line(self):
        def failing(_root, _folder, _seconds):
            raise procs.Failed("the results differ: 1 and 2")

        self.assertEqual(self.play(failing), (1, "", "demo: the results differ: 1 and 2\n", []))
        self.assertEqual(self.play(failing, lambda _root: "no memcached here; apt-get install memcached"),
                         (1, "", "demo: no memcached here; apt-get install memcached\n", []))

    def test_the_command_line_says_for_how_many_minutes_it_measures(self):
        asked = []

        def timed(_root, _folder, seconds):
            asked.append(seconds)
            raise procs.Failed("enough")

        self.play(timed)
        self.play(timed, words=("--minutes", "0.5"))
        self.assertEqual(asked, [180, 30])

    def test_a_signal_ends_it_in_one_line_and_leaves_no_page(self):
        def killed(_root, _folder, _seconds):
            raise procs.Killed("SIGINT")

        self.assertEqual(self.play(killed), (130, "", "demo: ended by SIGINT; there is no result\n", []))

    def test_a_library_that_is_missing_is_said_with_its_cure(self):
        here, gone = (ranks.Library("some", title, path, "/bin/true", cure="install it")
                      for title, path in (("Ours", "/bin/true"), ("Stock", "/nowhere/mpicc")))
        error = io.StringIO()
        with unittest.mock.patch.dict(os.environ, VERBENA_ROOT="/nowhere"), contextlib.redirect_stderr(error), \
                unittest.mock.patch.object(procs, "install_signals"), unittest.mock.patch.object(sys, "argv", ["demo"]):
            self.assertEqual(ranks_demo.main(None, here, [gone], ("mpi", "t", "u", "s")), 1)
        self.assertEqual(error.getvalue(), "demo: Stock is not here; install it\n")


if __name__ == "__main__":
    unittest.main()
