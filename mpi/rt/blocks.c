/* SPDX-License-Identifier: Apache-2.0
 * blocks.c - see blocks.h.
 */
#include "rt/blocks.h"

#include <stdint.h>
#include <stdlib.h>

static unsigned class_of(size_t size)
{
    return 63u - (unsigned)__builtin_clzll(size | 1);
}

static void link_into(rt_block_t **list, rt_block_t *block)
{
    block->previous = NULL;
    block->next = *list;
    if (*list != NULL)
        (*list)->previous = block;
    *list = block;
}

static void unlink_from(rt_block_t **list, rt_block_t *block)
{
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        *list = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
}

static rt_block_t **list_of(rt_blocks_t *blocks, size_t size)
{
    return &blocks->free_ones[class_of(size)];
}

static rt_block_t **slot_of(const rt_blocks_t *blocks, size_t offset)
{
    return &blocks->table[(offset / blocks->grain * 0x9e3779b97f4a7c15ull >> 20) % blocks->slots];
}

static int grow_table(rt_blocks_t *blocks)
{
    const size_t slots = blocks->slots == 0 ? 64 : blocks->slots * 4;
    rt_block_t **table = calloc(slots, sizeof(*table));
    if (table == NULL)
        return -1;
    free(blocks->table);
    blocks->table = table;
    blocks->slots = slots;
    for (rt_block_t *one = blocks->first; one != NULL; one = one->after)
        if (one->used)
            link_into(slot_of(blocks, one->offset), one);
    return 0;
}

int rt_blocks_open(rt_blocks_t *blocks, size_t origin, size_t size, size_t grain)
{
    *blocks = (rt_blocks_t){.origin = origin, .size = size / grain * grain, .grain = grain};
    if (grow_table(blocks) != 0)
        return -1;
    if (blocks->size == 0)
        return 0;
    blocks->first = calloc(1, sizeof(*blocks->first));
    if (blocks->first == NULL) {
        rt_blocks_close(blocks);
        return -1;
    }
    blocks->first->size = blocks->size;
    link_into(list_of(blocks, blocks->size), blocks->first);
    return 0;
}

void rt_blocks_close(rt_blocks_t *blocks)
{
    for (rt_block_t *one = blocks->first; one != NULL;) {
        rt_block_t *after = one->after;
        free(one);
        one = after;
    }
    free(blocks->table);
    *blocks = (rt_blocks_t){0};
}

/* The block becomes two, the second one of what lies behind `size`. */
static int split(rt_block_t *block, size_t size)
{
    rt_block_t *rest = calloc(1, sizeof(*rest));
    if (rest == NULL)
        return -1;
    rest->offset = block->offset + size;
    rest->size = block->size - size;
    rest->before = block;
    rest->after = block->after;
    if (block->after != NULL)
        block->after->before = rest;
    block->after = rest;
    block->size = size;
    return 0;
}

static size_t gap_of(const rt_blocks_t *blocks, const rt_block_t *block, size_t alignment)
{
    return -(blocks->origin + block->offset) & (alignment - 1);
}

static rt_block_t *find_free(const rt_blocks_t *blocks, size_t alignment, size_t size)
{
    for (unsigned class = class_of(size); class < RT_BLOCKS_CLASSES; class++)
        for (rt_block_t *one = blocks->free_ones[class]; one != NULL; one = one->next)
            if (one->size >= size && one->size - size >= gap_of(blocks, one, alignment))
                return one;
    return NULL;
}

/* Without heap for a gap of its own the gap stays free and the block is not given. */
static rt_block_t *behind_gap(rt_blocks_t *blocks, rt_block_t *block, size_t gap)
{
    if (gap == 0)
        return block;
    const int is_split = split(block, gap) == 0;
    link_into(list_of(blocks, block->size), block);
    return is_split ? block->after : NULL;
}

rt_block_t *rt_blocks_take(rt_blocks_t *blocks, size_t alignment, size_t size)
{
    if (size == 0 || size > blocks->size)
        return NULL;
    size = (size + blocks->grain - 1) & ~(blocks->grain - 1);
    alignment = alignment < blocks->grain ? blocks->grain : alignment;
    rt_block_t *block = find_free(blocks, alignment, size);
    if (block == NULL)
        return NULL;
    unlink_from(list_of(blocks, block->size), block);
    block = behind_gap(blocks, block, gap_of(blocks, block, alignment));
    if (block == NULL)
        return NULL;
    if (block->size > size && split(block, size) == 0)
        link_into(list_of(blocks, block->after->size), block->after);
    block->used = 1;
    if (++blocks->count <= blocks->slots || grow_table(blocks) != 0)
        link_into(slot_of(blocks, block->offset), block); /* else the new table has it */
    blocks->taken += block->size;
    return block;
}

static void swallow(rt_block_t *block)
{
    rt_block_t *gone = block->after;
    block->size += gone->size;
    block->after = gone->after;
    if (gone->after != NULL)
        gone->after->before = block;
    free(gone);
}

rt_block_t *rt_blocks_give(rt_blocks_t *blocks, rt_block_t *block)
{
    unlink_from(slot_of(blocks, block->offset), block);
    blocks->count--;
    blocks->taken -= block->size;
    block->used = 0;
    if (block->after != NULL && !block->after->used) {
        unlink_from(list_of(blocks, block->after->size), block->after);
        swallow(block);
    }
    if (block->before != NULL && !block->before->used) {
        block = block->before;
        unlink_from(list_of(blocks, block->size), block);
        swallow(block);
    }
    link_into(list_of(blocks, block->size), block);
    return block;
}

rt_block_t *rt_blocks_at(const rt_blocks_t *blocks, size_t offset)
{
    if (blocks->slots == 0)
        return NULL;
    for (rt_block_t *one = *slot_of(blocks, offset); one != NULL; one = one->next)
        if (one->offset == offset)
            return one;
    return NULL;
}

size_t rt_blocks_largest(const rt_blocks_t *blocks)
{
    size_t largest = 0;
    for (unsigned class = 0; class < RT_BLOCKS_CLASSES; class++)
        for (const rt_block_t *one = blocks->free_ones[class]; one != NULL; one = one->next)
            largest = one->size > largest ? one->size : largest;
    return largest;
}
