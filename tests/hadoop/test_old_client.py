# SPDX-License-Identifier: Apache-2.0
"""Hadoop 3.3, whose client the file systems of ours cannot take the place of: they stand aside and say so (test_versions.py)."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import conf, java  # noqa: E402  (needs the path above)
from cluster.cluster import Cluster  # noqa: E402

ASIDE = f"Verbena: Hadoop's client reads and writes all files: the client of Hadoop {java.VERSION} is made in another way; use " \
    "Hadoop 3.4 or later"
PROGRAM = HERE / "java" / "Context.java"


@unittest.skipUnless(java.VERSION.startswith("3.3."), "of Hadoop 3.3 alone")
class OldClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.cluster = Cluster(cls.folder / "hadoop", datanodes=1, plugin=os.environ["VERBENA_HADOOP_JAR"], quick=True, tied=True,
                              properties={"core-site": conf.PARALLEL})
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)

    def assert_says_once(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(ASIDE), 1, done.stderr)

    def test_file_systems_have_hadoops_client_and_say_so_once(self):
        source, copy = self.folder / "source", self.folder / "copy"
        source.write_bytes(os.urandom(100_000))
        self.assert_says_once(self.cluster.run("hdfs", "dfs", "-put", str(source), "/file"))
        self.assert_says_once(self.cluster.run("hdfs", "dfs", "-get", "/file", str(copy)))
        self.assertEqual(copy.read_bytes(), source.read_bytes())

    def test_file_contexts_have_hadoops_client_and_say_so_once(self):
        argv = java.argv(str(PROGRAM), ["/context", "100000"], self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)
        done = subprocess.run(argv, env=self.cluster.environment(), capture_output=True, text=True, timeout=300, check=False)
        self.assert_says_once(done)
        self.assertEqual(done.stdout, "same\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
