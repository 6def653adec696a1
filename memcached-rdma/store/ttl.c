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
    published_shard_t *part = shard->part.shard;
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
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++) { /* all of it goes by ttl_drop */
        list_for_each(link, &shard->extents[i])
            container_of(link, extent_t, mine)->drop = 0;
        shard->next_drop[i] = 0;
    }
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

void ttl_expect(shard_t *shard, const extent_t *extent)
{
    if (extent->drop < shard->next_drop[extent->ttl])
        shard->next_drop[extent->ttl] = extent->drop;
}

static bool may_drop(const extent_t *extent, uint32_t now)
{
    return (extent->kind == EXTENT_SEALED || extent->kind == EXTENT_LARGE) && atomic_get_relaxed(&extent->pins) == 0 &&
           extent->drop <= now;
}

/* Of one bucket. What was looked at in vain is looked at again when the first of it can have expired. */
static unsigned drop_bucket(shard_t *shard, unsigned ttl, uint32_t now, unsigned most)
{
    unsigned dropped = 0;
    uint32_t next_drop = UINT32_MAX;
    for (list_link_t *link = shard->extents[ttl].next, *next; link != &shard->extents[ttl]; link = next) {
        extent_t *extent = container_of(link, extent_t, mine);
        next = link->next;
        if (dropped == most) { /* the next call goes on here */
            list_remove(&shard->extents[ttl]);
            list_append(link, &shard->extents[ttl]);
            return dropped;
        }
        if (may_drop(extent, now)) {
            shard_empty(shard, extent);
            dropped++;
        } else if (extent->drop < next_drop && extent->kind != EXTENT_OPEN) {
            next_drop = extent->drop;
        }
    }
    shard->next_drop[ttl] = next_drop;
    return dropped;
}

unsigned ttl_drop(shard_t *shard, uint32_t now, unsigned most)
{
    unsigned dropped = 0;
    for (unsigned i = 0; i < STORE_TTL_BUCKETS && dropped < most; i++)
        if (shard->next_drop[i] <= now)
            dropped += drop_bucket(shard, i, now, most - dropped);
    shard->counters.segments_dropped += dropped;
    return dropped;
}
