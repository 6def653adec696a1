/* SPDX-License-Identifier: Apache-2.0
 * flush.h - waiting for the end of calls (MPI 5.0, 12.5.4).
 */
#ifndef VERBENA_MPI_WIN_FLUSH_H
#define VERBENA_MPI_WIN_FLUSH_H

#include "win/win.h"

/* Waits until the calls to this target have ended here and, with remote, there too. MPI_SUCCESS, or the first error of these
 * calls. */
int win_flush(mpi_win_t *win, int rank, int remote);
/* The same for all targets. */
int win_flush_all(mpi_win_t *win, int remote);

#endif
