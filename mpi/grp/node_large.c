/* SPDX-License-Identifier: Apache-2.0
 * node_large.c - collectives of two ranks with much data: through node memory, or by messages. Rank 0 says which, by choose.h.
 * Rank 1 knows that both are there once it has heard that, so the time that it takes from then on is the time of the way; it
 * leaves it in its slot for rank 0.
 */
#include <time.h>

#include "grp/choose.h"
#include "grp/flat.h"
#include "grp/node.h"
#include "grp/sched.h"

#define TOOK_BITS 8 /* of node_slot_t.took: class, way and collective; above them ns */

_Static_assert(CHOOSE_CLASSES *CHOOSE_WAYS *NODE_LARGE <= 1u << TOOK_BITS, "in the lower bits");

/* One call. */
typedef struct turn {
    node_large_t of;
    size_t bytes;
    uint64_t way;   /* choose_way_t */
    uint64_t since; /* ns; at rank 1 */
} turn_t;

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
    const unsigned kind = (unsigned)took % (1u << TOOK_BITS);
    if (took == set->took)
        return;
    set->took = took;
    choose_learn(&set->choose[kind / (CHOOSE_CLASSES * CHOOSE_WAYS)], kind % CHOOSE_CLASSES,
                 (choose_way_t)(kind / CHOOSE_CLASSES % CHOOSE_WAYS), took >> TOOK_BITS);
}

/* way: the one that rank 0 wants; CHOOSE_WAYS: by the times. */
static int begin(node_set_t *set, turn_t *turn, node_large_t of, size_t bytes, choose_way_t way)
{
    *turn = (turn_t){.of = of, .bytes = bytes, .way = way};
    if (set->rank == 0) {
        learn(set);
        if (way == CHOOSE_WAYS)
            turn->way = choose_next(&set->choose[of], bytes);
    }
    const int status = node_bcast(set, &turn->way, sizeof(turn->way), 0);
    turn->since = set->rank == 1 ? now_ns() : 0;
    return status;
}

static void end(const node_set_t *set, const turn_t *turn)
{
    const uint64_t kind = choose_class(turn->bytes) + CHOOSE_CLASSES * (turn->way + CHOOSE_WAYS * (unsigned)turn->of);
    if (set->rank == 1)
        atomic_store_explicit(&set->slots[1]->took, (now_ns() - turn->since) << TOOK_BITS | kind, memory_order_relaxed);
}

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

int node_allreduce_large(node_set_t *set, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const size_t bytes = count * reduce->element;
    turn_t turn;
    if (table_is_few(TABLE_ALLREDUCE, set->size, 1, bytes) || reduce->combine == NULL)
        return node_allreduce_pieces(set, mine, result, count, reduce);
    const int mapped = node_is_mapped(mine, bytes) && node_is_mapped(result, bytes); /* pieces need no copies */
    int status = begin(set, &turn, NODE_LARGE_ALLREDUCE, bytes, mapped ? CHOOSE_PIECES : CHOOSE_WAYS);
    if (status < 0)
        return status;
    if (turn.way == CHOOSE_MESSAGES)
        status = by_messages(set, mine, result, count, reduce);
    else
        status = node_allreduce_pieces(set, mine, result, count, reduce);
    end(set, &turn);
    return status;
}

/* The time of a root that is rank 1 says nothing about its receiver: then the times of other calls say which way is taken. */
int node_bcast_large(node_set_t *set, void *buffer, size_t length, int root)
{
    turn_t turn;
    const int measures = root == 0 || choose_knows(&set->choose[NODE_LARGE_BCAST], length);
    int status = begin(set, &turn, NODE_LARGE_BCAST, length, measures ? CHOOSE_WAYS : CHOOSE_MESSAGES);
    if (status < 0)
        return status;
    if (turn.way == CHOOSE_MESSAGES) {
        sched_t *sched = sched_open(set->grp);
        if (sched != NULL)
            flat_bcast(sched, buffer, length, root);
        status = sched_run(sched);
    } else {
        status = node_bcast(set, buffer, length, root);
    }
    if (root == 0)
        end(set, &turn);
    return status;
}

static int swap_by_messages(const node_set_t *set, const void *out, void *in, size_t length)
{
    sched_t *sched = sched_open(set->grp);
    void *apart = sched == NULL || out != in ? NULL : sched_memory(sched, length); /* in place */
    if (apart != NULL)
        sched_copy(sched, apart, out, length);
    if (sched != NULL) {
        sched_recv(sched, 1 - set->rank, in, length);
        sched_send(sched, 1 - set->rank, apart != NULL ? apart : out, length);
    }
    return sched_run(sched);
}

int node_alltoall_large(node_set_t *set, const void *out, void *in, size_t length)
{
    turn_t turn;
    int status = begin(set, &turn, NODE_LARGE_ALLTOALL, length, CHOOSE_WAYS);
    if (status < 0)
        return status;
    status = turn.way == CHOOSE_MESSAGES ? swap_by_messages(set, out, in, length)
                                         : node_swap_pieces(set, out, in, length);
    end(set, &turn);
    return status;
}
