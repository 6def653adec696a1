/* SPDX-License-Identifier: Apache-2.0
 * node_levels.c - blocking collectives of two levels (levels.h) where the ranks of this node have slots: slots inside
 * the node, a schedule between the heads. Other nodes may do all by the schedule (L3). A head whose node has failed tells
 * the other heads, and one that has lost another head breaks its node's set: so all ranks end.
 */
#include <stdio.h>

#include "grp/levels.h"
#include "grp/node.h"

static int pass_on(void *status)
{
    return *(const int *)status;
}

/* Takes the number of the collective at every rank. near_p: how the part inside the node ended, if that was before. */
static sched_t *heads_open(grp_t *grp, int *near_p)
{
    sched_t *sched = sched_open(grp);
    if (sched != NULL && *near_p < 0)
        sched_call(sched, pass_on, near_p);
    return sched;
}

static int heads_run(const grp_t *grp, sched_t *sched, int near)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", grp_error());
    const int status = sched_run(sched);
    if (near < 0)
        return grp_fail(near, text);
    if (status < 0)
        node_break(grp->levels->inside.node, status);
    return status;
}

int node_levels_barrier(grp_t *grp)
{
    node_set_t *set = grp->levels->inside.node;
    int status = node_arrive(set);
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_barrier(sched, grp->levels);
    status = heads_run(grp, sched, status);
    return status < 0 ? status : node_bcast(set, NULL, 0, 0);
}

/* The root's node has the data first, then its root speaks with the other heads. */
int node_levels_bcast(grp_t *grp, void *buffer, size_t length, int root)
{
    node_set_t *set = grp->levels->inside.node;
    const int from = rt_group_find(grp->levels->near, rt_group_world(grp->ranks, root)); /* -1: on another node */
    int status = from < 0 ? 0 : node_bcast(set, buffer, length, from);
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_bcast(sched, grp->levels, buffer, length, root);
    status = heads_run(grp, sched, status);
    return status < 0 || from >= 0 ? status : node_bcast(set, buffer, length, 0);
}

int node_levels_reduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int root)
{
    _Alignas(64) unsigned char partial[NODE_BYTES];
    void *at = grp_rank(grp) == root ? result : partial;
    int status = node_reduce(grp->levels->inside.node, mine, at, count, reduce, 0);
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_reduce(sched, grp->levels, at, count, reduce, root);
    return heads_run(grp, sched, status);
}

int node_levels_allreduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    node_set_t *set = grp->levels->inside.node;
    int status = node_reduce(set, mine, result, count, reduce, 0);
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_allreduce(sched, grp->levels, result, count, reduce);
    status = heads_run(grp, sched, status);
    return status < 0 ? status : node_bcast(set, result, count * reduce->element, 0);
}
