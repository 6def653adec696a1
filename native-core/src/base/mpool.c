/* SPDX-License-Identifier: Apache-2.0
 * mpool.c - pool of equal objects. A block is one cache line of header (link to the next block, its size) and its
 * objects; a free object's first word links to the next free one. */
#include "base/mpool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT_ALIGN 64u

typedef struct block {
    struct block *next;
    size_t bytes;
} block_t;

_Static_assert(sizeof(block_t) <= OBJECT_ALIGN, "a block's header is one cache line");

static void *heap_get(void *arg, size_t bytes)
{
    (void)arg;
    void *block = aligned_alloc(OBJECT_ALIGN, bytes);
    if (block == NULL)
        (void)err_set(VBN_ERR_NO_MEMORY, "no memory for a pool block of %zu bytes", bytes);
    return block;
}

static void heap_put(void *arg, void *block, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(block);
}

static const mpool_source_t heap = {.get = heap_get, .put = heap_put};

void mpool_init(mpool_t *pool, size_t object_bytes, size_t block_objects, size_t limit)
{
    mpool_init_from(pool, object_bytes, block_objects, limit, &heap);
}

void mpool_init_from(mpool_t *pool, size_t object_bytes, size_t block_objects, size_t limit,
                     const mpool_source_t *source)
{
    size_t whole = object_bytes == 0 ? OBJECT_ALIGN : object_bytes;
    *pool = (mpool_t){.block_objects = block_objects == 0 ? 1 : block_objects, .limit = limit, .source = *source};
    /* 0 when the rounding overflows: pool_grow then refuses. */
    pool->object_bytes = (whole + OBJECT_ALIGN - 1) & ~(size_t)(OBJECT_ALIGN - 1);
}

void mpool_free(mpool_t *pool)
{
    mpool_source_t source = pool->source;
    for (block_t *block = pool->blocks, *next; block != NULL; block = next) {
        next = block->next;
        source.put(source.arg, block, block->bytes);
    }
    mpool_init_from(pool, pool->object_bytes, pool->block_objects, pool->limit, &source);
}

static void push_free(mpool_t *pool, void *object)
{
    memcpy(object, &pool->free_list, sizeof(pool->free_list));
    pool->free_list = object;
}

/* The next block is twice as large, or as large as a block may be. */
static void grow_block(mpool_t *pool)
{
    size_t most = (MPOOL_BLOCK_MAX - OBJECT_ALIGN) / pool->object_bytes;
    if (pool->block_objects < most)
        pool->block_objects = pool->block_objects * 2 < most ? pool->block_objects * 2 : most;
}

static vbn_status_t pool_grow(mpool_t *pool)
{
    size_t objects = pool->block_objects;
    size_t bytes = 0;
    if (pool->limit != 0 && objects > pool->limit - pool->total)
        objects = pool->limit - pool->total;
    if (objects == 0)
        return err_set(VBN_ERR_LIMIT, "all %zu objects of a pool are in use", pool->limit);
    if (pool->object_bytes == 0 || __builtin_mul_overflow(objects, pool->object_bytes, &bytes) ||
        __builtin_add_overflow(bytes, OBJECT_ALIGN, &bytes))
        return err_set(VBN_ERR_INVALID, "a pool block of %zu objects is larger than the address space", objects);
    block_t *block = pool->source.get(pool->source.arg, bytes);
    if (block == NULL)
        return VBN_ERR_NO_MEMORY;
    *block = (block_t){.next = pool->blocks, .bytes = bytes};
    pool->blocks = block;
    pool->total += objects;
    for (size_t i = objects; i > 0; i--)
        push_free(pool, (char *)block + OBJECT_ALIGN + (i - 1) * pool->object_bytes);
    if (pool->source.get != heap_get)
        grow_block(pool);
    return VBN_OK;
}

void *mpool_get(mpool_t *pool)
{
    if (pool->free_list == NULL && pool_grow(pool) < 0)
        return NULL;
    void *object = pool->free_list;
    memcpy(&pool->free_list, object, sizeof(pool->free_list));
    pool->used++;
    return object;
}

void mpool_put(mpool_t *pool, void *object)
{
    assert(pool->used > 0);
    push_free(pool, object);
    pool->used--;
}
