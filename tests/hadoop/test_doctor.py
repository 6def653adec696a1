# SPDX-License-Identifier: Apache-2.0
"""./verbena doctor hadoop on a running cluster, and without one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG, WITH_PLUGIN, HdfsCase  # noqa: E402  (needs the path above)


class DoctorTest(HdfsCase):
    def doctor(self, work):
        argv = [sys.executable, str(HERE / "hadoop.py"), "--work", str(work), "--plugin", self.cluster.plugin, "doctor"]
        environment = {**self.cluster.environment(), "HADOOP_CONF_DIR": ""}
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300, check=False)

    def test_it_says_how_each_data_node_is_reached_and_why_one_is_not(self):
        done = self.doctor(self.cluster.work)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in WITH_PLUGIN:
            self.assertRegex(done.stdout, rf"ok    DataNode 127\.0\.0\.1:{self.cluster.ports[name]} is reached by the core: shm")
        self.assertRegex(done.stdout,
                         rf"warn  DataNode 127\.0\.0\.1:{self.cluster.ports['datanode3']} is reached by TCP: no greeting at port")
        self.assertIn("; its own connections: ", done.stdout)
        self.assertIn("ok    cluster key: in ", done.stdout)
        self.assertIn("ok    hadoop.rpc.socket.factory.class.ClientProtocol names VerbenaSocketFactory", done.stdout)

    @LONG
    def test_without_a_cluster_and_a_key_it_says_what_to_set(self):
        with tempfile.TemporaryDirectory() as nothing:
            done = self.doctor(nothing)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("BAD   cluster key: no cluster key: set verbena.hdfs.key.file", done.stdout)
        self.assertIn("settings that switch Verbena on:", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
