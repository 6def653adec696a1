/* SPDX-License-Identifier: Apache-2.0
 * steps.c - barrier, broadcast and reductions: one level or two, and slots of node memory for the blocking calls.
 */
#include "grp/steps.h"

#include "grp/flat.h"
#include "grp/levels.h"
#include "grp/node.h"
#include "grp/parts.h"
#include "grp/table.h"

/* Whether the set has two levels, and the table takes them. */
static int by_levels(sched_t *sched, table_row_t row, size_t bytes)
{
    return sched->levels != NULL &&
           grp_choose(sched->call, GRP_LEVELS, table_is_few(row, sched_size(sched), sched->nodes, bytes), bytes);
}

void steps_barrier(sched_t *sched)
{
    if (by_levels(sched, TABLE_BARRIER_LEVELS, 0))
        levels_barrier(sched);
    else
        flat_barrier(sched);
}

void steps_bcast(sched_t *sched, void *buffer, size_t length, int root)
{
    if (by_levels(sched, TABLE_BCAST_LEVELS, length))
        levels_bcast(sched, buffer, length, root);
    else
        flat_bcast(sched, buffer, length, root);
}

void steps_reduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce, int root)
{
    if (levels_fit(sched->levels, reduce) && by_levels(sched, TABLE_REDUCE_LEVELS, count * reduce->element))
        levels_reduce(sched, inout, count, reduce, root);
    else
        flat_reduce(sched, inout, count, reduce, root);
}

void steps_allreduce(sched_t *sched, void *inout, size_t count, const grp_reduce_t *reduce)
{
    if (levels_fit(sched->levels, reduce) && by_levels(sched, TABLE_ALLREDUCE_LEVELS, count * reduce->element))
        levels_allreduce(sched, inout, count, reduce);
    else
        flat_allreduce(sched, inout, count, reduce);
}

void steps_reduce_scatter(sched_t *sched, const grp_parts_t *given, void *result)
{
    const size_t bytes = given->starts[sched_size(sched)];
    if (sched_size(sched) == 1)
        sched_copy(sched, result, given->from, bytes);
    else
        parts_reduce_scatter(sched, given, result,
                             levels_fit(sched->levels, given->reduce) &&
                                 by_levels(sched, TABLE_REDUCE_SCATTER_LEVELS, bytes));
}

int grp_barrier(grp_t *grp)
{
    const int near = table_is_few(TABLE_BARRIER, grp_size(grp), grp_nodes(grp), 0) ? node_ready(grp) : 0;
    if (near != 0)
        return near < 0 ? near : node_barrier(grp->node);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_barrier(sched);
    return sched_run(sched);
}

int grp_bcast(grp_t *grp, void *buffer, size_t length, int root)
{
    const int near = node_bcast_fits(grp, length) ? node_ready(grp) : 0;
    if (near != 0)
        return near < 0 ? near : node_bcast(grp->node, buffer, length, root);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_bcast(sched, buffer, length, root);
    return sched_run(sched);
}

/* More data than slots hold goes in pieces, of small elements and if there is memory for them: 1 or 0, or a failure. */
static int near_reduction_ready(grp_t *grp, int is_few, const grp_reduce_t *reduce)
{
    const int near = is_few || (!reduce->foreign && reduce->element <= NODE_INLINE) ? node_ready(grp) : 0;
    return near > 0 && !is_few ? node_pieces_ready(grp->node) : near;
}

int grp_allreduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce)
{
    const int is_few = node_reduce_fits(grp, count, reduce);
    const int near = near_reduction_ready(grp, is_few, reduce);
    if (near < 0)
        return near;
    if (near > 0)
        return (is_few ? node_allreduce : node_allreduce_large)(grp->node, inout, inout, count, reduce);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_allreduce(sched, inout, count, reduce);
    return sched_run(sched);
}

int grp_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive)
{
    const int is_few = node_scan_fits(grp, count, reduce);
    const int near = near_reduction_ready(grp, is_few, reduce);
    if (near < 0)
        return near;
    if (near > 0)
        return (is_few ? node_scan : node_scan_pieces)(grp->node, mine, result, count, reduce, exclusive);
    sched_t *sched = sched_open(grp);
    if (sched != NULL)
        steps_scan(sched, mine, result, count, reduce, exclusive);
    return sched_run(sched);
}
