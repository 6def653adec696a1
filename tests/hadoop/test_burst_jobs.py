# SPDX-License-Identifier: Apache-2.0
"""With --full: jobs of YARN on lustre: through the burst buffer, whose files are those of a run without it."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from burst import LIMIT, Burst  # noqa: E402
from case import LONG  # noqa: E402
from cluster import conf, java  # noqa: E402
from test_lustre import PATIENT, Jobs  # noqa: E402

ROWS = 200_000
MAPS = 2
CHUNKS = MAPS * (ROWS // MAPS * 100 // (512 << 10))  # whole ones; their servers have to have had them


@LONG
class BurstJobsTest(Jobs):
    def setUp(self):
        self.burst = Burst(self.temporary())
        self.addCleanup(self.burst.stop)

    def said(self):
        """Lines of Verbena in the logs of the tasks."""
        return "".join(f"\n{line}" for line in jobs.task_logs(self.cluster).splitlines() if "Verbena: " in line)

    def generate(self, name, sync):
        """sync: each map forces its file to the storage of the shared folder, as it comes."""
        jobs.run(self.client, "teragen", True, [str(ROWS), f"/{name}"],
                 {"mapreduce.job.maps": MAPS, "mapreduce.terasort.final.sync": sync}, timeout=LIMIT)

    def validate(self, name):
        """Hadoop's own look at the rows: of teragen's, which are in no order, it tells the checksum."""
        jobs.run(self.client, "teravalidate", True, [f"/{name}", f"/{name}-valid"], PATIENT, timeout=LIMIT)
        done = self.client.run("hadoop", "fs", "-cat", f"/{name}-valid/part-*")
        found = [line for line in done.stdout.splitlines() if line.startswith("checksum")]
        self.assertEqual(len(found), 1, done.stdout + done.stderr)
        return found[0]

    def rows(self, name, waiting=False):
        """The bytes of a job's files on the shared folder, in their order. A file that waits for its flush has a name more."""
        files = sorted((self.root / name).glob("part-*"))
        self.assertEqual({file.stat().st_nlink for file in files}, {2 if waiting else 1})
        return b"".join(file.read_bytes() for file in files)

    def plain(self):
        """The same rows by a job in one JVM, which knows no servers."""
        folder = self.folder / "plain"
        conf.write(folder, {"core-site": {**conf.lustre(self.root)["core-site"], "fs.defaultFS": "lustre:///",
                                          "hadoop.tmp.dir": self.folder / "tmp"}})
        argv = java.argv(jobs.TOOLS["teragen"], ["-Dmapreduce.framework.name=local", str(ROWS), "/plain"], str(folder),
                         os.environ["VERBENA_HADOOP_JAR"], options=java.QUICK)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.rows("plain")

    def test_teragen_through_the_buffer_writes_the_files_that_it_writes_without(self):
        self.start(self.burst.kind())
        plain = self.plain()
        self.assertEqual(len(plain), ROWS * 100)
        self.generate("waiting", sync="false")
        self.assertGreaterEqual(self.burst.pinned(), CHUNKS, "no flusher runs" + self.said())
        checksum = self.validate("waiting")
        self.assertFalse(self.rows("waiting", waiting=True) == plain, "the shared folder has not the bytes")
        self.burst.flush(self.cluster)
        self.assertTrue(self.rows("waiting") == plain)
        daemon = self.burst.flusher(self.cluster)
        self.generate("flushed", sync="true")
        self.assertEqual(self.validate("flushed"), checksum)
        self.assertIsNone(daemon.poll(), self.burst.said(daemon))
        daemon.kill()
        daemon.wait()
        self.burst.flush_all(self.cluster, self.root)
        self.assertTrue(self.rows("flushed") == plain)


if __name__ == "__main__":
    unittest.main(verbosity=2)
