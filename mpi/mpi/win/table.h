/* SPDX-License-Identifier: Apache-2.0
 * table.h - the windows of this process.
 */
#ifndef VERBENA_MPI_WIN_TABLE_H
#define VERBENA_MPI_WIN_TABLE_H

#include "win/win.h"

/* The window of a context id; NULL: there is none. */
mpi_win_t *win_find(uint32_t context);
/* From here on messages find the window; no longer. */
void win_enlist(mpi_win_t *win);
void win_strike_off(mpi_win_t *win);

#endif
