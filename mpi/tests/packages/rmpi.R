# SPDX-License-Identifier: Apache-2.0
# Rmpi: vectors, objects and requests among the ranks that mpiexec has started. Communicator 0 is that of all ranks.
library(Rmpi)

rank <- mpi.comm.rank(0)
size <- mpi.comm.size(0)
sums <- mpi.allreduce(0.5 * (1:1000) * (rank + 1), type = 2, op = "sum", comm = 0)
if (rank == 0) {
    rows <- list(name = "a table", rows = 1:7)
    mpi.bcast.Robj(rows, rank = 0, comm = 0)
} else {
    rows <- mpi.bcast.Robj(rank = 0, comm = 0)
}
texts <- mpi.gather.Robj(strrep("x", rank + 1), root = 0, comm = 0)
mpi.isend.Robj(letters[1:(rank + 3)], dest = (rank + 1) %% size, tag = 5, comm = 0)
got <- mpi.recv.Robj(source = mpi.any.source(), tag = 5, comm = 0)
mpi.waitall(1)
count <- mpi.reduce(length(got) + length(rows$rows), type = 1, op = "sum", dest = 0, comm = 0)
if (rank == 0) {
    cat("result", sum(sums), sum(nchar(unlist(texts))), count, "\n")
}
invisible(mpi.barrier(0))
invisible(mpi.finalize())
