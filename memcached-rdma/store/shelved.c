/* SPDX-License-Identifier: Apache-2.0
 * shelved.c - what the owner of the disk asks of the store: items that come back, move or are lost there, and those that go. */
#include <string.h>

#include "store/shard.h"

#define AHEAD_PART 20u      /* 1 / this of the memory is to be free for what is written next */
#define CANDIDATES_MOST 64u /* of a step over all items */

/* A key's stub of this place, under the lock of its shard; slot NULL: there is none. */
typedef struct lookup {
    shard_t *shard;
    uint64_t hash;
    found_t found;
} lookup_t;

static lookup_t look_up(store_t *store, store_key_t key)
{
    lookup_t lookup = {.hash = index_hash(store->seed, key.bytes, key.length)};
    lookup.shard = shard_of(store, lookup.hash);
    pthread_mutex_lock(&lookup.shard->lock);
    lookup.found = shard_find(lookup.shard, lookup.hash, key.bytes, key.length, NULL, NULL);
    return lookup;
}

static lookup_t look_up_stub(store_t *store, store_key_t key, const place_t *place)
{
    lookup_t lookup = look_up(store, key);
    place_t found = {0};
    bool is_stub = lookup.found.slot != NULL && item_is_stub(lookup.found.item);
    if (is_stub)
        found = item_place(lookup.found.item);
    if (!is_stub || !place_is(&found, place))
        lookup.found.slot = NULL;
    return lookup;
}

static void leave(const lookup_t *lookup)
{
    pthread_mutex_unlock(&lookup->shard->lock);
}

bool store_where(store_t *store, store_key_t key, place_t *place_p)
{
    lookup_t lookup = look_up(store, key);
    bool is_stub = lookup.found.slot != NULL && item_is_stub(lookup.found.item);
    if (is_stub)
        *place_p = item_place(lookup.found.item);
    leave(&lookup);
    return is_stub;
}

store_status_t store_promote(store_t *store, store_key_t key, const place_t *place, const char *value)
{
    lookup_t lookup = look_up_stub(store, key, place);
    bool done = lookup.found.slot == NULL || shard_promote(lookup.shard, lookup.hash, &lookup.found, value);
    lookup.shard->counters.promoted += done && lookup.found.slot != NULL;
    leave(&lookup);
    return done ? STORE_OK : STORE_NO_MEMORY;
}

void store_lost(store_t *store, store_key_t key, const place_t *place)
{
    lookup_t lookup = look_up_stub(store, key, place);
    if (lookup.found.slot != NULL) {
        lookup.shard->counters.lost++;
        shard_unlink(lookup.shard, lookup.found.slot, lookup.found.item, lookup.found.extent);
    }
    leave(&lookup);
}

store_shelved_t store_shelf_ask(store_t *store, store_key_t key, const place_t *place, bool keep)
{
    lookup_t lookup = look_up_stub(store, key, place);
    store_shelved_t answer = STORE_SHELF_DEAD;
    if (lookup.found.slot != NULL) {
        bool was_read = (atomic_get_relaxed(&lookup.found.item->heat) & HEAT_DISK_READ) != 0;
        answer = keep && was_read ? STORE_SHELF_WANTED : STORE_SHELF_DROPPED;
    }
    if (answer == STORE_SHELF_DROPPED)
        shard_unlink(lookup.shard, lookup.found.slot, lookup.found.item, lookup.found.extent);
    leave(&lookup);
    return answer;
}

bool store_shelf_moved(store_t *store, store_key_t key, const place_t *from, const place_t *to)
{
    lookup_t lookup = look_up_stub(store, key, from);
    item_t *stub = lookup.found.item;
    const store_shelf_t *shelf = &store->shelf;
    if (lookup.found.slot != NULL) {
        memcpy(item_value(stub), to, sizeof(*to));
        stub->crc = item_crc(stub, item_data_crc(stub, store->crc_seed), extent_grain(lookup.found.extent, stub));
        atomic_set_relaxed(&stub->heat, (uint16_t)(atomic_get_relaxed(&stub->heat) & ~HEAT_DISK_READ));
        shelf->gone(shelf->arg, from, key.length);
    }
    leave(&lookup);
    return lookup.found.slot != NULL;
}

bool store_make_room(store_t *store)
{
    shard_t *shard = &store->shards[0];
    reclaim_t reclaim = {0};
    extent_t *taken;
    if (!store->evict || !pool_is_over(&store->pool, store->pool.target / AHEAD_PART))
        return false;
    pthread_mutex_lock(&shard->lock);
    bool more = shard_reclaim(shard, &reclaim, EXTENT_FREE, 1, &taken);
    pthread_mutex_unlock(&shard->lock);
    return more;
}

/* ------------------------------------------------------------------------------------- many items */

typedef struct candidates {
    const store_t *store;
    uint32_t seconds;
    unsigned count;
    struct {
        char bytes[STORE_KEY_MAX];
        uint8_t length;
        place_t place;
    } keys[CANDIDATES_MOST];
} candidates_t;

static bool is_idle(const store_t *store, const store_hit_t *hit, uint32_t seconds)
{
    return !hit->on_disk && !hit->pinned && hit->size >= store->shelf.least && hit->now - hit->access >= seconds;
}

static void note(candidates_t *candidates, const store_hit_t *hit)
{
    if (candidates->count == CANDIDATES_MOST) /* a bucket has more: the next walk finds them */
        return;
    memcpy(candidates->keys[candidates->count].bytes, hit->key, hit->key_bytes);
    candidates->keys[candidates->count].place = hit->shelved;
    candidates->keys[candidates->count++].length = (uint8_t)hit->key_bytes;
}

static void note_idle(void *arg, const store_hit_t *hit)
{
    candidates_t *candidates = arg;
    if (is_idle(candidates->store, hit, candidates->seconds))
        note(candidates, hit);
}

static void note_stub(void *arg, const store_hit_t *hit)
{
    if (hit->on_disk)
        note(arg, hit);
}

static void shelve(store_t *store, store_key_t key, uint32_t seconds)
{
    lookup_t lookup = look_up(store, key);
    found_t *found = &lookup.found;
    store_hit_t hit = {.pinned = true};
    place_t place;
    if (found->slot != NULL)
        hit = shard_describe(found, shard_now(store));
    if (is_idle(store, &hit, seconds) && shelf_put(lookup.shard, found->item, &hit, &place) &&
        !shard_shelve(lookup.shard, lookup.hash, found, &place))
        store->shelf.gone(store->shelf.arg, &place, key.length);
    leave(&lookup);
}

bool store_shelve_idle(store_t *store, uint64_t *at_p, unsigned most, uint32_t seconds)
{
    candidates_t candidates = {.store = store, .seconds = seconds};
    bool last = store_walk(store, at_p, most < CANDIDATES_MOST ? most : CANDIDATES_MOST, note_idle, &candidates);
    for (unsigned i = 0; i < candidates.count; i++)
        shelve(store, (store_key_t){candidates.keys[i].bytes, candidates.keys[i].length}, seconds);
    return last;
}

bool store_lose_all(store_t *store, uint64_t *at_p, unsigned most)
{
    candidates_t candidates = {.store = store};
    bool last = store_walk(store, at_p, most < CANDIDATES_MOST ? most : CANDIDATES_MOST, note_stub, &candidates);
    for (unsigned i = 0; i < candidates.count; i++)
        store_lost(store, (store_key_t){candidates.keys[i].bytes, candidates.keys[i].length},
                   &candidates.keys[i].place);
    return last;
}

/* ------------------------------------------------------------------------------------------- restart */

store_status_t store_restore(store_t *store, store_key_t key, const place_t *place, uint32_t expiry,
                             const store_put_t *put)
{
    lookup_t lookup = look_up(store, key);
    shard_t *shard = lookup.shard;
    extent_t *extent;
    store_status_t status = STORE_NO_MEMORY;
    if (lookup.found.slot != NULL)
        shard_unlink(shard, lookup.found.slot, lookup.found.item, lookup.found.extent);
    item_t *stub = shard_space(shard, key.length, sizeof(*place), expiry, false, &extent);
    if (stub != NULL) {
        memcpy(stub->data, key.bytes, key.length);
        memcpy(item_value(stub), place, sizeof(*place));
        stub->marks = (uint8_t)(ITEM_ON_DISK | (put->binary_key ? ITEM_BINARY_KEY : 0));
        stub->client_flags = put->client_flags;
        stub->cas = put->cas;
        shard_raise_cas(shard, put->cas);
        shard_seal_item(shard, stub, extent, item_data_crc(stub, store->crc_seed));
        status = shard_link(shard, lookup.hash, stub, extent, NULL);
    } else {
        store->shelf.gone(store->shelf.arg, place, key.length);
    }
    leave(&lookup);
    return status;
}
