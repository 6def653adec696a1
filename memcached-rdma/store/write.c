/* SPDX-License-Identifier: Apache-2.0
 * write.c - new items, deletion, arithmetic. An item is written as a draft outside the lock and made visible by its commit. */
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/shard.h"
#include "util/number.h"

static found_t find(shard_t *shard, uint64_t hash, const item_t *item)
{
    return shard_find(shard, hash, item->data, item->key_bytes, NULL, NULL);
}

/* Counts that there was no space, and tells why. */
static store_status_t no_space(shard_t *shard, bool pinned, size_t bytes)
{
    store_status_t status = pin_refusal(shard->store, pinned, bytes);
    shard->counters.store_pins_full += status == STORE_PINS_FULL;
    shard->counters.store_no_memory += status == STORE_NO_MEMORY;
    return status;
}

/* ------------------------------------------------------------------------------------------ drafts */

static store_status_t begin(store_t *store, store_key_t key, size_t value_bytes, uint32_t expiry, bool pinned,
                            store_draft_t *draft)
{
    uint64_t hash = index_hash(store->seed, key.bytes, key.length);
    shard_t *shard = shard_of(store, hash);
    bool fits = value_bytes <= store->item_max && item_bytes(key.length, value_bytes) <= store->item_max;
    store_status_t status = fits ? STORE_OK : STORE_TOO_LARGE;
    extent_t *extent = NULL;
    item_t *item = NULL;
    pthread_mutex_lock(&shard->lock);
    if (fits)
        item = shard_space(shard, key.length, value_bytes, expiry, pinned, &extent);
    if (item != NULL) {
        memcpy(item->data, key.bytes, key.length);
        shard_pin(extent);
    }
    if (fits && item == NULL)
        status = no_space(shard, pinned, item_bytes(key.length, value_bytes));
    shard->counters.store_too_large += !fits;
    pthread_mutex_unlock(&shard->lock);
    if (status != STORE_OK)
        return status;
    *draft = (store_draft_t){.value = item_value(item),
                             .value_bytes = (uint32_t)value_bytes,
                             .expiry = expiry,
                             .hash = hash,
                             .item = item,
                             .crc = crc32c(store->crc_seed, key.bytes, key.length),
                             .pin = {.shard = shard, .extent = extent}};
    return STORE_OK;
}

store_status_t store_begin(store_t *store, store_key_t key, size_t value_bytes, uint32_t expiry, store_draft_t *draft)
{
    return begin(store, key, value_bytes, expiry, false, draft);
}

store_status_t store_begin_pinned(store_t *store, store_key_t key, size_t value_bytes, uint32_t expiry,
                                  store_draft_t *draft)
{
    return begin(store, key, value_bytes, expiry, true, draft);
}

void store_sum(store_draft_t *draft, size_t filled)
{
    draft->crc = crc32c(draft->crc, draft->value + draft->summed, filled - draft->summed);
    draft->summed = (uint32_t)filled;
}

void store_abandon(store_draft_t *draft)
{
    store_unpin(&draft->pin);
}

/* Makes an item, whose CAS id and marks are set, the one of its key. */
static store_status_t publish(shard_t *shard, uint64_t hash, item_t *item, extent_t *extent, const found_t *found,
                              uint32_t data_crc)
{
    shard_seal_item(shard, item, extent, data_crc);
    store_status_t status = shard_link(shard, hash, item, extent, found->slot);
    shard->counters.total_items += status == STORE_OK;
    shard->counters.store_no_memory += status == STORE_NO_MEMORY;
    return status;
}

/* A new item with the old value and the draft's, one behind the other. */
static store_status_t join(shard_t *shard, store_draft_t *draft, found_t *found, bool append, uint64_t cas)
{
    item_t *old = found->item;
    const item_t *piece = draft->item;
    size_t bytes = (size_t)old->value_bytes + piece->value_bytes;
    extent_t *old_extent = found->extent;
    extent_t *extent;
    if (item_bytes(old->key_bytes, bytes) > shard->store->item_max) {
        shard->counters.store_too_large++;
        return STORE_TOO_LARGE;
    }
    shard_pin(old_extent); /* S3 */
    store_status_t status;
    bool pinned = extent_is_pinned(old_extent) || extent_is_pinned(draft->pin.extent);
    item_t *item = shard_space(shard, old->key_bytes, bytes, atomic_get_relaxed(&old->expiry), pinned, &extent);
    if (item != NULL) {
        const item_t *first = append ? old : piece;
        const item_t *second = append ? piece : old;
        memcpy(item->data, old->data, old->key_bytes);
        memcpy(item_value(item), first->data + first->key_bytes, first->value_bytes);
        memcpy(item_value(item) + first->value_bytes, second->data + second->key_bytes, second->value_bytes);
        item->client_flags = old->client_flags;
        item->marks = old->marks & ITEM_BINARY_KEY;
        item->cas = cas;
        draft->value_bytes = item->value_bytes;
        status = publish(shard, draft->hash, item, extent, found, item_data_crc(item, shard->store->crc_seed));
    } else {
        status = no_space(shard, pinned, item_bytes(old->key_bytes, bytes));
    }
    shard_unpin(shard, old_extent);
    return status;
}

/* What a compare-and-set finds; counts it. */
static store_status_t compare(shard_t *shard, const store_put_t *put, const found_t *found, bool *stale_p)
{
    store_counters_t *counters = &shard->counters;
    if (found->slot == NULL) {
        counters->cas_misses++;
        return STORE_NOT_FOUND;
    }
    store_ttl_stats_t *ttl = &shard->ttl[found->extent->ttl];
    *stale_p = put->invalidate && put->compare != 0 && put->compare < found->item->cas;
    if (put->compare == found->item->cas) {
        counters->cas_hits++;
        ttl->cas_hits++;
        return STORE_OK;
    }
    if (*stale_p)
        return STORE_OK;
    counters->cas_badval++;
    ttl->cas_badval++;
    return STORE_EXISTS;
}

/* Whether the mode's condition holds; stale_p: the item is stored as stale. */
static store_status_t permitted(shard_t *shard, const store_put_t *put, const found_t *found, bool *stale_p)
{
    switch (put->mode) {
    case STORE_SET: return STORE_OK;
    case STORE_ADD:
        if (found->slot == NULL)
            return STORE_OK;
        item_heat(found->item, shard_now(shard->store), false);
        return STORE_NOT_STORED;
    case STORE_REPLACE: return found->slot != NULL ? STORE_OK : STORE_NOT_STORED;
    case STORE_CAS: return compare(shard, put, found, stale_p);
    default:
        if (found->slot == NULL)
            return put->vivify ? STORE_OK : STORE_NOT_STORED;
        return put->compare == 0 || put->compare == found->item->cas ? STORE_OK : STORE_EXISTS;
    }
}

/* A stale item keeps its expiry, and that somebody was told to renew it. */
static void inherit(item_t *item, item_t *old)
{
    item->marks |= ITEM_STALE;
    atomic_set_relaxed(&item->expiry, atomic_get_relaxed(&old->expiry));
    atomic_set_relaxed(&item->heat, (uint16_t)(atomic_get_relaxed(&old->heat) & HEAT_WON));
}

store_status_t store_commit(store_draft_t *draft, const store_put_t *put, uint64_t *cas_p)
{
    shard_t *shard = draft->pin.shard;
    item_t *item = draft->item;
    bool joins = put->mode == STORE_APPEND || put->mode == STORE_PREPEND;
    bool stale = false;
    if (!joins || put->vivify)
        store_sum(draft, draft->value_bytes);
    pthread_mutex_lock(&shard->lock);
    found_t found = find(shard, draft->hash, item);
    if (joins && found.slot != NULL && item_is_stub(found.item)) {
        pthread_mutex_unlock(&shard->lock);
        return STORE_ON_DISK;
    }
    shard->counters.cmd_set++;
    shard->ttl[draft->pin.extent->ttl].cmd_set++;
    store_status_t status = permitted(shard, put, &found, &stale);
    uint64_t cas = status != STORE_OK ? 0 : put->cas != 0 ? put->cas : shard_cas(shard);
    if (put->restores)
        shard_raise_cas(shard, cas);
    if (status == STORE_OK && joins && found.slot != NULL) {
        status = join(shard, draft, &found, put->mode == STORE_APPEND, cas);
    } else if (status == STORE_OK) {
        item->client_flags = put->client_flags;
        item->marks = put->binary_key ? ITEM_BINARY_KEY : 0;
        item->cas = cas;
        if (stale)
            inherit(item, found.item);
        status = publish(shard, draft->hash, item, draft->pin.extent, &found, draft->crc);
    }
    shard_unpin(shard, draft->pin.extent);
    pthread_mutex_unlock(&shard->lock);
    draft->pin.shard = NULL;
    if (cas_p != NULL)
        *cas_p = status == STORE_OK ? cas : 0;
    return status;
}

/* -------------------------------------------------------------------------------------- deletion */

static uint64_t cas_of(shard_t *shard, const store_delete_t *how, const item_t *item)
{
    return how->has_cas ? how->cas : how->stale ? shard_cas(shard) : item->cas;
}

/* Leaves an item without its value in place of the one that was found. */
static store_status_t write_empty(shard_t *shard, uint64_t hash, const found_t *found, const store_delete_t *how)
{
    const item_t *old = found->item;
    extent_t *extent;
    shard_pin(found->extent); /* S3 */
    store_status_t status = STORE_NO_MEMORY;
    item_t *item = shard_space(shard, old->key_bytes, 0, how->has_expiry ? how->expiry : 0,
                               extent_is_pinned(found->extent), &extent);
    if (item != NULL) {
        memcpy(item->data, old->data, old->key_bytes);
        item->marks = (uint8_t)((old->marks & ITEM_BINARY_KEY) | (how->stale ? ITEM_STALE : 0));
        item->cas = cas_of(shard, how, old);
        status = publish(shard, hash, item, extent, found, item_data_crc(item, shard->store->crc_seed));
    }
    shard_unpin(shard, found->extent);
    return status;
}

/* Marks an item as stale; its next reader renews it. */
static store_status_t mark_stale(shard_t *shard, uint64_t hash, found_t *found, const store_delete_t *how)
{
    const item_t *item = found->item;
    uint32_t expiry = how->has_expiry ? how->expiry : atomic_get_relaxed(&item->expiry);
    if (!shard_rewrite(shard, hash, found, item->marks | ITEM_STALE, cas_of(shard, how, item), expiry))
        return STORE_NO_MEMORY;
    uint32_t heat = atomic_get_relaxed(&found->item->heat);
    atomic_set_relaxed(&found->item->heat, (uint16_t)(heat & ~HEAT_WON));
    return STORE_OK;
}

static store_status_t delete_found(shard_t *shard, uint64_t hash, found_t *found, const store_delete_t *how)
{
    store_counters_t *counters = &shard->counters;
    item_t *item = found->item;
    if (how->has_compare && how->compare != item->cas) {
        counters->delete_misses++;
        return STORE_EXISTS;
    }
    if (how->release) {
        if (extent_is_pinned(found->extent))
            pin_release(shard, found->extent);
        return STORE_OK;
    }
    if (!how->stale && !how->empty) {
        shard->ttl[found->extent->ttl].delete_hits++;
        shard_unlink(shard, found->slot, item, found->extent);
        counters->delete_hits++;
        return STORE_OK;
    }
    if ((how->empty ? write_empty(shard, hash, found, how) : mark_stale(shard, hash, found, how)) != STORE_OK)
        shard_unlink(shard, found->slot, found->item,
                     found->extent); /* no memory: gone is as good as stale, or empty */
    return STORE_OK;
}

store_status_t store_delete(store_t *store, store_key_t key, const store_delete_t *how)
{
    static const store_delete_t plain;
    uint64_t hash = index_hash(store->seed, key.bytes, key.length);
    shard_t *shard = shard_of(store, hash);
    store_status_t status = STORE_NOT_FOUND;
    pthread_mutex_lock(&shard->lock);
    found_t found = shard_find(shard, hash, key.bytes, key.length, NULL, NULL);
    if (found.slot != NULL)
        status = delete_found(shard, hash, &found, how == NULL ? &plain : how);
    else
        shard->counters.delete_misses++;
    pthread_mutex_unlock(&shard->lock);
    return status;
}

void store_drop(store_t *store, store_key_t key)
{
    uint64_t hash = index_hash(store->seed, key.bytes, key.length);
    shard_t *shard = shard_of(store, hash);
    pthread_mutex_lock(&shard->lock);
    found_t found = shard_find(shard, hash, key.bytes, key.length, NULL, NULL);
    if (found.slot != NULL)
        shard_unlink(shard, found.slot, found.item, found.extent);
    pthread_mutex_unlock(&shard->lock);
}

/* ------------------------------------------------------------------------------------- arithmetic */

/* Writes a number in place of an item (or as a new one, slot NULL), at least as long as the old value: padded with blanks. */
static store_status_t write_number(shard_t *shard, uint64_t hash, store_key_t key, found_t *found, bool binary_key,
                                   const store_delta_t *how, store_number_t *number)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number->value);
    size_t bytes = found->slot != NULL && found->item->value_bytes > length ? found->item->value_bytes : length;
    extent_t *extent;
    extent_t *old_extent = found->extent;
    if (old_extent != NULL)
        shard_pin(old_extent); /* S3 */
    bool pinned = old_extent != NULL && extent_is_pinned(old_extent);
    item_t *item = shard_space(shard, key.length, bytes, number->expiry, pinned, &extent);
    store_status_t status = item != NULL ? STORE_OK : pin_refusal(shard->store, pinned, item_bytes(key.length, bytes));
    if (item != NULL) {
        memcpy(item->data, key.bytes, key.length);
        memset(item_value(item), ' ', bytes);
        memcpy(item_value(item), digits, length);
        item->marks = binary_key ? ITEM_BINARY_KEY : 0;
        if (found->slot != NULL) {
            item->client_flags = found->item->client_flags;
            if (bytes == found->item->value_bytes) { /* a longer one is another item to its readers, as in memcached */
                item->marks = found->item->marks;
                atomic_set_relaxed(&item->heat, atomic_get_relaxed(&found->item->heat));
            }
        }
        if (!how->has_cas)
            number->cas = shard_cas(shard);
        item->cas = number->cas;
        status = publish(shard, hash, item, extent, found, item_data_crc(item, shard->store->crc_seed));
    }
    if (old_extent != NULL)
        shard_unpin(shard, old_extent);
    return status;
}

static void count_delta(shard_t *shard, bool decrement, bool hit)
{
    store_counters_t *counters = &shard->counters;
    counters->decr_hits += decrement && hit;
    counters->decr_misses += decrement && !hit;
    counters->incr_hits += !decrement && hit;
    counters->incr_misses += !decrement && !hit;
}

static store_status_t delta_found(shard_t *shard, uint64_t hash, store_key_t key, found_t *found,
                                  const store_delta_t *how, store_number_t *number)
{
    const item_t *item = found->item;
    uint64_t value;
    if (item->value_bytes == 0)
        return STORE_NON_NUMERIC;
    if (how->has_compare && how->compare != 0 && how->compare != item->cas)
        return STORE_EXISTS;
    if (item_is_stub(item))
        return STORE_ON_DISK;
    if (!number_u64(item->data + item->key_bytes, item->value_bytes, &value))
        return STORE_NON_NUMERIC;
    if (how->decrement)
        number->value = value > how->delta ? value - how->delta : 0;
    else
        number->value = value + how->delta;
    number->expiry = how->touch ? how->expiry : atomic_get_relaxed(&found->item->expiry);
    count_delta(shard, how->decrement, true);
    shard->ttl[found->extent->ttl].incr_hits += !how->decrement;
    shard->ttl[found->extent->ttl].decr_hits += how->decrement;
    return write_number(shard, hash, key, found, false, how, number);
}

store_status_t store_delta(store_t *store, store_key_t key, const store_delta_t *how, store_number_t *number)
{
    uint64_t hash = index_hash(store->seed, key.bytes, key.length);
    shard_t *shard = shard_of(store, hash);
    store_status_t status = STORE_NOT_FOUND;
    pthread_mutex_lock(&shard->lock);
    *number = (store_number_t){.now = shard_now(store), .cas = how->cas};
    found_t found = shard_find(shard, hash, key.bytes, key.length, NULL, NULL);
    if (found.slot != NULL) {
        status = delta_found(shard, hash, key, &found, how, number);
    } else {
        count_delta(shard, how->decrement, false);
        if (how->vivify) {
            number->value = how->initial;
            number->created = true;
            number->expiry = how->vivify_expiry;
            status = write_number(shard, hash, key, &found, how->binary_key, how, number);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return status;
}
