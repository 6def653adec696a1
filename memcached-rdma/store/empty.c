/* SPDX-License-Identifier: Apache-2.0
 * empty.c - empties extents: items that are kept move to open segments, the others go, to disk if they may. */
#include "store/shard.h"

#include <string.h>

#define ROUNDS_MOST 3u /* that an item is kept for, however often it was read */

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
    item_t *copy = shard_space_to_move(shard, item, item->value_bytes, from, &extent);
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
    shard_replace(shard, hash, copy, extent, slot);
    return true;
}

static void tell_evicted(shard_t *shard, extent_t *extent, item_t *item, uint32_t now)
{
    const store_t *store = shard->store;
    const found_t found = {.item = item, .extent = extent};
    if (store->evicted == NULL)
        return;
    store_hit_t hit = shard_describe(&found, now);
    store->evicted(store->evicted_arg, &hit);
}

/* Counts an item that goes, for all and for its TTL bucket. */
static void count_dropped(shard_t *shard, extent_t *extent, item_t *item)
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
        counters->stubs_evicted += item_is_stub(item);
        counters->evicted_unfetched += unfetched;
        ttl->evicted++;
        ttl->evicted_nonzero += atomic_get_relaxed(&item->expiry) != 0;
        ttl->evicted_unfetched += unfetched;
        ttl->evicted_time = now - atomic_get_relaxed(&item->access);
        tell_evicted(shard, extent, item, now);
    }
}

/* A live item goes to disk, and a stub takes its place. The stub is made first: without space for it nothing is written. */
static bool shelve(shard_t *shard, extent_t *from, item_t *item, index_slot_t *slot, uint64_t hash)
{
    extent_t *extent;
    place_t place;
    if (shard->store->shelf.put == NULL || item_is_stub(item) || item_size(item) < shard->store->shelf.least)
        return false;
    item_t *stub = shard_space_to_move(shard, item, sizeof(place), from, &extent);
    const found_t found = {.item = item, .extent = from};
    store_hit_t hit = shard_describe(&found, shard_now(shard->store));
    if (stub == NULL)
        return false;
    memcpy(stub->data, item->data, item->key_bytes);
    if (!shelf_put(shard, item, &hit, &place))
        return false; /* the space stays unused, as that of a draft that was abandoned */
    memcpy(item_value(stub), &place, sizeof(place));
    stub->marks = item->marks | ITEM_ON_DISK;
    stub->client_flags = item->client_flags;
    stub->cas = item->cas;
    stub->created = item->created;
    atomic_set_relaxed(&stub->access, atomic_get_relaxed(&item->access));
    atomic_set_relaxed(&stub->heat, (uint16_t)(atomic_get_relaxed(&item->heat) & (HEAT_FETCHED | HEAT_WON)));
    stub->crc = item_crc(stub, item_data_crc(stub, shard->store->crc_seed), extent_grain(extent, stub));
    shard_replace(shard, hash, stub, extent, slot);
    return true;
}

static void drop_item(shard_t *shard, extent_t *extent, item_t *item, index_slot_t *slot)
{
    count_dropped(shard, extent, item);
    shard_unlink(shard, slot, item, extent);
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

/* What becomes of a live item of an extent that is emptied. */
static void empty_item(shard_t *shard, extent_t *extent, item_t *item, index_slot_t *slot, uint64_t hash,
                       unsigned reads, bool keeps_stubs)
{
    uint32_t now = shard_now(shard->store);
    bool shown = !item_expired(item, now) && !item_flushed(shard, item, now);
    bool keep = item_reads(item) >= reads || (keeps_stubs && item_is_stub(item));
    if (shown && keep && move_item(shard, extent, item, slot, hash, reads > 0))
        return;
    if (!shown || !shelve(shard, extent, item, slot, hash))
        drop_item(shard, extent, item, slot);
}

void shard_empty(shard_t *shard, extent_t *extent, unsigned reads, bool keeps_stubs)
{
    bool had_spare = shard->spare != NULL;
    shard_pin(extent); /* it stays until its last item has been looked at */
    for (size_t at = 0, size; at < extent->used; at += size) {
        item_t *item = (item_t *)(void *)(extent->base + at);
        uint64_t hash;
        size = item_size(item);
        index_slot_t *slot = slot_of(shard, extent, item, &hash);
        if (slot != NULL)
            empty_item(shard, extent, item, slot, hash, reads, keeps_stubs);
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
