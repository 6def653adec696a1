/* SPDX-License-Identifier: Apache-2.0
 * mpool.h - pool of equal objects, grown in blocks up to a limit, O(1) get and put. One thread. */
#ifndef VBN_BASE_MPOOL_H
#define VBN_BASE_MPOOL_H

#include "base/status.h"

typedef struct mpool {
    void *free_list;
    void *blocks;
    size_t object_bytes;
    size_t block_objects;
    size_t total;
    size_t limit;
    size_t used;
} mpool_t;

/* limit: most objects (0 = unlimited). object_bytes is rounded up to 64. */
void mpool_init(mpool_t *pool, size_t object_bytes, size_t block_objects, size_t limit);
/* Frees all blocks; objects still in use become invalid. */
void mpool_free(mpool_t *pool);
/* NULL when the limit or the heap is exhausted (error recorded). Content is unspecified. */
void *mpool_get(mpool_t *pool);
void mpool_put(mpool_t *pool, void *object);

#endif
