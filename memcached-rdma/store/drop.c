/* SPDX-License-Identifier: Apache-2.0
 * drop.c - flush, and the pass over extents in which everything has expired or was flushed. Items that expire at about the same
 * time lie in the same segments, which go as a whole when the last of their items has expired. */
#include "store/shard.h"

static void flush_all(shard_t *shard)
{
    shard->flush_time = ttl_creation(shard);
    ttl_publish_flush(shard);
    (void)shard_seal_open(shard);
    shard->epoch++;
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++)
        shard->next_drop[i] = 0; /* all of it goes by ttl_drop */
}

/* A later flush does not bring back what an earlier one has hidden. */
void shard_flush(shard_t *shard, uint32_t at, uint32_t now)
{
    ttl_settle_flush(shard, now);
    shard->flush_next = at > now ? at : 0;
    if (shard->flush_next != 0)
        ttl_publish_flush(shard);
    else
        flush_all(shard);
}

static bool may_drop(const shard_t *shard, const extent_t *extent, uint32_t now)
{
    return (extent->kind == EXTENT_SEALED || extent_is_single(extent)) && atomic_get_relaxed(&extent->pins) == 0 &&
           ttl_drop_of(shard, extent) <= now;
}

/* Goes on with the extent that is being emptied, which stays pinned until it is: nobody else empties it (S2). False: the step has
 * removed as many items as it may. */
static bool empty_on(shard_t *shard, ttl_step_t *step)
{
    extent_t *extent = shard->dropping;
    if (extent == NULL)
        return true;
    if (!shard_empty_some(shard, extent, &shard->drop_at, &step->items))
        return false;
    shard->dropping = NULL;
    shard->counters.segments_dropped++;
    step->extents--;
    step->dropped++;
    shard_unpin(shard, extent);
    return true;
}

/* Of one bucket. What is looked at in vain is looked at again when the first of it can have expired. True: the step ended. */
static bool drop_bucket(shard_t *shard, unsigned ttl, uint32_t now, ttl_step_t *step)
{
    while (shard->look[ttl] != NULL) {
        extent_t *extent = shard->look[ttl];
        if (step->looks == 0 || step->extents == 0)
            return true;
        step->looks--;
        shard->look[ttl] = ttl_next(shard, extent);
        if (may_drop(shard, extent, now)) {
            shard_pin(extent);
            shard->dropping = extent;
            shard->drop_at = 0;
            if (!empty_on(shard, step))
                return true;
        } else if (extent->kind != EXTENT_OPEN) {
            ttl_expect(shard, extent);
        }
    }
    return false;
}

void ttl_begin(shard_t *shard, uint32_t now)
{
    for (unsigned i = 0; i < STORE_TTL_BUCKETS; i++) {
        if (shard->look[i] != NULL || shard->next_drop[i] > now || list_empty(&shard->extents[i]))
            continue;
        shard->look[i] = container_of(shard->extents[i].next, extent_t, mine);
        shard->next_drop[i] = UINT32_MAX;
    }
}

bool ttl_drop(shard_t *shard, uint32_t now, ttl_step_t *step)
{
    bool ended = !empty_on(shard, step);
    for (unsigned i = 0; i < STORE_TTL_BUCKETS && !ended; i++)
        ended = drop_bucket(shard, i, now, step);
    return ended;
}
