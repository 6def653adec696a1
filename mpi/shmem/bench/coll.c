/* SPDX-License-Identifier: Apache-2.0
 * coll.c - loops in which all PEs take part. The collectives are the active-set forms, which OpenSHMEM 1.4 has, too; each call is
 * timed by itself, with a barrier between two of them that is not in the time.
 */
#include "bench.h"

#include <shmem.h>
#include <string.h>

#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define WORK MOST(MOST_BYTES / sizeof(long) / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE)

static long broadcast_sync[SHMEM_BCAST_SYNC_SIZE];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static long work[WORK];
static long turn;

typedef void (*call_fn)(bench_t *bench, size_t count);

static void call_broadcast(bench_t *bench, size_t count)
{
    shmem_broadcast64(bench->in, bench->out, count, 0, 0, 0, bench->size, broadcast_sync);
}

static void call_reduce(bench_t *bench, size_t count)
{
    shmem_long_sum_to_all((long *)(void *)bench->in, (long *)(void *)bench->out, (int)count, 0, 0, bench->size, work,
                          reduce_sync);
}

static void prepare(bench_t *bench, size_t bytes)
{
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        broadcast_sync[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        reduce_sync[i] = SHMEM_SYNC_VALUE;
    memset(bench->out, bench->rank + 1, bytes);
    memset(bench->in, 0, bytes);
    shmem_barrier_all();
}

static double timed(bench_t *bench, call_fn call, size_t count, int rounds)
{
    double took = 0;
    for (int i = 0; i < rounds; i++) {
        shmem_barrier_all();
        const double start = seconds_now();
        call(bench, count);
        took += seconds_now() - start;
    }
    shmem_barrier_all();
    return took / rounds;
}

double coll_broadcast(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double took = timed(bench, call_broadcast, bytes / 8, rounds);
    if (bench->rank != 0)
        expect_bytes("broadcast", bench->in, bytes, 1);
    return took;
}

double coll_reduce(bench_t *bench, size_t bytes, int rounds)
{
    prepare(bench, bytes);
    const double took = timed(bench, call_reduce, bytes / sizeof(long), rounds);
    expect_bytes("reduce", bench->in, bytes, bench->size * (bench->size + 1) / 2);
    return took;
}

double coll_barrier(bench_t *bench, size_t bytes, int rounds)
{
    (void)bench;
    (void)bytes;
    shmem_barrier_all();
    const double start = seconds_now();
    for (int i = 0; i < rounds; i++)
        shmem_barrier_all();
    return (seconds_now() - start) / rounds;
}

/* A word there and back, each PE waits for it. */
double coll_ping_pong(bench_t *bench, size_t bytes, int rounds)
{
    const int other = 1 - bench->rank;
    (void)bytes;
    turn = 0;
    shmem_barrier_all();
    const double start = seconds_now();
    for (int i = 1; i <= rounds; i++) {
        if (bench->rank == 0)
            shmem_long_p(&turn, i, other);
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, i);
        if (bench->rank != 0)
            shmem_long_p(&turn, i, other);
    }
    const double took = (seconds_now() - start) / rounds;
    shmem_barrier_all();
    return took;
}
