/* SPDX-License-Identifier: Apache-2.0
 * context.c - context ids: each process has a bitmap of free ones; the first id that is free at every rank of the
 * parent is taken. That is one reduction over the parent, however many communicators come of it; one more for each
 * 4,096 communicators that exist.
 */
#include "comm/comm.h"
#include "err/err.h"

#include <string.h>

#define WORDS 64u                 /* of one reduction: the bitmap of 4,096 ids is one message */
#define ALL_WORDS ((1u << 24) / 64) /* ids have 24 bits; pages of the bitmap are made when they are used */

static uint64_t taken[ALL_WORDS]; /* the first two ids are always: MPI_COMM_WORLD and MPI_COMM_SELF */

static void or_words(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const uint64_t *from = in;
    uint64_t *to = inout;
    (void)reduce;
    for (size_t i = 0; i < count; i++)
        to[i] |= from[i];
}

/* used: what any rank of both sides has taken. */
static int agree(const comm_bridge_t *bridge, uint64_t *used)
{
    const grp_reduce_t reduce = {.apply = or_words, .element = sizeof(uint64_t), .commutes = 1};
    uint64_t theirs[WORDS];
    const int status = grp_allreduce(bridge->local, used, WORDS, &reduce);
    if (status < 0)
        return err_core((vbn_status_t)status, "context id of a new communicator", grp_error());
    if (bridge->between == NULL)
        return MPI_SUCCESS;
    const int rc = comm_exchange(bridge, used, sizeof(theirs), theirs, sizeof(theirs));
    if (rc == MPI_SUCCESS)
        or_words(&reduce, theirs, used, WORDS);
    return rc;
}

static int take_first(const uint64_t *used, uint32_t base, uint32_t *context_p)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        if (used[i] == UINT64_MAX)
            continue;
        const uint32_t bit = (uint32_t)__builtin_ctzll(~used[i]);
        *context_p = (base + i) * 64 + bit;
        taken[base + i] |= 1ull << bit;
        return 1;
    }
    return 0;
}

int comm_context_take(const comm_bridge_t *bridge, uint32_t *context_p)
{
    uint64_t used[WORDS];
    taken[0] |= 3;
    for (uint32_t base = 0; base < ALL_WORDS; base += WORDS) {
        memcpy(used, &taken[base], sizeof(used));
        const int rc = agree(bridge, used);
        if (rc != MPI_SUCCESS || take_first(used, base, context_p))
            return rc;
    }
    return err_set(MPI_ERR_OTHER, "context id: %u communicators exist; free those that are not needed", ALL_WORDS * 64);
}

void comm_context_give(uint32_t context)
{
    taken[context / 64] &= ~(1ull << (context & 63));
}
