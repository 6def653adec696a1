# SPDX-License-Identifier: Apache-2.0
"""Every program of tests in the table lists its tests and refuses a name that none has, before anything is built."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/runner"))

import kinds  # noqa: E402  (needs the path above)
import table  # noqa: E402

LIMIT = 300  # seconds for one program, also on a loaded machine
CANNOT, NO_MATCH = 77, 2
TABLE = table.read(ROOT / "tests/suites.yaml")
PROGRAMS = {" ".join(suite.run): suite for suite in TABLE.suites.values() if suite.kind == "program"}


class ProtocolTest(unittest.TestCase):
    def run_all(self, *words):
        """{suite: CompletedProcess} of each program with these words."""
        with tempfile.TemporaryDirectory() as empty, concurrent.futures.ThreadPoolExecutor(2) as pool:
            places = {"root": ROOT, "state": empty, "cache": empty, "python": sys.executable, "model": "near", "stress": False}

            def run(suite):
                env = {**os.environ, "SPARK_HOME": empty, **kinds.environment(suite, places)}
                return subprocess.run(kinds.program_command(suite, places, words), env=env, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=LIMIT)
            suites = list(PROGRAMS.values())
            return dict(zip((suite.name for suite in suites), pool.map(run, suites)))

    def test_each_program_lists_its_tests(self):
        for name, done in self.run_all("--list").items():
            with self.subTest(name):
                self.assertIn(done.returncode, (0, CANNOT), done.stderr[-500:])
                self.assertTrue(done.stdout.strip())

    def test_each_program_refuses_a_name_that_no_test_has(self):
        for name, done in self.run_all("no-such-test").items():
            with self.subTest(name):
                self.assertIn(done.returncode, (NO_MATCH, CANNOT), done.stdout[-300:] + done.stderr[-500:])
                if done.returncode == NO_MATCH:
                    self.assertIn("no test matches 'no-such-test'", done.stderr)

    def test_each_test_program_of_the_sources_has_a_test(self):
        for suite in TABLE.suites.values():
            if suite.kind == "ctest":
                with self.subTest(suite.name):
                    self.assertTrue(any("." in one for one in kinds.ctest_list(suite, ROOT)))


if __name__ == "__main__":
    unittest.main()
