/* SPDX-License-Identifier: Apache-2.0
 * grant.h - the lock of a rank's memory (MPI 5.0, 12.5.3), at the target.
 */
#ifndef VERBENA_MPI_WIN_GRANT_H
#define VERBENA_MPI_WIN_GRANT_H

#include "win/message.h"

/* The origin asks for the lock; the answer to the waiter's token tells that the origin has it. */
void win_lock_ask(mpi_win_t *win, int origin, const win_waiter_t *waiter);
/* The origin gives its lock back, or has returned it by itself; nothing happens when it has none. Grants waiting requests. */
void win_unlock(mpi_win_t *win, int origin, int is_returned);

#endif
