# SPDX-License-Identifier: Apache-2.0
"""./verbena demo shmem: examples of mpi/shmem/examples under our oshrun and under that of Debian's oshmem, in turns."""
import os
import sys

from sides import ranks_demo, shmem

RUNS = (("bfs", 2, ("17",)), ("bfs", 4, ("16",)), ("queue", 2, ("400000",)), ("queue", 4, ("400000",)))
SHOW = ranks_demo.Show("mpi/shmem/examples", RUNS, ("queue", ("2000",)), "PEs")

if __name__ == "__main__":
    ROOT = os.environ["VERBENA_ROOT"]
    sys.exit(ranks_demo.main(SHOW, shmem.ours(ROOT), shmem.peers(ROOT), ROOT))
