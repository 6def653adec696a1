/* SPDX-License-Identifier: Apache-2.0
 * message.h - messages of windows. All are active messages of two ids: calls, which a target handles in the order of their origin
 * (turn.c), and answers, which an origin handles at once.
 */
#ifndef VERBENA_MPI_WIN_MESSAGE_H
#define VERBENA_MPI_WIN_MESSAGE_H

#include "win/win.h"

#define WIN_AM_CALL 16 /* after those of OpenSHMEM */
#define WIN_AM_ANSWER 17

/* Data of one message; longer data is cut. */
#define WIN_DATA_MOST 4096

typedef enum win_kind {
    WIN_ASK,     /* answer: win_description_t */
    WIN_ACC,     /* elements become target OP data */
    WIN_GET_ACC, /* the same; answer: the elements before */
    WIN_CAS,     /* data: new and expected value; answer: the element before */
    WIN_FLUSH,   /* answer: nothing; everything before it is done */
    WIN_LOCK_ASK, /* answer, when the lock is free: nothing; at: win_lock_t, op: promised (E2), count: the origin maps the lock */
    WIN_UNLOCK, /* no answer; op 1: the origin has returned the lock, serve the queue (G3) */
    WIN_POST,
    WIN_COMPLETE,
    WIN_KINDS
} win_kind_t;

/* The header of both ids. Elements of a call lie at `at`, each `spacing` bytes after the one before. */
typedef struct win_header {
    uint32_t context;
    uint8_t kind;
    uint8_t op;     /* MPI_Op: a predefined one */
    uint16_t basic; /* MPI_Datatype of an element: a predefined one */
    uint64_t at;    /* offset in the window, or address of a dynamic one */
    int64_t spacing;
    uint32_t count;
    int32_t error;  /* of an answer: MPI_SUCCESS or an error class */
    uint64_t token; /* of the origin, for the answer; 0: none */
} win_header_t;

typedef struct win_description {
    uint64_t size;
    uint64_t unit;
    uint64_t word_at;    /* W4: where the word lies behind the first byte; 0: there is none */
    uint64_t read_only;  /* 1: no access may change the memory */
    uint64_t node_at;    /* of the memory in node memory, which both ranks share; 0: reached by the key */
    uint64_t gate_at;    /* W7: where the lock lies in node memory; 0: the target keeps it */
    uint64_t key_length; /* of the key, which follows */
    unsigned char key[VBN_KEY_MAX];
} win_description_t;

/* Sends a message whose data is copied; nobody waits for its end. MPI_SUCCESS or an error. */
int win_say(const mpi_win_t *win, int rank, unsigned id, win_header_t *header, const void *data, size_t length);

#endif
