/* SPDX-License-Identifier: Apache-2.0
 * space.c - space for new items and for the index, reclaimed if nothing is free; links of new keys and copies with another expiry,
 * which need such space. */
#include "store/shard.h"

#include <string.h>

/* Grains for this shard, reclaimed if none are free. */
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

/* The spare was needed elsewhere: another one, or what is kept would have no place. */
static void restore_spare(shard_t *shard)
{
    if (shard->spare == NULL && shard->store->evict)
        shard->spare = take(shard, EXTENT_SPARE, shard->pool->segment_grains);
}

/* The segment that takes an item of so many bytes; seals the one that is full. */
static extent_t *segment_for(shard_t *shard, size_t bytes, unsigned ttl)
{
    reclaim_t reclaim = {0};
    extent_t *taken = NULL;
    if (shard_has_space(shard, shard->open[ttl], bytes))
        return shard->open[ttl];
    restore_spare(shard);
    while (taken == NULL && !shard_has_space(shard, shard->open[ttl], bytes)) { /* reclaim may have opened one */
        taken = pool_take(shard->pool, shard, EXTENT_OPEN, shard->pool->segment_grains);
        if (taken == NULL && !shard_reclaim(shard, &reclaim, EXTENT_OPEN, shard->pool->segment_grains, &taken))
            return NULL;
    }
    if (shard_has_space(shard, shard->open[ttl], bytes)) {
        if (taken != NULL)
            shard_release(shard, taken);
        return shard->open[ttl];
    }
    if (taken != NULL)
        shard_open_segment(shard, taken, ttl);
    return taken;
}

bool store_is_large(const store_t *store, size_t key_bytes, size_t value_bytes)
{
    return item_bytes(key_bytes, value_bytes) > store->pool.large_bytes;
}

/* An extent for a pinned item alone. */
static extent_t *take_pinned(shard_t *shard, uint32_t grains)
{
    uint64_t bytes = (uint64_t)grains << GRAIN_SHIFT;
    if (!pin_reserve(shard->store, bytes))
        return NULL;
    extent_t *extent = take(shard, EXTENT_PIN_DRAFT, grains);
    if (extent == NULL)
        pin_free(shard->store, bytes);
    return extent;
}

item_t *shard_space(shard_t *shard, size_t key_bytes, size_t value_bytes, uint32_t expiry, bool pinned,
                    extent_t **extent_p)
{
    size_t bytes = item_bytes(key_bytes, value_bytes);
    unsigned ttl = ttl_bucket(expiry, shard_now(shard->store));
    bool large = store_is_large(shard->store, key_bytes, value_bytes);
    if (large && shard->store->shelf.put != NULL)
        restore_spare(shard); /* the stub of a large item that goes to disk may need it */
    extent_t *extent = pinned  ? take_pinned(shard, pool_grains(bytes))
                       : large ? take(shard, EXTENT_DRAFT, pool_grains(bytes))
                               : segment_for(shard, bytes, ttl);
    if (extent == NULL) {
        shard->ttl[ttl].outofmemory++;
        return NULL;
    }
    if (pinned || large)
        shard_join(shard, extent, ttl);
    *extent_p = extent;
    return shard_lay(extent, key_bytes, value_bytes, expiry);
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
    if (slot != NULL) {
        shard_replace(shard, hash, item, extent, slot);
        return STORE_OK;
    }
    shard_begin_link(shard, item, extent);
    store_status_t status = insert(shard, hash, index_entry(hash, extent, item));
    shard_end_link(shard, item, extent, status == STORE_OK);
    return status;
}

/* What a copy of an item has that may differ from it. */
typedef struct renewal {
    const char *value;
    size_t value_bytes;
    uint64_t cas;
    uint32_t expiry;
    uint8_t marks;
} renewal_t;

/* Puts a copy of a live item in its place. */
static bool renew(shard_t *shard, uint64_t hash, found_t *found, const renewal_t *with)
{
    item_t *old = found->item;
    extent_t *old_extent = found->extent;
    extent_t *extent;
    shard_pin(old_extent); /* S3 */
    item_t *item = shard_space(shard, old->key_bytes, with->value_bytes, with->expiry, extent_is_pinned(old_extent),
                               &extent);
    if (item != NULL) {
        memcpy(item->data, old->data, old->key_bytes);
        memcpy(item_value(item), with->value, with->value_bytes);
        item->marks = with->marks;
        item->client_flags = old->client_flags;
        item->cas = with->cas;
        item->created = old->created;
        atomic_set_relaxed(&item->heat, atomic_get_relaxed(&old->heat));
        atomic_set_relaxed(&item->access, atomic_get_relaxed(&old->access));
        item->crc = item_crc(item, item_data_crc(item, shard->store->crc_seed), extent_grain(extent, item));
        shard_replace(shard, hash, item, extent, found->slot); /* a pinned extent's items stay where they are */
        found->item = item;
        found->extent = extent;
    }
    shard_unpin(shard, old_extent);
    return item != NULL;
}

bool shard_rewrite(shard_t *shard, uint64_t hash, found_t *found, uint8_t marks, uint64_t cas, uint32_t expiry)
{
    item_t *old = found->item;
    const renewal_t with = {
        .value = item_value(old), .value_bytes = old->value_bytes, .marks = marks, .cas = cas, .expiry = expiry};
    return renew(shard, hash, found, &with);
}

bool shard_shelve(shard_t *shard, uint64_t hash, found_t *found, const place_t *place)
{
    const item_t *old = found->item;
    const renewal_t with = {.value = (const char *)place,
                            .value_bytes = sizeof(*place),
                            .marks = old->marks | ITEM_ON_DISK,
                            .cas = old->cas,
                            .expiry = atomic_get_relaxed(&found->item->expiry)};
    return renew(shard, hash, found, &with);
}

bool shard_promote(shard_t *shard, uint64_t hash, found_t *found, const char *value)
{
    const item_t *old = found->item;
    const renewal_t with = {.value = value,
                            .value_bytes = item_place(old).value_bytes,
                            .marks = old->marks & (uint8_t)~ITEM_ON_DISK,
                            .cas = old->cas,
                            .expiry = atomic_get_relaxed(&found->item->expiry)};
    return renew(shard, hash, found, &with);
}

void shard_touch(shard_t *shard, uint64_t hash, found_t *found, uint32_t expiry)
{
    extent_t *extent = found->extent;
    bool outlives = (expiry == 0 ? UINT32_MAX : expiry) > extent->drop;
    if (outlives && !extent_is_single(extent) &&
        shard_rewrite(shard, hash, found, found->item->marks, found->item->cas, expiry))
        return;
    atomic_set_relaxed(&found->item->expiry, expiry);
    if (extent_is_single(extent)) {
        extent->drop = 0; /* its only item decides */
        shard_join(shard, extent, ttl_bucket(expiry, shard_now(shard->store)));
    }
    ttl_raise(extent, found->item); /* of a segment: no memory for a copy, so it stays longer */
    ttl_expect(shard, extent);
}
