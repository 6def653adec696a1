/* SPDX-License-Identifier: Apache-2.0
 * levels.h - a set of ranks by their nodes, and the collectives of two levels: among the ranks of each node, and among the
 * heads, which are the first ranks of the nodes.
 *
 * L1 A set has levels when its ranks are on several nodes, of which one has several of them. That follows from what the
 *    launcher says of the nodes, so all members find the same.
 * L2 Nodes are in the order of their heads. Operations that do not commute take levels only where the ranks of each
 *    node follow one another.
 * L3 The messages between heads are the same whether the ranks of a node exchange messages or slots (node_levels.c): each
 *    node decides by itself. Both combine in the same order, so all forms give the same bits.
 */
#ifndef VERBENA_LEVELS_H
#define VERBENA_LEVELS_H

#include "grp/sched.h"

typedef struct levels {
    int place;         /* of this rank's node */
    int ordered;       /* L2 */
    int each;          /* rank i is on node i / each; 0: `places` says */
    int *places;       /* `each` is 0: by rank of the set */
    rt_group_t *near;  /* the ranks of this node; rank 0 is its head */
    rt_group_t *heads; /* by place */
    grp_t inside;      /* `near`, for slots */
} levels_t;

/* The levels of a set, which it keeps until grp_end: 1, 0 (none), or VBN_ERR_NO_MEMORY. Sets grp->nodes:
 * to 1 where the launcher does not name nodes. */
int levels_find(grp_t *grp);
void levels_release(levels_t *levels);
/* The place of the node of a rank of the set. */
int levels_place(const levels_t *levels, int rank);

static inline int levels_is_head(const levels_t *levels)
{
    return levels->near->rank == 0;
}

/* Steps of both levels; the schedule has levels. */
void levels_barrier(sched_t *sched);
void levels_bcast(sched_t *sched, void *buffer, size_t length, int root);
void levels_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root);
void levels_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce);

/* From the head to the ranks of its node. */
void levels_near_bcast(sched_t *sched, const levels_t *levels, void *buffer, size_t length);

/* Those of the heads alone. The root of a broadcast stands for its node. */
void levels_heads_barrier(sched_t *sched, const levels_t *levels);
void levels_heads_bcast(sched_t *sched, const levels_t *levels, void *buffer, size_t length, int root);
/* Among heads and the root: the first head has the result and passes it on. */
void levels_heads_reduce(sched_t *sched, const levels_t *levels, void *inout, size_t count, const grp_reduce_t *reduce,
                         int root);
void levels_heads_allreduce(sched_t *sched, const levels_t *levels, void *inout, size_t count,
                            const grp_reduce_t *reduce);

/* Whether a reduction may go by levels. */
static inline int levels_fit(const levels_t *levels, const grp_reduce_t *reduce)
{
    return levels != NULL && (levels->ordered || reduce->commutes);
}

#endif
