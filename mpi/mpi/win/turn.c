/* SPDX-License-Identifier: Apache-2.0
 * turn.c - messages that wait at the target: for their data, which the core fetches where it did not come along, or for earlier
 * ones of the same origin. Usually there is none.
 */
#include "win/turn.h"

#include <stdlib.h>
#include <string.h>

#include "win/answer.h"
#include "win/execute.h"

typedef struct win_turn {
    vbn_op_t op;
    struct iovec piece;
    struct win_turn *next;
    mpi_win_t *win;
    int rank; /* of the sender */
    int is_answer;
    int ready;
    win_header_t header;
    size_t length;
    unsigned char data[];
} win_turn_t;

static int has_earlier(const mpi_win_t *win, const win_turn_t *turn, int rank)
{
    for (const win_turn_t *one = win->turns; one != turn && one != NULL; one = one->next)
        if (one->rank == rank && !one->is_answer)
            return 1;
    return 0;
}

static void hand_out(win_turn_t *turn)
{
    if (turn->is_answer)
        win_answered(turn->win, turn->rank, &turn->header, turn->data, turn->length);
    else
        win_execute(turn->win, turn->rank, &turn->header, turn->data, turn->length);
    free(turn);
}

/* Each that is handed out may make room for the next one of its origin. */
static void hand_out_all(mpi_win_t *win)
{
    win_turn_t **at = &win->turns;
    while (*at != NULL) {
        win_turn_t *turn = *at;
        if (!turn->ready || (!turn->is_answer && has_earlier(win, turn, turn->rank))) {
            at = &turn->next;
            continue;
        }
        *at = turn->next;
        hand_out(turn);
        at = &win->turns;
    }
}

/* Without its data the message is lost, as is its origin: the data was to come from there. */
static void fetched(vbn_op_t *op, vbn_status_t status, size_t length)
{
    win_turn_t *turn = op->user;
    mpi_win_t *win = turn->win;
    (void)length;
    turn->ready = 1;
    if (status < 0) {
        win_turn_t **at = &win->turns;
        while (*at != turn)
            at = &(*at)->next;
        *at = turn->next;
        free(turn);
    }
    hand_out_all(win);
}

/* NULL: no memory left. */
static win_turn_t *append(mpi_win_t *win, int rank, const win_header_t *header, size_t length)
{
    win_turn_t **at = &win->turns;
    win_turn_t *turn = malloc(sizeof(*turn) + length);
    if (turn == NULL)
        return NULL;
    memset(turn, 0, sizeof(*turn));
    turn->win = win;
    turn->rank = rank;
    turn->header = *header;
    turn->length = length;
    while (*at != NULL)
        at = &(*at)->next;
    *at = turn;
    return turn;
}

static void fetch(win_turn_t *turn, const vbn_am_message_t *message)
{
    turn->op.done = fetched;
    turn->op.user = turn;
    turn->piece = (struct iovec){.iov_base = turn->data, .iov_len = turn->length};
    const vbn_status_t status = vbn_am_pull(message->remote, &turn->piece, 1, &turn->op);
    if (status < 0)
        vbn_am_drop(message->remote);
    if (status != VBN_INPROGRESS)
        fetched(&turn->op, status, turn->length);
}

/* A message of a length that no origin sends, or without memory here: its origin waits for an answer until it is told of the end of
 * this rank. */
static void refuse(const mpi_win_t *win, int rank, const win_header_t *header, const vbn_am_message_t *message)
{
    win_header_t answer = {.kind = header->kind, .token = header->token, .error = MPI_ERR_NO_MEM};
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
    if (header->token != 0)
        (void)win_say(win, rank, WIN_AM_ANSWER, &answer, NULL, 0);
}

void win_turn_take(mpi_win_t *win, int origin, const win_header_t *header, const vbn_am_message_t *message)
{
    if (message->remote == NULL && (win->turns == NULL || !has_earlier(win, NULL, origin))) {
        win_execute(win, origin, header, message->data, message->length);
        return;
    }
    win_turn_t *turn = message->length > WIN_DATA_MOST ? NULL : append(win, origin, header, message->length);
    if (turn == NULL) {
        refuse(win, origin, header, message);
    } else if (message->remote != NULL) {
        fetch(turn, message);
    } else {
        memcpy(turn->data, message->data, message->length);
        turn->ready = 1;
    }
}

void win_turn_fetch_answer(mpi_win_t *win, int target, const win_header_t *header, const vbn_am_message_t *message)
{
    win_turn_t *turn = message->length > WIN_DATA_MOST ? NULL : append(win, target, header, message->length);
    if (turn == NULL) {
        vbn_am_drop(message->remote);
        return;
    }
    turn->is_answer = 1;
    fetch(turn, message);
}
