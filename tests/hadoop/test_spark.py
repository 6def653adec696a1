# SPDX-License-Identifier: Apache-2.0
"""A released Spark whose shuffle, and whose HDFS, go by the core: both plugins in the same JVMs."""
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "ohb")]

from case import LONG, HdfsCase  # noqa: E402  (needs the path above)
from daemons import jvm  # noqa: E402
from driver import procs  # noqa: E402
from sides import spark  # noqa: E402

ROWS = 60_000
BY_CORE = r"Verbena: DataNode \S+ is reached by the core: shm"
SHUFFLES = r"Verbena 0\.1\.0 on executor \d: map outputs in memory, .* by shm,tcp"


def expected():
    """[key, rows, sum of their numbers, letters] of each key."""
    sums = {key: [key, 0, 0, 0] for key in range(101)}
    for row in range(ROWS):
        one = sums[row * 7919 % 101]
        one[1], one[2], one[3] = one[1] + 1, one[2] + row, one[3] + 4 * 64
    return sorted(sums.values())


@LONG
@unittest.skipUnless(os.environ.get("SPARK_HOME") and spark.plugin_jar(str(ROOT)),
                     "needs Spark and its plugin, as ./verbena test gives")
class SparkOnHdfsTest(HdfsCase):
    """A master and a worker; each test is an application with two executors."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        options = f"{' '.join(jvm.QUICK)} {os.environ.get('JDK_JAVA_OPTIONS', '')}".strip()
        cls.environment = {**os.environ, "JDK_JAVA_OPTIONS": options}
        before = os.environ.get("JDK_JAVA_OPTIONS")
        os.environ["JDK_JAVA_OPTIONS"] = options
        try:
            cls.spark = spark.Cluster(str(cls.folder / "spark"), workers=1).__enter__()
        finally:
            os.environ.pop("JDK_JAVA_OPTIONS")
            os.environ.update({} if before is None else {"JDK_JAVA_OPTIONS": before})
        cls.addClassCleanup(procs.stop_all)
        cls.addClassCleanup(cls.spark.stop)

    def job(self, name, jars, properties):
        """Runs the job; gives what driver and executors said, which end at their own time."""
        seen = set(glob.glob(str(self.folder / "spark/worker1/work/app-*")))
        folder = f"hdfs://127.0.0.1:{self.cluster.ports['namenode']}/{name}"
        settings = {**spark.COMMON, **spark.OURS, "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "4",
                    **properties}
        argv = [f"{spark.home()}/bin/spark-submit", "--master", self.spark.url, "--jars", ",".join(jars),
                *[word for key, value in settings.items() for word in ("--conf", f"{key}={value}")],
                str(HERE / "spark_job.py"), folder, str(ROWS)]
        environment = {**self.environment, "HADOOP_CONF_DIR": self.cluster.client_conf(), "SPARK_LOCAL_IP": "127.0.0.1"}
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-6000:])
        result = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
        self.assertEqual(json.loads(result.group(1)), expected())
        logs = [path for app in set(glob.glob(str(self.folder / "spark/worker1/work/app-*"))) - seen
                for path in glob.glob(app + "/*/stderr")]
        self.wait_for("the executors end", lambda: not self.ends(logs))
        return done.stderr, [pathlib.Path(path).read_text(errors="replace") for path in logs]

    @staticmethod
    def ends(logs):
        """Executors that still write to their logs."""
        alive = []
        for process in glob.glob("/proc/[0-9]*/fd/2"):
            try:
                alive.append(os.readlink(process))
            except OSError:
                continue
        return set(logs) & set(alive)

    def assert_both(self, _driver, executors):
        """Both plugins have one core, and work."""
        self.assertEqual(len(executors), 2)
        for text in executors:
            said = "\n".join(line for line in text.splitlines() if " Verbena" in line)
            self.assertTrue(re.search(BY_CORE, said), f"blocks of HDFS by the core: {said}")
            self.assertTrue(re.search(SHUFFLES, said), f"the shuffle by the core: {said}")
            self.assertNotIn("another class loader", text)

    def test_a_job_with_both_jars_given_to_spark_reads_writes_and_shuffles_by_the_core(self):
        self.assert_both(*self.job("both", [spark.plugin_jar(str(ROOT)), self.cluster.plugin], {}))

    @LONG
    def test_a_job_with_hdfs_jar_on_the_class_path_of_every_jvm_does_so_too(self):
        path = {f"spark.{side}.extraClassPath": self.cluster.plugin for side in ("driver", "executor")}
        self.assert_both(*self.job("paths", [spark.plugin_jar(str(ROOT))], path))

    @LONG
    def test_two_class_loaders_have_a_core_each_and_both_work(self):
        path = {f"spark.{side}.extraClassPath": self.cluster.plugin for side in ("driver", "executor")}
        first = {f"spark.{side}.userClassPathFirst": "true" for side in ("driver", "executor")}
        _, executors = self.job("loaders", [spark.plugin_jar(str(ROOT))], {**path, **first, "spark.verbena.fallback": "forbid"})
        self.assertEqual(len(executors), 2)
        for text in executors:
            # Spark's log settings do not reach what children load first, so the shuffle's core is named by HDFS'
            self.assertRegex(text,
                             r"another class loader .* core of its own \(org\.apache\.spark\.util\.ChildFirst.*AppClassLoader")
            self.assertRegex(text, BY_CORE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
