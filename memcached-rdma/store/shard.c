/* SPDX-License-Identifier: Apache-2.0
 * shard.c - space for items, making them visible and removing them. */
#include "store/shard.h"

#include <string.h>

store_status_t shard_open(shard_t *shard, store_t *store, const store_config_t *config, size_t bytes, unsigned number)
{
    *shard = (shard_t){.store = store, .next_cas = number + 1};
    pthread_mutex_init(&shard->lock, NULL);
    size_t run_bytes = config->item_max + sizeof(item_t);
    published_part_t part = {.page = store->page, .source = &store->page_source};
    if (store->page != NULL)
        part.shard = (published_shard_t *)(void *)((char *)store->page + store->page->shards_at) + number;
    store_status_t status = segment_pool_open(&shard->pool, &config->source, &part, bytes, run_bytes);
    return status == STORE_OK ? index_open(&shard->index, &shard->pool, store->seed) : status;
}

void shard_close(shard_t *shard)
{
    index_close(&shard->index);
    segment_pool_close(&shard->pool);
    pthread_mutex_destroy(&shard->lock);
}

uint64_t shard_cas(shard_t *shard)
{
    uint64_t cas = shard->next_cas;
    shard->next_cas += shard->store->shard_count;
    return cas;
}

/* ------------------------------------------------------------------------------------------ space */

/* Another segment; reclaim itself (`moving`) may take the last ones (S1). */
static segment_t *take_segment(shard_t *shard, segment_kind_t kind, bool moving)
{
    segment_pool_t *pool = &shard->pool;
    uint32_t wanted = moving ? 1 : 1 + RESERVE;
    if (pool->free_count < wanted)
        (void)segment_pool_grow(pool);
    if (!moving && !segment_available(pool, wanted) && !shard_reclaim(shard, wanted))
        return NULL;
    return segment_take(pool, kind);
}

segment_t *shard_take_index(void *arg)
{
    return take_segment(arg, SEGMENT_INDEX, false);
}

static segment_t *run_segment(shard_t *shard, size_t bytes, unsigned ttl)
{
    segment_pool_t *pool = &shard->pool;
    uint32_t count = (uint32_t)((bytes + pool->segment_bytes - 1) / pool->segment_bytes);
    segment_t *run = NULL;
    do {
        if (segment_available(pool, count + RESERVE))
            run = segment_take_run(pool, count);
    } while (run == NULL && segment_pool_grow(pool));
    if (run == NULL)
        run = shard_reclaim_run(shard, count);
    if (run == NULL)
        return NULL;
    run->ttl = (uint8_t)ttl;
    shard_pin(run); /* S2: not the run itself */
    if (!segment_available(pool, RESERVE))
        (void)shard_reclaim(shard, RESERVE);
    run->pins--;
    segment_seal(pool, run, false);
    return run;
}

static bool has_space(const shard_t *shard, const segment_t *segment, size_t bytes)
{
    return segment != NULL && segment->used + bytes <= shard->pool.segment_bytes;
}

/* The segment that takes an item of so many bytes; seals the one that is full. */
static segment_t *segment_for(shard_t *shard, size_t bytes, uint32_t expiry, const segment_t *moving)
{
    unsigned ttl = moving != NULL ? moving->ttl : ttl_bucket(expiry, store_now(shard->store));
    if (bytes > shard->pool.segment_bytes / 2)
        return moving != NULL ? NULL : run_segment(shard, bytes, ttl);
    if (has_space(shard, shard->open[ttl], bytes))
        return shard->open[ttl];
    segment_t *segment = take_segment(shard, SEGMENT_OPEN, moving != NULL);
    if (segment == NULL)
        return NULL;
    if (has_space(shard, shard->open[ttl], bytes)) { /* reclaim has opened another one */
        segment_release(&shard->pool, segment);
        return shard->open[ttl];
    }
    if (shard->open[ttl] != NULL)
        segment_seal(&shard->pool, shard->open[ttl], false);
    segment->ttl = (uint8_t)ttl;
    shard->open[ttl] = segment;
    return segment;
}

/* The segment lives as long as this item. */
static void raise_drop(segment_t *segment, const item_t *item)
{
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    uint32_t drop = expiry == 0 ? UINT32_MAX : expiry;
    if (drop > segment->drop)
        segment->drop = drop;
}

item_t *shard_space(shard_t *shard, size_t key_bytes, size_t value_bytes, uint32_t expiry, const segment_t *moving,
                    segment_t **segment_p)
{
    size_t bytes = item_bytes(key_bytes, value_bytes);
    segment_t *segment = segment_for(shard, bytes, expiry, moving);
    if (segment == NULL)
        return NULL;
    item_t *item = (item_t *)(void *)(segment->base + segment->used);
    segment->used += bytes;
    memset(item, 0, sizeof(*item));
    item->generation = segment_generation(segment);
    item->key_bytes = (uint8_t)key_bytes;
    item->value_bytes = (uint32_t)value_bytes;
    atomic_set_relaxed(&item->expiry, expiry);
    raise_drop(segment, item);
    *segment_p = segment;
    return item;
}

void shard_pin(segment_t *segment)
{
    segment->pins++;
}

/* A segment that lost its last live item while it was pinned goes back now. */
static void release_if_dead(shard_t *shard, segment_t *segment)
{
    if (segment->items == 0 && segment->pins == 0 && (segment->kind == SEGMENT_SEALED || segment->kind == SEGMENT_RUN))
        segment_release(&shard->pool, segment);
}

void shard_unpin(shard_t *shard, segment_t *segment)
{
    segment->pins--;
    release_if_dead(shard, segment);
}

/* ------------------------------------------------------------------------------------- visibility */

void shard_seal_item(shard_t *shard, item_t *item, const segment_t *segment, uint32_t data_crc)
{
    item->created = store_now(shard->store);
    atomic_set_relaxed(&item->access, item->created);
    item->crc = item_crc(item, data_crc, segment->number);
}

static void forget(shard_t *shard, const item_t *item, segment_t *segment)
{
    size_t size = item_size(item);
    shard->items--;
    shard->bytes -= size;
    segment_live(&shard->pool, segment, -(ptrdiff_t)size, -1);
    release_if_dead(shard, segment);
}

store_status_t shard_link(shard_t *shard, uint64_t hash, item_t *item, segment_t *segment, index_slot_t *slot)
{
    uint64_t entry = index_entry(hash, segment, item);
    size_t size = item_size(item);
    shard->items++;
    shard->bytes += size;
    segment_live(&shard->pool, segment, (ptrdiff_t)size, 1);
    raise_drop(segment, item); /* a flush may have lowered it since the space was given */
    if (slot != NULL) {
        segment_t *old_segment;
        item_t *old = index_item(&shard->index, atomic_get_relaxed(slot), &old_segment);
        atomic_set_release(slot, entry); /* I1 */
        forget(shard, old, old_segment);
        return STORE_OK;
    }
    store_status_t status = index_insert(&shard->index, hash, entry, shard_take_index, shard);
    if (status != STORE_OK) {
        forget(shard, item, segment);
        return status;
    }
    index_grow(&shard->index, shard_take_index, shard);
    return STORE_OK;
}

void shard_unlink(shard_t *shard, index_slot_t *slot, item_t *item, segment_t *segment)
{
    index_remove(&shard->index, slot);
    forget(shard, item, segment);
}

found_t shard_find(shard_t *shard, uint64_t hash, const char *key, size_t length, uint64_t *expired, uint64_t *flushed)
{
    uint32_t now = store_now(shard->store);
    found_t found = {0};
    found.slot = index_find(&shard->index, hash, key, length, &found.item, &found.segment);
    if (found.slot == NULL)
        return found;
    bool is_expired = item_expired(found.item, now);
    if (!is_expired && !item_flushed(shard, found.item, now))
        return found;
    if (is_expired && expired != NULL)
        (*expired)++;
    if (!is_expired && flushed != NULL)
        (*flushed)++;
    shard_unlink(shard, found.slot, found.item, found.segment);
    return (found_t){0};
}

bool shard_rewrite(shard_t *shard, uint64_t hash, found_t *found, uint8_t marks, uint64_t cas, uint32_t expiry)
{
    item_t *old = found->item;
    segment_t *old_segment = found->segment;
    segment_t *segment;
    shard_pin(old_segment); /* S3 */
    item_t *item = shard_space(shard, old->key_bytes, old->value_bytes, expiry, NULL, &segment);
    if (item != NULL) {
        memcpy(item->data, old->data, (size_t)old->key_bytes + old->value_bytes);
        item->marks = marks;
        item->client_flags = old->client_flags;
        item->cas = cas;
        item->created = old->created;
        atomic_set_relaxed(&item->heat, atomic_get_relaxed(&old->heat));
        atomic_set_relaxed(&item->access, atomic_get_relaxed(&old->access));
        item->crc = item_crc(item, item_data_crc(item, shard->store->crc_seed), segment->number);
        (void)shard_link(shard, hash, item, segment, found->slot); /* a pinned segment's items stay where they are */
        found->item = item;
        found->segment = segment;
    }
    shard_unpin(shard, old_segment);
    return item != NULL;
}

void shard_touch(shard_t *shard, uint64_t hash, found_t *found, uint32_t expiry)
{
    bool outlives = (expiry == 0 ? UINT32_MAX : expiry) > found->segment->drop;
    if (outlives && found->segment->kind != SEGMENT_RUN &&
        shard_rewrite(shard, hash, found, found->item->marks, found->item->cas, expiry))
        return;
    atomic_set_relaxed(&found->item->expiry, expiry);
    raise_drop(found->segment, found->item); /* a run, or no memory for a copy: the segment stays longer */
}
