/* SPDX-License-Identifier: Apache-2.0
 * win_epochs.c - accesses and epochs in a wrong order are errors; empty groups and open fences are none; an access after a
 * fence meets no store from before it (12.5). Traps 8 and 11.
 * ranks: 1 2 4 tcp nodes
 */
#include <unistd.h>

#include "win.h"

/* Before any epoch; arguments that no epoch takes. */
static void without_epoch(MPI_Win win)
{
    int value, flag;
    CHECK(MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_complete(win) == MPI_ERR_RMA_SYNC && MPI_Win_wait(win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_test(win, &flag) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_unlock(rank, win) == MPI_ERR_RMA_SYNC && MPI_Win_unlock_all(win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_flush(rank, win) == MPI_ERR_RMA_SYNC && MPI_Win_flush_local_all(win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_lock(7, rank, 0, win) == MPI_ERR_LOCKTYPE &&
          MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win) == MPI_ERR_RANK);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOPUT, win) == MPI_ERR_ASSERT);
    CHECK(MPI_Win_fence(MPI_MODE_NOCHECK, win) == MPI_ERR_ASSERT);
    CHECK(MPI_Win_start(MPI_GROUP_NULL, 0, win) == MPI_ERR_GROUP);
}

static void with_locks(MPI_Win *win)
{
    const int other = (rank + 1) % size;
    int value;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_lock_all(0, *win) == MPI_ERR_RMA_SYNC && MPI_Win_fence(0, *win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_start(MPI_GROUP_EMPTY, 0, *win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_free(win) == MPI_ERR_RMA_SYNC && *win != MPI_WIN_NULL);
    CHECK(size == 1 || MPI_Get(&value, 1, MPI_INT, other, 0, 1, MPI_INT, *win) == MPI_ERR_RMA_SYNC);
    CHECK(size == 1 || MPI_Win_flush(other, *win) == MPI_ERR_RMA_SYNC);
    MPI_Win_unlock(rank, *win);
}

static void with_groups(MPI_Win *win, MPI_Group all)
{
    MPI_Win_post(all, 0, *win);
    CHECK(MPI_Win_post(all, 0, *win) == MPI_ERR_RMA_SYNC && MPI_Win_free(win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, *win) == MPI_ERR_RMA_SYNC);
    MPI_Win_start(all, 0, *win);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, *win) == MPI_ERR_RMA_SYNC);
    MPI_Win_complete(*win);
    MPI_Win_wait(*win);
}

/* 12.5.3: a window is not locked and exposed concurrently, be it by its own rank or by another one; while a rank has locks of
 * others' windows it may expose its own. */
static void locked_or_exposed(MPI_Win win, MPI_Group all)
{
    MPI_Group others, first;
    const int next = (rank + 1) % size;
    const int none = 0;
    MPI_Group_incl(all, 1, &none, &first);
    MPI_Group_difference(all, first, &others);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    CHECK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win) == MPI_ERR_RMA_SYNC);
    MPI_Win_unlock(rank, win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    CHECK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win) == MPI_ERR_RMA_SYNC);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && size > 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        CHECK(MPI_Win_post(others, 0, win) == MPI_SUCCESS);
        MPI_Win_unlock(next, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_ERR_RMA_SYNC);
        CHECK(MPI_Win_start(first, 0, win) == MPI_SUCCESS && MPI_Win_complete(win) == MPI_SUCCESS);
    } else if (size > 1) {
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&others);
    MPI_Group_free(&first);
}

static void with_fences(MPI_Win win)
{
    const int value = 1;
    MPI_Win_fence(0, win); /* open, without accesses: ends by itself */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_Win_unlock(rank, win);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_ERR_RMA_SYNC);
    MPI_Win_fence(0, win);
}

static void wrong_order(void)
{
    static int memory[2];
    MPI_Group all;
    MPI_Win win;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    without_epoch(win);
    with_locks(&win);
    with_groups(&win, all);
    locked_or_exposed(win, all);
    with_fences(win);
    MPI_Win_free(&win);
    MPI_Group_free(&all);
}

static void no_locks(void)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create(NULL, 0, 1, info, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_ERR_RMA_SYNC && MPI_Win_lock_all(0, win) == MPI_ERR_RMA_SYNC);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

/* Trap 8. */
static void empty_groups(void)
{
    MPI_Group self, empty;
    MPI_Win win;
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_wait(win);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Group_difference(self, self, &empty);
    MPI_Win_post(empty, 0, win);
    MPI_Win_start(empty, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&self);
    MPI_Win_free(&win);
}

/* Trap 11: rank 0 comes late and stores 7; the put of 9 after the fence is what stays. */
static void late(int kind)
{
    MPI_Aint origin[64];
    const int nine = 9;
    int *mine;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    if (rank == 0) {
        (void)usleep(30000);
        *mine = 7;
    }
    MPI_Win_fence(0, win);
    if (rank == size - 1)
        MPI_Put(&nine, 1, MPI_INT, 0, origin[0], 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0)
        CHECK(*mine == 9);
    win_end(kind, &win, mine);
}

/* Each rank exposes its memory to its left, and writes to its right; tests instead of waits every second time. */
static void ring(int kind)
{
    MPI_Aint origin[64];
    MPI_Group all, left, right;
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    int *mine;
    MPI_Win win = win_make(kind, sizeof(int), 1, (void **)&mine, origin);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &before, &left);
    MPI_Group_incl(all, 1, &after, &right);
    for (int i = 0; i < 40; i++) {
        const int out = i * 100 + rank;
        int flag = 0;
        MPI_Win_post(left, i % 3 == 0 ? MPI_MODE_NOSTORE : 0, win);
        MPI_Win_start(right, 0, win);
        MPI_Put(&out, 1, MPI_INT, after, origin[after], 1, MPI_INT, win);
        MPI_Win_complete(win);
        while (i % 2 == 0 && !flag)
            MPI_Win_test(win, &flag);
        if (i % 2 == 1)
            MPI_Win_wait(win);
        CHECK(*mine == i * 100 + before);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    win_end(kind, &win, mine);
}

static void of_kind(int kind)
{
    late(kind);
    ring(kind);
}

static void test(void)
{
    wrong_order();
    no_locks();
    empty_groups();
    win_each_kind(of_kind);
}
