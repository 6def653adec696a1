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

#define KEEP_READS 1u       /* an item read less often is not kept */
#define KEEP_ALL_WINDOWS 8u /* in so many windows of a call all that was read is kept, then at most 1/2 of a segment */
#define WINDOWS_MOST 64u    /* that one call empties, or finds busy */
#define FREED_MOST 64u      /* segments, and twice what the item takes, that one call empties at nobody's cost */
#define DEAD_TO_COMPACT 4u  /* of DEADNESSES: from here on moving what is live is cheaper than evicting */
#define DEAD_TO_COMPACT_ALL 1u

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
            shard_empty(shard, extent, 0, true);
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

/* Empties a claimed extent unless it has changed since it was chosen; needs its shard's lock. keep: bytes at most; of less than a
 * segment stubs are items like others. */
static void evict_extent(shard_t *owner, extent_t *extent, size_t keep)
{
    bool stubs = keep == owner->pool->segment_bytes && shelf_keeps_stubs(owner);
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
        shard_empty(owner, extent, NO_READS_KEEP, stubs);
        break;
    case EXTENT_SEALED: shard_empty(owner, extent, reads_to_keep(extent, keep), stubs); break;
    case EXTENT_LARGE: shard_empty(owner, extent, NO_READS_KEEP, stubs); break;
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
