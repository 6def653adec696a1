/* SPDX-License-Identifier: Apache-2.0
 * pin.c - pinned items: each has an extent of its own, which reclaim never chooses (window.c), at the end of a memory beside the
 * index. Their extents, those of drafts too, take at most a share of the limit, so that there is always something to evict. What
 * a client names goes as ever: a delete, a new value, a flush, an expiry. */
#include "store/shard.h"

uint64_t pin_limit(store_t *store)
{
    pthread_mutex_lock(&store->pool.lock);
    uint64_t grains = store->pool.target;
    pthread_mutex_unlock(&store->pool.lock);
    return (grains * store->pinned_percent / 100) << GRAIN_SHIFT;
}

bool pin_reserve(store_t *store, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add_explicit(&store->pinned, bytes, memory_order_relaxed);
    if (before + bytes <= pin_limit(store))
        return true;
    pin_free(store, bytes);
    return false;
}

void pin_free(store_t *store, uint64_t bytes)
{
    (void)atomic_fetch_sub_explicit(&store->pinned, bytes, memory_order_relaxed);
}

void pin_release(shard_t *shard, extent_t *extent)
{
    pool_set_kind(shard->pool, extent, EXTENT_LARGE);
    pin_free(shard->store, (uint64_t)extent->grains << GRAIN_SHIFT);
    shard->pinned--;
}

store_status_t pin_refusal(store_t *store, bool pinned, size_t bytes)
{
    uint64_t needed = (uint64_t)pool_grains(bytes) << GRAIN_SHIFT;
    return pinned && atomic_get_relaxed(&store->pinned) + needed > pin_limit(store) ? STORE_PINS_FULL : STORE_NO_MEMORY;
}
