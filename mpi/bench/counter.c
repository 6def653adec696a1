/* SPDX-License-Identifier: Apache-2.0
 * counter.c - a counter that all other ranks add to while its owner, rank 0, computes: how far one-sided operations need no call of
 * the target. The seconds of a round are those of the computation divided by the additions of all ranks in this time.
 */
#include "bench.h"

#include <stdint.h>
#include <string.h>

#define COMPUTE_SECONDS 0.1

/* Numbers, and no call of the library. */
static double compute(double end)
{
    double sum = 1;
    while (seconds_now() < end)
        for (int i = 1; i <= 1000; i++)
            sum += 1.0 / i;
    return sum;
}

/* Additions until then, at least one. What came back only grows. */
static int64_t add_until(double end, MPI_Win win)
{
    const int64_t one = 1;
    int64_t count = 0;
    int64_t last = -1;
    do {
        int64_t before = -1;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (before <= last)
            bench_fail("counter", "a later addition found a value that is not larger");
        last = before;
        count++;
    } while (seconds_now() < end);
    return count;
}

double counter_add(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    int64_t mine = 0;
    int64_t all = 0;
    MPI_Win win = window_open(bench, sizeof(int64_t), &base);
    (void)bytes, (void)rounds;
    memset(base, 0, sizeof(int64_t));
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds_now();
    if (bench->rank != 0)
        mine = add_until(start + COMPUTE_SECONDS, win);
    else if (compute(start + COMPUTE_SECONDS) < 1)
        bench_fail("counter", "the owner computed something else");
    MPI_Win_unlock_all(win);
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (bench->rank == 0 && *(const int64_t *)(const void *)base != all)
        bench_fail("counter", "the counter has another value than the number of additions");
    MPI_Win_free(&win);
    return COMPUTE_SECONDS / (double)all;
}
