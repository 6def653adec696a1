# SPDX-License-Identifier: Apache-2.0
"""mpi4py of Debian: objects, buffers and a window."""
import array

from mpi4py import MPI

world = MPI.COMM_WORLD
gathered = world.allgather({"rank": world.rank, "text": "x" * world.rank})
numbers = array.array("d", [0.5 * world.rank] * 1000)
world.Allreduce(MPI.IN_PLACE, numbers, MPI.SUM)
window = MPI.Win.Allocate(8 if world.rank == 0 else 0, comm=world)
window.Fence()
window.Accumulate(array.array("q", [world.rank + 1]), 0, op=MPI.SUM)
window.Fence()
if world.rank == 0:
    print("result", len(gathered), sum(numbers), memoryview(window.tomemory()).cast("B").cast("q")[0])
window.Free()
