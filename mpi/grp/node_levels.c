/* SPDX-License-Identifier: Apache-2.0
 * node_levels.c - blocking collectives of two levels (levels.h) where the ranks of this node have slots: slots inside
 * the node, a schedule between the heads. Other nodes may do all by the schedule (L3). A head whose node has failed tells
 * the other heads, and one that has lost another head breaks its node's set: so all ranks end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grp/flat.h"
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

/* A scan at a rank of a node. */
typedef struct scan {
    const void *mine;
    void *result;
    size_t count;
    const grp_reduce_t *reduce;
    int exclusive;
    int begins;           /* a rank of another node is before it */
    int ends;             /* the next rank is on another node */
    unsigned char *apart; /* what comes from the rank before; elements that go to the next one */
} scan_t;

/* The messages of the chain between two nodes. */
static void scan_messages(sched_t *sched, const scan_t *scan, const unsigned char *out)
{
    const size_t element = scan->reduce->element;
    const size_t piece = flat_scan_piece(sched, scan->count, scan->reduce);
    const int rank = sched_rank(sched);
    size_t at = 0;
    do {
        const size_t length = (scan->count - at < piece ? scan->count - at : piece) * element;
        if (scan->begins)
            sched_recv(sched, rank - 1, scan->apart + at * element, length);
        if (scan->ends)
            sched_send(sched, rank + 1, out + at * element, length);
        at += length / element;
    } while (at < scan->count);
}

/* The head puts its own elements behind those of the nodes before: to its result. */
static int take_before(grp_t *grp, const scan_t *scan, int near)
{
    sched_t *sched = heads_open(grp, &near);
    if (sched != NULL && near == 0)
        scan_messages(sched, scan, NULL);
    const int status = heads_run(grp, sched, near);
    if (status == 0)
        node_join(scan->reduce, scan->apart, scan->mine, scan->result, scan->count);
    return status;
}

/* The number of the collective at the ranks that are no such head; the last rank of the node passes on. */
static int pass_further(grp_t *grp, const scan_t *scan, int near)
{
    const unsigned char *out = near == 0 && scan->exclusive ? scan->apart : scan->result;
    if (near == 0 && scan->ends && scan->exclusive)
        node_join(scan->reduce, scan->result, scan->apart, scan->apart, scan->count);
    sched_t *sched = heads_open(grp, &near);
    if (sched != NULL)
        scan_messages(sched, scan, out);
    return heads_run(grp, sched, near);
}

static int near_scan(const grp_t *grp, const scan_t *scan)
{
    const grp_t *inside = &grp->levels->inside;
    return (node_scan_fits(inside, scan->count, scan->reduce) ? node_scan : node_scan_pieces)(
        inside->node, scan->begins ? scan->result : scan->mine, scan->result, scan->count, scan->reduce,
        scan->exclusive);
}

/* Memory beside the result, where a rank needs it: 0 or a failure, which breaks the node's set. */
static int scan_open(const grp_t *grp, scan_t *scan)
{
    const size_t bytes = scan->count * scan->reduce->element;
    if (!scan->begins && !(scan->ends && scan->exclusive))
        return 0;
    scan->apart = malloc(bytes > 0 ? bytes : 1);
    if (scan->apart == NULL) {
        node_break(grp->levels->inside.node, grp_fail(VBN_ERR_NO_MEMORY, "no memory left for the data of the node"));
        return VBN_ERR_NO_MEMORY;
    }
    if (scan->ends && bytes > 0)
        memcpy(scan->apart, scan->mine, bytes);
    return 0;
}

int node_levels_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce,
                     int exclusive)
{
    const levels_t *levels = grp->levels;
    scan_t scan = {.mine = mine, .result = result, .count = count, .reduce = reduce, .exclusive = exclusive};
    scan.begins = levels_is_head(levels) && grp_rank(grp) > 0;
    scan.ends = levels->near->rank + 1 == levels->near->size && grp_rank(grp) + 1 < grp_size(grp);
    int status = scan_open(grp, &scan);
    if (scan.begins)
        status = take_before(grp, &scan, status);
    if (status == 0)
        status = near_scan(grp, &scan);
    if (!scan.begins)
        status = pass_further(grp, &scan, status);
    else if (status == 0 && exclusive && count > 0)
        memcpy(result, scan.apart, count * reduce->element);
    free(scan.apart);
    return status;
}
