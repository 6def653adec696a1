/* SPDX-License-Identifier: Apache-2.0
 * read.c - finding items: get, touch, and what the meta commands add (vivify, recache, stale). */
#include <string.h>

#include "store/shard.h"

#define READS_TO_PROMOTE 2u
#define WALK_PLACE_BITS 48u /* more than the index has bits for buckets */

static void count_get(shard_t *shard, const store_get_t *how, const extent_t *extent)
{
    bool hit = extent != NULL;
    store_counters_t *counters = &shard->counters;
    if (how->uncounted)
        return;
    bool touch = how->touch && (hit || !how->meta);
    counters->cmd_touch += touch;
    counters->touch_hits += touch && hit;
    counters->touch_misses += touch && !hit;
    counters->cmd_get += !touch;
    counters->get_hits += !touch && hit;
    counters->get_misses += !touch && !hit;
    if (!hit)
        return;
    shard->ttl[extent->ttl].get_hits += !touch;
    shard->ttl[extent->ttl].touch_hits += touch;
}

/* Creates the empty item that a miss was asked to leave. */
static found_t vivify(shard_t *shard, uint64_t hash, store_key_t key, const store_get_t *how)
{
    found_t found = {0};
    extent_t *extent;
    item_t *item = shard_space(shard, key.length, 0, how->vivify_expiry, false, &extent);
    if (item == NULL)
        return found;
    memcpy(item->data, key.bytes, key.length);
    item->marks = how->binary_key ? ITEM_BINARY_KEY : 0;
    item->cas = how->cas != 0 ? how->cas : shard_cas(shard);
    shard_seal_item(shard, item, extent, item_data_crc(item, shard->store->crc_seed));
    if (shard_link(shard, hash, item, extent, NULL) != STORE_OK)
        return found;
    shard->counters.total_items++;
    found.slot = index_find(&shard->index, hash, key.bytes, key.length, &found.item, &found.extent);
    return found;
}

/* Whether this reader is the one that is told to renew the item. */
static bool wins(const store_hit_t *hit, const store_get_t *how)
{
    if (hit->created)
        return true;
    if (hit->won_before || !how->meta)
        return false;
    uint32_t expiry = how->touch && how->recache_touched ? how->expiry : hit->expiry;
    return hit->stale || (how->recache && expiry != 0 && expiry < how->recache_before);
}

/* What a read means for an item on disk: with the second one since the last look it comes back to memory. */
static void read_from_disk(shard_t *shard, uint64_t hash, found_t *found, const store_get_t *how, const char *value)
{
    item_t *stub = found->item;
    shard->counters.get_disk += !how->uncounted;
    if (how->quiet)
        return;
    atomic_set_relaxed(&stub->heat, (uint16_t)(atomic_get_relaxed(&stub->heat) | HEAT_DISK_READ));
    if (item_reads(stub) >= READS_TO_PROMOTE && shard_promote(shard, hash, found, value))
        shard->counters.promoted++;
}

/* value: of an item on disk; NULL: it was not asked for. */
static void visit_item(shard_t *shard, uint64_t hash, found_t *found, const store_get_t *how, bool created,
                       const char *value, store_visit_t visit, void *arg)
{
    uint32_t now = shard_now(shard->store);
    store_hit_t hit = shard_describe(found, now);
    hit.created = created;
    hit.win = wins(&hit, how);
    hit.touched = how->touch ? how->expiry : hit.expiry;
    if (how->touch && !created)
        shard_touch(shard, hash, found, how->expiry);
    if (!how->quiet)
        item_heat(found->item, now, true);
    if (hit.win)
        atomic_set_relaxed(&found->item->heat, (uint16_t)(atomic_get_relaxed(&found->item->heat) | HEAT_WON));
    hit.key = found->item->data; /* a touch may have moved it */
    hit.value = hit.on_disk ? value : item_value(found->item);
    hit.place = (store_pin_t){.shard = shard, .extent = found->extent};
    if (visit != NULL)
        visit(arg, &hit);
    if (value != NULL)
        read_from_disk(shard, hash, found, how, value);
}

/* Whether the value of an item is needed, and is neither in memory nor among what was read. */
static bool lacks_value(const store_get_t *how, store_key_t key, const found_t *found, const char **value_p)
{
    if (found->slot == NULL || !item_is_stub(found->item) || how->without_value)
        return false;
    place_t place = item_place(found->item);
    if (how->fetch != NULL)
        *value_p = how->fetch(how->fetch_arg, key, &place);
    return *value_p == NULL;
}

store_status_t store_get(store_t *store, store_key_t key, const store_get_t *how, store_visit_t visit, void *arg)
{
    static const store_get_t plain;
    uint64_t hash = index_hash(store->seed, key.bytes, key.length);
    shard_t *shard = shard_of(store, hash);
    bool created = false;
    const char *value = NULL;
    if (how == NULL)
        how = &plain;
    pthread_mutex_lock(&shard->lock);
    store_counters_t *counters = &shard->counters;
    found_t found = shard_find(shard, hash, key.bytes, key.length, &counters->get_expired, &counters->get_flushed);
    if (lacks_value(how, key, &found, &value)) {
        pthread_mutex_unlock(&shard->lock);
        return STORE_ON_DISK;
    }
    if (found.slot == NULL && how->vivify) {
        found = vivify(shard, hash, key, how);
        created = found.slot != NULL;
    }
    count_get(shard, how, found.slot != NULL ? found.extent : NULL);
    if (found.slot != NULL)
        visit_item(shard, hash, &found, how, created, value, visit, arg);
    else if (how->vivify)
        counters->store_no_memory++;
    pthread_mutex_unlock(&shard->lock);
    if (found.slot != NULL)
        return STORE_OK;
    return how->vivify ? STORE_NO_MEMORY : STORE_NOT_FOUND;
}

typedef struct walk {
    shard_t *shard;
    store_visit_t visit;
    void *arg;
    uint32_t now;
    unsigned looks; /* at items and buckets */
} walk_t;

static void walk_item(void *arg, item_t *item, extent_t *extent)
{
    walk_t *walk = arg;
    found_t found = {.item = item, .extent = extent};
    walk->looks++;
    if (item_expired(item, walk->now) || item_flushed(walk->shard, item, walk->now))
        return;
    store_hit_t hit = shard_describe(&found, walk->now);
    hit.touched = hit.expiry;
    walk->visit(walk->arg, &hit);
}

/* *at_p: number of the shard, and the upper bits of the place in its index; the lower ones are 0. */
bool store_walk(store_t *store, uint64_t *at_p, unsigned most, store_visit_t visit, void *arg)
{
    walk_t walk = {.visit = visit, .arg = arg, .now = shard_now(store)};
    unsigned number = (unsigned)(*at_p >> WALK_PLACE_BITS);
    uint64_t at = *at_p << (64 - WALK_PLACE_BITS);
    while (number < store->shard_count && walk.looks < most) {
        walk.shard = &store->shards[number];
        pthread_mutex_lock(&walk.shard->lock);
        do {
            at = index_walk(&walk.shard->index, at, walk_item, &walk);
            walk.looks++;
        } while (at != 0 && walk.looks < most);
        pthread_mutex_unlock(&walk.shard->lock);
        number += at == 0;
    }
    *at_p = (uint64_t)number << WALK_PLACE_BITS | at >> (64 - WALK_PLACE_BITS);
    return number == store->shard_count;
}

void store_pin(const store_hit_t *hit, store_pin_t *pin)
{
    *pin = hit->place;
    shard_pin(pin->extent);
}

void store_pin_undo(const store_hit_t *hit)
{
    extent_t *extent = hit->place.extent;
    atomic_set_relaxed(&extent->pins, atomic_get_relaxed(&extent->pins) - 1);
}

bool store_hold(const store_pin_t *pin)
{
    extent_t *extent = pin->extent;
    pthread_mutex_lock(&pin->shard->lock);
    bool holds = extent_is_single(extent);
    if (holds && !extent->held) {
        extent->held = true;
        (void)atomic_fetch_add_explicit(&pin->shard->store->held, (uint64_t)extent->grains << GRAIN_SHIFT,
                                        memory_order_relaxed);
    }
    pthread_mutex_unlock(&pin->shard->lock);
    return holds;
}

uint64_t store_held(const store_t *store)
{
    return atomic_get_relaxed(&store->held);
}

void store_unpin(store_pin_t *pin)
{
    if (pin->shard == NULL)
        return;
    pthread_mutex_lock(&pin->shard->lock);
    shard_unpin(pin->shard, pin->extent);
    pthread_mutex_unlock(&pin->shard->lock);
    pin->shard = NULL;
}
