/* SPDX-License-Identifier: Apache-2.0
 * pool_sizes.c - how a store of some size divides its memory. */
#include "store/pool.h"

#define SEGMENT_BYTES_MIN ((size_t)16 << 10)
#define SEGMENT_BYTES_USUAL ((size_t)1 << 20)
#define SEGMENTS_WANTED 128u
/* A memory has place for so many of the largest item, wherever pinned and index extents lie. */
#define LARGEST_IN_MEMORY 4u

size_t pool_segment_bytes(size_t share)
{
    size_t bytes = SEGMENT_BYTES_USUAL;
    while (bytes > SEGMENT_BYTES_MIN && share / bytes < SEGMENTS_WANTED)
        bytes /= 2;
    return bytes;
}

size_t pool_index_bytes(size_t share)
{
    return pool_segment_bytes(share) / 4;
}

unsigned pool_memory_shift(size_t item_max)
{
    unsigned shift = 0;
    while ((size_t)1 << shift < MEMORY_BYTES || (size_t)1 << shift < LARGEST_IN_MEMORY * item_max)
        shift++;
    return shift;
}
