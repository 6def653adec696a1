/* SPDX-License-Identifier: Apache-2.0
 * shelf.c - items on disk. In memory such an item is a stub: an item with the mark ITEM_ON_DISK, whose value is the place on disk.
 * So expiry, flush, CAS ids, heat and walks are those of any item, and a reader without the lock asks, as for every marked item. */
#include "store/shard.h"

#define STUBS_PART 2u /* of the memory: above 1 / this stubs go as other items do */

_Static_assert(sizeof(place_t) == 16, "a stub takes 56 bytes beside its key");

bool shelf_put(shard_t *shard, const item_t *item, const store_hit_t *hit, place_t *place_p)
{
    const store_shelf_t *shelf = &shard->store->shelf;
    bool taken = shelf->put(shelf->arg, hit, item->created, place_p);
    shard->counters.shelved += taken;
    return taken;
}

void shelf_count(shard_t *shard, const item_t *item)
{
    if (!item_is_stub(item))
        return;
    shard->stubs++;
    shard->stub_bytes += item_size(item);
}

void shelf_forget(shard_t *shard, const item_t *item, bool copied)
{
    const store_shelf_t *shelf = &shard->store->shelf;
    if (!item_is_stub(item))
        return;
    place_t place = item_place(item);
    shard->stubs--;
    shard->stub_bytes -= item_size(item);
    if (!copied && shelf->gone != NULL)
        shelf->gone(shelf->arg, &place, item->key_bytes);
}

bool shelf_keeps_stubs(const shard_t *shard)
{
    const store_t *store = shard->store;
    uint64_t share = ((uint64_t)store->pool.limit << GRAIN_SHIFT) / store->shard_count;
    return shard->stub_bytes <= share / STUBS_PART;
}
