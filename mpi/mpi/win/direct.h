/* SPDX-License-Identifier: Apache-2.0
 * direct.h - calls whose elements are one run of one predefined type, here and in memory that is mapped here. They are carried out
 * at once, without a win_call_t (W5). Each function gives 0 and changes nothing for all other calls, also for those with an error:
 * these take the general way, which has the error's text.
 */
#ifndef VERBENA_MPI_WIN_DIRECT_H
#define VERBENA_MPI_WIN_DIRECT_H

#include "win/call.h"

/* Put, or get. May wait for a lock that MPI_Win_lock_all has promised. */
int win_direct_move(mpi_win_t *win, const win_buffer_t *buffer, const win_place_t *place, int writes);
/* A call of the accumulate family. from: NULL for MPI_NO_OP. into: NULL where the elements before are not asked for. */
int win_direct_accumulate(mpi_win_t *win, const win_buffer_t *from, const win_buffer_t *into, const win_place_t *place,
                          MPI_Op op);
/* Compare and swap of a type that takes it; place->count is 1. */
int win_direct_swap(mpi_win_t *win, const void *origin, const void *compare, void *result, const win_place_t *place);

#endif
