/* SPDX-License-Identifier: Apache-2.0
 * evict.c - reclaim: frees segments when a shard is full.
 *
 * First what costs nobody anything: segments in which everything has expired, then those with many dead bytes, whose live
 * items are moved to open segments. When no segment is more than 1/8 dead, the oldest one is evicted: items that
 * were read often since they were written or last moved are kept, up to a quarter of the segment, the others are gone. Each
 * move halves an item's count of reads, so what was once popular does not stay for ever. */
#include "store/shard.h"

#include <string.h>

#define KEEP_READS 2u /* an item read less often is not kept */
#define KEEP_SHARE 4u /* at most 1/4 of an evicted segment is kept */

static uint64_t hash_of(const shard_t *shard, const item_t *item)
{
    return index_hash(shard->store->seed, item->data, item->key_bytes);
}

static unsigned reads_of(const item_t *item)
{
    return atomic_get_relaxed(&item->heat) >> HEAT_COUNT_SHIFT;
}

/* The index slot of an item, NULL when the item is dead. */
static index_slot_t *slot_of(shard_t *shard, const segment_t *segment, const item_t *item, uint64_t *hash_p)
{
    *hash_p = hash_of(shard, item);
    return index_find_entry(&shard->index, *hash_p, index_entry(*hash_p, segment, item));
}

/* Copies a live item to an open segment. False: no space. */
static bool move_item(shard_t *shard, segment_t *from, item_t *item, index_slot_t *slot, uint64_t hash)
{
    segment_t *segment;
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    item_t *copy = shard_space(shard, item->key_bytes, item->value_bytes, expiry, from, &segment);
    if (copy == NULL)
        return false;
    uint32_t generation = copy->generation;
    uint32_t heat = atomic_get_relaxed(&item->heat);
    memcpy(copy->data, item->data, (size_t)item->key_bytes + item->value_bytes);
    copy->marks = item->marks;
    copy->client_flags = item->client_flags;
    copy->cas = item->cas;
    copy->created = item->created;
    copy->generation = generation;
    atomic_set_relaxed(&copy->access, atomic_get_relaxed(&item->access));
    atomic_set_relaxed(&copy->heat, (uint16_t)((heat & 0xffu) | (heat >> HEAT_COUNT_SHIFT) / 2 << HEAT_COUNT_SHIFT));
    copy->crc = item_crc(copy, item_data_crc(copy, shard->store->crc_seed), segment->number);
    shard->counters.moved++;
    return shard_link(shard, hash, copy, segment, slot) == STORE_OK;
}

static void drop_item(shard_t *shard, segment_t *segment, item_t *item, index_slot_t *slot)
{
    uint32_t now = store_now(shard->store);
    bool fetched = (atomic_get_relaxed(&item->heat) & HEAT_FETCHED) != 0;
    store_counters_t *counters = &shard->counters;
    if (item_expired(item, now) || item_flushed(shard, item, now)) {
        counters->reclaimed++;
        counters->expired_unfetched += !fetched;
    } else {
        counters->evictions++;
        counters->evicted_unfetched += !fetched;
    }
    shard_unlink(shard, slot, item, segment);
}

/* Fewest reads with which an item is kept, so that at most `budget` bytes are. */
static unsigned reads_to_keep(const segment_t *segment, size_t budget)
{
    size_t bytes[HEAT_COUNT_MAX + 1] = {0};
    for (size_t at = 0; at < segment->used;) {
        const item_t *item = (const item_t *)(const void *)(segment->base + at);
        bytes[reads_of(item)] += item_size(item);
        at += item_size(item);
    }
    unsigned reads = HEAT_COUNT_MAX + 1;
    for (size_t kept = 0; reads > KEEP_READS; reads--) {
        kept += bytes[reads - 1];
        if (kept > budget)
            break;
    }
    return reads;
}

/* Empties a segment and releases it: moves live items that were read at least so often, drops the others. */
static void empty_segment(shard_t *shard, segment_t *segment, unsigned reads)
{
    uint32_t now = store_now(shard->store);
    segment->pins++; /* it stays until its last item has been looked at */
    for (size_t at = 0, size; at < segment->used; at += size) {
        item_t *item = (item_t *)(void *)(segment->base + at);
        uint64_t hash;
        size = item_size(item);
        index_slot_t *slot = slot_of(shard, segment, item, &hash);
        if (slot == NULL)
            continue;
        bool keep = !item_expired(item, now) && !item_flushed(shard, item, now) && reads_of(item) >= reads;
        if (!keep || !move_item(shard, segment, item, slot, hash))
            drop_item(shard, segment, item, slot);
    }
    shard_unpin(shard, segment);
    shard->counters.segments_reclaimed++;
}

void shard_empty(shard_t *shard, segment_t *segment)
{
    empty_segment(shard, segment, HEAT_COUNT_MAX + 1);
}

/* The oldest unpinned segment or run of a list. */
static segment_t *oldest(list_link_t *list)
{
    list_for_each(link, list) {
        segment_t *segment = container_of(link, segment_t, link);
        if (segment->pins == 0)
            return segment;
    }
    return NULL;
}

/* A run that was read goes once around the list before it is evicted. */
static bool second_chance(shard_t *shard, segment_t *run)
{
    item_t *item = (item_t *)(void *)run->base;
    if (reads_of(item) == 0)
        return false;
    uint32_t heat = atomic_get_relaxed(&item->heat);
    atomic_set_relaxed(&item->heat, (uint16_t)((heat & 0xffu) | (heat >> HEAT_COUNT_SHIFT) / 2 << HEAT_COUNT_SHIFT));
    segment_renew(&shard->pool, run);
    return true;
}

/* Frees the segment that costs least; false: there is none. */
static bool reclaim_one(shard_t *shard)
{
    segment_pool_t *pool = &shard->pool;
    segment_t *segment = NULL;
    for (unsigned i = 0; i + 1 < OCTILES && segment == NULL; i++)
        segment = oldest(&pool->sealed[i]);
    if (segment != NULL) {
        empty_segment(shard, segment, 0);
        return true;
    }
    if (!shard->store->evict)
        return false;
    segment = oldest(&pool->sealed[OCTILES - 1]);
    while (segment != NULL && segment->kind == SEGMENT_RUN && second_chance(shard, segment))
        segment = oldest(&pool->sealed[OCTILES - 1]);
    if (segment == NULL)
        return false;
    empty_segment(shard, segment,
                  segment->kind == SEGMENT_RUN ? HEAT_COUNT_MAX + 1
                                               : reads_to_keep(segment, pool->segment_bytes / KEEP_SHARE));
    return true;
}

bool shard_seal_open(shard_t *shard)
{
    bool sealed = false;
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++) {
        segment_t *segment = shard->open[i];
        if (segment == NULL)
            continue;
        shard->open[i] = NULL;
        segment_seal(&shard->pool, segment, true);
        if (segment->items == 0 && segment->pins == 0)
            segment_release(&shard->pool, segment);
        sealed = true;
    }
    return sealed;
}

bool shard_reclaim(shard_t *shard, uint32_t wanted)
{
    segment_pool_t *pool = &shard->pool;
    uint32_t rounds = 4 * pool->memory_count *
                      pool->per_memory; /* each frees something, or halves what was read often */
    while (!segment_available(pool, wanted)) {
        if (rounds-- == 0)
            return false;
        if (ttl_drop(shard, store_now(shard->store), 1) == 0 && !reclaim_one(shard) && !shard_seal_open(shard))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- runs */

/* What freeing this segment, or the run that it begins, costs, in live bytes; SIZE_MAX: it cannot be freed. */
static size_t cost_of(const segment_t *segment)
{
    switch (segment->kind) {
    case SEGMENT_FREE: return 0;
    case SEGMENT_SEALED:
    case SEGMENT_RUN: return segment->pins > 0 ? SIZE_MAX : segment->live;
    default: return SIZE_MAX;
    }
}

static uint32_t step_of(const segment_t *segment)
{
    return segment->kind == SEGMENT_RUN ? segment->run : 1;
}

/* Live bytes in the `count` segments from `at` on; SIZE_MAX: they cannot all be freed. The last may begin a run that ends
 * behind them. */
static size_t window_cost(const segment_memory_t *memory, uint32_t at, uint32_t count)
{
    size_t sum = 0;
    for (uint32_t i = at; i < at + count; i += step_of(&memory->segments[i])) {
        size_t cost = cost_of(&memory->segments[i]);
        if (cost == SIZE_MAX)
            return SIZE_MAX;
        sum += cost;
    }
    return sum;
}

static segment_t *cheapest_window(const segment_pool_t *pool, uint32_t count, size_t *cost_p)
{
    segment_t *best = NULL;
    for (uint32_t m = 0; m < pool->memory_count; m++)
        for (uint32_t at = 0; at + count <= pool->per_memory; at++) {
            size_t cost = window_cost(&pool->memories[m], at, count);
            if (cost < *cost_p) {
                *cost_p = cost;
                best = &pool->memories[m].segments[at];
            }
        }
    return best;
}

static void empty_window(shard_t *shard, segment_t *first, uint32_t count)
{
    for (uint32_t i = 0, step; i < count; i += step) {
        segment_t *segment = first + i;
        step = step_of(segment);
        if (segment->kind != SEGMENT_FREE)
            shard_empty(shard, segment);
    }
}

segment_t *shard_reclaim_run(shard_t *shard, uint32_t count)
{
    segment_pool_t *pool = &shard->pool;
    bool evict = shard->store->evict;
    uint32_t wanted = count + (evict ? 0 : RESERVE); /* who evicts can restore the reserve (S1) */
    (void)ttl_drop(shard, store_now(shard->store), UINT32_MAX);
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        size_t cost = SIZE_MAX;
        segment_t *first = cheapest_window(pool, count, &cost);
        if (first != NULL && (cost == 0 || evict)) {
            empty_window(shard, first, count);
            segment_t *run = segment_available(pool, wanted) ? segment_take_run(pool, count) : NULL;
            if (run != NULL)
                return run;
        }
        (void)shard_seal_open(shard);
        (void)shard_reclaim(shard, wanted); /* the limit may have been lowered */
    }
    return NULL;
}
