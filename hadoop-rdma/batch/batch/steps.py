# SPDX-License-Identifier: Apache-2.0
"""Starts one agent on each node of a job, and holds the launchers: when they end, the batch system ends what they have started."""
import os
import shlex
import shutil
import signal
import subprocess
import sys

from .errors import Failed, excerpt

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "verbena-batch")
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new")


def agent(work, index):
    """The command line of a node's agent. index: the node's place in the job's list, or what stands for it."""
    return [sys.executable, "-B", SCRIPT, "agent", work, index]


def commands(job, work):
    """The launchers' command lines: one for all nodes, or one for each."""
    count = str(len(job.nodes))
    if job.launcher == "srun":
        # --overlap: the user's own steps have the same nodes. SLURM_NODEID is the place in the job's list.
        return [["srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--overlap", "--cpu-bind=none", "--mem=0",
                 "--kill-on-bad-exit=0", "--input=none", "--job-name=verbena", *agent(work, "SLURM_NODEID")]]
    if job.launcher == "pbsdsh":
        return [["pbsdsh", "-n", str(line), "--", *agent(work, str(index))] for index, line in enumerate(job.lines)]
    if job.launcher == "ssh":
        return [[*SSH, node, shlex.join(agent(work, str(index)))] for index, node in enumerate(job.nodes)]
    return [agent(work, str(index)) for index in range(len(job.nodes))]


def lacking(launcher):
    return f"{launcher} is not on the PATH of this job, which starts processes on its nodes; --launcher takes another: srun, " \
           "pbsdsh, ssh or local"


class Steps:
    """The launchers that run. Theirs is a process group of its own: Ctrl-C reaches this process alone, which ends them in order."""

    def __init__(self, job, work):
        self._log = os.path.join(work, "log", "launchers.log")
        self._started = []
        for argv in commands(job, work):
            if not shutil.which(argv[0]):
                self.kill()
                raise Failed(lacking(argv[0]))
            with open(self._log, "ab") as log:
                self._started.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                      start_new_session=True))

    def check(self):
        """Raises Failed when a launcher has ended: its agents have ended with it."""
        for one in self._started:
            if one.poll() is not None:
                raise Failed(f"{one.args[0]} has ended with status {one.returncode}, and the daemons that it had started with it; "
                             + excerpt(self._log))

    def has_ended(self, index):
        """Whether the launcher of a node has ended, and the node's agent with it."""
        return self._started[index if len(self._started) > 1 else 0].poll() is not None

    def wait(self, limit):
        """Waits until all have ended by themselves; false when some go on."""
        try:
            for one in self._started:
                one.wait(limit)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        for one in self._started:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGTERM)
        if not self.wait(10):
            for one in self._started:
                if one.poll() is None:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()
