# SPDX-License-Identifier: Apache-2.0
"""./verbena demo mpi: the examples of mpi/examples under our mpiexec and under Debian's Open MPI or MPICH, in turns."""
import os
import sys

from sides import mpi, ranks_demo

RUNS = (("stencil", 2, ("1024", "100")), ("stencil", 4, ("256", "100")), ("samplesort", 2, ("500000",)),
        ("samplesort", 4, ("500000",)), ("spmv", 2, ("100000", "20")), ("spmv", 4, ("100000", "20")))
SHOW = ranks_demo.Show("mpi/examples", RUNS, ("samplesort", ("1000",)), "ranks")
WORDS = ("mpi", "MPI programs with Verbena and with another library",
         "Programs of the standard MPI ABI run as they are; others are compiled once more (docs/mpi.md):",
         ".verbena/build/mpi/bin/mpicc program.c -o program\n./verbena mpiexec -n 4 ./program")

if __name__ == "__main__":
    ROOT = os.environ["VERBENA_ROOT"]
    sys.exit(ranks_demo.main(SHOW, mpi.ours(ROOT), mpi.peers(ROOT)[:2], WORDS))
