/* SPDX-License-Identifier: Apache-2.0
 * verbs_memory.h - registered buffers: a fixed array (receives) and a pool that grows (sends). One thread. */
#ifndef VBN_TL_VERBS_MEMORY_H
#define VBN_TL_VERBS_MEMORY_H

#include "mem/slab.h"
#include "tl/verbs/verbs_port.h"

#define VERBS_BLOCKS 32u

typedef struct verbs_block {
    uint8_t *base;
    size_t bytes;
    struct ibv_mr *mr;
} verbs_block_t;

typedef struct verbs_pool {
    const verbs_port_t *port;
    mpool_source_t pages;
    mpool_t pool;
    verbs_block_t blocks[VERBS_BLOCKS];
    unsigned block_count;
} verbs_pool_t;

vbn_status_t verbs_block_open(verbs_block_t *block, const verbs_port_t *port, const mpool_source_t *pages,
                              size_t bytes);
void verbs_block_close(verbs_block_t *block, const verbs_port_t *port, const mpool_source_t *pages);

void verbs_pool_open(verbs_pool_t *pool, const verbs_port_t *port, const mpool_source_t *pages, size_t object_bytes,
                     size_t limit);
void verbs_pool_close(verbs_pool_t *pool);
static inline void *verbs_pool_get(verbs_pool_t *pool)
{
    return mpool_get(&pool->pool);
}
static inline void verbs_pool_put(verbs_pool_t *pool, void *object)
{
    mpool_put(&pool->pool, object);
}
uint32_t verbs_pool_key(const verbs_pool_t *pool, const void *object); /* local key of an object's block */

#endif
