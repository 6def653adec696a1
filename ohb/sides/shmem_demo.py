# SPDX-License-Identifier: Apache-2.0
"""./verbena demo shmem: examples of mpi/shmem/examples under our oshrun and under that of Debian's oshmem, in turns."""
import os
import sys

from sides import ranks_demo, shmem

RUNS = (("bfs", 2, ("16",)), ("bfs", 4, ("14",)), ("queue", 2, ("200000",)), ("queue", 4, ("100000",)))
SHOW = ranks_demo.Show("mpi/shmem/examples", RUNS, ("queue", ("2000",)), "PEs", (
    "Puts, gets and atomics of PEs of one host are loads and stores in memory that both map: no counter sees them.",))
WORDS = ("shmem", "OpenSHMEM programs with Verbena and with Debian's library",
         "OpenSHMEM programs are compiled once more (docs/openshmem.md):",
         ".verbena/build/mpi/bin/oshcc program.c -o program\n./verbena oshrun -n 4 ./program")

if __name__ == "__main__":
    ROOT = os.environ["VERBENA_ROOT"]
    sys.exit(ranks_demo.main(SHOW, shmem.ours(ROOT), shmem.peers(ROOT), WORDS))
