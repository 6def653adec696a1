/* SPDX-License-Identifier: Apache-2.0
 * node_large.c - an allreduce of two ranks with much data: through node memory (node_pieces.c), or each sends all of its elements
 * to the other one by a message and both reduce all of them. Rank 0 says which, by choose.h. Rank 1 knows that both are there once
 * it has heard that, so the time that it takes from then on is the time of the way; it leaves it in its slot for rank 0.
 */
#include <time.h>

#include "grp/choose.h"
#include "grp/node.h"
#include "grp/sched.h"

#define TOOK_BITS 8 /* of node_slot_t.took: class and way; above them ns */

typedef struct swap {
    const grp_reduce_t *reduce;
    const void *lower;
    const void *upper;
    void *result;
    size_t count;
} swap_t;

static int combine(void *arg)
{
    const swap_t *swap = arg;
    swap->reduce->combine(swap->lower, swap->upper, swap->result, swap->count);
    return 0;
}

static int by_messages(const node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const size_t bytes = count * reduce->element;
    const int other = 1 - set->rank;
    swap_t swap = {.reduce = reduce, .result = result, .count = count};
    sched_t *sched = sched_open(set->grp);
    void *theirs = sched == NULL || result != mine ? result : sched_memory(sched, bytes);
    swap.lower = set->rank == 0 ? mine : theirs;
    swap.upper = set->rank == 0 ? theirs : mine;
    if (sched != NULL && theirs != NULL) {
        sched_recv(sched, other, theirs, bytes);
        sched_send(sched, other, mine, bytes);
        sched_wait(sched, 0);
        sched_call(sched, combine, &swap);
    }
    return sched_run(sched);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What rank 1 has left since the last look. */
static void learn(node_set_t *set)
{
    const uint64_t took = atomic_load_explicit(&set->slots[1]->took, memory_order_relaxed);
    if (took == set->took)
        return;
    set->took = took;
    choose_learn(&set->choose, (unsigned)took % CHOOSE_CLASSES, (choose_way_t)(took / CHOOSE_CLASSES % CHOOSE_WAYS),
                 took >> TOOK_BITS);
}

_Static_assert(CHOOSE_CLASSES *CHOOSE_WAYS <= 1u << TOOK_BITS, "in the lower bits");

static void leave_time(const node_set_t *set, size_t bytes, choose_way_t way, uint64_t ns)
{
    const uint64_t kind = choose_class(bytes) + CHOOSE_CLASSES * (unsigned)way;
    atomic_store_explicit(&set->slots[set->rank]->took, ns << TOOK_BITS | kind, memory_order_relaxed);
}

int node_allreduce_large(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const size_t bytes = count * reduce->element;
    uint64_t way = CHOOSE_PIECES;
    if (table_is_few(TABLE_ALLREDUCE, set->size, 1, bytes) || reduce->combine == NULL)
        return node_allreduce_pieces(set, mine, result, count, reduce);
    if (set->rank == 0) {
        learn(set);
        if (!node_is_mapped(mine, bytes) || !node_is_mapped(result, bytes))
            way = choose_next(&set->choose, bytes);
    }
    int status = node_bcast(set, &way, sizeof(way), 0);
    if (status < 0)
        return status;
    const uint64_t since = set->rank == 1 ? now_ns() : 0;
    if (way == CHOOSE_MESSAGES)
        status = by_messages(set, mine, result, count, reduce);
    else
        status = node_allreduce_pieces(set, mine, result, count, reduce);
    if (set->rank == 1)
        leave_time(set, bytes, (choose_way_t)way, now_ns() - since);
    return status;
}
