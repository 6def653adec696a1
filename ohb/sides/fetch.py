# SPDX-License-Identifier: Apache-2.0
"""The row verbs.fetch: blocks of 1 MiB by the Spark plugin's fetch client and server over rc, beside ib_read_bw on the
same device in the same boot of a guest. Both have two threads on one processor."""
import contextlib
import os
import re

from driver.procs import Failed
from sides import core, verbs

MIB = 1 << 20
ROUNDS = 20  # of 16 blocks each
READS = 320
SECONDS = 300


def _program(root, arguments):
    folder = os.path.dirname(core.program(root))
    try:
        return verbs.harness(root, "fetch").command(root, folder, arguments)
    except verbs.harness(root, "fetch").Missing as reason:
        raise Failed(str(reason)) from None


def missing(root):
    """What has to be installed or built, or None."""
    if reason := verbs.missing(root):
        return reason
    try:
        _program(root, "rc")
    except Failed as reason:
        return str(reason)
    return None


@contextlib.contextmanager
def guest(root):
    """One processor: a JVM on two emulated ones is not to be trusted."""
    with verbs.guest(root, cpus=1, memory=2048) as running:
        yield running


def _run(running, command):
    result = running.run(command, SECONDS)
    if result.status != 0:
        raise Failed(f"status {result.status} in the guest of: {command}\n{result.output[-2000:]}")
    return result.output


def _rival(running):
    """MB/s of ib_read_bw; its server runs beside it."""
    test = f"ib_read_bw -d rxe0 -x 1 -s {MIB} -n {READS} -F"
    output = _run(running, f"{test} >/tmp/server 2>&1 & sleep 2; {test} 127.0.0.1; status=$?; wait; exit $status")
    found = re.search(rf"^\s*{MIB}\s+{READS}\s+[\d.]+\s+([\d.]+)\s", output, re.M)
    if not found:
        raise Failed(f"ib_read_bw printed no rate:\n{output[-2000:]}")
    return float(found[1]) * 1.048576  # it counts in MiB


def _ours(running, root):
    output = _run(running, _program(root, f"rc {ROUNDS}"))
    found = re.search(r"^rate ([\d.]+) MB/s$", output, re.M)
    if not found or "fetched" not in output:
        raise Failed(f"the fetch program printed no rate:\n{output[-2000:]}")
    return float(found[1])


def pairs(running, root):
    """The one cell, once: ours and the rival, one after the other."""
    return [{"row": "spark.fetch", "transport": "rc", "size": MIB, "metric": "bandwidth", "unit": "MB/s",
             "ours": _ours(running, root), "raw": _rival(running)}]
