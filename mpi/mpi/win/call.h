/* SPDX-License-Identifier: Apache-2.0
 * call.h - a call of the program under way (W5): its operations, and its end.
 */
#ifndef VERBENA_MPI_WIN_CALL_H
#define VERBENA_MPI_WIN_CALL_H

#include "p2p/p2p.h"
#include "win/answer.h"

/* Calls to one target that are under way before a further one waits. */
#define WIN_UNDER_WAY 256

/* Arguments of a call for one side. */
typedef struct win_buffer {
    const void *address;
    MPI_Count count;
    MPI_Datatype type;
} win_buffer_t;

/* Where the elements of a call lie at the target. */
typedef struct win_place {
    int rank;
    MPI_Aint displacement; /* in units of the target; an address of a dynamic window */
    MPI_Count count;
    MPI_Datatype type;
} win_place_t;

typedef struct win_call {
    mpi_win_t *win;
    win_target_t *target;
    int rank;
    int left;               /* operations and answers that are under way, and one while the call is made */
    int error;              /* the first one's class */
    p2p_request_t *request; /* of the R forms; NULL: none */
    dt_data_t sent;         /* elements of the origin; where they are not one piece, `packed` has a copy */
    dt_data_t result;       /* where the target's elements go; where they are not one piece, by way of `unpacked` */
    char *packed;
    char *unpacked;
} win_call_t;

/* Begins a call: an epoch must be open for the target. *call_p becomes NULL, with MPI_SUCCESS, for MPI_PROC_NULL. request: of the R
 * forms, which is complete when the call has ended; else NULL. */
int win_call_begin(mpi_win_t *win, int rank, MPI_Request *request, win_call_t **call_p);
/* The request of a call to MPI_PROC_NULL: complete at once. */
int win_call_nothing(mpi_win_t *win, MPI_Request *request);
/* What is sent, and where results go. */
int win_call_sends(win_call_t *call, const win_buffer_t *buffer);
int win_call_gets(win_call_t *call, const win_buffer_t *buffer);
/* Bytes to send from, to receive into. */
char *win_call_source(const win_call_t *call);
char *win_call_into(const win_call_t *call);
/* The call is made, with this error class, which is returned: its pieces go on, and with MPI_SUCCESS the program gets the
 * request. */
int win_call_made(win_call_t *call, int rc, MPI_Request *request);

/* Blocks that lie `stride` apart at the target and side by side here. */
typedef struct win_blocks {
    size_t length;
    size_t stride;
    size_t count;
} win_blocks_t;

/* Bytes to the target, or from it. These are counted in `left` until they have ended. */
int win_call_move(win_call_t *call, int writes, size_t offset, char *bytes, size_t length);
int win_call_move_blocks(win_call_t *call, int writes, size_t offset, char *bytes, const win_blocks_t *blocks);
/* A message with data; its answer, where answer_length is not 0, goes to `into`. */
int win_call_message(win_call_t *call, win_header_t *header, const char *data, size_t length, char *into,
                     size_t answer_length);

#endif
