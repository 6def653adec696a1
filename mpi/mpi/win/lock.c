/* SPDX-License-Identifier: Apache-2.0
 * lock.c - passive target synchronisation (MPI 5.0, 12.5.3): the calls.
 */
#include <string.h>

#include "err/err.h"
#include "info/info.h"
#include "mpi_impl.h"
#include "win/epoch.h"
#include "win/flush.h"
#include "win/take.h"

/* Its calls have ended, here and there. */
static int give_back(mpi_win_t *win, int rank)
{
    win_target_t *target = win_target_known(win, rank);
    const win_lock_t lock = target->lock;
    const int checked = target->lock_checked;
    const int flushed = win_flush(win, rank, 1);
    target->lock = WIN_UNLOCKED;
    const int rc = checked ? win_lock_return(win, rank, lock) : MPI_SUCCESS;
    return flushed != MPI_SUCCESS ? flushed : rc;
}

static int check_locks(const mpi_win_t *win)
{
    const char *value = info_value((const mpi_info_t *)win->info, "no_locks");
    return value != NULL && strcmp(value, "true") == 0
               ? err_set(MPI_ERR_RMA_SYNC, "the window was made with the hint no_locks=true")
               : MPI_SUCCESS;
}

/* A window is not locked and exposed at the same time (12.5.3). Of another rank's window that rank knows: grant.c. */
static int check_exposed(const mpi_win_t *win)
{
    return win->post == NULL
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RMA_SYNC,
                         "a lock of the own memory while an epoch of exposure is open: MPI_Win_wait comes first");
}

static int check_assert(int assert)
{
    return (assert & ~MPI_MODE_NOCHECK) == 0
               ? MPI_SUCCESS
               : err_set(MPI_ERR_ASSERT, "assert is 0x%x; locks know MPI_MODE_NOCHECK only", (unsigned)assert);
}

static int check_lock(mpi_win_t *win, int lock_type, int rank, int assert)
{
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
        return err_set(MPI_ERR_LOCKTYPE, "lock_type is %d, neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE", lock_type);
    int rc = win_check_rank(win, rank);
    rc = rc == MPI_SUCCESS ? check_assert(assert) : rc;
    rc = rc == MPI_SUCCESS ? check_locks(win) : rc;
    rc = rc == MPI_SUCCESS && rank == win->comm->ranks->rank ? check_exposed(win) : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    const win_target_t *target = win_target_known(win, rank);
    if (win->epoch == WIN_LOCK)
        return target == NULL || target->lock == WIN_UNLOCKED
                   ? MPI_SUCCESS
                   : err_set(MPI_ERR_RMA_SYNC, "rank %d is locked already", rank);
    return win_epoch_check_begin(win, "a lock");
}

int mpi_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    int rc = check_lock(found, lock_type, rank, assert);
    win_target_t *target = rc == MPI_SUCCESS ? win_target(found, rank) : NULL;
    if (target == NULL)
        return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
    const int asks = (assert &MPI_MODE_NOCHECK) == 0;
    if (asks)
        rc = win_lock_take(found, rank, (win_lock_t)lock_type);
    if (rc != MPI_SUCCESS)
        return rc;
    target->lock = (win_lock_t)lock_type;
    target->lock_checked = asks;
    found->epoch = WIN_LOCK;
    found->locks++;
    return MPI_SUCCESS;
}

int mpi_Win_unlock(int rank, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    const int rc = win_check_rank(found, rank);
    if (rc != MPI_SUCCESS)
        return rc;
    const win_target_t *target = win_target_known(found, rank);
    if (found->epoch != WIN_LOCK || target == NULL || target->lock == WIN_UNLOCKED)
        return err_set(MPI_ERR_RMA_SYNC, "rank %d is not locked: MPI_Win_lock comes first", rank);
    if (--found->locks == 0)
        found->epoch = WIN_NO_EPOCH;
    return give_back(found, rank);
}

/* E2: what the program may load and store without a call is locked at once, in the order of ranks, as most programs lock. */
static int take_lent(mpi_win_t *win)
{
    int rc = MPI_SUCCESS;
    for (int rank = 0; rc == MPI_SUCCESS && rank < win->comm->ranks->size; rank++) {
        const win_target_t *target = win_target_known(win, rank);
        if (rank == win->comm->ranks->rank || win->shared != NULL || (target != NULL && target->lent))
            rc = win_lock_promised(win, rank);
    }
    return rc;
}

/* Of an epoch that does not begin after all. */
static void return_taken(mpi_win_t *win)
{
    for (int rank = 0; rank < win->comm->ranks->size; rank++) {
        win_target_t *target = win_target_known(win, rank);
        if (target == NULL || target->lock == WIN_UNLOCKED)
            continue;
        const win_lock_t lock = target->lock;
        target->lock = WIN_UNLOCKED;
        (void)win_lock_return(win, rank, lock); /* the first error is the one to tell */
    }
}

int mpi_Win_lock_all(int assert, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    int rc = check_assert(assert);
    rc = rc == MPI_SUCCESS ? check_locks(found) : rc;
    rc = rc == MPI_SUCCESS ? check_exposed(found) : rc;
    rc = rc == MPI_SUCCESS ? win_epoch_check_begin(found, "MPI_Win_lock_all") : rc;
    if (rc != MPI_SUCCESS)
        return rc;
    found->nocheck = (assert &MPI_MODE_NOCHECK) != 0;
    if (!found->nocheck)
        rc = take_lent(found);
    if (rc == MPI_SUCCESS)
        found->epoch = WIN_LOCK_ALL;
    else
        return_taken(found);
    return rc;
}

int mpi_Win_unlock_all(MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    if (found->epoch != WIN_LOCK_ALL)
        return err_set(MPI_ERR_RMA_SYNC, "the window is not locked by MPI_Win_lock_all");
    int rc = win_flush_all(found, 1);
    for (int rank = 0; rank < found->comm->ranks->size; rank++) {
        const win_target_t *target = win_target_known(found, rank);
        const int given = target == NULL || target->lock == WIN_UNLOCKED ? MPI_SUCCESS : give_back(found, rank);
        rc = rc == MPI_SUCCESS ? given : rc;
    }
    found->epoch = WIN_NO_EPOCH;
    return rc;
}
