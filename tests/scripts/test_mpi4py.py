# SPDX-License-Identifier: Apache-2.0
"""What tests/mpi/mpi4py.py reads in the output of the ranks."""
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[1] / "mpi/mpi4py.py"
SPEC = importlib.util.spec_from_file_location("mpi4py_suite", PATH)
mpi4py_suite = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mpi4py_suite)

LINE, DASHES = "=" * 70, "-" * 70
GOOD = ["", DASHES, "Ran 5 tests in 0.1s", "", "OK (skipped=2)"]
BAD = ["", LINE, "FAIL: testA (test_x.T.testA)", DASHES, "Traceback (most recent call last):", "AssertionError: 1 != 2", "",
       LINE, "ERROR: testB (test_x.T.testB)", DASHES, "Traceback (most recent call last):", "KeyError: 3", "",
       DASHES, "Ran 5 tests in 0.1s", "", "FAILED (failures=1, errors=1, skipped=1)"]


def printed(*ranks):
    """The lines of the ranks in turns, as mpiexec -l prints them."""
    longest = max(map(len, ranks))
    return "".join(f"[{rank}] {lines[i]}\n" for i in range(longest) for rank, lines in enumerate(ranks) if i < len(lines))


class OutcomeTest(unittest.TestCase):
    def test_a_test_that_fails_at_one_rank_has_failed(self):
        result = mpi4py_suite.outcome(1, printed(GOOD, BAD), 2)
        self.assertEqual(result.failed, {"testA (test_x.T.testA)": "AssertionError: 1 != 2",
                                         "testB (test_x.T.testB)": "KeyError: 3"})
        self.assertEqual((result.ran, result.passed, result.skipped, result.bad), (5, 2, 1, 2))

    def test_all_ranks_passed(self):
        result = mpi4py_suite.outcome(0, printed(GOOD, GOOD), 2)
        self.assertEqual((result.ran, result.passed, result.skipped, result.bad), (5, 3, 2, 0))

    def test_a_rank_that_ended_early_is_a_failure(self):
        self.assertIn("1 of 2 ranks ended", mpi4py_suite.outcome(139, printed(GOOD, []), 2).problem)

    def test_a_status_without_a_failed_test_is_a_failure(self):
        self.assertIn("status 1", mpi4py_suite.outcome(1, printed(GOOD), 1).problem)

    def test_no_end_is_a_failure(self):
        self.assertIn("no end", mpi4py_suite.outcome(124, "", 2).problem)


if __name__ == "__main__":
    unittest.main()
