/* SPDX-License-Identifier: Apache-2.0
 * sync.c - loops of synchronisation: each round has a put of 8 bytes from rank 0 to rank 1 (several with flush) and what makes it
 * complete. The content is another one in each round; the last one is looked at afterwards.
 */
#include "bench.h"

#include <stdint.h>
#include <string.h>

#define TARGET 1

static void put(int64_t *value, int place, MPI_Win win)
{
    MPI_Put(value, 1, MPI_INT64_T, TARGET, place * (MPI_Aint)sizeof(*value), 1, MPI_INT64_T, win);
}

/* Rank 1 has the value of the last round in so many places. */
static double finish(const bench_t *bench, double took, int rounds, MPI_Win *win, const char *base, int places)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; bench->rank == TARGET && i < places; i++)
        if (((const int64_t *)(const void *)base)[i] != rounds - 1)
            bench_fail("synchronisation", "the library delivered wrong content");
    MPI_Win_free(win);
    return took / rounds;
}

/* A round is PUTS puts and a flush. */
double sync_flush(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Win win = window_open(bench, PUTS * sizeof(int64_t), &base);
    (void)bytes;
    MPI_Win_lock_all(0, win);
    const double start = seconds_now();
    for (int64_t i = 0; bench->rank == 0 && i < rounds; i++) {
        for (int place = 0; place < PUTS; place++)
            put(&i, place, win);
        MPI_Win_flush(TARGET, win);
    }
    const double took = seconds_now() - start;
    MPI_Win_unlock_all(win);
    return finish(bench, took, rounds, &win, base, PUTS);
}

double sync_lock(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Win win = window_open(bench, sizeof(int64_t), &base);
    (void)bytes;
    const double start = seconds_now();
    for (int64_t i = 0; bench->rank == 0 && i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
        put(&i, 0, win);
        MPI_Win_unlock(TARGET, win);
    }
    return finish(bench, seconds_now() - start, rounds, &win, base, 1);
}

double sync_fence(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Win win = window_open(bench, sizeof(int64_t), &base);
    (void)bytes;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    const double start = seconds_now();
    for (int64_t i = 0; i < rounds; i++) {
        if (bench->rank == 0)
            put(&i, 0, win);
        MPI_Win_fence(0, win);
    }
    const double took = seconds_now() - start;
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return finish(bench, took, rounds, &win, base, 1);
}

static void pscw_round(const bench_t *bench, MPI_Group other, int64_t *value, MPI_Win win)
{
    if (bench->rank == 0) {
        MPI_Win_start(other, 0, win);
        put(value, 0, win);
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    }
}

/* A round is post and wait at rank 1; start, put and complete at rank 0. */
double sync_pscw(bench_t *bench, size_t bytes, int rounds)
{
    char *base;
    MPI_Group all, other;
    const int number = 1 - bench->rank;
    MPI_Win win = window_open(bench, sizeof(int64_t), &base);
    (void)bytes;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &number, &other);
    MPI_Group_free(&all);
    const double start = seconds_now();
    for (int64_t i = 0; i < rounds; i++)
        pscw_round(bench, other, &i, win);
    const double took = seconds_now() - start;
    MPI_Group_free(&other);
    return finish(bench, took, rounds, &win, base, 1);
}
