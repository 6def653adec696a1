# SPDX-License-Identifier: Apache-2.0
"""The nodes and the end of a job, as batch systems say them."""
import os
import sys
import time
import types

from case import ROOT, Case

sys.path.insert(0, str(ROOT / "hadoop-rdma/batch"))

from batch import check, jobs, steps  # noqa: E402  (needs the path above)
from batch.errors import Failed  # noqa: E402

SCONTROL = """#!/bin/sh
case "$*" in
"show hostnames n[1-3],big") printf 'n1\\nn2\\nn3\\nbig\\n' ;;
"show job -o 17") echo 'JobId=17 JobName=a b EndTime=2030-01-02T03:04:05 Comment=(null)' ;;
"show job -o 18") echo 'JobId=18 EndTime=Unknown' ;;
*) echo "slurm_load_jobs error: Invalid job id" >&2; exit 1 ;;
esac
"""


def options(**given):
    return types.SimpleNamespace(**{"hosts": None, "hostfile": None, "launcher": None, "time_limit": None, "local_nodes": 1,
                                    **given})


class JobsTest(Case):
    def assert_ends(self, seconds, look):
        """Gives the job; it ends so many seconds after it was looked for."""
        before = time.time()
        job = look()
        self.assertTrue(before + seconds <= job.ends <= time.time() + seconds)
        return job

    def slurm(self, identity, **more):
        scontrol = self.folder / "scontrol"
        scontrol.write_text(SCONTROL)
        scontrol.chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{self.folder}:{before}"
        try:
            return jobs.found(options(), {"SLURM_JOB_ID": identity, "SLURM_JOB_NODELIST": "n[1-3],big", **more})
        finally:
            os.environ["PATH"] = before

    def nodefile(self, text, **more):
        path = self.folder / "nodes"
        path.write_text(text)
        return jobs.found(options(), {"PBS_NODEFILE": str(path), "PBS_JOBID": "7.head", **more})

    def test_slurm_gives_nodes_in_its_order_and_the_end(self):
        job = self.slurm("17")
        self.assertEqual((job.nodes, job.launcher), (["n1", "n2", "n3", "big"], "srun"))
        self.assertEqual(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.ends)), "2030-01-02 03:04:05")
        self.assertEqual(self.slurm("17", SLURM_JOB_END_TIME="1900000000").ends, 1900000000)
        self.assertIsNone(self.slurm("18").ends)

    def test_slurm_that_does_not_answer_is_said(self):
        with self.assertRaisesRegex(Failed, "scontrol show job -o 19 did not work inside this job: slurm_load_jobs error"):
            self.slurm("19")

    def test_pbs_gives_each_node_once_with_its_first_line(self):
        job = self.assert_ends(600, lambda: self.nodefile("b\nb\na\nb\nc-ib\n", PBS_WALLTIME="600"))
        self.assertEqual((job.nodes, job.lines, job.launcher), (["b", "a", "c-ib"], [0, 2, 4], "pbsdsh"))
        words = steps.commands(job, "/work")
        self.assertEqual([argv[:4] for argv in words], [["pbsdsh", "-n", line, "--"] for line in ("0", "2", "4")])
        self.assertEqual([argv[-3:] for argv in words], [["agent", "/work", index] for index in ("0", "1", "2")])
        self.assertIsNone(self.nodefile("a\n").ends)

    def test_pbs_without_its_file_is_said(self):
        with self.assertRaisesRegex(Failed, "the node file of this PBS job cannot be read: .*No such file"):
            jobs.found(options(), {"PBS_NODEFILE": str(self.folder / "none")})
        with self.assertRaisesRegex(Failed, "has no nodes"):
            self.nodefile("\n")

    def test_the_users_names_come_first(self):
        environment = {"SLURM_JOB_ID": "1"}
        self.assertEqual(jobs.found(options(hosts="x,y,x"), environment).nodes, ["x", "y"])
        path = self.folder / "hosts"
        path.write_text("# comment\nx slots=2\n\ny\n")
        given = options(hostfile=str(path), launcher="srun", time_limit=50)
        job = self.assert_ends(50, lambda: jobs.found(given, environment))
        self.assertEqual((job.nodes, job.launcher), (["x", "y"], "srun"))

    def test_a_launcher_that_is_missing_is_named(self):
        job = self.nodefile("a\n")
        before, os.environ["PATH"] = os.environ["PATH"], str(self.folder)
        try:
            with self.assertRaisesRegex(Failed, "pbsdsh is not on the PATH of this job.*--launcher takes another"):
                steps.Steps(job, str(self.folder))
        finally:
            os.environ["PATH"] = before

    def findings(self, environment, *programs):
        """Of the doctor, where these programs are on the PATH."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        for program in programs:
            (folder / program).write_text(SCONTROL)
            (folder / program).chmod(0o755)
        before, os.environ["PATH"] = os.environ["PATH"], str(folder)
        try:
            return check.findings(environment)
        finally:
            os.environ["PATH"] = before

    def test_the_doctor_names_what_a_job_lacks(self):
        (level, text), = self.findings({})
        self.assertEqual(level, check.OK)
        self.assertIn("no Slurm or PBS job", text)
        slurm = {"SLURM_JOB_ID": "18", "SLURM_JOB_NODELIST": "n[1-3],big"}
        (level, text), = self.findings(slurm)
        self.assertEqual(level, check.BAD)
        self.assertIn("scontrol show hostnames n[1-3],big did not work inside this job", text)
        (level, text), = self.findings(slurm, "scontrol")
        self.assertEqual((level, text), (check.BAD, steps.lacking("srun")))
        (level, text), end = self.findings(slurm, "scontrol", "srun")
        self.assertEqual((level, text), (check.OK, "job 18: 4 nodes, reached by srun"))
        self.assertEqual(end[0], check.WARN)
        self.assertIn("give verbena-batch --time-limit SECONDS", end[1])
        _, end = self.findings({**slurm, "SLURM_JOB_END_TIME": str(int(time.time()) + 1000)}, "scontrol", "srun")
        self.assertRegex(end[1], r"^it ends in \d+ s$")
        (level, text), = self.findings({"PBS_NODEFILE": str(self.folder / "none")})
        self.assertEqual(level, check.BAD)
        self.assertIn("the node file of this PBS job cannot be read", text)
