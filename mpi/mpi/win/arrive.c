/* SPDX-License-Identifier: Apache-2.0
 * arrive.c - messages of windows that arrive: calls are carried out in turn, answers go to whoever waits for them.
 */
#include "win/arrive.h"

#include <string.h>

#include "err/err.h"
#include "win/answer.h"
#include "win/table.h"
#include "win/turn.h"

/* The window and the sender's rank there. NULL: neither is known, as after the end of a window. */
static mpi_win_t *sender_of(const vbn_am_message_t *message, win_header_t *header, int *rank_p)
{
    const rt_process_t *process = vbn_peer_user(message->peer);
    if (message->header_length != sizeof(*header))
        return NULL;
    memcpy(header, message->header, sizeof(*header));
    mpi_win_t *win = process == NULL ? NULL : win_find(header->context);
    *rank_p = win == NULL ? -1 : rt_group_find(win->comm->ranks, process->rank);
    return *rank_p < 0 ? NULL : win;
}

static void on_call(void *arg, const vbn_am_message_t *message)
{
    win_header_t header;
    int rank;
    mpi_win_t *win = sender_of(message, &header, &rank);
    (void)arg;
    if (win != NULL && header.kind < WIN_KINDS)
        win_turn_take(win, rank, &header, message);
    else if (message->remote != NULL)
        vbn_am_drop(message->remote);
}

/* Answers come in no order of their own, so those whose data has to be fetched are fetched as they are. */
static void on_answer(void *arg, const vbn_am_message_t *message)
{
    win_header_t header;
    int rank;
    mpi_win_t *win = sender_of(message, &header, &rank);
    (void)arg;
    if (win != NULL && message->remote != NULL)
        win_turn_fetch_answer(win, rank, &header, message);
    else if (win != NULL)
        win_answered(win, rank, &header, message->data, message->length);
    else if (message->remote != NULL)
        vbn_am_drop(message->remote);
}

int win_messages_open(void)
{
    return vbn_am_handler(rt.worker, WIN_AM_CALL, on_call, NULL) == VBN_OK &&
                   vbn_am_handler(rt.worker, WIN_AM_ANSWER, on_answer, NULL) == VBN_OK
               ? MPI_SUCCESS
               : err_set(MPI_ERR_OTHER, "messages of windows: %s", vbn_error_text());
}
