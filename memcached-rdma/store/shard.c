/* SPDX-License-Identifier: Apache-2.0
 * shard.c - space for items, making them visible and removing them. */
#include "store/shard.h"

#include <string.h>

/* ---------------------------------------------------------------------------------------- extents */

/* Grains for this shard, which takes what it needs by force. */
static extent_t *take(shard_t *shard, extent_kind_t kind, uint32_t grains)
{
    reclaim_t reclaim = {0};
    extent_t *taken = pool_take(shard->pool, shard, kind, grains);
    while (taken == NULL && shard_reclaim(shard, &reclaim, kind, grains, &taken))
        if (taken == NULL)
            taken = pool_take(shard->pool, shard, kind, grains);
    return taken;
}

static extent_t *take_index(void *arg)
{
    shard_t *shard = arg;
    return take(shard, EXTENT_INDEX, shard->pool->index_grains);
}

/* When nothing can be reclaimed yet. */
static extent_t *take_first_index(void *arg)
{
    shard_t *shard = arg;
    return pool_take(shard->pool, shard, EXTENT_INDEX, shard->pool->index_grains);
}

store_status_t shard_open(shard_t *shard, store_t *store, unsigned number)
{
    *shard = (shard_t){.store = store, .pool = &store->pool, .number = number, .next_cas = number + 1};
    pthread_mutex_init(&shard->lock, NULL);
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++) {
        list_init(&shard->extents[i]);
        shard->next_drop[i] = UINT32_MAX;
    }
    for (unsigned i = 0; i < DEADNESSES; i++)
        list_init(&shard->sparse[i]);
    shard->part.page = store->page;
    if (store->page != NULL)
        shard->part.shard = (published_shard_t *)(void *)((char *)store->page + store->page->shards_at) + number;
    shard->spare = pool_take(shard->pool, shard, EXTENT_SPARE, shard->pool->segment_grains);
    store_status_t status = index_open(&shard->index, shard->pool, &shard->part, store->seed, take_first_index, shard);
    return shard->spare == NULL ? STORE_NO_MEMORY : status;
}

void shard_close(shard_t *shard)
{
    index_close(&shard->index);
    pthread_mutex_destroy(&shard->lock);
}

uint64_t shard_cas(shard_t *shard)
{
    uint64_t cas = shard->next_cas;
    shard->next_cas += shard->store->shard_count;
    return cas;
}

/* By bytes that moving its items would win. What was too short for the next item when the segment was full is not won:
 * otherwise items of half a segment would be moved again and again. */
static uint8_t deadness_of(const extent_t *extent)
{
    size_t dead = extent->used - extent->live + extent->tail;
    size_t deadness = dead * DEADNESSES / ((size_t)extent->grains << GRAIN_SHIFT);
    return (uint8_t)(deadness < DEADNESSES ? deadness : DEADNESSES - 1);
}

static void sort_by_deadness(shard_t *shard, extent_t *extent)
{
    uint8_t deadness = deadness_of(extent);
    if (deadness == extent->deadness)
        return;
    extent->deadness = deadness;
    list_remove(&extent->sparse);
    if (deadness > 0)
        list_append(&shard->sparse[deadness], &extent->sparse);
}

void shard_seal(shard_t *shard, extent_t *extent, bool early)
{
    extent->tail = early ? ((size_t)extent->grains << GRAIN_SHIFT) - extent->used : 0;
    pool_set_kind(shard->pool, extent, EXTENT_SEALED);
    ttl_expect(shard, extent);
    sort_by_deadness(shard, extent);
}

/* Counts an extent, with the live items that are in it, to its TTL bucket or no more. */
static void count_extent(shard_t *shard, const extent_t *extent, bool more)
{
    store_ttl_stats_t *ttl = &shard->ttl[extent->ttl];
    uint64_t sign = more ? 1 : UINT64_MAX;
    ttl->items += sign * extent->items;
    ttl->bytes += sign * extent->live;
    ttl->segments += sign * extent->grains;
}

static void leave_bucket(shard_t *shard, extent_t *extent)
{
    if (list_empty(&extent->mine))
        return;
    if (shard->look[extent->ttl] == extent)
        shard->look[extent->ttl] = ttl_next(shard, extent);
    count_extent(shard, extent, false);
    list_remove(&extent->mine);
}

void shard_leave(shard_t *shard, extent_t *extent)
{
    leave_bucket(shard, extent);
    list_remove(&extent->sparse);
    extent->deadness = 0;
}

void shard_release(shard_t *shard, extent_t *extent)
{
    shard_leave(shard, extent);
    pool_release(shard->pool, extent);
}

static void join_bucket(shard_t *shard, extent_t *extent, unsigned ttl)
{
    leave_bucket(shard, extent);
    extent->ttl = (uint8_t)ttl;
    extent->epoch = shard->epoch;
    list_append(&shard->extents[ttl], &extent->mine);
    count_extent(shard, extent, true);
}

/* ------------------------------------------------------------------------------------------ space */

static bool has_space(const shard_t *shard, const extent_t *extent, size_t bytes)
{
    return extent != NULL && extent->used + bytes <= shard->pool->segment_bytes;
}

/* A segment becomes the open one of its bucket. */
static void open_segment(shard_t *shard, extent_t *extent, unsigned ttl)
{
    if (shard->open[ttl] != NULL)
        shard_seal(shard, shard->open[ttl], false);
    join_bucket(shard, extent, ttl);
    shard->open[ttl] = extent;
}

/* For reclaim's own copies: what is free, else the spare. */
static extent_t *segment_for_move(shard_t *shard)
{
    extent_t *extent = pool_take(shard->pool, shard, EXTENT_OPEN, shard->pool->segment_grains);
    if (extent == NULL && shard->spare != NULL) {
        extent = shard->spare;
        shard->spare = NULL;
        pool_set_kind(shard->pool, extent, EXTENT_OPEN);
    }
    return extent;
}

/* The spare was needed elsewhere: another one, or what is kept would have no place. */
static void restore_spare(shard_t *shard)
{
    if (shard->spare == NULL && shard->store->evict)
        shard->spare = take(shard, EXTENT_SPARE, shard->pool->segment_grains);
}

/* The segment that takes an item of so many bytes; seals the one that is full. */
static extent_t *segment_for(shard_t *shard, size_t bytes, unsigned ttl, bool moving)
{
    reclaim_t reclaim = {0};
    extent_t *taken = NULL;
    if (has_space(shard, shard->open[ttl], bytes))
        return shard->open[ttl];
    if (moving)
        taken = segment_for_move(shard);
    else
        restore_spare(shard);
    while (!moving && taken == NULL && !has_space(shard, shard->open[ttl], bytes)) { /* reclaim may have opened one */
        taken = pool_take(shard->pool, shard, EXTENT_OPEN, shard->pool->segment_grains);
        if (taken == NULL && !shard_reclaim(shard, &reclaim, EXTENT_OPEN, shard->pool->segment_grains, &taken))
            return NULL;
    }
    if (has_space(shard, shard->open[ttl], bytes)) {
        if (taken != NULL)
            shard_release(shard, taken);
        return shard->open[ttl];
    }
    if (taken != NULL)
        open_segment(shard, taken, ttl);
    return taken;
}

/* The extent lives as long as this item. */
static void raise_drop(extent_t *extent, const item_t *item)
{
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    uint32_t drop = expiry == 0 ? UINT32_MAX : expiry;
    if (drop > extent->drop)
        extent->drop = drop;
}

bool store_is_large(const store_t *store, size_t key_bytes, size_t value_bytes)
{
    return item_bytes(key_bytes, value_bytes) > store->pool.large_bytes;
}

item_t *shard_space(shard_t *shard, size_t key_bytes, size_t value_bytes, uint32_t expiry, const extent_t *moving,
                    extent_t **extent_p)
{
    size_t bytes = item_bytes(key_bytes, value_bytes);
    unsigned ttl = moving != NULL ? moving->ttl : ttl_bucket(expiry, shard_now(shard->store));
    bool large = bytes > shard->pool->large_bytes;
    extent_t *extent = large ? take(shard, EXTENT_DRAFT, pool_grains(bytes))
                             : segment_for(shard, bytes, ttl, moving != NULL);
    if (extent == NULL) {
        shard->ttl[ttl].outofmemory += moving == NULL;
        return NULL;
    }
    if (large)
        join_bucket(shard, extent, ttl);
    item_t *item = (item_t *)(void *)(extent->base + extent->used);
    extent->used += bytes;
    memset(item, 0, sizeof(*item));
    item->generation = extent_generation(extent, item);
    item->key_bytes = (uint8_t)key_bytes;
    item->value_bytes = (uint32_t)value_bytes;
    atomic_set_relaxed(&item->expiry, expiry);
    raise_drop(extent, item);
    *extent_p = extent;
    return item;
}

void shard_pin(extent_t *extent)
{
    atomic_set_relaxed(&extent->pins, atomic_get_relaxed(&extent->pins) + 1);
}

/* An extent that lost its last live item while it was pinned goes back now. */
static void release_if_dead(shard_t *shard, extent_t *extent)
{
    if (extent->items == 0 && atomic_get_relaxed(&extent->pins) == 0 &&
        (extent->kind == EXTENT_SEALED || extent->kind == EXTENT_DRAFT || extent->kind == EXTENT_LARGE))
        shard_release(shard, extent);
}

void shard_unpin(shard_t *shard, extent_t *extent)
{
    uint32_t pins = atomic_get_relaxed(&extent->pins) - 1;
    atomic_set_relaxed(&extent->pins, pins);
    if (pins == 0 && extent->held) {
        extent->held = false;
        (void)atomic_fetch_sub_explicit(&shard->store->held, (uint64_t)extent->grains << GRAIN_SHIFT,
                                        memory_order_relaxed);
    }
    release_if_dead(shard, extent);
}

/* ------------------------------------------------------------------------------------- visibility */

void shard_seal_item(shard_t *shard, item_t *item, const extent_t *extent, uint32_t data_crc)
{
    item->created = shard_now(shard->store);
    atomic_set_relaxed(&item->access, item->created);
    item->crc = item_crc(item, data_crc, extent_grain(extent, item));
}

/* Adds to or takes from the live bytes. */
static void count_live(shard_t *shard, extent_t *extent, size_t bytes, bool more)
{
    size_t size = (bytes - 1) / STORE_SIZE_STEP;
    store_ttl_stats_t *ttl = &shard->ttl[extent->ttl];
    extent->live += more ? bytes : 0 - bytes;
    extent->items += more ? 1 : UINT32_MAX;
    shard->bytes += more ? bytes : 0 - bytes;
    shard->items += more ? 1 : UINT64_MAX;
    ttl->bytes += more ? bytes : 0 - bytes;
    ttl->items += more ? 1 : UINT64_MAX;
    shard->sizes[size < STORE_SIZES ? size : STORE_SIZES - 1] += more ? 1 : UINT32_MAX;
    if (extent->kind == EXTENT_SEALED)
        sort_by_deadness(shard, extent);
}

static void forget(shard_t *shard, const item_t *item, extent_t *extent)
{
    count_live(shard, extent, item_size(item), false);
    release_if_dead(shard, extent);
}

/* Puts an entry for a key that has none into the index, which may take memory for it. */
static store_status_t insert(shard_t *shard, uint64_t hash, uint64_t entry)
{
    store_status_t status = index_insert(&shard->index, hash, entry, take_index, shard);
    if (status == STORE_OK)
        index_grow(&shard->index, take_index, shard);
    return status;
}

store_status_t shard_link(shard_t *shard, uint64_t hash, item_t *item, extent_t *extent, index_slot_t *slot)
{
    uint64_t entry = index_entry(hash, extent, item);
    store_status_t status = STORE_OK;
    shard_pin(extent); /* S2: the index may need memory */
    count_live(shard, extent, item_size(item), true);
    extent->epoch = shard->epoch; /* there may have been a flush since the space was given */
    raise_drop(extent, item);
    if (slot != NULL) {
        extent_t *old_extent;
        item_t *old = index_item(&shard->index, atomic_get_relaxed(slot), &old_extent);
        atomic_set_release(slot, entry); /* I1 */
        forget(shard, old, old_extent);
    } else {
        status = insert(shard, hash, entry);
    }
    if (status == STORE_OK && extent->kind == EXTENT_DRAFT) {
        pool_set_kind(shard->pool, extent, EXTENT_LARGE);
        ttl_expect(shard, extent);
    }
    if (status != STORE_OK)
        forget(shard, item, extent);
    shard_unpin(shard, extent);
    return status;
}

void shard_unlink(shard_t *shard, index_slot_t *slot, item_t *item, extent_t *extent)
{
    index_remove(&shard->index, slot);
    forget(shard, item, extent);
}

found_t shard_find(shard_t *shard, uint64_t hash, const char *key, size_t length, uint64_t *expired, uint64_t *flushed)
{
    uint32_t now = shard_now(shard->store);
    found_t found = {0};
    found.slot = index_find(&shard->index, hash, key, length, &found.item, &found.extent);
    if (found.slot == NULL)
        return found;
    bool is_expired = item_expired(found.item, now);
    if (!is_expired && !item_flushed(shard, found.item, now))
        return found;
    if (is_expired && expired != NULL)
        (*expired)++;
    if (!is_expired && flushed != NULL)
        (*flushed)++;
    shard_unlink(shard, found.slot, found.item, found.extent);
    return (found_t){0};
}

bool shard_rewrite(shard_t *shard, uint64_t hash, found_t *found, uint8_t marks, uint64_t cas, uint32_t expiry)
{
    item_t *old = found->item;
    extent_t *old_extent = found->extent;
    extent_t *extent;
    shard_pin(old_extent); /* S3 */
    item_t *item = shard_space(shard, old->key_bytes, old->value_bytes, expiry, NULL, &extent);
    if (item != NULL) {
        memcpy(item->data, old->data, (size_t)old->key_bytes + old->value_bytes);
        item->marks = marks;
        item->client_flags = old->client_flags;
        item->cas = cas;
        item->created = old->created;
        atomic_set_relaxed(&item->heat, atomic_get_relaxed(&old->heat));
        atomic_set_relaxed(&item->access, atomic_get_relaxed(&old->access));
        item->crc = item_crc(item, item_data_crc(item, shard->store->crc_seed), extent_grain(extent, item));
        (void)shard_link(shard, hash, item, extent, found->slot); /* a pinned extent's items stay where they are */
        found->item = item;
        found->extent = extent;
    }
    shard_unpin(shard, old_extent);
    return item != NULL;
}

void shard_touch(shard_t *shard, uint64_t hash, found_t *found, uint32_t expiry)
{
    extent_t *extent = found->extent;
    bool outlives = (expiry == 0 ? UINT32_MAX : expiry) > extent->drop;
    if (outlives && extent->kind != EXTENT_LARGE &&
        shard_rewrite(shard, hash, found, found->item->marks, found->item->cas, expiry))
        return;
    atomic_set_relaxed(&found->item->expiry, expiry);
    if (extent->kind == EXTENT_LARGE) {
        extent->drop = 0; /* its only item decides */
        join_bucket(shard, extent, ttl_bucket(expiry, shard_now(shard->store)));
    }
    raise_drop(extent, found->item); /* of a segment: no memory for a copy, so it stays longer */
    ttl_expect(shard, extent);
}
