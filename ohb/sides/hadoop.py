# SPDX-License-Identifier: Apache-2.0
"""What the rows of Hadoop share: the released Hadoop of tests/hadoop, the jar of the generators, what is missing."""
import importlib
import os
import sys


def harness(root, module):
    """A module of tests/hadoop."""
    folder = os.path.join(root, "tests", "hadoop")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(module)


def plugin(root):
    """The jar of hadoop-rdma."""
    return harness(root, "cluster.java").plugin(root)


def jar(root):
    """The jar of the load generators, or None."""
    path = os.path.join(root, "ohb", "java", "ohb-hadoop", "target", "ohb-hadoop-0.1.0.jar")
    return path if os.path.isfile(path) else None


def missing(root):
    """What the rows lack here, or None."""
    if not jar(root):
        return "the load generator of Hadoop is not built: run ./verbena build"
    try:
        plugin(root)
    except harness(root, "cluster.errors").Failed as failure:
        return str(failure)
    return None
