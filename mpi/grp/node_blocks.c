/* SPDX-License-Identifier: Apache-2.0
 * node_blocks.c - gather, scatter, allgather and alltoall of equal small blocks over slots. What a rank gives is in its
 * slot before it takes anything: so in place needs no copy.
 */
#include <stdio.h>

#include "grp/node.h"

/* This rank's blocks from `first` on, side by side in its slot; a root need not publish them. */
static unsigned char *give(node_set_t *set, uint64_t phase, const node_blocks_t *blocks, int first, int count)
{
    unsigned char *room = node_room(set, phase, (size_t)count * blocks->length);
    for (int i = 0; room != NULL && i < count; i++)
        blocks->give(blocks, first + i, room + (size_t)i * blocks->length);
    return room;
}

static int fits_itself(node_set_t *set, const node_blocks_t *blocks)
{
    char text[128];
    if (blocks->length == blocks->taken)
        return 0;
    snprintf(text, sizeof(text), "this rank has %zu bytes for itself where it expects %zu", blocks->length,
             blocks->taken);
    node_break(set, grp_fail(VBN_ERR_TRUNCATED, text));
    return set->status;
}

/* A block of each rank: the one at `at` of those that it has given. */
static int take_all(node_set_t *set, uint64_t phase, const node_blocks_t *blocks, int count, int at, const void *own)
{
    const size_t offset = (size_t)at * blocks->length;
    if (fits_itself(set, blocks) < 0)
        return set->status;
    blocks->take(blocks, set->rank, (const unsigned char *)own + offset);
    for (int i = 1; i < set->size; i++) {
        const int rank = (set->rank + i) % set->size;
        const unsigned char *from = node_data(set, phase, rank, (size_t)count * blocks->taken);
        if (from == NULL)
            return set->status;
        blocks->take(blocks, rank, from + offset);
    }
    set->known = phase - 1;
    node_done(set, phase);
    node_tell_all(set);
    return 0;
}

int node_gather(node_set_t *set, const node_blocks_t *blocks, int root)
{
    node_is(set, NODE_GATHER, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    void *own = give(set, phase, blocks, set->rank, 1);
    if (own == NULL)
        return set->status;
    if (set->rank == root)
        return take_all(set, phase, blocks, 1, 0, own);
    node_publish(set, phase, blocks->length);
    node_done(set, phase);
    return 0;
}

int node_scatter(node_set_t *set, const node_blocks_t *blocks, int root)
{
    node_is(set, NODE_SCATTER, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    const unsigned char *from = set->rank == root ? give(set, phase, blocks, 0, set->size) : NULL;
    if (set->rank == root && from != NULL)
        node_publish(set, phase, (size_t)set->size * blocks->length);
    if (set->rank != root)
        from = node_data(set, phase, root, (size_t)set->size * blocks->taken);
    if (from == NULL || (set->rank == root && fits_itself(set, blocks) < 0))
        return set->status;
    blocks->take(blocks, set->rank, from + (size_t)set->rank * blocks->taken);
    node_done(set, phase);
    if (set->rank != root)
        node_tell(set, root);
    return 0;
}

int node_allgather(node_set_t *set, const node_blocks_t *blocks)
{
    node_is(set, NODE_ALLGATHER, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    void *own = give(set, phase, blocks, set->rank, 1);
    if (own == NULL)
        return set->status;
    node_publish(set, phase, blocks->length);
    return take_all(set, phase, blocks, 1, 0, own);
}

int node_alltoall(node_set_t *set, const node_blocks_t *blocks)
{
    node_is(set, NODE_ALLTOALL, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    void *own = give(set, phase, blocks, 0, set->size);
    if (own == NULL)
        return set->status;
    node_publish(set, phase, (size_t)set->size * blocks->length);
    return take_all(set, phase, blocks, set->size, set->rank, own);
}
