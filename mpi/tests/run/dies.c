/* SPDX-License-Identifier: Apache-2.0
 * dies.c - not a rule: a job of which rank 1 ends in the middle, for run.py. usage: dies WAY, for the ways see below.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char *way)
{
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
        raise(SIGSEGV);
    }
    if (strcmp(way, "exit") == 0)
        _exit(3);
    if (strcmp(way, "leave") == 0)
        _exit(0);
    MPI_Abort(MPI_COMM_WORLD, 7);
}

int main(int argc, char **argv)
{
    int rank;
    int sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0;; i++) {
        if (i == 100 && rank == 1)
            end(argv[1]);
        if (strcmp(argv[2], "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (strcmp(argv[2], "bcast") == 0)
            MPI_Bcast(&sum, 1, MPI_INT, i % 2, MPI_COMM_WORLD);
        else if (strcmp(argv[2], "receive") == 0) {
            if (rank == 1)
                continue;
            MPI_Recv(&sum, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    }
}
