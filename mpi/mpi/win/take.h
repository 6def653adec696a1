/* SPDX-License-Identifier: Apache-2.0
 * take.h - taking the lock of a target's memory (MPI 5.0, 12.5.3), at the origin.
 */
#ifndef VERBENA_MPI_WIN_TAKE_H
#define VERBENA_MPI_WIN_TAKE_H

#include "win/win.h"

/* Takes the lock of a target for this rank, and waits for it. MPI_SUCCESS or an error. */
int win_lock_take(mpi_win_t *win, int rank, win_lock_t lock);
/* The same for a lock that MPI_Win_lock_all has promised. */
int win_lock_promised(mpi_win_t *win, int rank);
/* Gives back a lock that this rank has. */
int win_lock_return(mpi_win_t *win, int rank, win_lock_t lock);

#endif
