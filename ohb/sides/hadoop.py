# SPDX-License-Identifier: Apache-2.0
"""What the rows of Hadoop share: the released Hadoop of tests/hadoop, the jar of the generators, what is missing."""
import importlib
import os
import sys
import tempfile

from driver.procs import Failed, install_signals


def harness(root, module):
    """A module of tests/hadoop, or of what it shares with others."""
    for part in ("hadoop", "lib"):
        folder = os.path.join(root, "tests", part)
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
    except harness(root, "daemons.errors").Failed as failure:
        return str(failure)
    return None


def demo(show):
    """The whole of a demonstration: show(root, folder) prints it. Gives the exit status."""
    root = os.environ["VERBENA_ROOT"]
    install_signals()
    try:
        lacks = missing(root)
        if lacks:
            raise Failed(lacks)
        with tempfile.TemporaryDirectory() as folder:
            show(root, folder)
    except Failed as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    return 0
