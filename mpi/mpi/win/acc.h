/* SPDX-License-Identifier: Apache-2.0
 * acc.h - calls that the target executes.
 */
#ifndef VERBENA_MPI_WIN_ACC_H
#define VERBENA_MPI_WIN_ACC_H

#include "win/place.h"

/* Sends the messages of a call of this kind for the elements of data, all of the basic type: those of win_call_source where the
 * operation takes data, answers to win_call_into. MPI_SUCCESS or an error. */
int win_acc_send(win_call_t *call, win_kind_t kind, MPI_Op op, const dt_data_t *data, const dt_type_t *basic);

#endif
