# SPDX-License-Identifier: Apache-2.0
"""Batch jobs of a real Slurm with two nodes on this host: HDFS in a mode, data in and out, the end of a job."""
import filecmp
import json
import os
import re
import shlex
import sys
import unittest

from case import ROOT, SHM, Case
from slurm import Slurm

sys.path.append(str(ROOT / "tests/hadoop"))

from cluster import java  # noqa: E402  (needs the path above)

PACKAGES = os.environ.get("VERBENA_SLURM")
SERVER = ROOT / ".verbena/build/memcached-release/verbena-memcached"
JAR = os.environ.get("VERBENA_HADOOP_JAR")
FULL = unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
SHELL = "java -cp $HADOOP_CONF_DIR:$HADOOP_CLASSPATH:$HADOOP_HOME/* org.apache.hadoop.fs.FsShell"
FINISHED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
BYTES = 3_000_000
PATIENT = "core-site:verbena.hdfs.connect.wait.ms=600000"  # a loaded machine may take long to connect by the core
JOB = 2400  # seconds of a job, also on a loaded machine


@unittest.skipUnless(PACKAGES, "needs Debian's packages of Slurm")
@unittest.skipUnless(JAR, "needs hadoop-rdma's jar")
class SlurmTest(Case):
    def setUp(self):
        super().setUp()
        self.slurm = Slurm(PACKAGES, self.folder / "slurm")
        self.addCleanup(self.slurm.close)
        (self.folder / "source").write_bytes(os.urandom(BYTES))

    def submit(self, *words, options=()):
        """A batch job of two nodes; its number."""
        script = self.folder / "job.sh"
        script.write_text("#!/bin/sh\nexec " + shlex.join(words) + "\n")
        done = self.slurm.run("sbatch", "--nodes=2", "--time=60", f"--output={self.folder}/job.out", *options, str(script))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()[-1]

    def hadoop(self, mode, *words):
        """A run with HDFS that copies a file in and out."""
        return self.words("run", "--hadoop", java.library(), "--jar", JAR, "--mode", mode, "--memory", "64m", "--heap", "512",
                          "--set", "hdfs-site:dfs.replication=2", "--set", "hdfs-site:dfs.blocksize=8m", "--set", PATIENT,
                          "--ready", str(JOB), "--in", f"{self.folder}/source=/in", *words)

    def output(self):
        path = self.folder / "job.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def ended(self, job):
        """(state, exit status, output) of a job at its end."""
        self.wait_for("the job has ended", lambda: self.slurm.state(job)[0] in FINISHED, limit=JOB)
        return *self.slurm.state(job), self.output()

    def assert_gone(self):
        token = json.loads((self.work / "session").read_text())["options"]["token"]
        self.wait_for("nothing of the session is left",
                      lambda: not [*self.local.glob("*"), *SHM.glob(f"verbena-*-{token}-*")])

    def test_a_job_has_its_hdfs_in_a_mode_and_its_data_comes_in_and_out(self):
        job = self.submit(*self.hadoop("hhh", "--out", f"/copy={self.folder}/result", "--", "sh", "-c", f"{SHELL} -cp /in /copy"))
        state, status, output = self.ended(job)
        self.assertEqual((state, status), ("COMPLETED", "0:0"), output)
        self.assertIn("2 nodes by srun", output)
        self.assertRegex(output, "node 1 n2: 127.0.0.1, ")
        self.assertRegex(output, "HDFS hhh at 127.0.0.1:[0-9]+")
        self.assertIn("is reached by the core", output)
        self.assertTrue(filecmp.cmp(self.folder / "source", self.folder / "result", shallow=False))
        self.assert_gone()

    @FULL
    def test_a_job_that_is_cancelled_saves_first(self):
        job = self.submit(*self.hadoop("hhh-m", "--out", f"/in={self.folder}/result", "--", "sh", "-c",
                                       "echo the command runs; exec sleep 1000"))
        self.wait_for("the command runs", lambda: re.search("^the command runs$", self.output(), re.MULTILINE))
        self.slurm.run("scancel", "--signal=TERM", "--batch", job)
        state, _, output = self.ended(job)
        self.assertEqual(state, "FAILED", output)
        self.assertIn("the command is ended: signal SIGTERM", output)
        self.assertTrue(filecmp.cmp(self.folder / "source", self.folder / "result", shallow=False), output)
        self.assert_gone()

    @FULL
    def test_yarn_and_the_shared_modes(self):
        examples = java.examples_jar()
        for mode in ("hhh-l", "lustre", "stock"):
            with self.subTest(mode=mode):
                self.work = self.folder / f"work-{mode}"
                shared = self.folder / "shared"
                shared.mkdir(exist_ok=True)
                (self.folder / "words").write_text("one two two\n" * 1000)
                where = "" if mode == "lustre" else "/"
                run = f"java -cp $HADOOP_CONF_DIR:$HADOOP_CLASSPATH:$HADOOP_HOME/* org.apache.hadoop.util.RunJar {examples} " \
                      f"wordcount {where or '/'}words /counted && {SHELL} -cat /counted/part-r-00000"
                rpc = ["--rpc", "--set", "core-site:verbena.rpc.first.calls=1"] if mode == "hhh-l" else []
                job = self.submit(*self.hadoop(mode, "--shared", str(shared), "--yarn", *rpc, "--containers", "3072", "--in",
                                               f"{self.folder}/words=/words", "--", "sh", "-c", run))
                state, status, output = self.ended(job)
                self.assertEqual((state, status), ("COMPLETED", "0:0"), output + self.tails())
                self.assertIn("two\t2000", output)
                self.assert_gone()
                if mode == "hhh-l":
                    self.assertRegex(self.log("nodemanager-0"), "Verbena ends: RPC had [1-9][0-9]* calls by the core")
                    self.assertEqual(list(shared.iterdir()), [], "a session leaves nothing on the shared path")
                if mode == "lustre":
                    self.assertEqual({path.name for path in shared.iterdir()} - {"in", "words", "counted", "user"}, set(),
                                     "nothing but the user's files")

    @FULL
    def test_a_burst_buffer_is_flushed_before_the_job_ends(self):
        for mode in ("lustre", "hhh-l-bb"):
            with self.subTest(mode=mode):
                self.work, shared = self.folder / f"work-{mode}", self.folder / f"shared-{mode}"
                shared.mkdir()
                job = self.submit(*self.hadoop(mode, "--shared", str(shared), "--buffer", "64", "--memcached-program", str(SERVER),
                                               "--", "sh", "-c", f"{SHELL} -cp /in /copy"))
                state, status, output = self.ended(job)
                self.assertEqual((state, status), ("COMPLETED", "0:0"), output + self.tails())
                self.assertIn("a burst buffer of 2 servers of 64 MiB", output)
                self.assertTrue(filecmp.cmp(self.folder / "source", shared / "copy", shallow=False))
                self.assertFalse((shared / ".verbena-buffer").exists())
                self.assert_gone()

    @FULL
    def test_a_command_that_is_killed_while_it_writes_to_the_buffer_keeps_no_job_waiting(self):
        """The flusher of its host sees that it has ended, long before the end of the lease."""
        shared = self.folder / "shared"
        shared.mkdir()
        write = f"{SHELL} -put -d - /half <'{self.folder}/fifo'"
        os.mkfifo(self.folder / "fifo")
        ready = f"while [ ! -e {shared}/.verbena-buffer ]; do sleep 0.1; done"
        command = f"{write} & exec 3>'{self.folder}/fifo'; cat '{self.folder}/source' >&3; {ready}; kill -9 $!; wait; true"
        job = self.submit(*self.hadoop("hhh-l-bb", "--shared", str(shared), "--buffer", "64", "--memcached-program", str(SERVER),
                                       "--set", "core-site:verbena.lustre.buffer.lease.s=86400", "--", "sh", "-c", command))
        state, status, output = self.ended(job)
        self.assertEqual((state, status), ("COMPLETED", "0:0"), output + self.tails())
        left, whole = (shared / "half").read_bytes(), (self.folder / "source").read_bytes()
        self.assertEqual(left, whole[:len(left)])
        self.assertFalse((shared / ".verbena-buffer").exists())
        self.assert_gone()

    def log(self, daemon):
        return (self.work / f"log/{daemon}.log").read_text(errors="replace")

    def tails(self):
        return "".join(f"\n{path}:\n{path.read_text(errors='replace')[-2000:]}" for path in (self.work / "log").glob("*.log"))
