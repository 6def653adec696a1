/* SPDX-License-Identifier: Apache-2.0
 * grant.c - the lock of a rank's memory, which the rank itself keeps: requests are granted in the order in which they arrive,
 * readers together.
 */
#include "win/grant.h"

#include <stdlib.h>

static void grant(mpi_win_t *win, const win_waiter_t *waiter)
{
    win_header_t header = {.kind = WIN_LOCK_ASK, .token = waiter->token};
    win_target_t *origin = waiter->maps ? NULL : win_target(win, waiter->rank);
    if (origin != NULL)
        origin->holds++;
    (void)win_say(win, waiter->rank, WIN_AM_ANSWER, &header, NULL, 0); /* the end of a lost rank ends the job */
}

static void refuse(const mpi_win_t *win, int origin, uint64_t token, int error)
{
    win_header_t header = {.kind = WIN_LOCK_ASK, .token = token, .error = error};
    (void)win_say(win, origin, WIN_AM_ANSWER, &header, NULL, 0);
}

static void grant_at(mpi_win_t *win, win_waiter_t **at)
{
    win_waiter_t *granted = *at;
    *at = granted->next;
    if (*at == NULL)
        win->waiters_end = at;
    grant(win, granted);
    free(granted);
}

/* Grants requests that wait, in their order, as far as the lock is free. Once readers have it, promised requests further back join
 * them (G4). */
static void serve(mpi_win_t *win)
{
    while (win->waiters != NULL && win_gate_grant(win->gate, win->waiters->lock == WIN_EXCLUSIVE))
        grant_at(win, &win->waiters);
    for (win_waiter_t **at = &win->waiters; *at != NULL;) {
        if ((*at)->promised && win_gate_enter(win->gate, 0, 1) == WIN_PASS_GOT)
            grant_at(win, at);
        else
            at = &(*at)->next;
    }
    if (win->waiters == NULL)
        win_gate_queue(win->gate, 0);
}

void win_lock_ask(mpi_win_t *win, int origin, const win_waiter_t *waiter)
{
    win_waiter_t asks = *waiter;
    if (win->post != NULL) { /* 12.5.3: exposed and locked at the same time */
        refuse(win, origin, asks.token, MPI_ERR_RMA_SYNC);
        return;
    }
    asks.rank = origin;
    asks.lock = asks.lock == WIN_EXCLUSIVE ? WIN_EXCLUSIVE : WIN_SHARED;
    if (win_gate_enter(win->gate, asks.lock == WIN_EXCLUSIVE, asks.promised) == WIN_PASS_GOT) {
        grant(win, &asks);
        return;
    }
    win_waiter_t *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        refuse(win, origin, asks.token, MPI_ERR_NO_MEM);
        return;
    }
    *kept = asks;
    kept->next = NULL;
    *win->waiters_end = kept;
    win->waiters_end = &kept->next;
    win_gate_queue(win->gate, 1);
    serve(win); /* the lock may have been returned before its holder saw the queue */
}

void win_unlock(mpi_win_t *win, int origin, int is_returned)
{
    win_target_t *holder = win_target_known(win, origin);
    if (!is_returned && (holder == NULL || holder->holds == 0))
        return;
    if (!is_returned) {
        holder->holds--;
        (void)win_gate_leave(win->gate, win_gate_is_exclusive(win->gate));
    }
    serve(win);
}
