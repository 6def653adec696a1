/* SPDX-License-Identifier: Apache-2.0
 * win_threads.c - threads share a window: those that first access a target under one MPI_Win_lock_all take its lock once, and
 * a flush of each thread waits for its own calls (12.5.3, 12.5.4).
 * ranks: 2 3 tcp
 */
#define RULE_THREADS MPI_THREAD_MULTIPLE
#include <pthread.h>

#include "win.h"

#define THREADS 3
#define ROUNDS 20
#define CALLS 5

static MPI_Win win;
static MPI_Aint origin[64];
static pthread_barrier_t together;

/* Rank 0 changes nothing of its own, so each thread sees its own calls done. */
static void *access_rank_0(void *arg)
{
    const long one = 1;
    const int word = 1 + (int)(intptr_t)arg + rank * THREADS;
    pthread_barrier_wait(&together);
    for (long i = 1; i <= CALLS; i++) {
        long before, now;
        MPI_Accumulate(&one, 1, MPI_LONG, 0, origin[0] + 8 * word, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Get(&now, 1, MPI_LONG, 0, origin[0] + 8 * word, 1, MPI_LONG, win);
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, origin[0], MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(now == i);
    }
    return NULL;
}

static void one_round(void)
{
    pthread_t threads[THREADS];
    MPI_Win_lock_all(0, win);
    pthread_barrier_init(&together, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, access_rank_0, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    MPI_Win_unlock_all(win);
}

static void of_kind(int kind)
{
    long *mine;
    win = win_make(kind, 8 * (1 + 8 * THREADS), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        one_round();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) { /* every lock was given back */
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            CHECK(mine[0] == (long)size * THREADS * CALLS);
            memset(mine, 0, 8 * (1 + 8 * THREADS));
            MPI_Win_unlock(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    win_end(kind, &win, mine);
}

static void test(void)
{
    win_each_kind(of_kind);
}
