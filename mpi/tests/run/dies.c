/* SPDX-License-Identifier: Apache-2.0
 * dies.c - not a rule: a job of which rank 1 ends in the middle, for run.py. usage: dies WAY CALL; for both see below.
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

#define MOST 20000 /* elements of a block: by rendezvous */

static int ranks;
static int out[8 * MOST];
static int in[8 * MOST];

/* The call, as large as `n` elements; a name that begins with I: as a request that is waited for. */
static void call(const char *name, int n, int root, MPI_Request *request)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    static const int counts[8];
    if (strcmp(name, "Ibarrier") == 0)
        MPI_Ibarrier(world, request);
    else if (strcmp(name, "Ibcast") == 0)
        MPI_Ibcast(in, n, MPI_INT, root, world, request);
    else if (strcmp(name, "Igather") == 0)
        MPI_Igather(out, n, MPI_INT, in, n, MPI_INT, root, world, request);
    else if (strcmp(name, "Iscatter") == 0)
        MPI_Iscatter(out, n, MPI_INT, in, n, MPI_INT, root, world, request);
    else if (strcmp(name, "Iallgather") == 0)
        MPI_Iallgather(out, n, MPI_INT, in, n, MPI_INT, world, request);
    else if (strcmp(name, "Ialltoall") == 0)
        MPI_Ialltoall(out, n, MPI_INT, in, n, MPI_INT, world, request);
    else if (strcmp(name, "Ialltoallv") == 0)
        MPI_Ialltoallv(out, counts, counts, MPI_INT, in, counts, counts, MPI_INT, world, request);
    else if (strcmp(name, "Ireduce") == 0)
        MPI_Ireduce(out, in, n, MPI_INT, MPI_SUM, root, world, request);
    else if (strcmp(name, "Iallreduce") == 0)
        MPI_Iallreduce(out, in, n, MPI_INT, MPI_SUM, world, request);
    else if (strcmp(name, "Iscan") == 0)
        MPI_Iscan(out, in, n, MPI_INT, MPI_SUM, world, request);
    else if (strcmp(name, "Iexscan") == 0)
        MPI_Iexscan(out, in, n, MPI_INT, MPI_SUM, world, request);
    else if (strcmp(name, "Ireduce_scatter_block") == 0)
        MPI_Ireduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, world, request);
    else
        MPI_Abort(world, 99); /* no such call */
}

static void blocking(const char *name, int i)
{
    int sum = 0;
    if (strcmp(name, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(name, "bcast") == 0)
        MPI_Bcast(&sum, 1, MPI_INT, i % 2, MPI_COMM_WORLD);
    else if (strcmp(name, "reduce") == 0)
        MPI_Reduce(&i, &sum, 1, MPI_INT, MPI_SUM, i % 2, MPI_COMM_WORLD);
    else if (strcmp(name, "alltoall") == 0)
        MPI_Alltoall(out, 10, MPI_INT, in, 10, MPI_INT, MPI_COMM_WORLD);
    else
        MPI_Allreduce(MPI_IN_PLACE, in, strcmp(name, "large") == 0 ? MOST : 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0;; i++) {
        MPI_Request request;
        const int begins = argv[2][0] == 'I';
        if (begins)
            call(argv[2], i % 2 == 0 ? 1 : MOST, i % ranks, &request);
        if (i == 100 && rank == 1)
            end(argv[1]);
        if (begins)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else if (strcmp(argv[2], "receive") != 0)
            blocking(argv[2], i);
        else if (rank != 1)
            MPI_Recv(in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
