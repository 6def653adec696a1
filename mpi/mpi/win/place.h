/* SPDX-License-Identifier: Apache-2.0
 * place.h - where the elements of a call lie in the target's memory.
 */
#ifndef VERBENA_MPI_WIN_PLACE_H
#define VERBENA_MPI_WIN_PLACE_H

#include "win/call.h"

/* Offset of displacement 0 of the call; elements as data whose base is an offset in the window. MPI_SUCCESS, or
 * MPI_ERR_RMA_RANGE for elements that are not all inside the window; an error of count or type. */
int win_place_find(const win_call_t *call, const win_place_t *place, dt_data_t *data);

/* For calls that change these elements. MPI_SUCCESS; MPI_ERR_ACCESS where the target's process may not write to its memory;
 * MPI_ERR_RMA_CONFLICT for elements that surely overlap: they have more bytes than there are from the first to the last one. */
int win_place_may_write(const win_call_t *call, const dt_data_t *data);

/* Elements of one predefined type, `count` of them `spacing` bytes apart. */
typedef struct win_run {
    uintptr_t at;
    MPI_Aint spacing;
    size_t count;
} win_run_t;

/* The predefined type of all basic elements (a pair is one); NULL: there are several, or none. */
const dt_type_t *win_basic_of(const dt_type_t *type);
/* Calls `each` for the elements in order. Ends with the first error class that it returns. */
int win_runs(const dt_data_t *data, const dt_type_t *basic, int (*each)(void *arg, const win_run_t *run), void *arg);

#endif
