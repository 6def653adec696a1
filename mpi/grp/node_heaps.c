/* SPDX-License-Identifier: Apache-2.0
 * node_heaps.c - a set of ranks whose malloc gives memory that others may map (mpi.heap=node): each maps the heaps of the others,
 * so that reductions read operands where they lie.
 */
#include <stdlib.h>
#include <string.h>

#include "grp/node.h"
#include "rt/heap.h"

typedef struct heap_key {
    uint64_t length; /* 0: this rank has no heap */
    unsigned char bytes[VBN_KEY_MAX];
} heap_key_t;

typedef struct keys {
    node_blocks_t blocks;
    heap_key_t own;
    heap_key_t *all; /* by rank; NULL: no memory for them */
} keys_t;

static void give(const node_blocks_t *blocks, int rank, void *to)
{
    const keys_t *keys = (const keys_t *)blocks;
    (void)rank;
    memcpy(to, &keys->own, sizeof(keys->own));
}

static void take(const node_blocks_t *blocks, int rank, const void *from)
{
    const keys_t *keys = (const keys_t *)blocks;
    if (keys->all != NULL)
        memcpy(&keys->all[rank], from, sizeof(keys->own));
}

static int join_all(const node_set_t *set, const heap_key_t *all)
{
    for (int rank = 0; rank < set->size; rank++)
        if (all[rank].length == 0 || all[rank].length > VBN_KEY_MAX)
            return -1;
    for (int rank = 0; rank < set->size; rank++)
        if (rt_heap_join(set->ranks[rank], all[rank].bytes, (size_t)all[rank].length) != 0)
            return -1;
    return 0;
}

int node_heaps_join(node_set_t *set)
{
    keys_t keys = {.blocks = {.length = sizeof(heap_key_t), .taken = sizeof(heap_key_t), .give = give, .take = take},
                   .all = calloc((size_t)set->size, sizeof(heap_key_t))};
    keys.own.length = rt_heap_key(keys.own.bytes);
    int status = node_allgather(set, &keys.blocks);
    int lacks = status < 0 || keys.all == NULL || join_all(set, keys.all) != 0;
    free(keys.all);
    if (status == 0)
        status = node_highest(set, NODE_PIECES, &lacks);
    return status < 0 ? status : !lacks;
}
