# SPDX-License-Identifier: Apache-2.0
"""A Slurm of two nodes on this host, from Debian's unpacked packages: munged, slurmctld and two slurmd."""
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time

from daemons.errors import Failed, tail
from daemons.ports import free
from daemons.ready import until

PAUSE = 0.2
LIMIT = 300  # seconds of a command, which waits for messages itself
CONF = """ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket
CredType=cred/munge
PluginDir={root}/usr/lib/x86_64-linux-gnu/slurm-wlm
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool-%n
SlurmctldPidFile={work}/ctld.pid
SlurmdPidFile={work}/slurmd-%n.pid
SlurmctldLogFile={work}/ctld.log
SlurmdLogFile={work}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
KillWait={kill_wait}
MessageTimeout=100
BatchStartTimeout=300
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=2 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


class Slurm:
    """root: where the packages are unpacked; work: a folder without blanks. Started at once; close ends all."""

    def __init__(self, root, work, kill_wait=30):
        self._root, self._work, self._started = pathlib.Path(root), pathlib.Path(work), []
        for name in ("state", "spool-n1", "spool-n2"):
            (self._work / name).mkdir(parents=True)
        ctld, first, second = free(3)
        self._conf = self._work / "slurm.conf"
        self._conf.write_text(CONF.format(host=socket.gethostname(), ctld=ctld, n1=first, n2=second, work=work, root=root,
                                          user=self.run_plain("id", "-un").strip(), kill_wait=kill_wait))
        libraries = self._root / "usr/lib/x86_64-linux-gnu"
        self.environment = {**os.environ, "SLURM_CONF": str(self._conf), "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm",
                            "PATH": f"{self._root}/usr/bin:{os.environ['PATH']}"}
        try:
            self._munge()
            self._start("slurmctld-wlm", "-D", "-c")
            for node in ("n1", "n2"):
                self._start("slurmd-wlm", "-D", "-c", "-N", node, "-d", str(self._root / "usr/sbin/slurmstepd-wlm"))
            until(self._check, self._lack, "Slurm", work)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def run_plain(*argv):
        return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=True).stdout

    def _munge(self):
        key = self._work / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self._start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self._work}/munge.socket",
                    f"--pid-file={self._work}/munge.pid", f"--seed-file={self._work}/munge.seed",
                    f"--log-file={self._work}/munge.log")
        until(self._check, lambda: None if (self._work / "munge.socket").exists() else "munged has no socket", "munge", self._work)

    def _start(self, name, *words):
        log = self._work / f"{name}.out"
        with open(log, "ab") as sink:
            self._started.append((name, log, subprocess.Popen([str(self._root / "usr/sbin" / name), *words], env=self.environment,
                                                              stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)))

    def _check(self):
        for name, log, child in self._started:
            if child.poll() is not None:
                raise Failed(f"{name} has ended with status {child.returncode}:\n{tail(str(log))}")

    def run(self, *argv, limit=LIMIT):
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL,
                              check=False)

    def _lack(self):
        said = self.run("sinfo", "--noheader", "--format=%D %t")
        return None if said.stdout.split() == ["2", "idle"] else f"sinfo says: {said.stdout}{said.stderr}"

    def state(self, job):
        """The state of a job, and its exit status."""
        said = self.run("scontrol", "show", "job", "-o", str(job)).stdout
        fields = dict(word.split("=", 1) for word in said.split() if "=" in word)
        return fields.get("JobState"), fields.get("ExitCode")

    def _empty(self):
        """Ends all jobs, their processes with them, and waits until none is left."""
        self.run("scancel", "--state=PENDING")
        self.run("scancel", "--state=RUNNING")
        self.run("scancel", "--state=RUNNING", "--signal=KILL", "--full")
        deadline = time.monotonic() + LIMIT
        while self.run("squeue", "--noheader").stdout.strip() and time.monotonic() < deadline:
            time.sleep(PAUSE)

    def close(self):
        if len(self._started) > 1:
            self._empty()
        for _, _, child in reversed(self._started):
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(LIMIT)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
