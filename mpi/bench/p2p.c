/* SPDX-License-Identifier: Apache-2.0
 * p2p.c - loops of two ranks: a ping-pong, and a window of messages in one direction.
 */
#include "bench.h"

#include <mpi.h>
#include <string.h>

#define TAG 1

static void prepare(bench_t *bench, size_t bytes)
{
    memset(bench->out, bench->rank + 1, bytes);
    memset(bench->in, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A round is there and back. */
double p2p_latency(bench_t *bench, size_t bytes, int rounds)
{
    const int other = 1 - bench->rank;
    const int count = (int)bytes;
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; i < rounds; i++) {
        if (bench->rank == 0)
            MPI_Send(bench->out, count, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
        MPI_Recv(bench->in, count, MPI_CHAR, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench->rank != 0)
            MPI_Send(bench->out, count, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
    }
    const double took = seconds_now() - start;
    expect_bytes("ping-pong", bench->in, bytes, other + 1);
    return took / rounds;
}

/* A round is a window of messages and one of 4 bytes back. All messages of a window come from one buffer and go into
 * one, as in the benchmarks whose figures are published: the bytes that overlap are equal. */
double p2p_window(bench_t *bench, size_t bytes, int rounds)
{
    MPI_Request requests[WINDOW];
    const int count = (int)bytes;
    int word = 0;
    prepare(bench, bytes);
    const double start = seconds_now();
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < WINDOW; k++)
            if (bench->rank == 0)
                MPI_Isend(bench->out, count, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &requests[k]);
            else
                MPI_Irecv(bench->in, count, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (bench->rank == 0)
            MPI_Recv(&word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    const double took = seconds_now() - start;
    if (bench->rank == 1)
        expect_bytes("window", bench->in, bytes, 1);
    return took / rounds;
}
