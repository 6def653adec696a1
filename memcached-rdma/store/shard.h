/* SPDX-License-Identifier: Apache-2.0
 * shard.h - one part of the store, by hash of the key: lock, index, counters, and the extents that hold its items. What is
 * declared here is for the store's own files; all of it needs the shard's lock.
 *
 *   ttl.c    TTL buckets: when items and extents have expired
 *   pin.c    pinned items: their share of the memory
 *   shelf.c  items on disk: what goes there, and what refers to it
 *   shard.c  extents and items: where they lie, making items visible and removing them
 *   empty.c  emptying an extent: items that are kept move, the others go
 *   drop.c   flush, and the pass over extents in which everything has expired
 *   evict.c  reclaim: which extents are emptied, what of them is kept
 *   space.c  space for new items, reclaimed if nothing is free; links of new keys
 *
 * Each file stands on those above it alone.
 *
 * S1 a shard has a spare segment, which only reclaim's own copies use; the segment that is emptied by them becomes the next
 * spare. S2 an extent with pins is neither released nor walked. S3 nothing but reclaim moves or removes an item that its caller
 * did not name; whoever holds an item over a call that may reclaim (shard_space) pins its extent and looks it up again.
 * S4 who holds a shard's lock takes another shard's by trylock only, one at a time, and gives it back before the next: nobody
 * waits for a lock while holding one, but for the pool's, under which no other is taken. So nothing can wait in a circle. */
#ifndef MC_STORE_SHARD_H
#define MC_STORE_SHARD_H

#include <pthread.h>

#include "store/index.h"
#include "store/published.h"
#include "store/window.h"

#define DEADNESSES 32u /* of sealed segments, by dead bytes */

typedef struct shard {
    pthread_mutex_t lock;
    store_t *store;
    pool_t *pool;
    unsigned number;
    published_part_t part; /* what readers see */
    item_index_t index;
    extent_t *open[STORE_TTL_BUCKETS];      /* where items are appended; NULL: none */
    extent_t *spare;                        /* S1; NULL: none at the moment */
    list_link_t extents[STORE_TTL_BUCKETS]; /* segments and large items, in any order */
    uint32_t next_drop[STORE_TTL_BUCKETS];  /* none of them expires as a whole before this second */
    extent_t *look[STORE_TTL_BUCKETS];      /* a pass over them goes on here; NULL: none is under way */
    extent_t *dropping;                     /* is being emptied in steps, and pinned meanwhile; NULL: none */
    size_t drop_at;                         /* the next of its items */
    uint32_t epoch;                         /* flushes so far: extents of an earlier one hold nothing live */
    list_link_t sparse[DEADNESSES];         /* sealed segments with dead bytes; the first list stays empty */
    uint64_t next_cas;
    uint32_t flush_time; /* items created until this second are flushed */
    uint32_t flush_next; /* a flush that comes at this second; 0: none */
    uint64_t items, bytes;
    uint64_t pinned; /* items */
    uint64_t stubs, stub_bytes;
    store_counters_t counters;
    store_ttl_stats_t ttl[STORE_TTL_BUCKETS]; /* `segments` counts grains, `age` stays 0 */
    uint32_t sizes[STORE_SIZES];              /* live items by the bytes that they take */
} shard_t;

struct store {
    uint32_t (*now)(void *arg);
    void *now_arg;
    void (*evicted)(void *arg, const store_hit_t *hit); /* NULL: nobody asks */
    void *evicted_arg;
    size_t item_max;
    uint64_t seed;     /* of the hash */
    uint32_t crc_seed; /* of checksums: bytes of another server or an earlier start never pass */
    unsigned shard_count;
    unsigned shard_bits;
    bool evict;
    shard_t *shards;
    pool_t pool;
    published_t *page; /* NULL: nobody reads without the lock */
    void *page_handle;
    store_source_t page_source;
    _Atomic uint64_t held; /* bytes of large items whose pins outlive a turn */
    unsigned pinned_percent;
    store_shelf_t shelf;
    _Atomic uint64_t pinned; /* bytes of the extents of pinned items and their drafts */
};

/* The second of the store's clock. */
static inline uint32_t shard_now(const store_t *store)
{
    return store->now(store->now_arg);
}

static inline shard_t *shard_of(const store_t *store, uint64_t hash)
{
    return &store->shards[store->shard_bits == 0 ? 0 : hash >> (64 - store->shard_bits)];
}

/* An item that was found, and where. */
typedef struct found {
    index_slot_t *slot; /* NULL: there is none */
    item_t *item;
    extent_t *extent;
} found_t;

/* -------------------------------------------------------------------------------------------- ttl.c */

unsigned ttl_bucket(uint32_t expiry, uint32_t now);
bool item_expired(const item_t *item, uint32_t now);
bool item_flushed(const shard_t *shard, const item_t *item, uint32_t now);
/* Readers hide flushed items from now on (I4). Of both words the one that hides more is written first. */
void ttl_publish_flush(const shard_t *shard);
/* A flush whose second has come becomes one of the past. */
void ttl_settle_flush(shard_t *shard, uint32_t now);
/* The second of an item that is created now: behind every flush so far, so at times ahead of the clock. */
uint32_t ttl_creation(shard_t *shard);
/* The next extent of the same bucket; NULL: there is none. */
extent_t *ttl_next(const shard_t *shard, const extent_t *extent);
/* The second at which nothing in the extent is shown any more. */
uint32_t ttl_drop_of(const shard_t *shard, const extent_t *extent);
/* The extent expires at its `drop`, or later. */
void ttl_expect(shard_t *shard, const extent_t *extent);
/* The extent lives as long as this item. */
void ttl_raise(extent_t *extent, const item_t *item);

/* -------------------------------------------------------------------------------------------- pin.c */

/* Bytes that pinned items may take. */
uint64_t pin_limit(store_t *store);
/* Counts so many bytes more to the pinned items' share. False: it is used up, and nothing is counted. */
bool pin_reserve(store_t *store, uint64_t bytes);
/* Counts them no more. */
void pin_free(store_t *store, uint64_t bytes);
/* The item of the extent is like any other from now on. */
void pin_release(shard_t *shard, extent_t *extent);
/* Why shard_space has found none. */
store_status_t pin_refusal(store_t *store, bool pinned, size_t bytes);

/* ------------------------------------------------------------------------------------------ shelf.c */

/* A copy of a live item goes to disk; hit as shard_describe gives it. False: it does not. */
bool shelf_put(shard_t *shard, const item_t *item, const store_hit_t *hit, place_t *place_p);
/* Counts a stub that is visible from now on. */
void shelf_count(shard_t *shard, const item_t *item);
/* Of a stub that is not visible any more. copied: another stub refers to the same place. */
void shelf_forget(shard_t *shard, const item_t *item, bool copied);
/* Stubs take so little of the memory that they may stay when others go. */
bool shelf_keeps_stubs(const shard_t *shard);

/* ------------------------------------------------------------------------------------------ shard.c */

store_status_t shard_open(shard_t *shard, store_t *store, unsigned number);
void shard_close(shard_t *shard);
uint64_t shard_cas(shard_t *shard);
/* Later ones are larger than this one. */
void shard_raise_cas(shard_t *shard, uint64_t cas);
/* A full segment: reclaim may choose it; early: it is not full. */
void shard_seal(shard_t *shard, extent_t *extent, bool early);
/* The extent is in the list of this bucket, and of no other. */
void shard_join(shard_t *shard, extent_t *extent, unsigned ttl);
/* It is in no list of the shard any more. */
void shard_leave(shard_t *shard, extent_t *extent);
/* Back to the pool. Nothing in it is live or pinned. */
void shard_release(shard_t *shard, extent_t *extent);
void shard_pin(extent_t *extent);
void shard_unpin(shard_t *shard, extent_t *extent);
/* A segment becomes the open one of its bucket. */
void shard_open_segment(shard_t *shard, extent_t *extent, unsigned ttl);
/* Whether the segment, or NULL, has space for an item of so many bytes. */
bool shard_has_space(const shard_t *shard, const extent_t *extent, size_t bytes);
/* Puts an item at the end of an extent that has space: its lengths and expiry written, the rest of its header zero. */
item_t *shard_lay(extent_t *extent, size_t key_bytes, size_t value_bytes, uint32_t expiry);
/* Space for the copy of an item, with a value of so many bytes, from the free space or the spare (S1). NULL: there is none. */
item_t *shard_space_to_move(shard_t *shard, const item_t *item, size_t value_bytes, const extent_t *from,
                            extent_t **extent_p);
/* Completes an item: creation, access and checksum; everything else is in place. */
void shard_seal_item(shard_t *shard, item_t *item, const extent_t *extent, uint32_t data_crc);
/* Around the change of the index that makes a finished item visible; linked: it did. */
void shard_begin_link(shard_t *shard, item_t *item, extent_t *extent);
void shard_end_link(shard_t *shard, item_t *item, extent_t *extent, bool linked);
/* Makes a finished item visible in the place of the one in `slot`. */
void shard_replace(shard_t *shard, uint64_t hash, item_t *item, extent_t *extent, index_slot_t *slot);
void shard_unlink(shard_t *shard, index_slot_t *slot, item_t *item, extent_t *extent);
/* The live item of a key; removes one that has expired or was flushed, and counts that when its counter is given. */
found_t shard_find(shard_t *shard, uint64_t hash, const char *key, size_t length, uint64_t *expired, uint64_t *flushed);

/* An item as a visitor sees it. */
store_hit_t shard_describe(const found_t *found, uint32_t now);

/* ------------------------------------------------------------------------------------------ empty.c */

#define NO_READS_KEEP (HEAT_COUNT_MAX + 1)

/* Empties an extent and releases it: moves live items that were read at least so often, and stubs if they are kept; the others go
 * to disk, or are removed, and those of them that had not expired count as evicted. */
void shard_empty(shard_t *shard, extent_t *extent, unsigned reads, bool keeps_stubs);
/* Removes items of a pinned extent from *at_p on, at most *left_p, and moves both on. True: that was the last. */
bool shard_empty_some(shard_t *shard, extent_t *extent, size_t *at_p, unsigned *left_p);
/* Open segments are full from now on. False: there was none. */
bool shard_seal_open(shard_t *shard);

/* ------------------------------------------------------------------------------------------- drop.c */

/* What one step may do, and what it has done. */
typedef struct ttl_step {
    unsigned looks, items, extents; /* left: to look at, to remove, to empty */
    unsigned dropped;               /* extents that were emptied */
} ttl_step_t;

/* Begins to look for segments and large items in which everything has expired, where some can have. */
void ttl_begin(shard_t *shard, uint32_t now);
/* Goes on with it. True: the step ended before the pass did. */
bool ttl_drop(shard_t *shard, uint32_t now, ttl_step_t *step);
void shard_flush(shard_t *shard, uint32_t at, uint32_t now);

/* ------------------------------------------------------------------------------------------ evict.c */

/* What one call has tried so far to free space. */
typedef struct reclaim {
    uint64_t busy;           /* bits of shards whose lock was taken */
    unsigned windows, freed; /* emptied by age; freed at nobody's cost */
} reclaim_t;

/* One step towards so many neighbouring grains. False: nothing more can be freed. *taken_p: they are here; NULL: look again.
 * kind EXTENT_FREE: they are to be free. */
bool shard_reclaim(shard_t *shard, reclaim_t *reclaim, extent_kind_t kind, uint32_t grains, extent_t **taken_p);
/* Evicts the oldest until the pool's limit holds. False: the remaining items cannot be freed now. */
bool shard_obey_limit(shard_t *shard);

/* ------------------------------------------------------------------------------------------ space.c */

/* Space for an item, as shard_lay leaves it; pinned: of its own, within the share of pinned items. May reclaim. */
item_t *shard_space(shard_t *shard, size_t key_bytes, size_t value_bytes, uint32_t expiry, bool pinned,
                    extent_t **extent_p);
/* Makes a finished item visible, in the place of `slot` if there is one. May reclaim otherwise. */
store_status_t shard_link(shard_t *shard, uint64_t hash, item_t *item, extent_t *extent, index_slot_t *slot);
/* Puts a copy of a live item in its place: other marks, CAS id or expiry. The item found is dead afterwards. False: no
 * memory, and nothing has changed. */
bool shard_rewrite(shard_t *shard, uint64_t hash, found_t *found, uint8_t marks, uint64_t cas, uint32_t expiry);
/* The same with another value: a stub for an item that was put on disk, or the item for its stub. */
bool shard_shelve(shard_t *shard, uint64_t hash, found_t *found, const place_t *place);
bool shard_promote(shard_t *shard, uint64_t hash, found_t *found, const char *value);
/* Another expiry: in place, or by a copy where the segment goes before. */
void shard_touch(shard_t *shard, uint64_t hash, found_t *found, uint32_t expiry);

#endif
