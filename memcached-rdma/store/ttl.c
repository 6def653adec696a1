/* SPDX-License-Identifier: Apache-2.0
 * ttl.c - TTL buckets; whether an item has expired or was flushed, and when all items of an extent have. */
#include "store/shard.h"

/* Upper ends of the buckets, seconds; the last bucket takes the rest, bucket 0 what never expires. */
static const uint32_t ranges[STORE_TTL_BUCKETS] = {0, 30, 300, 1800, 3 * 3600, 24 * 3600, 7 * 24 * 3600, UINT32_MAX};

uint32_t store_ttl_range(unsigned bucket)
{
    return ranges[bucket];
}

unsigned ttl_bucket(uint32_t expiry, uint32_t now)
{
    if (expiry == 0)
        return 0;
    uint32_t ttl = expiry > now ? expiry - now : 0;
    unsigned bucket = 1;
    while (ttl > ranges[bucket])
        bucket++;
    return bucket;
}

bool item_expired(const item_t *item, uint32_t now)
{
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    return expiry != 0 && expiry <= now;
}

bool item_flushed(const shard_t *shard, const item_t *item, uint32_t now)
{
    return item->created <= published_flush(shard->flush_time, shard->flush_next, now);
}

void ttl_publish_flush(const shard_t *shard)
{
    published_shard_t *part = shard->part.shard;
    if (part == NULL)
        return;
    atomic_set_release(&part->flush_time, shard->flush_time);
    atomic_set_release(&part->flush_next, shard->flush_next);
}

void ttl_settle_flush(shard_t *shard, uint32_t now)
{
    if (shard->flush_next == 0 || shard->flush_next > now)
        return;
    shard->flush_time = published_flush(shard->flush_time, shard->flush_next, now);
    shard->flush_next = 0;
    ttl_publish_flush(shard);
}

uint32_t ttl_creation(shard_t *shard)
{
    uint32_t now = shard_now(shard->store);
    ttl_settle_flush(shard, now);
    return now > shard->flush_time ? now : shard->flush_time + 1;
}

uint32_t ttl_drop_of(const shard_t *shard, const extent_t *extent)
{
    return extent->epoch == shard->epoch ? extent->drop : 0;
}

void ttl_expect(shard_t *shard, const extent_t *extent)
{
    if (ttl_drop_of(shard, extent) < shard->next_drop[extent->ttl])
        shard->next_drop[extent->ttl] = ttl_drop_of(shard, extent);
}

extent_t *ttl_next(const shard_t *shard, const extent_t *extent)
{
    return extent->mine.next == &shard->extents[extent->ttl] ? NULL : container_of(extent->mine.next, extent_t, mine);
}

void ttl_raise(extent_t *extent, const item_t *item)
{
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    uint32_t drop = expiry == 0 ? UINT32_MAX : expiry;
    if (drop > extent->drop)
        extent->drop = drop;
}
