/* SPDX-License-Identifier: Apache-2.0
 * win_locks.c - locks exclude, readers share, a loop on the own memory drives everything (12.5.3, 12.7.3). Trap 10.
 * ranks: 1 2 4 tcp nodes
 */
#include "win.h"

#define ROUNDS 30

/* Read, add, write: lost updates show that two ranks were inside. */
static void excludes(int kind)
{
    MPI_Aint origin[64];
    int *mine;
    MPI_Win win = win_make(kind, 2 * sizeof(int), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        int value[2];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(value, 2, MPI_INT, 0, origin[0], 2, MPI_INT, win);
        MPI_Win_flush(0, win);
        CHECK(value[0] == value[1]);
        value[0]++;
        value[1]++;
        MPI_Put(&value[0], 1, MPI_INT, 0, origin[0], 1, MPI_INT, win);
        MPI_Put(&value[1], 1, MPI_INT, 0, origin[0] + 4, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(value, 2, MPI_INT, 0, origin[0], 2, MPI_INT, win);
        MPI_Win_unlock(0, win);
        CHECK(value[0] == value[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(mine[0] == ROUNDS * size);
    win_end(kind, &win, mine);
}

/* Locks of several targets at a time, given back in another order; of all ranks, twice. */
static void several(int kind)
{
    MPI_Aint origin[64];
    int *mine;
    const int one = 1;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int target = 0; target < size; target++)
        MPI_Win_lock(MPI_LOCK_SHARED, target, target % 2 ? MPI_MODE_NOCHECK : 0, win);
    for (int target = 0; target < size; target++)
        MPI_Accumulate(&one, 1, MPI_INT, target, origin[target], 1, MPI_INT, MPI_SUM, win);
    for (int target = size - 1; target >= 0; target--)
        MPI_Win_unlock(target, win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int target = 0; target < size; target++)
        MPI_Accumulate(&one, 1, MPI_INT, target, origin[target], 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_local_all(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*mine == 2 * size);
    win_end(kind, &win, mine);
}

/* Trap 10: rank 0 only looks at its own memory, by operations on itself. */
static void loops_on_itself(int kind)
{
    MPI_Aint origin[64];
    int *mine;
    const int one = 1;
    int seen = 0;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank > 0) {
        MPI_Accumulate(&one, 1, MPI_INT, 0, origin[0], 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(0, win);
    }
    while (rank == 0 && seen < size - 1) {
        MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, origin[0], MPI_NO_OP, win);
        MPI_Win_flush_local(0, win);
    }
    MPI_Win_unlock_all(win);
    win_end(kind, &win, mine);
}

/* Ranks 0 and 1 lock all and access each other, while all others want one of both for themselves. */
static void crossing(int kind)
{
    MPI_Aint origin[64];
    int *mine;
    const int one = 1, other = rank % 2;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank < 2) {
            MPI_Win_lock_all(0, win);
            MPI_Accumulate(&one, 1, MPI_INT, (1 - rank) % size, origin[(1 - rank) % size], 1, MPI_INT, MPI_SUM, win);
            MPI_Win_unlock_all(win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
            MPI_Accumulate(&one, 1, MPI_INT, other, origin[other], 1, MPI_INT, MPI_SUM, win);
            MPI_Win_unlock(other, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2 && size % 2 == 0)
        CHECK(*mine == ROUNDS * size / 2);
    win_end(kind, &win, mine);
}

#define LOOKS 2000

/* Rank 0 stores to memory of rank 1 by its address, under MPI_Win_lock_all alone; rank 1 locks its own memory meanwhile. */
static void guards_stores(int kind)
{
    MPI_Aint origin[64], bytes;
    int *mine, *theirs = NULL, unit, too_early = 0;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    if (rank == 0 && kind != 3)
        MPI_Win_shared_query(win, 1, &bytes, &unit, &theirs);
    if (rank == 0 && theirs != NULL) {
        MPI_Win_lock_all(0, win);
        *theirs = 1;
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        for (int i = 0; i < LOOKS && !too_early; i++)
            MPI_Iprobe(1, 0, MPI_COMM_WORLD, &too_early, MPI_STATUS_IGNORE);
        *theirs = 2;
        MPI_Win_unlock_all(win);
        CHECK(!too_early);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Status status;
        MPI_Recv(NULL, 0, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        CHECK(status.MPI_TAG == 1 || *mine == 2);
        if (status.MPI_TAG == 0)
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Win_unlock(1, win);
    }
    win_end(kind, &win, mine);
}

static void of_kind(int kind)
{
    if (size > 1)
        guards_stores(kind);
    excludes(kind);
    several(kind);
    loops_on_itself(kind);
    if (size > 1)
        crossing(kind);
}

static void test(void)
{
    win_each_kind(of_kind);
}
