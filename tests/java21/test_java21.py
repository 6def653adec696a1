# SPDX-License-Identifier: Apache-2.0
"""What is built for Java 17, on Java 21: the Java suites, clusters of HDFS with blocks and calls by the core. The wheel's Java
lacks the module jdk.incubator.vector, which Spark 4 demands, so no Spark starts here."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
JAVA = os.environ.get("VERBENA_JAVA21")
LIMIT = 5400  # seconds for each of these suites
MODULES = ["native-core/java", "hadoop-rdma/hdfs", "hadoop-rdma/rpc", "hadoop-rdma/mapreduce", "spark-rdma-shuffle/common"]
CLUSTER = ["test_hdfs", "test_modes"]


@unittest.skipUnless(JAVA, "needs Java 21 (./verbena make java21)")
class Java21Test(unittest.TestCase):
    def passed(self, program, *words, full=False):
        """Runs tests in a process of its own with another Java, and gives their output."""
        environment = {**os.environ, "JAVA_HOME": JAVA, "PATH": f"{JAVA}/bin:{os.environ['PATH']}"}
        environment.pop("VERBENA_TEST_FULL", None)
        environment.update({"VERBENA_TEST_FULL": "1"} if full else {})
        done = subprocess.run([sys.executable, str(ROOT / program), *words], env=environment, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-3000:])
        return done.stdout

    def test_it_is_java_21(self):
        done = subprocess.run([f"{JAVA}/bin/java", "-version"], capture_output=True, text=True, timeout=60, check=True)
        self.assertIn('version "21.', done.stderr)

    def test_the_java_suites_pass(self):
        self.assertIn(" passed, 0 failed", self.passed("tests/java/run.py", *MODULES))

    def test_hdfs_and_rpc_of_real_daemons_pass(self):
        self.passed("tests/lib/unittests.py", str(ROOT / "tests/hadoop"), *CLUSTER)
        self.passed("tests/lib/unittests.py", str(ROOT / "tests/hadoop"), "test_rpc.HdfsRpcTest", full=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
