# SPDX-License-Identifier: Apache-2.0
"""With --full: HBase and Spark in sessions over the session's HDFS, and a burst buffer that cannot be flushed. The nodes are on
this host."""
import json
import os
import re
import sys
import unittest

from case import ROOT, Case

sys.path += [str(ROOT / "tests/hadoop"), str(ROOT / "tests/hbase")]

from cluster import java  # noqa: E402  (needs the path above)
from servers import java as hbase  # noqa: E402

FULL = unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
HADOOP, HBASE = os.environ.get("VERBENA_HADOOP_JAR"), os.environ.get("VERBENA_HBASE_JAR")
SPARK = os.environ.get("SPARK_HOME")
SERVER = ROOT / ".verbena/build/memcached-release/verbena-memcached"
JOB = ROOT / "tests/hadoop/spark_job.py"
ROWS = 2000
LIMIT = 2400  # seconds of a session, also on a loaded machine
SHELL = "java -cp $HADOOP_CONF_DIR:$HADOOP_CLASSPATH:$HADOOP_HOME/* org.apache.hadoop.fs.FsShell"
LINES = "create things f\nput things row f:column value\nget things row\n"


@FULL
@unittest.skipUnless(HADOOP, "needs hadoop-rdma's jar")
class SystemsTest(Case):
    def run_hadoop(self, *more):
        """(status, output) of a run of two nodes."""
        return self.run_all(*self.words(
            "run", "--local-nodes", "2", "--time-limit", str(LIMIT), "--ready", str(LIMIT), "--hadoop", java.library(),
            "--jar", HADOOP, "--heap", "512", *more), limit=LIMIT)

    def session(self, *more):
        """With HDFS."""
        return self.run_hadoop("--mode", "hhh", "--memory", "64m", "--set", "hdfs-site:dfs.replication=2", "--set",
                               "hdfs-site:dfs.blocksize=8m", *more)

    def tails(self):
        return "".join(f"\n{path}:\n{path.read_text(errors='replace')[-3000:]}" for path in (self.work / "log").glob("*.log"))

    def test_a_file_that_cannot_be_flushed_is_named_and_the_session_fails(self):
        records = self.folder / "shared/.verbena-buffer"
        damage = f"mkdir '{records}' && printf 'damaged\\n\\n' >'{records}/1.closed'"
        (self.folder / "shared").mkdir()
        status, output = self.run_hadoop("--mode", "hhh-l-bb", "--shared", str(self.folder / "shared"), "--buffer", "64",
                                         "--memcached-program", str(SERVER), "--", "sh", "-c", damage)
        self.assertEqual(status, 1, output + self.tails())
        self.assertRegex(output, r"/\.verbena-buffer/1\.closed has not the bytes that the burst buffer wrote")
        self.assertIn("the burst buffer has files that are not on the shared folder: see the lines above", output)
        self.assert_nothing_left()

    @unittest.skipUnless(HBASE, "needs hbase-rdma's jar")
    def test_hbase_serves_a_table_over_hdfs_by_the_core(self):
        programs = hbase.programs(str(self.folder / "programs"))
        (self.folder / "lines").write_text(LINES)
        command = f"java {' '.join(hbase.OPTIONS)} -cp $HBASE_CONF_DIR:$HBASE_CLASSPATH:{programs}:{hbase.library()}/* Console"
        status, output = self.session("--hbase", hbase.library(), "--hbase-jar", HBASE, "--", "sh", "-c",
                                      f"{command} <'{self.folder}/lines'")
        self.assertEqual(status, 0, output + self.tails())
        self.assertRegex(output, r"HBase at 127\.0\.0\.1:[0-9]+")
        self.assertRegex(output, "(?m)^.*f:column.*value")
        self.assertRegex(output, r"Verbena: calls to /127\.0\.0\.1:[0-9]+ go by the core")
        self.assert_nothing_left()

    @unittest.skipUnless(SPARK, "needs Spark")
    def test_spark_shuffles_and_has_its_tables_in_hdfs(self):
        said = self.folder / "said"  # Spark copies a program's output in pieces, between which its own lines come
        status, output = self.session("--spark", SPARK, "--containers", "2048", "--spark-conf", "spark.executor.memory=512m",
                                      "--spark-conf", "spark.executor.cores=1", "--spark-conf", "spark.sql.shuffle.partitions=4",
                                      "--", "sh", "-c", f"spark-submit '{JOB}' /spark {ROWS} >{said} && {SHELL} -ls /spark/sorted")
        self.assertEqual(status, 0, output + self.tails())
        self.assertRegex(output, r"Spark at spark://127\.0\.0\.1:[0-9]+")
        sums = json.loads(re.search("(?m)^RESULT (.*)$", said.read_text()).group(1))
        self.assertEqual([sum(row[1] for row in sums), sum(row[2] for row in sums)], [ROWS, ROWS * (ROWS - 1) // 2])
        self.assertRegex(output, r"Verbena 0\.1\.0 on the driver: map outputs are the executors'")
        self.assertRegex(output, r"(?m)^.* /spark/sorted/_SUCCESS$")
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
