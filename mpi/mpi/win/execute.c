/* SPDX-License-Identifier: Apache-2.0
 * execute.c - what a target does for the messages of an origin.
 */
#include "win/execute.h"

#include "win/apply.h"
#include "win/grant.h"
#include "win/memory.h"

static void answer(const mpi_win_t *win, int origin, const win_header_t *question, int error, const void *data,
                   size_t length)
{
    win_header_t header = {.kind = question->kind, .token = question->token, .error = error};
    if (question->token != 0)
        (void)win_say(win, origin, WIN_AM_ANSWER, &header, data, length); /* a lost origin needs none */
}

static void describe(mpi_win_t *win, int origin, const win_header_t *question)
{
    win_description_t description;
    const int error = win_memory_describe(win, origin, &description);
    answer(win, origin, question, error, &description,
           offsetof(win_description_t, key) + (size_t)description.key_length);
}

static void change(mpi_win_t *win, int origin, const win_header_t *header, const void *data, size_t length)
{
    _Alignas(16) unsigned char before[WIN_DATA_MOST];
    size_t before_length = 0;
    const win_memory_t memory = {.base = win->base,
                                 .size = (size_t)win->size,
                                 .regions = win->regions,
                                 .is_dynamic = win->flavour == MPI_WIN_FLAVOR_DYNAMIC,
                                 .read_only = win->read_only,
                                 .word = win->word};
    const int error = win_apply(&memory, header, data, length, before, &before_length);
    answer(win, origin, header, error, before, error == MPI_SUCCESS ? before_length : 0);
    win_target_t *target = error == MPI_SUCCESS || header->token != 0 ? NULL : win_target(win, origin);
    if (target != NULL && target->refused == MPI_SUCCESS) /* the next flush of the origin tells it */
        target->refused = error;
}

static void flushed(mpi_win_t *win, int origin, const win_header_t *header)
{
    win_target_t *target = win_target_known(win, origin);
    const int error = target == NULL ? MPI_SUCCESS : target->refused;
    if (target != NULL)
        target->refused = MPI_SUCCESS;
    answer(win, origin, header, error, NULL, 0);
}

static void count(mpi_win_t *win, int origin, int completes)
{
    win_target_t *target = win_target(win, origin);
    if (target == NULL)
        return;
    if (completes)
        target->completes++;
    else
        target->posts++;
    rt.events++; /* who waits looks again */
}

void win_execute(mpi_win_t *win, int origin, const win_header_t *header, const void *data, size_t length)
{
    switch ((win_kind_t)header->kind) {
    case WIN_ASK: describe(win, origin, header); break;
    case WIN_ACC:
    case WIN_GET_ACC:
    case WIN_CAS: change(win, origin, header, data, length); break;
    case WIN_FLUSH: flushed(win, origin, header); break;
    case WIN_LOCK_ASK:
        win_lock_ask(win, origin,
                     &(win_waiter_t){.lock = (win_lock_t)header->at,
                                     .token = header->token,
                                     .promised = header->op != 0,
                                     .maps = header->count != 0});
        break;
    case WIN_UNLOCK: win_unlock(win, origin, header->op != 0); break;
    case WIN_POST: count(win, origin, 0); break;
    case WIN_COMPLETE: count(win, origin, 1); break;
    case WIN_KINDS: break;
    }
}
