/* SPDX-License-Identifier: Apache-2.0
 * verbs_memory.c - registered buffers. */
#include "tl/verbs/verbs_memory.h"

#include <string.h>

#define FIRST_OBJECTS 16u

vbn_status_t verbs_block_open(verbs_block_t *block, const verbs_port_t *port, const mpool_source_t *pages, size_t bytes)
{
    block->bytes = bytes;
    block->base = pages->get(pages->arg, bytes);
    if (block->base == NULL)
        return VBN_ERR_NO_MEMORY;
    vbn_status_t status = verbs_register(port, block->base, bytes, IBV_ACCESS_LOCAL_WRITE, &block->mr);
    if (status < 0) {
        pages->put(pages->arg, block->base, bytes);
        block->base = NULL;
    }
    return status;
}

void verbs_block_close(verbs_block_t *block, const verbs_port_t *port, const mpool_source_t *pages)
{
    if (block->base == NULL)
        return;
    (void)port->api->deregister_memory(block->mr);
    pages->put(pages->arg, block->base, block->bytes);
    block->base = NULL;
}

static void *get(void *arg, size_t bytes)
{
    verbs_pool_t *pool = arg;
    if (pool->block_count == VERBS_BLOCKS) {
        (void)err_set(VBN_ERR_LIMIT, "a pool of %s has grown to %u blocks", pool->port->name, VERBS_BLOCKS);
        return NULL;
    }
    verbs_block_t *block = &pool->blocks[pool->block_count];
    if (verbs_block_open(block, pool->port, &pool->pages, bytes) < 0)
        return NULL;
    pool->block_count++;
    return block->base;
}

static void put(void *arg, void *base, size_t bytes)
{
    verbs_pool_t *pool = arg;
    (void)bytes;
    for (unsigned i = 0; i < pool->block_count; i++)
        if (pool->blocks[i].base == base)
            verbs_block_close(&pool->blocks[i], pool->port, &pool->pages);
}

void verbs_pool_open(verbs_pool_t *pool, const verbs_port_t *port, const mpool_source_t *pages, size_t object_bytes,
                     size_t limit)
{
    mpool_source_t source = {.get = get, .put = put, .arg = pool};
    memset(pool, 0, sizeof(*pool));
    pool->port = port;
    pool->pages = *pages;
    mpool_init_from(&pool->pool, object_bytes, FIRST_OBJECTS, limit, &source);
}

void verbs_pool_close(verbs_pool_t *pool)
{
    mpool_free(&pool->pool);
}

uint32_t verbs_pool_key(const verbs_pool_t *pool, const void *object)
{
    const uint8_t *at = object;
    unsigned i = pool->block_count - 1; /* the latest block is the largest */
    while (i > 0 && (at < pool->blocks[i].base || at >= pool->blocks[i].base + pool->blocks[i].bytes))
        i--;
    return pool->blocks[i].mr->lkey;
}
