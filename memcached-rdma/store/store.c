/* SPDX-License-Identifier: Apache-2.0
 * store.c - opening, shards, flush, limits, statistics. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "store/shard.h"

#define ITEMS_PER_SHARD 4u /* of the largest, or there are fewer shards */
#define SHARDS_MAX 64u     /* a bit for each in a word (evict.c, reader.h) */
#define AGE_LOOKS 16u      /* at the oldest of a TTL bucket: those not written yet have no age */

static unsigned shards_for(const store_config_t *config)
{
    unsigned count = 1;
    while (count * 2 <= config->shards && count * 2 <= SHARDS_MAX &&
           config->bytes / (count * 2) >= ITEMS_PER_SHARD * config->item_max)
        count *= 2;
    return count;
}

static void close_shards(store_t *store, unsigned opened)
{
    for (unsigned i = 0; i < opened; i++)
        shard_close(&store->shards[i]);
    pool_close(&store->pool);
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
    store->evicted = config->evicted;
    store->evicted_arg = config->evicted_arg;
    store->item_max = config->item_max;
    store->pinned_percent = config->pinned_percent;
    store->evict = config->evict;
    store->shelf = config->shelf;
    store->seed = os_random_u64();
    store->crc_seed = (uint32_t)os_random_u64();
    store->shard_count = shards_for(config);
    while (1u << store->shard_bits < store->shard_count)
        store->shard_bits++;
    store->shards = calloc(store->shard_count, sizeof(*store->shards));
    if (store->shards == NULL || !published_open(store, config)) {
        free(store->shards);
        free(store);
        return STORE_NO_MEMORY;
    }
    unsigned opened = 0;
    store_status_t status = pool_open(&store->pool, config, store->page, config->bytes / store->shard_count);
    for (; status == STORE_OK && opened < store->shard_count; opened++)
        status = shard_open(&store->shards[opened], store, opened);
    if (status != STORE_OK)
        close_shards(store, opened);
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
    return shard_now(store);
}

void store_flush(store_t *store, uint32_t at)
{
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard_flush(shard, at, shard_now(store));
        pthread_mutex_unlock(&shard->lock);
    }
}

void store_tick(store_t *store)
{
    if (store->page != NULL)
        atomic_set_relaxed(&store->page->clock, shard_now(store));
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        ttl_begin(shard, shard_now(store));
        pthread_mutex_unlock(&shard->lock);
    }
}

bool store_step(store_t *store)
{
    bool more = false;
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        ttl_step_t step = {.looks = STORE_STEP_LOOKS, .items = STORE_STEP_ITEMS, .extents = STORE_STEP_LOOKS};
        pthread_mutex_lock(&shard->lock);
        more = ttl_drop(shard, shard_now(store), &step) || more;
        pthread_mutex_unlock(&shard->lock);
    }
    if (!pool_lower(&store->pool, store->pool.segment_grains))
        return more;
    pthread_mutex_lock(&store->shards[0].lock);
    more = shard_obey_limit(&store->shards[0]) || more;
    pthread_mutex_unlock(&store->shards[0].lock);
    return more;
}

bool store_limit(store_t *store, size_t bytes)
{
    return bytes / store->shard_count >= ITEMS_PER_SHARD * store->pool.segment_bytes && pool_limit(&store->pool, bytes);
}

/* ------------------------------------------------------------------------------------- statistics */

static void add_counters(store_counters_t *sum, const store_counters_t *more)
{
#define ADD(name) sum->name += more->name;
    STORE_COUNTERS(ADD)
#undef ADD
}

/* Seconds since the oldest extent of a bucket began; the list is in their order. */
static uint32_t age_of(const shard_t *shard, unsigned ttl, uint32_t now)
{
    unsigned looks = 0;
    list_for_each(link, &shard->extents[ttl]) {
        const extent_t *extent = container_of(link, extent_t, mine);
        const item_t *first = (const item_t *)(const void *)extent->base;
        if (!extent_is_draft(extent) && extent->used > 0 && first->created != 0)
            return now > first->created ? now - first->created : 0;
        if (++looks == AGE_LOOKS)
            break;
    }
    return 0;
}

/* `segments` counts grains until all are added. */
static void add_ttl(store_ttl_stats_t *sum, const shard_t *shard, unsigned bucket, uint32_t now)
{
    const store_ttl_stats_t *more = &shard->ttl[bucket];
    uint32_t age = age_of(shard, bucket, now);
    sum->items += more->items;
    sum->bytes += more->bytes;
    sum->segments += more->segments;
    sum->age = age > sum->age ? age : sum->age;
    sum->evicted_time = more->evicted_time > sum->evicted_time ? more->evicted_time : sum->evicted_time;
#define ADD(name) sum->name += more->name;
    STORE_TTL_COUNTERS(ADD)
#undef ADD
}

static void add_shard(store_stats_t *stats, const shard_t *shard, uint32_t now)
{
    add_counters(&stats->counters, &shard->counters);
    stats->items += shard->items;
    stats->pinned_items += shard->pinned;
    stats->stubs += shard->stubs;
    stats->stub_bytes += shard->stub_bytes;
    stats->bytes += shard->bytes;
    stats->buckets += index_buckets(&shard->index);
    stats->overflow_buckets += shard->index.overflow_used - shard->index.overflow_free_count;
    stats->index_bytes += ((uint64_t)shard->index.main.count + shard->index.overflow.count) *
                          ((uint64_t)shard->pool->index_grains << GRAIN_SHIFT);
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++)
        add_ttl(&stats->ttl[i], shard, i, now);
}

static void add_pool(store_stats_t *stats, pool_t *pool)
{
    uint32_t most = pool->segment_grains - 1;
    pthread_mutex_lock(&pool->lock);
    stats->segment_bytes = pool->segment_bytes;
    stats->memory_bytes = (uint64_t)pool->capacity << GRAIN_SHIFT;
    stats->segments_limit = pool->limit / pool->segment_grains;
    stats->segments_used = (pool->used + most) / pool->segment_grains;
    stats->segments_free = (pool->capacity - pool->used) / pool->segment_grains;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++)
        stats->ttl[i].segments = (stats->ttl[i].segments + most) / pool->segment_grains;
}

void store_stats(store_t *store, store_stats_t *stats)
{
    *stats = (store_stats_t){.shards = store->shard_count};
    for (unsigned i = 0; i < store->shard_count; i++) {
        pthread_mutex_lock(&store->shards[i].lock);
        add_shard(stats, &store->shards[i], shard_now(store));
        pthread_mutex_unlock(&store->shards[i].lock);
    }
    add_pool(stats, &store->pool);
    stats->pinned_bytes = atomic_get_relaxed(&store->pinned);
    stats->pinned_limit = pin_limit(store);
}

void store_stats_reset(store_t *store)
{
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard->counters = (store_counters_t){.total_items = 0};
        for (unsigned b = 0; b < STORE_TTL_BUCKETS; b++) {
            store_ttl_stats_t *ttl = &shard->ttl[b];
            *ttl = (store_ttl_stats_t){.items = ttl->items, .bytes = ttl->bytes, .segments = ttl->segments};
        }
        pthread_mutex_unlock(&shard->lock);
    }
}

void store_sizes(store_t *store, uint64_t sizes[STORE_SIZES])
{
    memset(sizes, 0, STORE_SIZES * sizeof(*sizes));
    for (unsigned i = 0; i < store->shard_count; i++) {
        shard_t *shard = &store->shards[i];
        pthread_mutex_lock(&shard->lock);
        for (unsigned size = 0; size < STORE_SIZES; size++)
            sizes[size] += shard->sizes[size];
        pthread_mutex_unlock(&shard->lock);
    }
}

/* ------------------------------------------------------------------------------------------ walks */

typedef const char *(*item_func_t)(void *arg, shard_t *shard, const extent_t *extent, const item_t *item);

/* Calls func for each live item of an extent; its answer, if it is not NULL, ends the walk. */
static const char *walk_extent(shard_t *shard, const extent_t *extent, item_func_t func, void *arg)
{
    const char *answer = NULL;
    for (size_t at = 0; at < extent->used && answer == NULL;) {
        const item_t *item = (const item_t *)(const void *)(extent->base + at);
        uint64_t hash = index_hash(shard->store->seed, item->data, item->key_bytes);
        at += item_size(item);
        if (index_find_entry(&shard->index, hash, index_entry(hash, extent, item)) != NULL)
            answer = func(arg, shard, extent, item);
    }
    return answer;
}

static const char *walk_shard(shard_t *shard, item_func_t func, void *arg)
{
    const char *answer = NULL;
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++)
        list_for_each(link, &shard->extents[i]) {
            const extent_t *extent = container_of(link, extent_t, mine);
            if (answer == NULL && !extent_is_draft(extent))
                answer = walk_extent(shard, extent, func, arg);
        }
    return answer;
}

typedef struct totals {
    uint64_t items, bytes, pinned, stubs;
} totals_t;

static const char *check_item(void *arg, shard_t *shard, const extent_t *extent, const item_t *item)
{
    totals_t *totals = arg;
    totals->items++;
    totals->bytes += item_size(item);
    totals->pinned += extent->kind == EXTENT_PINNED;
    totals->stubs += item_is_stub(item);
    if (item->generation != extent_generation(extent, item))
        return "a live item has another generation than its grain";
    return item_is_whole(item, shard->store->crc_seed, extent_grain(extent, item)) ? NULL
                                                                                   : "a live item's checksum is wrong";
}

/* One TTL bucket; adds to live bytes and items. */
static const char *check_bucket(const shard_t *shard, unsigned bucket, uint64_t *live, uint64_t *items)
{
    store_ttl_stats_t found = {0};
    list_for_each(link, &shard->extents[bucket]) {
        const extent_t *extent = container_of(link, extent_t, mine);
        found.bytes += extent->live;
        found.items += extent->items;
        found.segments += extent->grains;
        if (extent->shard != shard || extent->ttl != bucket)
            return "an extent is in the list of another shard or bucket";
    }
    *live += found.bytes;
    *items += found.items;
    const store_ttl_stats_t *counted = &shard->ttl[bucket];
    bool right = counted->items == found.items && counted->bytes == found.bytes && counted->segments == found.segments;
    return right ? NULL : "items, bytes or grains of a TTL bucket are counted wrong";
}

static const char *check_shard(shard_t *shard)
{
    totals_t totals = {0};
    uint64_t live = 0, items = 0, sizes = 0;
    const char *wrong = walk_shard(shard, check_item, &totals);
    for (unsigned i = 0; i < STORE_TTL_BUCKETS && wrong == NULL; i++)
        wrong = check_bucket(shard, i, &live, &items);
    if (wrong != NULL)
        return wrong;
    for (unsigned i = 0; i < STORE_SIZES; i++)
        sizes += shard->sizes[i];
    if (sizes != shard->items)
        return "items are counted wrong by size";
    if (totals.pinned != shard->pinned)
        return "pinned items are counted wrong";
    if (totals.stubs != shard->stubs)
        return "items on disk are counted wrong";
    if (totals.items != shard->items || totals.bytes != shard->bytes || totals.items != shard->index.entries)
        return "items, bytes or index entries of a shard are counted wrong";
    return live == totals.bytes && items == totals.items ? NULL : "live bytes or items of extents are counted wrong";
}

const char *store_check(store_t *store)
{
    const char *wrong = NULL;
    for (unsigned i = 0; i < store->shard_count && wrong == NULL; i++) {
        pthread_mutex_lock(&store->shards[i].lock);
        wrong = check_shard(&store->shards[i]);
        pthread_mutex_unlock(&store->shards[i].lock);
    }
    return wrong == NULL ? pool_check(&store->pool) : wrong;
}
