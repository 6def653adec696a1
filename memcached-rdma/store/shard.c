/* SPDX-License-Identifier: Apache-2.0
 * shard.c - extents and items of a shard: where they lie, making items visible and removing them. Takes what is free. */
#include "store/shard.h"

#include <string.h>

#define CAS_COUNTED_MAX (UINT64_MAX / 2) /* a larger CAS id was chosen by a client */

/* ---------------------------------------------------------------------------------------- extents */

/* Takes what is free: nothing can be reclaimed yet. */
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

void shard_raise_cas(shard_t *shard, uint64_t cas)
{
    unsigned step = shard->store->shard_count;
    if (cas >= shard->next_cas && cas <= CAS_COUNTED_MAX)
        shard->next_cas += (cas - shard->next_cas) / step * step + step;
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
    if (extent_is_pinned(extent))
        pin_free(shard->store, (uint64_t)extent->grains << GRAIN_SHIFT);
    shard_leave(shard, extent);
    pool_release(shard->pool, extent);
}

void shard_join(shard_t *shard, extent_t *extent, unsigned ttl)
{
    leave_bucket(shard, extent);
    extent->ttl = (uint8_t)ttl;
    extent->epoch = shard->epoch;
    list_append(&shard->extents[ttl], &extent->mine);
    count_extent(shard, extent, true);
}

/* ------------------------------------------------------------------------------------------ space */

bool shard_has_space(const shard_t *shard, const extent_t *extent, size_t bytes)
{
    return extent != NULL && extent->used + bytes <= shard->pool->segment_bytes;
}

void shard_open_segment(shard_t *shard, extent_t *extent, unsigned ttl)
{
    if (shard->open[ttl] != NULL)
        shard_seal(shard, shard->open[ttl], false);
    shard_join(shard, extent, ttl);
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

item_t *shard_lay(extent_t *extent, size_t key_bytes, size_t value_bytes, uint32_t expiry)
{
    item_t *item = (item_t *)(void *)(extent->base + extent->used);
    extent->used += item_bytes(key_bytes, value_bytes);
    memset(item, 0, sizeof(*item));
    item->generation = extent_generation(extent, item);
    item->key_bytes = (uint8_t)key_bytes;
    item->value_bytes = (uint32_t)value_bytes;
    atomic_set_relaxed(&item->expiry, expiry);
    ttl_raise(extent, item);
    return item;
}

item_t *shard_space_to_move(shard_t *shard, const item_t *item, size_t value_bytes, const extent_t *from,
                            extent_t **extent_p)
{
    extent_t *extent = shard->open[from->ttl];
    if (!shard_has_space(shard, extent, item_bytes(item->key_bytes, value_bytes))) {
        extent = segment_for_move(shard);
        if (extent == NULL)
            return NULL;
        shard_open_segment(shard, extent, from->ttl);
    }
    *extent_p = extent;
    return shard_lay(extent, item->key_bytes, value_bytes, atomic_get_relaxed(&item->expiry));
}

void shard_pin(extent_t *extent)
{
    atomic_set_relaxed(&extent->pins, atomic_get_relaxed(&extent->pins) + 1);
}

/* An extent that lost its last live item while it was pinned goes back now. */
static void release_if_dead(shard_t *shard, extent_t *extent)
{
    if (extent->items == 0 && atomic_get_relaxed(&extent->pins) == 0 &&
        (extent->kind == EXTENT_SEALED || extent_is_draft(extent) || extent_is_single(extent)))
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
    item->created = ttl_creation(shard);
    atomic_set_relaxed(&item->access, shard_now(shard->store));
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
    shard->pinned += !extent_is_pinned(extent) ? 0 : more ? 1 : UINT64_MAX;
    ttl->bytes += more ? bytes : 0 - bytes;
    ttl->items += more ? 1 : UINT64_MAX;
    shard->sizes[size < STORE_SIZES ? size : STORE_SIZES - 1] += more ? 1 : UINT32_MAX;
    if (extent->kind == EXTENT_SEALED)
        sort_by_deadness(shard, extent);
}

/* copied: a stub of the same place takes the place of this one. */
static void forget(shard_t *shard, const item_t *item, extent_t *extent, bool copied)
{
    shelf_forget(shard, item, copied);
    count_live(shard, extent, item_size(item), false);
    release_if_dead(shard, extent);
}

void shard_begin_link(shard_t *shard, item_t *item, extent_t *extent)
{
    shard_pin(extent); /* S2: the index may need memory */
    count_live(shard, extent, item_size(item), true);
    shelf_count(shard, item);
    extent->epoch = shard->epoch; /* there may have been a flush since the space was given */
    ttl_raise(extent, item);
}

void shard_end_link(shard_t *shard, item_t *item, extent_t *extent, bool linked)
{
    if (linked && extent_is_draft(extent)) {
        pool_set_kind(shard->pool, extent, extent_is_pinned(extent) ? EXTENT_PINNED : EXTENT_LARGE);
        ttl_expect(shard, extent);
    }
    if (!linked)
        forget(shard, item, extent, false);
    shard_unpin(shard, extent);
}

/* Both are stubs of one place. */
static bool is_copy(const item_t *item, const item_t *old)
{
    if (!item_is_stub(item) || !item_is_stub(old))
        return false;
    place_t place = item_place(item), old_place = item_place(old);
    return place_is(&place, &old_place);
}

void shard_replace(shard_t *shard, uint64_t hash, item_t *item, extent_t *extent, index_slot_t *slot)
{
    extent_t *old_extent;
    shard_begin_link(shard, item, extent);
    item_t *old = index_item(&shard->index, atomic_get_relaxed(slot), &old_extent);
    atomic_set_release(slot, index_entry(hash, extent, item)); /* I1 */
    forget(shard, old, old_extent, is_copy(item, old));
    shard_end_link(shard, item, extent, true);
}

void shard_unlink(shard_t *shard, index_slot_t *slot, item_t *item, extent_t *extent)
{
    index_remove(&shard->index, slot);
    forget(shard, item, extent, false);
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

store_hit_t shard_describe(const found_t *found, uint32_t now)
{
    item_t *item = found->item;
    uint32_t heat = atomic_get_relaxed(&item->heat);
    bool on_disk = item_is_stub(item);
    return (store_hit_t){.key = item->data,
                         .key_bytes = item->key_bytes,
                         .value = on_disk ? NULL : item_value(item),
                         .value_bytes = item_value_bytes(item),
                         .on_disk = on_disk,
                         .shelved = on_disk ? item_place(item) : (place_t){0},
                         .client_flags = item->client_flags,
                         .cas = item->cas,
                         .expiry = atomic_get_relaxed(&item->expiry),
                         .access = atomic_get_relaxed(&item->access),
                         .now = now,
                         .size = item_size(item),
                         .ttl = found->extent->ttl,
                         .pinned = extent_is_pinned(found->extent),
                         .fetched = (heat & HEAT_FETCHED) != 0,
                         .won_before = (heat & HEAT_WON) != 0,
                         .stale = (item->marks & ITEM_STALE) != 0,
                         .binary_key = (item->marks & ITEM_BINARY_KEY) != 0};
}
