/* SPDX-License-Identifier: Apache-2.0
 * execute.h - what a target does for the messages of an origin.
 */
#ifndef VERBENA_MPI_WIN_EXECUTE_H
#define VERBENA_MPI_WIN_EXECUTE_H

#include "win/message.h"

/* Carries out a call of this rank of the window. data: NULL where length is 0; of any content, for it comes from outside. */
void win_execute(mpi_win_t *win, int origin, const win_header_t *header, const void *data, size_t length);

#endif
