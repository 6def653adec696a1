/* SPDX-License-Identifier: Apache-2.0
 * attr.h - attributes of windows.
 */
#ifndef VERBENA_MPI_WIN_ATTR_H
#define VERBENA_MPI_WIN_ATTR_H

#include "win/win.h"

/* Deletes all, the last one set first. A delete function that fails ends it with its code. */
int win_attr_delete_all(mpi_win_t *win);

#endif
