# SPDX-License-Identifier: Apache-2.0
"""What the rows of Hadoop and HBase share: the released Hadoop of tests/hadoop, the jar of the generators, what is missing."""
import importlib
import os
import sys


def harness(root, module):
    """A module of tests/hadoop or tests/hbase, or of what they share."""
    for part in ("hadoop", "hbase", "lib"):
        folder = os.path.join(root, "tests", part)
        if folder not in sys.path:
            sys.path.append(folder)
    return importlib.import_module(module)


def plugin(root):
    """The jar of hadoop-rdma."""
    return harness(root, "cluster.java").plugin(root)


def jar(root, name="ohb-hadoop"):
    """The jar of the load generators, or None."""
    path = os.path.join(root, "ohb", "java", name, "target", f"{name}-0.1.0.jar")
    return path if os.path.isfile(path) else None


def processor_seconds(pids):
    """Processor time that processes have taken so far."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def missing(root):
    """What the rows lack here, or None."""
    if not jar(root):
        return "the load generator of Hadoop is not built: run ./verbena build"
    try:
        plugin(root)
    except harness(root, "daemons.errors").Failed as failure:
        return str(failure)
    return None
