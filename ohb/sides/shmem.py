# SPDX-License-Identifier: Apache-2.0
"""The row shmem: our OpenSHMEM library and Debian's, and mpi/shmem/bench built with and started by each."""
import os

from sides import core, ranks
from sides.ranks import Library

UNITS = {"put": "ns", "put_quiet": "ns", "get": "ns", "p": "ns", "g": "ns", "fetch_add": "ns", "inc": "ns", "cswap": "ns",
         "put_bandwidth": "GB/s", "get_bandwidth": "GB/s", "ping_pong": "us", "barrier": "us", "broadcast": "us",
         "reduce": "us", "init": "ms", "launch": "ms", "four": "us"}

# What we promise: the ratio ours / stock of a cell without its distance (None: to the best of all), and a cell alone, in its unit.
TARGETS = {"put.8": (0.7, None), "put_quiet.8": (0.7, None), "get.8": (0.7, None), "fetch_add.8": (0.7, None),
           "barrier": (1.0, None), "put_bandwidth.1048576": (1.0, None), "init": (0.5, None)}
MOST = {"four.barrier": 20}


def ours(root):
    build = os.environ.get("VERBENA_MPI_BIN") or ranks.build(root)
    return Library("verbena", "Verbena", f"{build}/bin/oshcc", f"{build}/bin/oshrun", cure="run ./verbena build shmem")


def before(checkout):
    """The library that another checkout has built."""
    build = ranks.build(checkout)
    return Library(ranks.BEFORE, "Verbena of the other checkout", f"{build}/bin/oshcc", f"{build}/bin/oshrun",
                   cure="run ./verbena build shmem in it")


def peers(_root):
    """The stock library: oshmem, which Debian 12 has as a part of its Open MPI."""
    # Its memory hooks outlive what they call, so that shmem_finalize crashes: they are left out.
    return [Library("oshmem", "Debian's oshmem", "/usr/bin/oshcc", "/usr/bin/oshrun",
                    (*ranks.OPEN_MPI, "--mca", "memory", "^patcher"),
                    cure="apt-get install openmpi-bin libopenmpi-dev, of a Debian whose Open MPI has oshcc (12 has)")]


def missing(root):
    """What the row lacks here, or None."""
    if ours(root).missing():
        return "the OpenSHMEM library is not built: run ./verbena build shmem"
    return next((peer.missing() for peer in peers(root) if peer.missing()), None)


def better(name):
    return core.better(UNITS[name.split(".")[0]])


def target(name):
    """(ratio, library or None) promised for a cell, or None."""
    return TARGETS.get(ranks.bare(name))


class Bench(ranks.Bench):
    """mpi/shmem/bench of one library, built."""
    PROGRAM, SOURCES = "shmembench", ("mpi/shmem/bench", ranks.COMMON)
