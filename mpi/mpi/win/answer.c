/* SPDX-License-Identifier: Apache-2.0
 * answer.c - the table of answers that this rank waits for. A token is a place in it and a number that the place has once, so a
 * late or forged answer finds nothing.
 */
#include "win/answer.h"

#include <stdlib.h>

#include "err/err.h"

typedef struct slot {
    win_answer_t *answer; /* NULL: free */
    uint32_t number;
    uint32_t next; /* of the free ones, and 1; 0: none */
} slot_t;

static slot_t *slots;
static uint32_t slot_count;
static uint32_t free_slot; /* and 1 */

static int grow(void)
{
    const uint32_t count = slot_count == 0 ? 64 : slot_count * 2;
    slot_t *more = count > slot_count ? realloc(slots, (size_t)count * sizeof(*more)) : NULL;
    if (more == NULL)
        return -1;
    slots = more;
    for (uint32_t i = slot_count; i < count; i++) {
        slots[i] = (slot_t){.number = 1, .next = free_slot};
        free_slot = i + 1;
    }
    slot_count = count;
    return 0;
}

uint64_t win_answer_expect(win_answer_t *answer)
{
    if (free_slot == 0 && grow() != 0)
        return 0;
    const uint32_t at = free_slot - 1;
    free_slot = slots[at].next;
    slots[at].answer = answer;
    return (uint64_t)slots[at].number << 32 | at;
}

/* NULL: no answer is waited for by this token. */
static win_answer_t *take(uint64_t token)
{
    const uint32_t at = (uint32_t)token;
    if (at >= slot_count || slots[at].answer == NULL || slots[at].number != token >> 32)
        return NULL;
    win_answer_t *answer = slots[at].answer;
    slots[at].answer = NULL;
    slots[at].number++;
    slots[at].next = free_slot;
    free_slot = at + 1;
    return answer;
}

win_answer_t *win_answer_withdraw(uint64_t token)
{
    return take(token);
}

void win_answered(mpi_win_t *win, int target, const win_header_t *header, const void *data, size_t length)
{
    const uint32_t at = (uint32_t)header->token;
    const win_answer_t *expected = at < slot_count ? slots[at].answer : NULL;
    if (expected == NULL || expected->win != win || expected->rank != target)
        return;
    win_answer_t *answer = take(header->token);
    if (answer != NULL)
        answer->done(answer, header->error, data, length);
}

void win_answers_fail(const mpi_win_t *win, int rank)
{
    for (uint32_t i = 0; i < slot_count; i++) {
        win_answer_t *answer = slots[i].answer;
        if (answer == NULL || answer->win != win || answer->rank != rank)
            continue;
        (void)take((uint64_t)slots[i].number << 32 | i);
        answer->done(answer, MPI_ERR_PROC_ABORTED, NULL, 0);
    }
}
