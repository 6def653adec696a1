/* SPDX-License-Identifier: Apache-2.0
 * shared.h - windows of one piece of memory that all ranks map (MPI 5.0, 12.2.3).
 *
 *     | part of rank 0 | part of rank 1 | ...      | word of rank 0 | word of rank 1 | ...
 *
 * The parts touch each other unless alloc_shared_noncontig allows otherwise; words are those of W4 (win.h), a line each.
 */
#ifndef VERBENA_MPI_WIN_SHARED_H
#define VERBENA_MPI_WIN_SHARED_H

#include "win/win.h"

/* Makes and maps the memory for the sizes of all ranks, and gives the draft its part. Collective over comm;
 * rc: an error that this rank has met before. MPI_SUCCESS at all ranks or at none. */
int win_share(mpi_win_t *draft, mpi_comm_t *comm, MPI_Info info, int rc);
/* Where the part of a rank is. */
void win_shared_describe(const mpi_win_t *win, int rank, win_target_t *target);
/* Unmaps it. NULL is allowed. */
void win_shared_end(struct win_shared *shared);

#endif
