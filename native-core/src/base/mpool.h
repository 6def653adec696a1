/* SPDX-License-Identifier: Apache-2.0
 * mpool.h - pool of equal objects, grown in blocks up to a limit, O(1) get and put. One thread. Blocks come from the
 * heap, or from a source that makes memory of another sort; with a source each block is twice as large as the one
 * before, up to MPOOL_BLOCK_MAX. */
#ifndef VBN_BASE_MPOOL_H
#define VBN_BASE_MPOOL_H

#include "base/status.h"

#define MPOOL_BLOCK_MAX ((size_t)2 << 20) /* bytes of a block of several objects */

/* Blocks at least 64-byte aligned; get records its error and returns NULL. */
typedef struct mpool_source {
    void *(*get)(void *arg, size_t bytes);
    void (*put)(void *arg, void *block, size_t bytes);
    void *arg;
} mpool_source_t;

typedef struct mpool {
    void *free_list;
    void *blocks;
    size_t object_bytes;
    size_t block_objects;
    size_t total;
    size_t limit;
    size_t used;
    mpool_source_t source;
} mpool_t;

/* limit: most objects (0 = unlimited). object_bytes is rounded up to 64. */
void mpool_init(mpool_t *pool, size_t object_bytes, size_t block_objects, size_t limit);
/* The same with blocks from a source, which outlives the pool. */
void mpool_init_from(mpool_t *pool, size_t object_bytes, size_t block_objects, size_t limit,
                     const mpool_source_t *source);
/* Frees all blocks; objects still in use become invalid. */
void mpool_free(mpool_t *pool);
/* NULL when the limit or the heap is exhausted (error recorded). Content is unspecified. */
void *mpool_get(mpool_t *pool);
void mpool_put(mpool_t *pool, void *object);

#endif
