/* SPDX-License-Identifier: Apache-2.0
 * context.c - context ids: each process has a bitmap of free ones; the first id that is free at every rank of the
 * parent is taken. That is one reduction over the parent, however many communicators come of it.
 */
#include "comm/comm.h"
#include "err/err.h"

#include <string.h>

#define WORDS 64 /* 4,096 ids, far fewer than the tag has room for: the bitmap is one message */

static uint64_t taken[WORDS];

static void or_words(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const uint64_t *from = in;
    uint64_t *to = inout;
    (void)reduce;
    for (size_t i = 0; i < count; i++)
        to[i] |= from[i];
}

int comm_context_take(grp_t *grp, uint32_t *context_p)
{
    const grp_reduce_t reduce = {.apply = or_words, .element = sizeof(uint64_t), .commutes = 1};
    uint64_t used[WORDS];
    taken[0] |= 3; /* MPI_COMM_WORLD and MPI_COMM_SELF */
    memcpy(used, taken, sizeof(used));
    const int rc = grp_allreduce(grp, used, WORDS, &reduce);
    if (rc < 0)
        return err_core((vbn_status_t)rc, "context id of a new communicator", grp_error());
    for (uint32_t i = 0; i < WORDS; i++) {
        if (used[i] == UINT64_MAX)
            continue;
        *context_p = i * 64 + (uint32_t)__builtin_ctzll(~used[i]);
        taken[i] |= 1ull << (*context_p & 63);
        return MPI_SUCCESS;
    }
    return err_set(MPI_ERR_OTHER, "context id: %d communicators exist; free those that are not needed", WORDS * 64);
}

void comm_context_give(uint32_t context)
{
    taken[context / 64] &= ~(1ull << (context & 63));
}
