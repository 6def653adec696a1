/* SPDX-License-Identifier: Apache-2.0
 * context.c - context ids: each process has a bitmap of free ones; the first id that is free at every rank of the
 * parent is taken. That is one reduction over the parent, however many communicators come of it; one more for each
 * 4,096 communicators that exist, and with MPI_THREAD_MULTIPLE a second one that confirms it.
 */
#include "comm/comm.h"
#include "err/err.h"
#include "rt/threads.h"

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

/* words: what any rank of both sides has. */
static int agree(const comm_bridge_t *bridge, uint64_t *words, size_t count)
{
    const grp_reduce_t reduce = {.apply = or_words, .element = sizeof(uint64_t), .commutes = 1};
    uint64_t theirs[WORDS + 1];
    const int status = grp_allreduce(bridge->local, words, count, &reduce);
    if (status < 0)
        return err_core((vbn_status_t)status, "context id of a new communicator", grp_error());
    if (bridge->between == NULL)
        return MPI_SUCCESS;
    const int rc = comm_exchange(bridge, words, count * sizeof(*words), theirs, count * sizeof(*words));
    if (rc == MPI_SUCCESS)
        or_words(&reduce, theirs, words, count);
    return rc;
}

/* The first free id of this part of the bitmap, at `start` or after it, and round; -1: none. */
static int64_t first_free(const uint64_t *used, uint32_t base, uint32_t start)
{
    for (uint32_t i = 0; i < WORDS * 64; i++) {
        const uint32_t at = (start + i) % (WORDS * 64);
        if ((used[at / 64] >> (at & 63) & 1) == 0)
            return (int64_t)base * 64 + at;
    }
    return -1;
}

static int reserve(uint32_t context)
{
    if ((taken[context / 64] >> (context & 63) & 1) != 0)
        return 0;
    taken[context / 64] |= 1ull << (context & 63);
    return 1;
}

/* Another thread may have taken the id since: then every rank looks for another one. 1: it is ours, 0: not. */
static int confirm(const comm_bridge_t *bridge, uint32_t context, int *rc_p)
{
    const int mine = reserve(context);
    uint64_t failed = !mine;
    *rc_p = rt_gate.shared ? agree(bridge, &failed, 1) : MPI_SUCCESS;
    if (*rc_p == MPI_SUCCESS && !failed)
        return 1;
    if (mine)
        comm_context_give(context);
    return 0;
}

/* Threads that make communicators at the same time begin at different places: what every rank has said of its parent
 * says where, and how often it failed. */
int comm_context_take(const comm_bridge_t *bridge, uint32_t *context_p)
{
    uint64_t words[WORDS + 1];
    uint32_t attempt = 0;
    taken[0] |= 3;
    for (uint32_t base = 0; base < ALL_WORDS;) {
        int rc;
        memcpy(words, &taken[base], WORDS * sizeof(*words));
        words[WORDS] = bridge->local->base >> 36 & 0xffffff;
        if ((rc = agree(bridge, words, WORDS + 1)) != MPI_SUCCESS)
            return rc;
        const uint32_t start = rt_gate.shared ? (uint32_t)words[WORDS] * 61 + attempt++ * 769 : 0;
        const int64_t context = first_free(words, base, start);
        if (context < 0) {
            base += WORDS;
            continue;
        }
        *context_p = (uint32_t)context;
        if (confirm(bridge, *context_p, &rc) || rc != MPI_SUCCESS)
            return rc;
    }
    return err_set(MPI_ERR_OTHER, "context id: %u communicators exist; free those that are not needed", ALL_WORDS * 64);
}

void comm_context_give(uint32_t context)
{
    taken[context / 64] &= ~(1ull << (context & 63));
}
