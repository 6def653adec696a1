/* SPDX-License-Identifier: Apache-2.0
 * levels_steps.c - barrier, broadcast and reductions of two levels as steps (levels.h): each level is the collective
 * of one level among fewer ranks.
 */
#include "grp/flat.h"
#include "grp/levels.h"

/* The following steps are among these ranks, of so many nodes, on one level. Returns those that were before. */
static const rt_group_t *among(sched_t *sched, const rt_group_t *ranks, int nodes)
{
    const rt_group_t *before = sched->ranks;
    sched->ranks = ranks;
    sched->levels = NULL;
    sched->nodes = nodes;
    return before;
}

/* Back to all. */
static void among_all(sched_t *sched, const levels_t *levels, const rt_group_t *ranks)
{
    sched->ranks = ranks;
    sched->levels = levels;
    sched->nodes = levels->heads->size;
}

void levels_heads_barrier(sched_t *sched, const levels_t *levels)
{
    const rt_group_t *all = among(sched, levels->heads, levels->heads->size);
    if (levels_is_head(levels))
        flat_barrier(sched);
    among_all(sched, levels, all);
}

void levels_near_bcast(sched_t *sched, const levels_t *levels, void *buffer, size_t length)
{
    const rt_group_t *all = among(sched, levels->near, 1);
    flat_bcast(sched, buffer, length, 0);
    among_all(sched, levels, all);
}

/* The ranks of a node meet at their head, which meets the others, and says so. */
void levels_barrier(sched_t *sched)
{
    const levels_t *levels = sched->levels;
    const rt_group_t *all = among(sched, levels->near, 1);
    const int size = levels->near->size;
    for (int bit = 1; bit < size; bit *= 2) {
        if (levels->near->rank & bit) {
            sched_send(sched, levels->near->rank - bit, NULL, 0);
            break;
        }
        if (levels->near->rank + bit < size)
            sched_recv(sched, levels->near->rank + bit, NULL, 0);
        sched_wait(sched, 0);
    }
    among_all(sched, levels, all);
    levels_heads_barrier(sched, levels);
    levels_near_bcast(sched, levels, NULL, 0);
}

/* Whether this rank speaks for its node in a broadcast. */
static int speaks(const levels_t *levels, const rt_group_t *ranks, int root)
{
    return levels_place(levels, root) == levels->place ? ranks->rank == root : levels_is_head(levels);
}

/* The binomial tree of flat_bcast over the nodes. */
void levels_heads_bcast(sched_t *sched, const levels_t *levels, void *buffer, size_t length, int root)
{
    const int nodes = levels->heads->size;
    const int first = levels_place(levels, root);
    const int place = (levels->place - first + nodes) % nodes;
    int bit = 1;
    if (!speaks(levels, sched->ranks, root))
        return;
    while (bit < nodes && (place & bit) == 0)
        bit *= 2;
    if (bit < nodes) {
        if (place == bit)
            sched_recv(sched, root, buffer, length);
        else
            sched_recv_from(sched, levels->heads, (place - bit + first) % nodes, buffer, length);
        sched_wait(sched, 0);
    }
    for (bit /= 2; bit > 0; bit /= 2)
        if (place + bit < nodes)
            sched_send_to(sched, levels->heads, (place + bit + first) % nodes, buffer, length);
}

void levels_bcast(sched_t *sched, void *buffer, size_t length, int root)
{
    const levels_t *levels = sched->levels;
    const int from = rt_group_find(levels->near, rt_group_world(sched->ranks, root)); /* -1: on another node */
    levels_heads_bcast(sched, levels, buffer, length, root);
    const rt_group_t *all = among(sched, levels->near, 1);
    flat_bcast(sched, buffer, length, from < 0 ? 0 : from);
    among_all(sched, levels, all);
}

void levels_heads_reduce(sched_t *sched, const levels_t *levels, void *inout, size_t count, const grp_reduce_t *reduce,
                         int root)
{
    const int at_first = rt_group_world(levels->heads, 0) == rt_group_world(sched->ranks, root);
    const rt_group_t *all = among(sched, levels->heads, levels->heads->size);
    if (levels_is_head(levels))
        flat_reduce(sched, inout, count, reduce, 0);
    among_all(sched, levels, all);
    if (levels->heads->rank == 0 && !at_first)
        sched_send(sched, root, inout, count * reduce->element);
    if (all->rank == root && !at_first) {
        sched_recv_from(sched, levels->heads, 0, inout, count * reduce->element);
        sched_wait(sched, 0);
    }
}

void levels_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    const levels_t *levels = sched->levels;
    const rt_group_t *all = among(sched, levels->near, 1);
    flat_reduce(sched, inout, count, reduce, 0);
    among_all(sched, levels, all);
    levels_heads_reduce(sched, levels, inout, count, reduce, root);
    sched_wait(sched, 0);
}

void levels_heads_allreduce(sched_t *sched, const levels_t *levels, void *inout, size_t count,
                            const grp_reduce_t *reduce)
{
    const rt_group_t *all = among(sched, levels->heads, levels->heads->size);
    if (levels_is_head(levels))
        flat_allreduce(sched, inout, count, reduce);
    among_all(sched, levels, all);
}

void levels_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const levels_t *levels = sched->levels;
    const rt_group_t *all = among(sched, levels->near, 1);
    flat_reduce(sched, inout, count, reduce, 0);
    among_all(sched, levels, all);
    levels_heads_allreduce(sched, levels, inout, count, reduce);
    levels_near_bcast(sched, levels, inout, count * reduce->element);
    sched_wait(sched, 0);
}
