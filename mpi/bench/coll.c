/* SPDX-License-Identifier: Apache-2.0
 * coll.c - loops of collectives. Each call is timed by itself, with a barrier between two of them that is not in the time.
 */
#include "bench.h"

#include <mpi.h>
#include <string.h>

typedef void (*call_fn)(bench_t *bench, int count);

static void call_allreduce(bench_t *bench, int count)
{
    MPI_Allreduce(bench->out, bench->in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_bcast(bench_t *bench, int count)
{
    MPI_Bcast(bench->rank == 0 ? bench->out : bench->in, count, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void call_alltoall(bench_t *bench, int count)
{
    MPI_Alltoall(bench->out, count, MPI_CHAR, bench->in, count, MPI_CHAR, MPI_COMM_WORLD);
}

static void prepare(bench_t *bench, size_t bytes)
{
    memset(bench->out, bench->rank + 1, bytes);
    memset(bench->in, 0, bytes);
}

static double timed(bench_t *bench, call_fn call, int count, int rounds)
{
    double took = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = seconds_now();
        call(bench, count);
        took += seconds_now() - start;
    }
    return took / rounds;
}

double coll_allreduce(bench_t *bench, size_t bytes, int rounds)
{
    double *values = (double *)(void *)bench->out;
    const double *sums = (const double *)(const void *)bench->in;
    const size_t count = bytes / sizeof(double);
    prepare(bench, bytes);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(i % 1000) + bench->rank;
    const double took = timed(bench, call_allreduce, (int)count, rounds);
    for (size_t i = 0; i < count; i++) {
        const double sum = (double)(i % 1000) * bench->size + bench->size * (bench->size - 1) / 2;
        const char right = sums[i] == sum;
        expect_bytes("allreduce, right sums", &right, 1, 1);
    }
    return took;
}

double coll_bcast(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double took = timed(bench, call_bcast, (int)bytes, rounds);
    if (bench->rank != 0)
        expect_bytes("bcast", bench->in, bytes, 1);
    return took;
}

double coll_alltoall(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes * (size_t)bench->size);
    const double took = timed(bench, call_alltoall, (int)bytes, rounds);
    for (int from = 0; from < bench->size; from++)
        expect_bytes("alltoall", bench->in + (size_t)from * bytes, bytes, from + 1);
    return took;
}

double coll_barrier(bench_t *bench, size_t bytes, int rounds)
{
    (void)bench;
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds_now();
    for (int i = 0; i < rounds; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return (seconds_now() - start) / rounds;
}
