# SPDX-License-Identifier: Apache-2.0
"""tests/lib/counts.py reads each runner's closing lines, failures.py what failed and why."""
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import counts  # noqa: E402
import failures  # noqa: E402
import unittests  # noqa: E402


class CountsTest(unittest.TestCase):
    def expect(self, text, result):
        self.assertEqual(counts.count(text.splitlines()), result)

    def test_googletest_counts_failures_and_skips_apart(self):
        self.expect("[==========] 12 tests from 3 test suites ran. (5 ms total)\n[  PASSED  ] 9 tests.\n"
                    "[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 2 tests, listed below:\n", [9, 2, 1])

    def test_ctest_prefixes_are_taken_off_and_programs_add_up(self):
        self.expect("1: [==========] 2 tests from 1 test suite ran. (0 ms total)\n"
                    "2: [==========] 3 tests from 1 test suite ran. (0 ms total)\n", [5, 0, 0])

    def test_surefire_summary_counts_once_though_each_class_prints_a_line(self):
        self.expect("[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in A\n"
                    "[ERROR] Tests run: 10, Failures: 2, Errors: 1, Skipped: 1\n", [6, 3, 1])

    def test_unittest_failures_and_errors_are_taken_from_the_result_line(self):
        self.expect("Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n", [3, 3, 1])
        self.expect("Ran 7 tests in 0.1s\n\nOK\n", [7, 0, 0])

    def test_a_class_that_skips_or_fails_as_a_whole_counts_as_one_test(self):
        class Skips(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise unittest.SkipTest("no such machine")

            def test_a(self):
                self.fail("runs although its class skips")

        class Breaks(Skips):
            @classmethod
            def setUpClass(cls):
                raise OSError("no such file")

        class Passes(unittest.TestCase):
            def test_a(self):
                pass

        printed = io.StringIO()
        tests = unittest.TestSuite([Skips("test_a"), Breaks("test_a"), Passes("test_a")])
        unittest.TextTestRunner(verbosity=2, stream=printed, resultclass=unittests.Timed).run(tests)
        self.expect(printed.getvalue(), [1, 1, 1])

    def test_plain_line_with_and_without_name(self):
        self.expect("ShuffleSuite: 16 passed, 4 failed\n3 passed, 0 failed, 2 skipped\n", [19, 4, 2])

    def test_a_log_without_a_result_counts_nothing(self):
        self.expect("Segmentation fault\n", [0, 0, 0])


class FailuresTest(unittest.TestCase):
    def expect(self, text, told):
        self.assertEqual(failures.failures(text.splitlines()), told)

    def test_a_program_that_died_in_its_tests_is_named_with_its_reason(self):
        self.expect("3: [ RUN      ] Cache.Get\n3: a.cc:7: Failure\n3: Expected equality of these values:\n3:   get(p)\n"
                    "3:     Which is: 0\n3:   -11\n3: \n3: a: x.c:9: f: Assertion `n == 0' failed.\n3: more\n"
                    "The following tests FAILED:\n\t  3 - unit_mem (Subprocess aborted)\nErrors while running CTest\n",
                    ["a.cc:7: Failure", "Expected equality of these values:", "  get(p)", "    Which is: 0", "  -11",
                     "a: x.c:9: f: Assertion `n == 0' failed.", "\t  3 - unit_mem (Subprocess aborted)"])

    def test_python_and_maven_are_read_too(self):
        self.expect("[ERROR]   PoolTest.grows:42 expected 3\n[INFO] done\n"
                    "FAIL: test_a (t.A)\nTraceback (most recent call last):\n  File \"t.py\", line 2\nAssertionError: 1 != 2\n",
                    ["[ERROR]   PoolTest.grows:42 expected 3", "FAIL: test_a (t.A)", "AssertionError: 1 != 2"])

    def test_our_own_runners_say_why(self):
        self.expect("ok   a n=1\nFAIL b n=2\n    rank 1: status 3\nok   c n=1\n2 passed, 1 failed, 0 skipped\n",
                    ["FAIL b n=2", "    rank 1: status 3"])

    def test_a_fuzz_target_says_which_invariant_broke_and_where(self):
        self.expect("FAIL fast  (9 runs, 5 edges)\n    again: fuzz_fast x\nfuzz_fast.c:7: Assertion `n == 0' failed.\n"
                    "==3== ERROR: libFuzzer: deadly signal\n    #0 0x1 in run\n",
                    ["FAIL fast  (9 runs, 5 edges)", "    again: fuzz_fast x", "fuzz_fast.c:7: Assertion `n == 0' failed.",
                     "==3== ERROR: libFuzzer: deadly signal", "    #0 0x1 in run"])

    def test_a_log_in_which_nothing_failed_tells_nothing(self):
        self.expect("[       OK ] A.B (0 ms)\n1: no failures\n100% tests passed, 0 tests failed out of 57\n", [])


if __name__ == "__main__":
    unittest.main()
