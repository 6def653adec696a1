/* SPDX-License-Identifier: Apache-2.0
 * ask.h - a question to another rank, for whose answer the caller waits.
 */
#ifndef VERBENA_MPI_WIN_ASK_H
#define VERBENA_MPI_WIN_ASK_H

#include "win/answer.h"

typedef struct win_question {
    win_answer_t answer;
    int rc;     /* of the answer; -1: not here yet */
    void *into; /* data of the answer, at most `room` bytes; NULL: none is wanted */
    size_t room;
    size_t length;                                /* of that data */
    void (*heard)(struct win_question *question); /* called when rc is there; NULL: nothing is */
} win_question_t;

/* Asks the rank by this message, and waits. question: its place for data is set, or zero. what: the call, for texts.
 * MPI_SUCCESS: the answer is there, and its class in question->rc; or an error: the rank is lost, no memory is left. */
int win_ask(mpi_win_t *win, int rank, win_header_t *header, win_question_t *question, const char *what);
/* The same in two parts, so that several ranks are asked at a time: each begun question, which stays in place, is ended. */
int win_ask_begin(mpi_win_t *win, int rank, win_header_t *header, win_question_t *question, const char *what);
int win_ask_end(const mpi_win_t *win, int rank, const win_question_t *question, const char *what);

#endif
