/* SPDX-License-Identifier: Apache-2.0
 * context.c - context ids: each process has a bitmap of free ones; the first id that is free at every rank of the
 * parent is taken. That is one reduction over the parent, however many communicators come of it; one more for each
 * 4,096 communicators that exist, and with MPI_THREAD_MULTIPLE a second one that confirms it.
 */
#include "comm/comm.h"
#include "err/err.h"
#include "grp/watch.h"
#include "rt/threads.h"

#include <string.h>

#define WORDS COMM_CONTEXT_WORDS
#define ALL_WORDS ((1u << 24) / 64) /* ids have 24 bits; pages of the bitmap are made when they are used */

#define CONFIRM (1ull << 63) /* in the last word: an id is ours when every rank could reserve it */
#define BROKEN (1ull << 62)  /* in the last word: a rank has failed */
#define BIRTH_SHIFT 32       /* in the last word, 30 bits: what rank 0 of the parent has drawn */
#define BIRTH_MASK 0x3fffffffu

static int asking;                /* without blocking */
static uint64_t taken[ALL_WORDS]; /* the first two ids are always: MPI_COMM_WORLD and MPI_COMM_SELF */

void comm_context_or(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const uint64_t *from = in;
    uint64_t *to = inout;
    (void)reduce;
    for (size_t i = 0; i < count; i++)
        to[i] |= from[i];
}

/* words: what any rank of both sides has. A rank that has failed takes part in what follows and says so. */
static int agree(const comm_bridge_t *bridge, uint64_t *words, size_t count)
{
    const char *const what = "context id of a new communicator";
    const grp_reduce_t reduce = {.apply = comm_context_or, .element = sizeof(uint64_t), .commutes = 1};
    uint64_t theirs[WORDS + 1];
    const int status = grp_allreduce(bridge->local, words, count, &reduce);
    if (status < 0)
        words[count - 1] = BROKEN;
    int rc = status < 0 ? err_core((vbn_status_t)status, what, grp_error()) : MPI_SUCCESS;
    if (bridge->between != NULL) {
        rc = comm_exchange(bridge, words, count * sizeof(*words), theirs, count * sizeof(*words));
        if (rc == MPI_SUCCESS)
            comm_context_or(&reduce, theirs, words, count);
    }
    return rc == MPI_SUCCESS && (words[count - 1] & BROKEN) != 0
               ? err_set(MPI_ERR_PROC_ABORTED, "%s: a rank has failed in it", what)
               : rc;
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

void comm_context_begin(int change)
{
    asking += change;
}

/* Numbers of different ranks begin far from one another. 0 and 1 are nobody's. */
static uint32_t draw_birth(void)
{
    static uint32_t births;
    const uint32_t birth = ((uint32_t)rt.rank * 2654435761u + births++) & BIRTH_MASK;
    return birth > 1 ? birth : 2;
}

void comm_context_ask(comm_context_t *ask, const grp_t *parent)
{
    taken[0] |= 3;
    memcpy(ask->words, &taken[ask->base], WORDS * sizeof(*ask->words));
    const int confirms = rt_gate.shared || asking || parent->base >> 60 == COMM_TAG_GROUPS;
    ask->words[WORDS] = ((parent->base >> 36 ^ parent->base) & 0xffffffff) | (confirms ? CONFIRM : 0);
    if (grp_rank(parent) == 0)
        ask->words[WORDS] |= (uint64_t)draw_birth() << BIRTH_SHIFT;
}

/* Threads, and calls that do not block, that make communicators at the same time begin at different places: what every
 * rank has said of its parent, and of the call's tag, says where, and how often it failed. */
void comm_context_choose(comm_context_t *ask)
{
    const uint32_t start = (ask->words[WORDS] & CONFIRM) != 0 ? (uint32_t)ask->words[WORDS] * 61 + ask->attempt++ * 769
                                                              : 0;
    ask->context = first_free(ask->words, ask->base, start);
    ask->birth = (uint32_t)(ask->words[WORDS] >> BIRTH_SHIFT) & BIRTH_MASK;
    ask->mine = ask->context >= 0 && reserve((uint32_t)ask->context);
    ask->failed = !ask->mine;
}

int comm_context_is_ours(comm_context_t *ask)
{
    if (ask->failed == 0)
        return 1;
    if (ask->mine)
        comm_context_give((uint32_t)ask->context);
    if (ask->context < 0) /* at every rank alike */
        ask->base += WORDS;
    return 0;
}

int comm_context_are_used_up(const comm_context_t *ask)
{
    return ask->base < ALL_WORDS
               ? MPI_SUCCESS
               : err_set(MPI_ERR_OTHER, "context id: %u communicators exist; free those that are not needed",
                         ALL_WORDS * 64);
}

/* One id that is free in this part of the bitmap. Others may have got through the first agreement where this rank failed: they
 * wait for it in the second one. */
static int try_one(const comm_bridge_t *bridge, comm_context_t *ask)
{
    comm_context_ask(ask, bridge->local);
    const uint64_t confirms = ask->words[WORDS] & CONFIRM;
    int rc = agree(bridge, ask->words, WORDS + 1);
    ask->mine = 0;
    ask->failed = BROKEN;
    if (rc == MPI_SUCCESS)
        comm_context_choose(ask);
    if (((ask->words[WORDS] | confirms) & CONFIRM) != 0) {
        const int confirmed = agree(bridge, &ask->failed, 1);
        rc = rc == MPI_SUCCESS ? confirmed : rc;
    }
    if (rc != MPI_SUCCESS && ask->mine)
        comm_context_give((uint32_t)ask->context);
    return rc;
}

int comm_context_take(const comm_bridge_t *bridge, comm_id_t *id_p)
{
    comm_context_t ask = {0};
    int rc;
    do {
        rc = try_one(bridge, &ask);
        if (rc != MPI_SUCCESS || comm_context_is_ours(&ask))
            break;
        rc = comm_context_are_used_up(&ask);
    } while (rc == MPI_SUCCESS);
    if (rc != MPI_SUCCESS)
        watch_unmade();
    *id_p = (comm_id_t){.context = (uint32_t)ask.context, .birth = ask.birth};
    return rc;
}

void comm_context_give(uint32_t context)
{
    taken[context / 64] &= ~(1ull << (context & 63));
}
