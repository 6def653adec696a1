/* SPDX-License-Identifier: Apache-2.0
 * win_computes.c - a target that computes answers: its memory is changed, its locks are given, without a call of MPI there
 * (12.7.3).
 * ranks: 2 3 tcp nodes
 */
#include <time.h>

#include "win.h"

/* Computes until another rank has written to the word, which a rank does after 200 operations. */
static void compute(const volatile int *word)
{
    while (*word == 0) {
        const struct timespec pause = {.tv_nsec = 1000};
        (void)nanosleep(&pause, NULL);
    }
}

static void of_kind(int kind)
{
    MPI_Aint origin[64];
    const int one = 1;
    int *mine;
    MPI_Win win = win_make(kind, 3 * sizeof(int), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        compute(&mine[2]);
        CHECK(mine[1] == 200);
    }
    if (rank == 1) {
        int before = -1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        for (int i = 0; i < 200; i++) {
            MPI_Fetch_and_op(&one, &before, MPI_INT, 0, origin[0] + 4, MPI_SUM, win);
            MPI_Win_flush(0, win);
            CHECK(before == i);
        }
        MPI_Put(&one, 1, MPI_INT, 0, origin[0] + 8, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    win_end(kind, &win, mine);
}

static void test(void)
{
    win_each_kind(of_kind);
}
