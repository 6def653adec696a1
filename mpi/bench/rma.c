/* SPDX-License-Identifier: Apache-2.0
 * rma.c - loops of one-sided operations: rank 0 works on rank 1's memory while rank 1 waits in a barrier. Each operation is
 * complete at both ranks before the next one (MPI_Win_flush). The result is looked at afterwards.
 */
#include "bench.h"

#include <stdint.h>
#include <string.h>

#define TARGET 1
#define LEAST 4096u /* bytes of a window: MPICH 4.0.2 puts into the wrong place where ranks have 8 bytes each */

typedef void (*operation_fn)(bench_t *bench, MPI_Win win, int bytes, int64_t round);

MPI_Win window_open(const bench_t *bench, size_t bytes, char **base_p)
{
    MPI_Win win;
    bytes = bytes > LEAST ? bytes : LEAST;
    if (MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base_p, &win) != MPI_SUCCESS)
        bench_fail("window", "no memory");
    memset(*base_p, bench->rank + 1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

static void put(bench_t *bench, MPI_Win win, int bytes, int64_t round)
{
    (void)round;
    MPI_Put(bench->out, bytes, MPI_CHAR, TARGET, 0, bytes, MPI_CHAR, win);
    MPI_Win_flush(TARGET, win);
}

static void get(bench_t *bench, MPI_Win win, int bytes, int64_t round)
{
    (void)round;
    MPI_Get(bench->in, bytes, MPI_CHAR, TARGET, 0, bytes, MPI_CHAR, win);
    MPI_Win_flush(TARGET, win);
}

static void expect_before(const char *what, int64_t before, int64_t round)
{
    if (before != round)
        bench_fail(what, "the value before is not the number of operations before");
}

static void fetch_and_op(bench_t *bench, MPI_Win win, int bytes, int64_t round)
{
    const int64_t one = 1;
    int64_t before = -1;
    (void)bench, (void)bytes;
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, TARGET, 0, MPI_SUM, win);
    MPI_Win_flush(TARGET, win);
    expect_before("fetch_and_op", before, round);
}

static void compare_and_swap(bench_t *bench, MPI_Win win, int bytes, int64_t round)
{
    const int64_t next = round + 1;
    int64_t before = -1;
    (void)bench, (void)bytes;
    MPI_Compare_and_swap(&next, &round, &before, MPI_INT64_T, TARGET, 0, win);
    MPI_Win_flush(TARGET, win);
    expect_before("compare_and_swap", before, round);
}

static void accumulate(bench_t *bench, MPI_Win win, int bytes, int64_t round)
{
    const int64_t one = 1;
    (void)bench, (void)bytes, (void)round;
    MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(TARGET, win);
}

/* One operation makes the connection and touches all pages; then come the timed ones, with numbers from 1. */
static double timed(bench_t *bench, MPI_Win win, size_t bytes, int rounds, operation_fn operation)
{
    double took = 0;
    MPI_Win_lock_all(0, win);
    if (bench->rank == 0) {
        operation(bench, win, (int)bytes, 0);
        const double start = seconds_now();
        for (int i = 1; i <= rounds; i++)
            operation(bench, win, (int)bytes, i);
        took = seconds_now() - start;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    return took / rounds;
}

double rma_put(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Win win = window_open(bench, bytes, &base);
    memset(bench->out, bench->rank + 1, bytes);
    const double took = timed(bench, win, bytes, rounds, put);
    expect_bytes("put", base, bytes, 1); /* rank 0's, in both ranks */
    MPI_Win_free(&win);
    return took;
}

double rma_get(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Win win = window_open(bench, bytes, &base);
    memset(bench->in, 0, bytes);
    const double took = timed(bench, win, bytes, rounds, get);
    if (bench->rank == 0)
        expect_bytes("get", bench->in, bytes, TARGET + 1);
    MPI_Win_free(&win);
    return took;
}

/* The word of rank 1 is the number of operations, of which each adds 1. */
static double counted(bench_t *bench, int rounds, operation_fn operation, const char *what)
{
    char *base;
    MPI_Win win = window_open(bench, sizeof(int64_t), &base);
    memset(base, 0, sizeof(int64_t));
    MPI_Barrier(MPI_COMM_WORLD);
    const double took = timed(bench, win, sizeof(int64_t), rounds, operation);
    if (bench->rank == TARGET && *(const int64_t *)(const void *)base != rounds + 1)
        bench_fail(what, "the word has another value than the number of operations");
    MPI_Win_free(&win);
    return took;
}

double rma_fetch_and_op(bench_t *bench, size_t bytes, int rounds)
{
    (void)bytes;
    return counted(bench, rounds, fetch_and_op, "fetch_and_op");
}

double rma_compare_and_swap(bench_t *bench, size_t bytes, int rounds)
{
    (void)bytes;
    return counted(bench, rounds, compare_and_swap, "compare_and_swap");
}

double rma_accumulate(bench_t *bench, size_t bytes, int rounds)
{
    (void)bytes;
    return counted(bench, rounds, accumulate, "accumulate");
}
