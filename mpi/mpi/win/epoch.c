/* SPDX-License-Identifier: Apache-2.0
 * epoch.c - whether an access, or a new epoch, is allowed now.
 */
#include "win/epoch.h"

#include "err/err.h"
#include "win/take.h"

static int no_epoch(int rank)
{
    return err_set(
        MPI_ERR_RMA_SYNC,
        "no epoch is open for rank %d: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first",
        rank);
}

int win_epoch_check(mpi_win_t *win, int rank)
{
    const win_target_t *target = win_target_known(win, rank);
    switch (win->epoch) {
    case WIN_FENCE: win->used = 1; return MPI_SUCCESS;
    case WIN_START:
        return rt_group_find(win->start, rt_group_world(win->comm->ranks, rank)) >= 0
                   ? MPI_SUCCESS
                   : err_set(MPI_ERR_RMA_SYNC, "rank %d is not in the group of MPI_Win_start", rank);
    case WIN_LOCK: return win_is_locked(target) ? MPI_SUCCESS : no_epoch(rank);
    case WIN_LOCK_ALL: return win->nocheck || win_is_locked(target) ? MPI_SUCCESS : win_lock_promised(win, rank);
    default: return no_epoch(rank);
    }
}

int win_epoch_check_any(const mpi_win_t *win)
{
    return win->epoch != WIN_NO_EPOCH ? MPI_SUCCESS : no_epoch(MPI_PROC_NULL);
}

static const char *name_of(win_epoch_t epoch)
{
    switch (epoch) {
    case WIN_FENCE: return "that of MPI_Win_fence, with accesses: end it by MPI_Win_fence";
    case WIN_START: return "that of MPI_Win_start: end it by MPI_Win_complete";
    case WIN_LOCK: return "that of MPI_Win_lock: end it by MPI_Win_unlock";
    case WIN_LOCK_ALL: return "that of MPI_Win_lock_all: end it by MPI_Win_unlock_all";
    default: return "none";
    }
}

int win_epoch_check_begin(mpi_win_t *win, const char *what)
{
    if (win->epoch != WIN_NO_EPOCH && (win->epoch != WIN_FENCE || win->used))
        return err_set(MPI_ERR_RMA_SYNC, "%s while an epoch of access is open, %s", what, name_of(win->epoch));
    win->epoch = WIN_NO_EPOCH;
    return MPI_SUCCESS;
}

int win_epoch_check_free(const mpi_win_t *win)
{
    if (win->post != NULL)
        return err_set(MPI_ERR_RMA_SYNC, "an epoch of exposure is open, that of MPI_Win_post: end it by MPI_Win_wait");
    if (win->epoch != WIN_NO_EPOCH && (win->epoch != WIN_FENCE || win->used))
        return err_set(MPI_ERR_RMA_SYNC, "the window is freed while an epoch of access is open, %s",
                       name_of(win->epoch));
    return MPI_SUCCESS;
}
