/* SPDX-License-Identifier: Apache-2.0
 * answer.h - answers that this rank waits for. Each has a token, which travels with the question and comes back.
 */
#ifndef VERBENA_MPI_WIN_ANSWER_H
#define VERBENA_MPI_WIN_ANSWER_H

#include "win/message.h"

typedef struct win_answer {
    /* Called once: for the answer, with an error class and its data, or with MPI_ERR_PROC_ABORTED once the target is lost. */
    void (*done)(struct win_answer *answer, int error, const void *data, size_t length);
    mpi_win_t *win;
    int rank; /* that answers */
} win_answer_t;

/* The token for an answer, which stays in place until done is called. 0: no memory left. */
uint64_t win_answer_expect(win_answer_t *answer);
/* The question could not be sent: the answer, whose done is not called; NULL: it was called already. */
win_answer_t *win_answer_withdraw(uint64_t token);
/* An answer has arrived of this rank; nothing happens when nobody waits for it. */
void win_answered(mpi_win_t *win, int target, const win_header_t *header, const void *data, size_t length);
/* Calls done of all answers that this rank of the window owes. */
void win_answers_fail(const mpi_win_t *win, int rank);

#endif
