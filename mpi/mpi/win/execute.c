/* SPDX-License-Identifier: Apache-2.0
 * execute.c - what a target does for the messages of an origin.
 */
#include "win/execute.h"

#include "win/apply.h"
#include "win/grant.h"

static void answer(const mpi_win_t *win, int origin, const win_header_t *question, int error, const void *data,
                   size_t length)
{
    win_header_t header = {.kind = question->kind, .token = question->token, .error = error};
    if (question->token != 0)
        (void)win_say(win, origin, WIN_AM_ANSWER, &header, data, length); /* a lost origin needs none */
}

static void describe(const mpi_win_t *win, int origin, const win_header_t *question)
{
    win_description_t description = {
        .size = (uint64_t)win->size, .unit = (uint64_t)win->unit, .read_only = (uint64_t)win->read_only};
    const size_t exposed = win->mem == NULL ? 0 : win->exposed;
    const size_t start = exposed == 0 ? 0 : (uintptr_t)win->base - (uintptr_t)vbn_mem_address(win->mem);
    size_t length = exposed == 0 ? 0 : sizeof(description.key);
    int error = MPI_SUCCESS;
    if (win->word != NULL)
        description.word_at = (uint64_t)((uintptr_t)win->word - (uintptr_t)win->base);
    const unsigned access = (win->read_only ? VBN_ACCESS_READ : WIN_ACCESS) | (win->word == NULL ? VBN_ACCESS_COPY : 0);
    if (exposed > 0 && vbn_key_export(win->mem, start, exposed, access, description.key, &length) != VBN_OK) {
        length = 0;
        error = MPI_ERR_OTHER;
    }
    description.key_length = length;
    answer(win, origin, question, error, &description, offsetof(win_description_t, key) + length);
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
        win_lock_ask(
            win, origin,
            &(win_waiter_t){.lock = (win_lock_t)header->at, .token = header->token, .promised = header->op != 0});
        break;
    case WIN_UNLOCK: win_unlock(win, origin); break;
    case WIN_POST: count(win, origin, 0); break;
    case WIN_COMPLETE: count(win, origin, 1); break;
    case WIN_KINDS: break;
    }
}
