# SPDX-License-Identifier: Apache-2.0
"""Ranks in a control group of memory, as in a container: what exceeds it is an error of the call, and the kernel kills nobody."""
import cases  # noqa: F401  (it adds the path of the next one)
from daemons.memory_group import MemoryGroup, Unavailable
from runner import Skipped, expect, launch

RANKS = 2
LIMIT_MIB = 512
WINDOW_MIB = 150  # of a rank: one for each fits beside the ranks' own memory, two do not


def windows(build, environment):
    try:
        with MemoryGroup("windows", LIMIT_MIB << 20) as group:
            found = launch(build, "-n", RANKS, *group.wrapper(), build / "tests/contained", WINDOW_MIB, environment=environment)
            return expect(found == (0, "", "") and group.killed() == 0, *found, f"{group.killed()} killed")
    except Unavailable as error:
        raise Skipped(error) from error


def windows_in_node_memory(build):
    return windows(build, {})


def windows_without_node_memory(build):
    return windows(build, {"VBN_MPI_NODE_MEMORY": "0"})


TESTS = (windows_in_node_memory, windows_without_node_memory)
