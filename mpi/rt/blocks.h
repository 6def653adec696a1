/* SPDX-License-Identifier: Apache-2.0
 * blocks.h - which parts of a range of memory are handed out. The blocks are kept outside of that memory: nobody who writes to it
 * can damage them. The same calls give the same offsets everywhere. The caller locks.
 *
 * B1 The blocks cover the range, by offset, and no two neighbours are free. B2 A free block is in the list of the power of two
 * of its size, where the first that fits is taken; a used one is in a table by its offset. B3 An offset is aligned when
 * origin + offset is.
 */
#ifndef VERBENA_RT_BLOCKS_H
#define VERBENA_RT_BLOCKS_H

#include <stddef.h>

#define RT_BLOCKS_CLASSES 64

typedef struct rt_block {
    struct rt_block *before; /* by place */
    struct rt_block *after;
    struct rt_block *next; /* in the list of its size, or of its hash */
    struct rt_block *previous;
    size_t offset;
    size_t size;
    int used;
} rt_block_t;

typedef struct rt_blocks {
    rt_block_t *first;
    rt_block_t *free_ones[RT_BLOCKS_CLASSES];
    rt_block_t **table; /* used ones */
    size_t slots;
    size_t count;  /* used ones */
    size_t taken;  /* bytes handed out */
    size_t origin; /* what alignments are counted from */
    size_t size;   /* of the range */
    size_t grain;  /* sizes and offsets are its multiples: a power of two */
} rt_blocks_t;

/* size: rounded down to the grain, may be 0. -1: no heap; nothing is to be closed. */
int rt_blocks_open(rt_blocks_t *blocks, size_t origin, size_t size, size_t grain);
void rt_blocks_close(rt_blocks_t *blocks);
/* At least so many bytes, at a multiple of alignment, a power of two. NULL: no free block holds them, or no heap. */
rt_block_t *rt_blocks_take(rt_blocks_t *blocks, size_t alignment, size_t size);
/* Returns the free block that the block has become a part of. */
rt_block_t *rt_blocks_give(rt_blocks_t *blocks, rt_block_t *block);
/* The used block that begins there, or NULL. */
rt_block_t *rt_blocks_at(const rt_blocks_t *blocks, size_t offset);
/* Bytes of the largest free block. */
size_t rt_blocks_largest(const rt_blocks_t *blocks);

#endif
