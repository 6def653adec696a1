# SPDX-License-Identifier: Apache-2.0
"""./verbena doctor hbase on a running cluster, and without a key."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LIMIT, LONG, OURS, STOCK, ClusterTest  # noqa: E402  (needs the path above)


class DoctorTest(ClusterTest):
    def doctor(self, work, *words):
        argv = [sys.executable, str(HERE / "hbase.py"), "--work", str(work), "--plugin", self.cluster.plugin, "doctor", *words]
        return subprocess.run(argv, env={**self.cluster.environment(), "HBASE_CONF_DIR": ""}, capture_output=True, text=True,
                              timeout=LIMIT, check=False)

    def test_it_says_how_each_server_is_reached_and_why_one_is_not(self):
        done = self.doctor(self.cluster.work)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-3000:])
        self.assertIn("ok    cluster key: in ", done.stdout)
        for name in ("master", OURS):
            self.assertRegex(done.stdout, rf"ok    server \S+:{self.cluster.ports[name]} is reached by the core: shm")
        self.assertRegex(done.stdout, rf"warn  server \S+:{self.cluster.ports[STOCK]} is reached by TCP: ")

    @LONG
    def test_without_a_cluster_and_a_key_it_says_what_to_set(self):
        with tempfile.TemporaryDirectory() as nothing:
            done = self.doctor(nothing, "localhost:1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr[-3000:])
        self.assertIn("BAD   cluster key: no cluster key: set verbena.hbase.key.file", done.stdout)
        self.assertIn("warn  hbase.rpc.client.impl is not set: ", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
