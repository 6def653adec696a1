# SPDX-License-Identifier: Apache-2.0
"""./verbena demo mpi: the examples of mpi/examples under our mpiexec and under Debian's Open MPI or MPICH, in turns."""
import os
import sys

from sides import mpi, ranks_demo

RUNS = (("stencil", 2, ("1024", "300")), ("stencil", 4, ("256", "300")), ("samplesort", 2, ("2000000",)),
        ("samplesort", 4, ("2000000",)), ("spmv", 2, ("200000", "30")), ("spmv", 4, ("200000", "30")))
SHOW = ranks_demo.Show("mpi/examples", RUNS, ("samplesort", ("1000",)), "ranks")

if __name__ == "__main__":
    ROOT = os.environ["VERBENA_ROOT"]
    sys.exit(ranks_demo.main(SHOW, mpi.ours(ROOT), mpi.peers(ROOT)[:2], ROOT))
