/* SPDX-License-Identifier: Apache-2.0
 * epoch.h - synchronisation (MPI 5.0, 12.5): which accesses a rank may make now, and when earlier ones have ended.
 *
 * E1 A window has one epoch of access at a time: after a fence, of start, of locks. A fence epoch without calls ends by itself
 *    when a lock or a start begins another one: programs that fence without MPI_MODE_NOSUCCEED leave it open.
 * E2 MPI_Win_lock_all takes the lock of a target at the first access to it. At once it takes that of the rank itself and those of
 *    memory that the program may load and store without a call: of shared windows, and where MPI_Win_shared_query gave the
 *    address. Such a request does not wait behind writers while readers have the lock: it may come from a rank whose other locks
 *    these writers wait for.
 * E3 Assertions only allow to do less, and nothing is left out for them but locks for MPI_MODE_NOCHECK.
 * E4 A window is not locked and exposed by MPI_Win_post at the same time (12.5.3). Its rank sees both, and refuses the later one:
 *    a post while it locks its own window, and any lock until MPI_Win_wait.
 */
#ifndef VERBENA_MPI_WIN_EPOCH_H
#define VERBENA_MPI_WIN_EPOCH_H

#include "win/win.h"

/* Whether this rank has the target's lock. target: NULL where nothing is known. */
static inline int win_is_locked(const win_target_t *target)
{
    return target != NULL && target->lock != WIN_UNLOCKED;
}

/* MPI_SUCCESS if this rank may access the target now, else MPI_ERR_RMA_SYNC; takes a lock that MPI_Win_lock_all has promised. */
int win_epoch_check(mpi_win_t *win, int rank);
/* The same for MPI_PROC_NULL. */
int win_epoch_check_any(const mpi_win_t *win);
/* MPI_SUCCESS if no epoch is open that the window's end would cut off. */
int win_epoch_check_free(const mpi_win_t *win);
/* A new epoch may begin; ends a fence epoch without calls (E1). */
int win_epoch_check_begin(mpi_win_t *win, const char *what);

#endif
