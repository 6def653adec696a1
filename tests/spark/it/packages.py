# SPDX-License-Identifier: Apache-2.0
"""The jar by its coordinates: spark-submit --packages takes it from the local Maven repository, and nothing beside it."""
import os
import subprocess
import tempfile
import unittest

from shared import LONG, spark
import artifacts

NAME = "spark-rdma-shuffle"
LIMIT = 300  # seconds for one program


@LONG
class Packages(unittest.TestCase):
    def test_spark_submit_gets_one_jar_and_runs_the_doctor_out_of_it(self):
        with tempfile.TemporaryDirectory(prefix="verbena-packages-") as folder:
            artifacts.repository(os.path.join(folder, ".m2", "repository"), NAME)  # where Spark looks first
            ivy = os.path.join(folder, "ivy")
            done = subprocess.run(
                [os.path.join(spark.home(), "bin", "spark-submit"), "--master", "local[1]",
                 "--packages", f"{artifacts.GROUP}:{NAME}:{artifacts.VERSION}",
                 "--conf", f"spark.jars.ivy={ivy}", "--driver-java-options", f"-Duser.home={folder}",
                 "--class", "org.verbena.spark.Doctor", "spark-internal"],
                capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL,
                env={**os.environ, "SPARK_LOCAL_IP": spark.HOST})
            said = done.stdout + done.stderr
            self.assertIn("for conf/spark-defaults.conf:", done.stdout, said)
            self.assertRegex(done.stdout, f"ok +native library: loaded from {ivy}/jars/")
            self.assertEqual(os.listdir(os.path.join(ivy, "jars")),
                             [f"{artifacts.GROUP}_{NAME}-{artifacts.VERSION}.jar"], said)
