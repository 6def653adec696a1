# SPDX-License-Identifier: Apache-2.0
"""The batch job that this process is in: its nodes in the job's own order, its end, and how a process is started on each node.

Slurm: SLURM_JOB_ID. PBS (OpenPBS, PBS Pro, Torque): PBS_NODEFILE. Else a host file or the names of --hosts, by ssh; else this host.
"""
import os
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime

from .errors import Failed

LAUNCHERS = ("srun", "pbsdsh", "ssh", "local")


@dataclass
class Job:
    identity: str
    nodes: list  # names, each once
    launcher: str
    ends: float = None  # time.time() of its end; None: not known
    lines: list = None  # of a PBS node file: where each node's first line stands


def output(*argv):
    """What a command prints."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Failed(f"{' '.join(argv)} did not work inside this job: {getattr(error, 'stderr', '') or error}".strip()) from error


def once(names):
    """Each name once, in the order of its first place."""
    return list(dict.fromkeys(names))


def _slurm_end(environment, identity):
    if environment.get("SLURM_JOB_END_TIME", "").isdigit():
        return float(environment["SLURM_JOB_END_TIME"])
    fields = dict(word.split("=", 1) for word in output("scontrol", "show", "job", "-o", identity).split() if "=" in word)
    try:
        return datetime.fromisoformat(fields.get("EndTime", "")).timestamp()
    except ValueError:
        return None  # Unknown: a partition without a limit


def slurm(environment):
    identity = environment["SLURM_JOB_ID"]
    nodes = once(output("scontrol", "show", "hostnames", environment["SLURM_JOB_NODELIST"]).split())
    return Job(identity, nodes, "srun", _slurm_end(environment, identity))


def pbs(environment):
    path = environment["PBS_NODEFILE"]
    try:
        with open(path) as file:
            lines = file.read().split()
    except OSError as error:
        raise Failed(f"the node file of this PBS job cannot be read: {error}") from error
    nodes = once(lines)
    limit = environment.get("PBS_WALLTIME", "")
    return Job(environment.get("PBS_JOBID", str(os.getpid())), nodes, "pbsdsh",
               time.time() + int(limit) if limit.isdigit() else None, [lines.index(node) for node in nodes])


def listed(names):
    return Job(f"{os.getpid()}", once(names), "ssh" if names else "local")


def _hosts(options):
    """The names that the user gave."""
    if options.hostfile:
        with open(options.hostfile) as file:
            return [line.split()[0] for line in file if line.split() and not line.startswith("#")]
    return (options.hosts or "").replace(",", " ").split()


def found(options, environment=os.environ):
    """The job, with what the command line says otherwise."""
    names = _hosts(options)
    if names:
        job = listed(names)
    elif "SLURM_JOB_ID" in environment:
        job = slurm(environment)
    elif "PBS_NODEFILE" in environment:
        job = pbs(environment)
    else:
        job = Job(str(os.getpid()), ["localhost"] * options.local_nodes, "local")
    job.launcher = options.launcher or job.launcher
    if options.time_limit:
        job.ends = time.time() + options.time_limit
    if not job.nodes:
        raise Failed("this job has no nodes: its list is empty")
    return job
