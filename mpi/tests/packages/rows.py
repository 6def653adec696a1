# SPDX-License-Identifier: Apache-2.0
"""h5py over MPI: each rank writes a row of one file."""
import h5py
from mpi4py import MPI

world = MPI.COMM_WORLD
with h5py.File("rows.h5", "w", driver="mpio", comm=world) as file:
    rows = file.create_dataset("rows", (world.size, 10), dtype="i8")
    rows[world.rank, :] = range(world.rank, world.rank + 10)
with h5py.File("rows.h5", "r", driver="mpio", comm=world) as file:
    total = int(file["rows"][:].sum())
if world.rank == 0:
    print("result", total)
