/* SPDX-License-Identifier: Apache-2.0
 * hints.h - info of windows.
 */
#ifndef VERBENA_MPI_WIN_HINTS_H
#define VERBENA_MPI_WIN_HINTS_H

#include "win/win.h"

/* Takes over the hints that windows know, each with its default where info has none. MPI_SUCCESS or an error. */
int win_hints_take(mpi_win_t *win, MPI_Info info);

#endif
