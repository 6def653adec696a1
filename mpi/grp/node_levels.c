/* SPDX-License-Identifier: Apache-2.0
 * node_levels.c - blocking collectives of two levels (levels.h) where the ranks of this node have slots: slots inside
 * the node, a schedule between the heads. Other nodes may do all by the schedule (L3). A head whose node has failed tells
 * the other heads, and one that has lost another head breaks its node's set: so all ranks end.
 */
#include <stdio.h>
#include <stdlib.h>

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

/* To the head. */
static int near_reduce(const grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const grp_t *inside = &grp->levels->inside;
    return (node_reduce_fits(inside, count, reduce) ? node_reduce : node_reduce_pieces)(inside->node, mine, result,
                                                                                        count, reduce, 0);
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

/* Memory for a head's result that is not the root's; NULL: none is needed, or there is none. */
static void *partial_of(const grp_t *grp, size_t length, int is_root)
{
    return levels_is_head(grp->levels) && !is_root ? malloc(length > 0 ? length : 1) : NULL;
}

int node_levels_reduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int root)
{
    const int is_root = grp_rank(grp) == root;
    void *partial = partial_of(grp, count * reduce->element, is_root);
    void *at = is_root ? result : partial;
    const int lacks = at == NULL && levels_is_head(grp->levels);
    int status = lacks ? VBN_ERR_NO_MEMORY : near_reduce(grp, mine, at, count, reduce);
    if (lacks)
        node_break(grp->levels->inside.node, grp_fail(status, "no memory left for the data of the node"));
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_reduce(sched, grp->levels, at, count, reduce, root);
    status = heads_run(grp, sched, status);
    free(partial);
    return status;
}

/* Much data goes back to the ranks of the node by messages. */
int node_levels_allreduce(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce)
{
    const size_t length = count * reduce->element;
    const int by_slots = node_bcast_fits(&grp->levels->inside, length);
    int status = near_reduce(grp, mine, result, count, reduce);
    sched_t *sched = heads_open(grp, &status);
    if (sched != NULL)
        levels_heads_allreduce(sched, grp->levels, result, count, reduce);
    if (sched != NULL && !by_slots)
        levels_near_bcast(sched, grp->levels, result, length);
    status = heads_run(grp, sched, status);
    return status < 0 || !by_slots ? status : node_bcast(grp->levels->inside.node, result, length, 0);
}
