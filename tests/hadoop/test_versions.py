# SPDX-License-Identifier: Apache-2.0
"""Other versions of Hadoop than the one that everything is tested with."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TRANSPORT = ["test_cluster.HdfsTest.test_a_command_of_another_process_finds_it_and_copies_a_file_in_and_out",
             "test_cluster.HdfsTest.test_the_end_of_a_daemon_is_seen_and_a_new_one_registers"]
OLD_CLIENT = ["test_old_client"]
RECEIVER = ["test_receiver_modes"]


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
class VersionsTest(unittest.TestCase):
    def run_on(self, version, *names, full=False):
        """These tests, or all of the default tier, in a process of its own: the version is its environment's."""
        environment = {**os.environ, "VERBENA_HADOOP_VERSION": version}
        if not full:
            del environment["VERBENA_TEST_FULL"]
        done = subprocess.run([sys.executable, str(HERE.parent / "lib/unittests.py"), str(HERE), *names], env=environment,
                              capture_output=True, text=True, timeout=3600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-3000:])

    def test_3_3_6_starts_and_files_go_in_and_out(self):
        self.run_on("3.3.6", *TRANSPORT)  # without the memory tier: that Hadoop has no type of storage for it

    def test_3_3_6_has_its_own_client_and_a_line_says_so(self):
        self.run_on("3.3.6", *OLD_CLIENT)

    def test_3_4_2_passes_the_default_tier(self):
        self.run_on("3.4.2")

    def test_3_4_2_has_verbenas_receiver_in_each_mode(self):
        self.run_on("3.4.2", *RECEIVER, full=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
