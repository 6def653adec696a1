/* SPDX-License-Identifier: Apache-2.0
 * evict.c - reclaim: frees extents when the store is full.
 *
 * First what costs nobody anything: what has expired as a whole, then segments with many dead bytes, whose live items are moved
 * to open segments; of this shard, then of those whose lock is free. When no segment is more than 1/8 dead, what has been longest
 * in memory is evicted (window.h), whichever shard has it. Of a segment, items that were read since they were written or last
 * moved are kept, the others are gone; where that frees too little, at most half of a segment is kept. Each read keeps an item
 * for a round, and many for three: what was once popular does not stay for ever. Without eviction every segment with 1/32 of
 * dead bytes is compacted. */
#include "store/shard.h"

#include <sched.h>
#include <string.h>

#define ROUNDS_MOST 3u      /* that an item is kept for, however often it was read */
#define KEEP_READS 1u       /* an item read less often is not kept */
#define KEEP_ALL_WINDOWS 8u /* in so many windows of a call all that was read is kept, then at most 1/2 of a segment */
#define WINDOWS_MOST 64u    /* that one call empties, or finds busy */
#define FREED_MOST 64u      /* segments, and twice what the item takes, that one call empties at nobody's cost */
#define DEAD_TO_COMPACT 4u  /* of DEADNESSES: from here on moving what is live is cheaper than evicting */
#define DEAD_TO_COMPACT_ALL 1u

static uint64_t hash_of(const shard_t *shard, const item_t *item)
{
    return index_hash(shard->store->seed, item->data, item->key_bytes);
}

/* The index slot of an item, NULL when the item is dead. */
static index_slot_t *slot_of(shard_t *shard, const extent_t *extent, const item_t *item, uint64_t *hash_p)
{
    *hash_p = hash_of(shard, item);
    return index_find_entry(&shard->index, *hash_p, index_entry(*hash_p, extent, item));
}

/* For how many rounds an item that is moved is kept without another read. */
static uint32_t rounds_left(const item_t *item)
{
    uint32_t reads = item_reads(item) < ROUNDS_MOST ? item_reads(item) : ROUNDS_MOST;
    return reads > 0 ? reads - 1 : 0;
}

/* Copies a live item to an open segment; looked_at: for reads, so that it has a round less. False: no space. */
static bool move_item(shard_t *shard, const extent_t *from, item_t *item, index_slot_t *slot, uint64_t hash,
                      bool looked_at)
{
    extent_t *extent;
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    item_t *copy = shard_space(shard, item->key_bytes, item->value_bytes, expiry, from, &extent);
    if (copy == NULL)
        return false;
    memcpy(copy->data, item->data, (size_t)item->key_bytes + item->value_bytes);
    copy->marks = item->marks;
    copy->client_flags = item->client_flags;
    copy->cas = item->cas;
    copy->created = item->created;
    atomic_set_relaxed(&copy->access, atomic_get_relaxed(&item->access));
    atomic_set_relaxed(&copy->heat, atomic_get_relaxed(&item->heat));
    if (looked_at)
        item_set_reads(copy, rounds_left(item));
    copy->crc = item_crc(copy, item_data_crc(copy, shard->store->crc_seed), extent_grain(extent, copy));
    shard->counters.moved++;
    return shard_link(shard, hash, copy, extent, slot) == STORE_OK;
}

/* Counts an item that goes, for all and for its TTL bucket. */
static void count_dropped(shard_t *shard, const extent_t *extent, item_t *item)
{
    uint32_t now = shard_now(shard->store);
    bool unfetched = (atomic_get_relaxed(&item->heat) & HEAT_FETCHED) == 0;
    store_counters_t *counters = &shard->counters;
    store_ttl_stats_t *ttl = &shard->ttl[extent->ttl];
    if (item_expired(item, now) || item_flushed(shard, item, now)) {
        counters->reclaimed++;
        counters->expired_unfetched += unfetched;
        ttl->reclaimed++;
        ttl->expired_unfetched += unfetched;
    } else {
        counters->evictions++;
        counters->evicted_unfetched += unfetched;
        ttl->evicted++;
        ttl->evicted_nonzero += atomic_get_relaxed(&item->expiry) != 0;
        ttl->evicted_unfetched += unfetched;
        ttl->evicted_time = now - atomic_get_relaxed(&item->access);
    }
}

static void drop_item(shard_t *shard, extent_t *extent, item_t *item, index_slot_t *slot)
{
    count_dropped(shard, extent, item);
    shard_unlink(shard, slot, item, extent);
}

/* Fewest reads with which an item is kept, so that at most `budget` bytes are. */
static unsigned reads_to_keep(const extent_t *extent, size_t budget)
{
    size_t bytes[HEAT_COUNT_MAX + 1] = {0};
    for (size_t at = 0; at < extent->used;) {
        const item_t *item = (const item_t *)(const void *)(extent->base + at);
        bytes[item_reads(item)] += item_size(item);
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

/* Nothing in a segment is live any more. S1: the spare that its items were copied to is replaced. */
static void give_back(shard_t *shard, extent_t *extent, bool had_spare)
{
    atomic_set_relaxed(&extent->pins, atomic_get_relaxed(&extent->pins) - 1);
    if (had_spare && shard->spare == NULL && extent->kind == EXTENT_SEALED) {
        shard_leave(shard, extent);
        pool_make_spare(shard->pool, extent);
        shard->spare = extent;
    } else {
        shard_release(shard, extent);
    }
}

/* Empties an extent and releases it: moves live items that were read at least so often, drops the others. */
static void empty_extent(shard_t *shard, extent_t *extent, unsigned reads)
{
    uint32_t now = shard_now(shard->store);
    bool had_spare = shard->spare != NULL;
    shard_pin(extent); /* it stays until its last item has been looked at */
    for (size_t at = 0, size; at < extent->used; at += size) {
        item_t *item = (item_t *)(void *)(extent->base + at);
        uint64_t hash;
        size = item_size(item);
        index_slot_t *slot = slot_of(shard, extent, item, &hash);
        if (slot == NULL)
            continue;
        bool keep = !item_expired(item, now) && !item_flushed(shard, item, now) && item_reads(item) >= reads;
        if (!keep || !move_item(shard, extent, item, slot, hash, reads > 0))
            drop_item(shard, extent, item, slot);
    }
    give_back(shard, extent, had_spare);
    shard->counters.segments_reclaimed++;
}

bool shard_empty_some(shard_t *shard, extent_t *extent, size_t *at_p, unsigned *left_p)
{
    while (*at_p < extent->used) {
        item_t *item = (item_t *)(void *)(extent->base + *at_p);
        uint64_t hash;
        if (*left_p == 0)
            return false;
        index_slot_t *slot = slot_of(shard, extent, item, &hash);
        (*left_p)--;
        *at_p += item_size(item);
        if (slot != NULL)
            drop_item(shard, extent, item, slot);
    }
    shard->counters.segments_reclaimed++;
    return true;
}

void shard_empty(shard_t *shard, extent_t *extent)
{
    empty_extent(shard, extent, HEAT_COUNT_MAX + 1);
}

bool shard_seal_open(shard_t *shard)
{
    bool sealed = false;
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++) {
        extent_t *extent = shard->open[i];
        if (extent == NULL)
            continue;
        shard->open[i] = NULL;
        shard_seal(shard, extent, true);
        if (extent->items == 0 && atomic_get_relaxed(&extent->pins) == 0)
            shard_release(shard, extent);
        sealed = true;
    }
    return sealed;
}

/* ------------------------------------------------------------------------- what costs nobody anything */

/* Moves what is live out of the segment with the most dead bytes. False: there is none with enough. */
static bool compact(shard_t *shard)
{
    bool evict = shard->store->evict;
    if (!evict && shard->spare == NULL)
        return false; /* nothing may be lost */
    for (unsigned i = DEADNESSES - 1; i >= (evict ? DEAD_TO_COMPACT : DEAD_TO_COMPACT_ALL); i--)
        list_for_each(link, &shard->sparse[i]) {
            extent_t *extent = container_of(link, extent_t, sparse);
            if (atomic_get_relaxed(&extent->pins) > 0)
                continue;
            empty_extent(shard, extent, 0);
            return true;
        }
    return false;
}

static bool free_dead(shard_t *shard, bool compacts)
{
    ttl_step_t step = {.looks = STORE_STEP_LOOKS, .items = UINT32_MAX, .extents = 1};
    ttl_begin(shard, shard_now(shard->store));
    (void)ttl_drop(shard, shard_now(shard->store), &step);
    return step.dropped > 0 || (compacts && compact(shard));
}

/* Of other shards, as far as nobody holds their locks (S4). */
static bool free_dead_of_others(const shard_t *shard, bool compacts)
{
    store_t *store = shard->store;
    bool freed = false;
    for (unsigned i = 1; i < store->shard_count && !freed; i++) {
        shard_t *other = &store->shards[(shard->number + i) % store->shard_count];
        if (pthread_mutex_trylock(&other->lock) != 0)
            continue;
        freed = free_dead(other, compacts);
        pthread_mutex_unlock(&other->lock);
    }
    return freed;
}

/* ------------------------------------------------------------------------------------------ windows */

/* Empties a claimed extent unless it has changed since it was chosen; needs its shard's lock. keep: bytes at most. */
static void evict_extent(shard_t *owner, extent_t *extent, size_t keep)
{
    if (atomic_get_relaxed(&extent->pins) > 0)
        return;
    switch (extent->kind) {
    case EXTENT_SPARE:
        owner->spare = NULL;
        shard_release(owner, extent);
        break;
    case EXTENT_OPEN:
        owner->open[extent->ttl] = NULL;
        shard_seal(owner, extent, true);
        shard_empty(owner, extent);
        break;
    case EXTENT_SEALED: empty_extent(owner, extent, reads_to_keep(extent, keep)); break;
    case EXTENT_LARGE: shard_empty(owner, extent); break;
    default: break;
    }
}

/* Empties what is claimed. Returns the bit of a shard that was busy, else 0. */
static uint64_t empty_window(shard_t *shard, const window_t *window, size_t keep)
{
    uint32_t at = window->from;
    for (extent_t *extent = window_next(shard->pool, window, &at); extent != NULL;
         extent = window_next(shard->pool, window, &at)) {
        shard_t *owner = extent->shard;
        if (owner != shard && pthread_mutex_trylock(&owner->lock) != 0)
            return UINT64_C(1) << owner->number;
        evict_extent(owner, extent, keep);
        if (owner != shard)
            pthread_mutex_unlock(&owner->lock);
    }
    return 0;
}

/* One window. False: there is none, and no shard is busy. */
static bool evict_window(shard_t *shard, reclaim_t *reclaim, extent_kind_t kind, uint32_t grains, extent_t **taken_p)
{
    window_t window;
    if (window_claim(shard->pool, kind, grains, reclaim->busy, &window)) {
        size_t segment = shard->pool->segment_bytes;
        reclaim->busy |= empty_window(shard, &window, reclaim->windows > KEEP_ALL_WINDOWS ? segment / 2 : segment);
        *taken_p = window_take(shard->pool, &window, shard, kind, kind == EXTENT_FREE ? 0 : grains);
        return true;
    }
    if (reclaim->busy == 0)
        return shard_seal_open(shard);
    reclaim->busy = 0;
    (void)sched_yield(); /* to who holds the lock */
    return true;
}

bool shard_reclaim(shard_t *shard, reclaim_t *reclaim, extent_kind_t kind, uint32_t grains, extent_t **taken_p)
{
    bool evict = shard->store->evict;
    bool compacts = !evict || grains <= shard->pool->segment_grains; /* more would not lie side by side */
    *taken_p = NULL;
    if (reclaim->freed < FREED_MOST + 2 * (grains / shard->pool->segment_grains) &&
        (free_dead(shard, compacts) || free_dead_of_others(shard, compacts))) {
        reclaim->freed++;
        return true;
    }
    if (reclaim->windows++ == WINDOWS_MOST)
        return false;
    return evict ? evict_window(shard, reclaim, kind, grains, taken_p) : shard_seal_open(shard);
}

bool shard_obey_limit(shard_t *shard)
{
    reclaim_t reclaim = {0};
    extent_t *taken;
    while (pool_is_over(shard->pool, 0))
        if (!shard_reclaim(shard, &reclaim, EXTENT_FREE, 1, &taken))
            return false;
    return true;
}
