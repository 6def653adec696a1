/* SPDX-License-Identifier: Apache-2.0
 * published.c - making the page, and adding to its tables. */
#include "store/published.h"

#include <string.h>

#include "store/shard.h"

#define GROWTH 2u /* tables have space for a limit that is raised so often (cache_memlimit) */

static uint32_t memories_for(const store_config_t *config)
{
    return (uint32_t)(GROWTH * ((config->bytes >> pool_memory_shift(config->item_max)) + 2));
}

/* Extents of a shard's index: a bucket of 64 B for 5 items of 64 B and more, half of it again. */
static uint32_t chunks_for(size_t shard_bytes)
{
    return (uint32_t)(GROWTH * (shard_bytes / pool_index_bytes(shard_bytes) / 4 + 8));
}

static size_t page_bytes(const store_config_t *config, unsigned shards)
{
    size_t each = sizeof(published_shard_t) + 2 * chunks_for(config->bytes / shards) * sizeof(uint32_t);
    return sizeof(published_t) + shards * each + memories_for(config) * sizeof(published_memory_t) + 64;
}

/* Held by this thread until it ends; the kernel tells readers (published.h). */
static bool hold_alive(published_t *page)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    bool ok = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
              pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
              pthread_mutex_init(&page->alive, &attributes) == 0 && pthread_mutex_lock(&page->alive) == 0;
    (void)pthread_mutexattr_destroy(&attributes);
    return ok;
}

static void lay_out(published_t *page, const store_config_t *config, unsigned shards)
{
    uint32_t chunks = chunks_for(config->bytes / shards);
    page->memories_max = memories_for(config);
    page->memory_shift = pool_memory_shift(config->item_max);
    page->shards_at = (sizeof(*page) + 63) / 64 * 64;
    page->memories_at = page->shards_at + shards * (uint32_t)sizeof(published_shard_t);
    page->numbers_at = page->memories_at + page->memories_max * (uint32_t)sizeof(published_memory_t);
    published_shard_t *shard = (published_shard_t *)(void *)((char *)page + page->shards_at);
    for (unsigned i = 0; i < shards; i++) {
        shard[i].chunks_at = 2 * i * chunks;
        shard[i].overflows_at = (2 * i + 1) * chunks;
        shard[i].chunks_max = shard[i].overflows_max = chunks;
    }
}

bool published_open(store_t *store, const store_config_t *config)
{
    size_t bytes = page_bytes(config, store->shard_count);
    if (config->source.key == NULL)
        return true;
    published_t *page = config->source.get(config->source.arg, bytes, &store->page_handle);
    if (page == NULL)
        return false;
    store->page = page;
    store->page_source = config->source;
    page->bytes = (uint32_t)bytes;
    page->seed = store->seed;
    page->started_ns = config->started_ns;
    page->shard_count = store->shard_count;
    page->shard_bits = store->shard_bits;
    page->cas_shown = config->cas_shown;
    atomic_set_relaxed(&page->clock, shard_now(store));
    lay_out(page, config, store->shard_count);
    page->magic = PUBLISHED_MAGIC;
    return hold_alive(page);
}

void published_close(store_t *store)
{
    if (store->page == NULL)
        return;
    (void)pthread_mutex_trylock(&store->page->alive); /* takes it over when the thread that held it has ended */
    (void)pthread_mutex_unlock(&store->page->alive);
    store->page_source.put(store->page_source.arg, store->page_handle);
}

void published_add_memory(published_t *page, const store_source_t *source, void *handle)
{
    if (page == NULL)
        return;
    uint32_t count = atomic_get_relaxed(&page->memories);
    if (count == page->memories_max)
        return;
    published_memory_t *memory = published_memories(page) + count;
    memory->key_bytes = (uint32_t)source->key(source->arg, handle, memory->key);
    atomic_set_release(&page->memories, count + 1); /* pairs with a reader's acquire */
}

void published_add_chunk(const published_part_t *part, bool overflow, uint32_t grain)
{
    published_shard_t *shard = part->shard;
    if (shard == NULL)
        return;
    _Atomic uint32_t *count_p = overflow ? &shard->overflows : &shard->chunks;
    uint32_t count = atomic_get_relaxed(count_p);
    if (count == (overflow ? shard->overflows_max : shard->chunks_max))
        return;
    atomic_set_relaxed(published_numbers(part->page) + (overflow ? shard->overflows_at : shard->chunks_at) + count,
                       grain);
    atomic_set_release(count_p, count + 1); /* pairs with a reader's acquire */
}
