/* SPDX-License-Identifier: Apache-2.0
 * segment.c - memories, free segments, runs, and the lists by which reclaim chooses. */
#include "store/segment.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_BYTES_MIN ((size_t)16 << 10)
#define SEGMENT_BYTES_USUAL ((size_t)1 << 20)
#define SEGMENTS_WANTED 64u
#define PAGE_BYTES 4096u

size_t segment_bytes_for(size_t shard_bytes)
{
    size_t bytes = SEGMENT_BYTES_USUAL;
    while (bytes > SEGMENT_BYTES_MIN && shard_bytes / bytes < SEGMENTS_WANTED)
        bytes /= 2;
    return bytes;
}

/* Bytes in front of a memory's segments. */
static size_t table_bytes(const segment_pool_t *pool)
{
    size_t bytes = pool->per_memory * sizeof(uint32_t);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static size_t memory_bytes(const segment_pool_t *pool)
{
    return table_bytes(pool) + pool->per_memory * pool->segment_bytes;
}

static void publish_sizes(const segment_pool_t *pool)
{
    published_shard_t *shard = pool->part.shard;
    if (shard == NULL)
        return;
    shard->per_memory = pool->per_memory;
    shard->table_bytes = (uint32_t)table_bytes(pool);
    shard->segment_bytes = (uint32_t)pool->segment_bytes;
}

store_status_t segment_pool_open(segment_pool_t *pool, const store_source_t *source, const published_part_t *part,
                                 size_t bytes, size_t run_bytes)
{
    *pool = (segment_pool_t){.source = *source, .part = *part, .segment_bytes = segment_bytes_for(bytes)};
    size_t memory = MEMORY_BYTES < bytes ? MEMORY_BYTES : bytes;
    size_t run = (run_bytes + pool->segment_bytes - 1) / pool->segment_bytes;
    pool->per_memory = (uint32_t)(memory / pool->segment_bytes);
    if (pool->per_memory < 2 * run) /* room for a run wherever the index has its part */
        pool->per_memory = (uint32_t)(2 * run);
    pool->memory_limit = SEGMENT_NUMBERS / pool->per_memory;
    list_init(&pool->free);
    publish_sizes(pool);
    for (unsigned i = 0; i < OCTILES; i++)
        list_init(&pool->sealed[i]);
    if (!segment_pool_limit(pool, bytes))
        return STORE_TOO_LARGE;
    pool->memories = calloc(pool->memory_limit, sizeof(*pool->memories));
    return pool->memories != NULL && segment_pool_grow(pool) ? STORE_OK : STORE_NO_MEMORY;
}

void segment_pool_close(segment_pool_t *pool)
{
    for (uint32_t i = 0; i < pool->memory_count; i++) {
        free(pool->memories[i].segments);
        pool->source.put(pool->source.arg, pool->memories[i].handle);
    }
    free(pool->memories);
}

bool segment_pool_limit(segment_pool_t *pool, size_t bytes)
{
    size_t count = bytes / pool->segment_bytes;
    if (count > SEGMENT_NUMBERS)
        return false;
    pool->limit = (uint32_t)count;
    return true;
}

bool segment_pool_may_grow(const segment_pool_t *pool)
{
    return pool->memory_count < pool->memory_limit && pool->memory_count * pool->per_memory < pool->limit;
}

static void add_segment(segment_pool_t *pool, segment_memory_t *memory, uint32_t i)
{
    segment_t *segment = &memory->segments[i];
    *segment = (segment_t){.base = memory->address + table_bytes(pool) + i * pool->segment_bytes,
                           .generation = (_Atomic uint32_t *)(void *)memory->address + i,
                           .number = pool->memory_count * pool->per_memory + i,
                           .run = 1,
                           .kind = SEGMENT_FREE};
    atomic_set_relaxed(segment->generation, 1);
    list_append(&pool->free, &segment->link);
    pool->free_count++;
}

bool segment_pool_grow(segment_pool_t *pool)
{
    if (!segment_pool_may_grow(pool))
        return false;
    segment_memory_t *memory = &pool->memories[pool->memory_count];
    memory->segments = calloc(pool->per_memory, sizeof(*memory->segments));
    if (memory->segments == NULL)
        return false;
    memory->address = pool->source.get(pool->source.arg, memory_bytes(pool), &memory->handle);
    if (memory->address == NULL) {
        free(memory->segments);
        return false;
    }
    for (uint32_t i = 0; i < pool->per_memory; i++)
        add_segment(pool, memory, i);
    pool->memory_count++;
    published_add_memory(&pool->part, memory->handle);
    return true;
}

segment_t *segment_at(const segment_pool_t *pool, uint32_t number)
{
    uint32_t memory = number / pool->per_memory;
    return memory < pool->memory_count ? &pool->memories[memory].segments[number % pool->per_memory] : NULL;
}

static void take(segment_pool_t *pool, segment_t *segment, segment_kind_t kind)
{
    list_remove(&segment->link);
    segment->kind = (uint8_t)kind;
    segment->used = 0;
    segment->live = 0;
    segment->items = 0;
    segment->drop = 0;
    segment->run = 1;
    pool->free_count--;
    pool->used++;
}

segment_t *segment_take(segment_pool_t *pool, segment_kind_t kind)
{
    if (list_empty(&pool->free) || pool->used >= pool->limit)
        return NULL;
    segment_t *segment = container_of(pool->free.next, segment_t, link);
    take(pool, segment, kind);
    return segment;
}

/* The first of `count` neighbouring free segments of this memory, or NULL. */
static segment_t *find_free_run(const segment_pool_t *pool, const segment_memory_t *memory, uint32_t count)
{
    uint32_t length = 0;
    for (uint32_t i = 0; i < pool->per_memory; i++) {
        length = memory->segments[i].kind == SEGMENT_FREE ? length + 1 : 0;
        if (length == count)
            return &memory->segments[i + 1 - count];
    }
    return NULL;
}

segment_t *segment_take_run(segment_pool_t *pool, uint32_t count)
{
    segment_t *first = NULL;
    if (count > pool->free_count || pool->used + count > pool->limit)
        return NULL;
    for (uint32_t i = pool->memory_count; i > 0 && first == NULL; i--)
        first = find_free_run(pool, &pool->memories[i - 1], count);
    for (uint32_t i = 0; first != NULL && i < count; i++)
        take(pool, first + i, i == 0 ? SEGMENT_RUN : SEGMENT_RUN_REST);
    if (first != NULL)
        first->run = count;
    return first;
}

static void release_one(segment_pool_t *pool, segment_t *segment)
{
    uint32_t next = segment_generation(segment) + 1;
    if ((next & SEGMENT_GENERATION_MASK) == 0)
        next++;
    /* Pairs with the acquire load of a reader that compares the word after its copy: it sees this before any byte that is
     * written later. */
    atomic_set_release(segment->generation, next);
    atomic_full_fence();
    list_remove(&segment->link);
    segment->kind = SEGMENT_FREE;
    segment->run = 1;
    list_append(&pool->free, &segment->link);
    pool->free_count++;
    pool->used--;
}

void segment_release(segment_pool_t *pool, segment_t *segment)
{
    for (uint32_t i = segment->run; i > 0; i--)
        release_one(pool, segment + i - 1);
}

/* By bytes that moving its items would not win back. What was too short for the next item when the segment was full is not
 * won: otherwise large items would be moved again and again. */
static uint8_t octile_of(const segment_pool_t *pool, const segment_t *segment)
{
    size_t kept = pool->segment_bytes - (segment->used - segment->live) - segment->tail;
    size_t octile = kept * OCTILES / pool->segment_bytes;
    return (uint8_t)(octile < OCTILES ? octile : OCTILES - 1);
}

void segment_seal(segment_pool_t *pool, segment_t *segment, bool early)
{
    if (segment->kind == SEGMENT_OPEN)
        segment->kind = SEGMENT_SEALED;
    segment->tail = early ? pool->segment_bytes - segment->used : 0;
    segment->octile = segment->kind == SEGMENT_RUN ? OCTILES - 1 : octile_of(pool, segment);
    list_append(&pool->sealed[segment->octile], &segment->link);
}

void segment_renew(segment_pool_t *pool, segment_t *segment)
{
    list_remove(&segment->link);
    list_append(&pool->sealed[segment->octile], &segment->link);
}

void segment_live(segment_pool_t *pool, segment_t *segment, ptrdiff_t bytes, int items)
{
    segment->live += (size_t)bytes;
    segment->items += (uint32_t)items;
    if (segment->kind != SEGMENT_SEALED)
        return;
    uint8_t octile = octile_of(pool, segment);
    if (octile == segment->octile)
        return;
    segment->octile = octile;
    segment_renew(pool, segment);
}
