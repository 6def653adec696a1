/* SPDX-License-Identifier: Apache-2.0
 * store.c - opening, shards, flush, limits, statistics. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "store/shard.h"

#define DROPPED_AT_ONCE 8u /* segments, under one hold of the lock */
#define ITEMS_PER_SHARD 4u /* of the largest, or there are fewer shards */

static unsigned shards_for(const store_config_t *config)
{
    unsigned count = 1;
    while (count * 2 <= config->shards && config->bytes / (count * 2) >= ITEMS_PER_SHARD * config->item_max)
        count *= 2;
    return count;
}

static void close_shards(store_t *store, unsigned opened)
{
    for (unsigned i = 0; i < opened; i++)
        shard_close(&store->shards[i]);
    published_close(store);
    free(store->shards);
    free(store);
}

store_status_t store_open(const store_config_t *config, store_t **store_p)
{
    store_t *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return STORE_NO_MEMORY;
    store->now = config->now;
    store->now_arg = config->now_arg;
    store->item_max = config->item_max;
    store->evict = config->evict;
    store->seed = os_random_u64();
    store->crc_seed = (uint32_t)os_random_u64();
    store->shard_count = shards_for(config);
    while (1u << store->shard_bits < store->shard_count)
        store->shard_bits++;
    store->shards = calloc(store->shard_count, sizeof(*store->shards));
    store_status_t status = store->shards == NULL || !published_open(store, config) ? STORE_NO_MEMORY : STORE_OK;
    if (status != STORE_OK)
        close_shards(store, 0);
    for (unsigned i = 0; i < store->shard_count && status == STORE_OK; i++) {
        status = shard_open(&store->shards[i], store, config, config->bytes / store->shard_count, i);
        if (status != STORE_OK)
            close_shards(store, i + 1);
    }
    if (status == STORE_OK)
        *store_p = store;
    return status;
}

void store_close(store_t *store)
{
    if (store != NULL)
        close_shards(store, store->shard_count);
}

void *store_page(const store_t *store)
{
    return store->page_handle;
}

uint32_t store_now(const store_t *store)
{
    return store->now(store->now_arg);
}

void store_flush(store_t *store, uint32_t at)
{
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard_flush(shard, at, store_now(store));
        pthread_mutex_unlock(&shard->lock);
    }
}

void store_tick(store_t *store)
{
    if (store->page != NULL)
        atomic_set_relaxed(&store->page->clock, store_now(store));
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        unsigned dropped;
        do {
            pthread_mutex_lock(&shard->lock);
            dropped = ttl_drop(shard, store_now(store), DROPPED_AT_ONCE);
            pthread_mutex_unlock(&shard->lock);
        } while (dropped == DROPPED_AT_ONCE);
    }
}

bool store_limit(store_t *store, size_t bytes)
{
    size_t share = bytes / store->shard_count;
    bool fits = true;
    for (unsigned i = 0; i < store->shard_count && fits; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        fits = share >= ITEMS_PER_SHARD * shard->pool.segment_bytes && segment_pool_limit(&shard->pool, share);
        if (fits)
            (void)shard_reclaim(shard, RESERVE);
        pthread_mutex_unlock(&shard->lock);
    }
    return fits;
}

/* ------------------------------------------------------------------------------------- statistics */

static void add_counters(store_counters_t *sum, const store_counters_t *more)
{
#define ADD(name) sum->name += more->name;
    STORE_COUNTERS(ADD)
#undef ADD
}

static bool holds_items(const segment_t *segment)
{
    return segment->kind == SEGMENT_OPEN || segment->kind == SEGMENT_SEALED || segment->kind == SEGMENT_RUN;
}

static void add_ttl(store_stats_t *stats, const segment_t *segment, uint32_t now)
{
    store_ttl_stats_t *ttl = &stats->ttl[segment->ttl];
    const item_t *first = (const item_t *)(const void *)segment->base;
    ttl->items += segment->items;
    ttl->bytes += segment->live;
    ttl->segments += segment->run;
    if (segment->used > 0 && first->created != 0 && now - first->created > ttl->age)
        ttl->age = now - first->created;
}

static void add_shard(store_stats_t *stats, const shard_t *shard, uint32_t now)
{
    const segment_pool_t *pool = &shard->pool;
    add_counters(&stats->counters, &shard->counters);
    stats->items += shard->items;
    stats->bytes += shard->bytes;
    stats->segment_bytes = pool->segment_bytes;
    stats->segments_limit += pool->limit;
    stats->limit_bytes += pool->limit * pool->segment_bytes;
    stats->memory_bytes += (uint64_t)pool->memory_count * pool->per_memory * pool->segment_bytes;
    stats->segments_used += pool->used;
    stats->segments_free += pool->free_count;
    stats->buckets += index_buckets(&shard->index);
    stats->overflow_buckets += shard->index.overflow_used - shard->index.overflow_free_count;
    stats->index_bytes += (shard->index.main.count + shard->index.overflow.count) * pool->segment_bytes;
    for (uint32_t m = 0; m < pool->memory_count; m++)
        for (uint32_t i = 0; i < pool->per_memory; i++)
            if (holds_items(&pool->memories[m].segments[i]))
                add_ttl(stats, &pool->memories[m].segments[i], now);
}

void store_stats(store_t *store, store_stats_t *stats)
{
    *stats = (store_stats_t){.shards = store->shard_count};
    for (unsigned i = 0; i < store->shard_count; i++) {
        pthread_mutex_lock(&store->shards[i].lock);
        add_shard(stats, &store->shards[i], store_now(store));
        pthread_mutex_unlock(&store->shards[i].lock);
    }
}

void store_stats_reset(store_t *store)
{
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard->counters = (store_counters_t){.total_items = 0};
        pthread_mutex_unlock(&shard->lock);
    }
}

/* ------------------------------------------------------------------------------------------ walks */

typedef const char *(*item_func_t)(void *arg, shard_t *shard, const segment_t *segment, const item_t *item);

/* Calls func for each live item of a segment; its answer, if it is not NULL, ends the walk. */
static const char *walk_segment(shard_t *shard, const segment_t *segment, item_func_t func, void *arg)
{
    const char *answer = NULL;
    for (size_t at = 0; at < segment->used && answer == NULL;) {
        const item_t *item = (const item_t *)(const void *)(segment->base + at);
        uint64_t hash = index_hash(shard->store->seed, item->data, item->key_bytes);
        at += item_size(item);
        if (index_find_entry(&shard->index, hash, index_entry(hash, segment, item)) != NULL)
            answer = func(arg, shard, segment, item);
    }
    return answer;
}

static const char *walk_shard(shard_t *shard, item_func_t func, void *arg)
{
    const char *answer = NULL;
    const segment_pool_t *pool = &shard->pool;
    for (uint32_t m = 0; m < pool->memory_count && answer == NULL; m++)
        for (uint32_t i = 0; i < pool->per_memory && answer == NULL; i++)
            if (holds_items(&pool->memories[m].segments[i]))
                answer = walk_segment(shard, &pool->memories[m].segments[i], func, arg);
    return answer;
}

typedef struct sizes {
    uint64_t *counts;
    size_t count;
} sizes_t;

static const char *count_size(void *arg, shard_t *shard, const segment_t *segment, const item_t *item)
{
    sizes_t *sizes = arg;
    (void)shard;
    (void)segment;
    size_t at = item_size(item) / ITEM_UNIT - 1;
    sizes->counts[at < sizes->count ? at : sizes->count - 1]++;
    return NULL;
}

void store_sizes(store_t *store, uint64_t *counts, size_t count)
{
    sizes_t sizes = {.counts = counts, .count = count};
    memset(counts, 0, count * sizeof(*counts));
    for (unsigned i = 0; i < store->shard_count; i++) {
        pthread_mutex_lock(&store->shards[i].lock);
        (void)walk_shard(&store->shards[i], count_size, &sizes);
        pthread_mutex_unlock(&store->shards[i].lock);
    }
}

typedef struct totals {
    uint64_t items, bytes;
} totals_t;

static const char *check_item(void *arg, shard_t *shard, const segment_t *segment, const item_t *item)
{
    totals_t *totals = arg;
    totals->items++;
    totals->bytes += item_size(item);
    if (item->generation != segment_generation(segment))
        return "a live item has another generation than its segment";
    return item_is_whole(item, shard->store->crc_seed, segment->number) ? NULL : "a live item's checksum is wrong";
}

static const char *check_shard(shard_t *shard)
{
    totals_t totals = {0};
    const segment_pool_t *pool = &shard->pool;
    uint64_t live = 0, items = 0;
    const char *wrong = walk_shard(shard, check_item, &totals);
    if (wrong != NULL)
        return wrong;
    for (uint32_t i = 0; i < pool->memory_count * pool->per_memory; i++)
        if (holds_items(segment_at(pool, i))) {
            live += segment_at(pool, i)->live;
            items += segment_at(pool, i)->items;
        }
    if (totals.items != shard->items || totals.bytes != shard->bytes || totals.items != shard->index.entries)
        return "items, bytes or index entries of a shard are counted wrong";
    if (live != totals.bytes || items != totals.items)
        return "live bytes or items of segments are counted wrong";
    return pool->free_count + pool->used == pool->memory_count * pool->per_memory ? NULL : "a segment is lost";
}

const char *store_check(store_t *store)
{
    const char *wrong = NULL;
    for (unsigned i = 0; i < store->shard_count && wrong == NULL; i++) {
        pthread_mutex_lock(&store->shards[i].lock);
        wrong = check_shard(&store->shards[i]);
        pthread_mutex_unlock(&store->shards[i].lock);
    }
    return wrong;
}
