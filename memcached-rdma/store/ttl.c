/* SPDX-License-Identifier: Apache-2.0
 * ttl.c - TTL buckets, expiry, flush. Items that expire at about the same time lie in the same segments, which go as a
 * whole when the last of their items has expired. */
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
    return item->cas < shard->flush_cas || item->created <= shard->flush_time ||
           (shard->flush_next != 0 && shard->flush_next <= now && item->created < shard->flush_next);
}

/* Readers hide from now on what is flushed (I4). What hides more is written first. */
static void publish_flush(const shard_t *shard)
{
    published_shard_t *part = shard->pool.part.shard;
    if (part == NULL)
        return;
    atomic_set_release(&part->flush_cas, shard->flush_cas);
    atomic_set_release(&part->flush_time, shard->flush_time);
    atomic_set_release(&part->flush_next, shard->flush_next);
}

static void flush_all(shard_t *shard)
{
    shard->flush_cas = shard->next_cas;
    publish_flush(shard);
    (void)shard_seal_open(shard);
    for (uint32_t m = 0; m < shard->pool.memory_count; m++) /* all of it goes by ttl_drop */
        for (uint32_t i = 0; i < shard->pool.per_memory; i++)
            shard->pool.memories[m].segments[i].drop = 0;
}

/* A later flush does not bring back what an earlier one has hidden. */
void shard_flush(shard_t *shard, uint32_t at, uint32_t now)
{
    if (shard->flush_next != 0 && shard->flush_next <= now)
        shard->flush_time = shard->flush_next - 1;
    shard->flush_next = at > now ? at : 0;
    if (shard->flush_next != 0)
        publish_flush(shard);
    else
        flush_all(shard);
}

static bool may_drop(const segment_t *segment, uint32_t now)
{
    return (segment->kind == SEGMENT_SEALED || segment->kind == SEGMENT_RUN) && segment->pins == 0 &&
           segment->drop <= now;
}

unsigned ttl_drop(shard_t *shard, uint32_t now, unsigned most)
{
    const segment_pool_t *pool = &shard->pool;
    unsigned dropped = 0;
    for (uint32_t m = 0; m < pool->memory_count; m++)
        for (uint32_t i = 0; i < pool->per_memory && dropped < most; i++) {
            segment_t *segment = &pool->memories[m].segments[i];
            if (!may_drop(segment, now))
                continue;
            shard_empty(shard, segment);
            dropped++;
        }
    shard->counters.segments_dropped += dropped;
    return dropped;
}
