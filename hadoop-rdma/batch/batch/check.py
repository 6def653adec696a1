# SPDX-License-Identifier: Apache-2.0
"""The doctor's lines about the batch job that it runs in."""
import argparse
import os
import shutil
import time

from . import jobs, steps
from .errors import Failed

OK, WARN, BAD = "ok", "warn", "BAD"
_NOTHING = argparse.Namespace(hosts=None, hostfile=None, launcher=None, time_limit=None, local_nodes=1)


def findings(environment=os.environ):
    """[(level, text)]: what verbena-batch would find in this job."""
    try:
        job = jobs.found(_NOTHING, environment)
    except Failed as failure:
        return [(BAD, str(failure))]
    if job.launcher == "local":
        return [(OK, "no Slurm or PBS job: verbena-batch starts daemons on this host, or on those of --hosts")]
    if not shutil.which(job.launcher):
        return [(BAD, steps.lacking(job.launcher))]
    found = [(OK, f"job {job.identity}: {len(job.nodes)} nodes, reached by {job.launcher}")]
    if job.ends is None:
        found.append((WARN, "the batch system does not say when this job ends: give verbena-batch --time-limit SECONDS, so that "
                            "there is time to save"))
    else:
        found.append((OK, f"it ends in {int(job.ends - time.time())} s"))
    return found


def report():
    """Prints them; False: something does not work."""
    found = findings()
    print("batch job:")
    for level, text in found:
        print(f"  {level:5s} {text}")
    return all(level != BAD for level, _ in found)
