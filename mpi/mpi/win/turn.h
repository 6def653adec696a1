/* SPDX-License-Identifier: Apache-2.0
 * turn.h - messages in the order of their origin, also where the data of some has to be fetched first.
 */
#ifndef VERBENA_MPI_WIN_TURN_H
#define VERBENA_MPI_WIN_TURN_H

#include "win/message.h"

/* Executes the message at once, or when its data is here and all earlier ones of the origin have been executed. */
void win_turn_take(mpi_win_t *win, int origin, const win_header_t *header, const vbn_am_message_t *message);
/* Fetches the data of an answer and then hands it out. */
void win_turn_fetch_answer(mpi_win_t *win, int target, const win_header_t *header, const vbn_am_message_t *message);

#endif
