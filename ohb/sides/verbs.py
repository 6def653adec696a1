# SPDX-License-Identifier: Apache-2.0
"""The row verbs: vbn-perf over rc and ud beside perftest, in one boot of a guest with a soft-RoCE device."""
import contextlib
import importlib
import os
import shlex
import sys

from driver.procs import Failed
from sides import core

ROWS = ("core.perftest.am.latency", "core.perftest.put.bandwidth", "core.perftest.get.bandwidth",
        "core.perftest.pull.bandwidth", "core.perftest.atomic.latency")
BOOT_SECONDS = 3600  # the guest ends by itself then
BLOCK_SECONDS = 300


def harness(root, module):
    """A module of tests/guest."""
    folder = os.path.join(root, "tests", "guest")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(module)


def _vm(root):
    return harness(root, "vm")


def missing(root):
    """What has to be installed, or None."""
    packages = _vm(root).errors.missing()
    return "a guest is needed: apt-get install " + " ".join(packages) if packages else None


@contextlib.contextmanager
def guest(root, cpus=2, memory=1024):
    """Two processors: one for each of the two processes of either side."""
    vm = _vm(root)
    try:
        with vm.one(memory=memory, cpus=cpus, seconds=BOOT_SECONDS) as running:
            yield running
    except vm.Failed as failure:
        raise Failed(str(failure)) from failure


def pairs(running, program, scale):
    """Every cell once: ours and perftest, one after the other."""
    command = shlex.join([program, "--transport", "rc,ud", "--row", ",".join(ROWS), "--blocks", "1", "--scale", str(scale)])
    result = running.run(command, BLOCK_SECONDS)
    if result.status != 0:
        raise Failed(f"vbn-perf gave status {result.status} in the guest:\n{result.output[-2000:]}")
    return [entry for line in result.output.splitlines() if (entry := core.parse(line))]
