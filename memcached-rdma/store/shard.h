/* SPDX-License-Identifier: Apache-2.0
 * shard.h - one part of the store, by hash of the key: lock, segments, index, counters. What is declared here is for the
 * store's own files; all of it needs the shard's lock.
 *
 *   shard.c  space for items, making them visible and removing them
 *   evict.c  reclaim: which segments are emptied, what of them is kept
 *   ttl.c    TTL buckets, expiry, flush
 *
 * S1 at least RESERVE segments stay free for reclaim itself, which copies what it keeps before it releases a segment.
 * S2 a segment with pins is neither released nor walked. S3 nothing but reclaim moves or removes an item that its caller did
 * not name; whoever holds an item over a call that may reclaim (shard_space) pins its segment and looks it up again. */
#ifndef MC_STORE_SHARD_H
#define MC_STORE_SHARD_H

#include <pthread.h>

#include "store/index.h"
#include "store/published.h"

#define RESERVE 1u

typedef struct shard {
    pthread_mutex_t lock;
    store_t *store;
    segment_pool_t pool;
    item_index_t index;
    segment_t *open[STORE_TTL_BUCKETS]; /* where items are appended; NULL: none */
    uint64_t next_cas;
    uint64_t flush_cas;  /* items with smaller CAS ids are flushed */
    uint32_t flush_time; /* and those created until this second */
    uint32_t flush_next; /* a flush that comes at this second; 0: none */
    uint64_t items, bytes;
    store_counters_t counters;
} shard_t;

struct store {
    uint32_t (*now)(void *arg);
    void *now_arg;
    size_t item_max;
    uint64_t seed;     /* of the hash */
    uint32_t crc_seed; /* of checksums: bytes of another server or an earlier start never pass */
    unsigned shard_count;
    unsigned shard_bits;
    bool evict;
    shard_t *shards;
    published_t *page; /* NULL: nobody reads without the lock */
    void *page_handle;
    store_source_t page_source;
};

static inline shard_t *shard_of(const store_t *store, uint64_t hash)
{
    return &store->shards[store->shard_bits == 0 ? 0 : hash >> (64 - store->shard_bits)];
}

/* An item that was found, and where. */
typedef struct found {
    index_slot_t *slot; /* NULL: there is none */
    item_t *item;
    segment_t *segment;
} found_t;

/* ------------------------------------------------------------------------------------------ shard.c */

store_status_t shard_open(shard_t *shard, store_t *store, const store_config_t *config, size_t bytes, unsigned number);
void shard_close(shard_t *shard);
/* Space for an item, its lengths written, the rest of its header zero. May reclaim, unless `moving` (reclaim's own call). */
item_t *shard_space(shard_t *shard, size_t key_bytes, size_t value_bytes, uint32_t expiry, const segment_t *moving,
                    segment_t **segment_p);
/* The live item of a key; removes one that has expired or was flushed, and counts that when its counter is given. */
found_t shard_find(shard_t *shard, uint64_t hash, const char *key, size_t length, uint64_t *expired, uint64_t *flushed);
/* Makes a finished item visible, in the place of `slot` if there is one. */
store_status_t shard_link(shard_t *shard, uint64_t hash, item_t *item, segment_t *segment, index_slot_t *slot);
void shard_unlink(shard_t *shard, index_slot_t *slot, item_t *item, segment_t *segment);
/* Puts a copy of a live item in its place: other marks, CAS id or expiry. The item found is dead afterwards. False: no
 * memory, and nothing has changed. */
bool shard_rewrite(shard_t *shard, uint64_t hash, found_t *found, uint8_t marks, uint64_t cas, uint32_t expiry);
/* Another expiry: in place, or by a copy where the segment goes before. */
void shard_touch(shard_t *shard, uint64_t hash, found_t *found, uint32_t expiry);
/* Completes an item: creation, access and checksum; everything else is in place. */
void shard_seal_item(shard_t *shard, item_t *item, const segment_t *segment, uint32_t data_crc);
void shard_pin(segment_t *segment);
void shard_unpin(shard_t *shard, segment_t *segment);
uint64_t shard_cas(shard_t *shard);
segment_t *shard_take_index(void *shard);

/* ------------------------------------------------------------------------------------------ evict.c */

/* Frees segments until `wanted` are available. False: nothing more can be freed. */
bool shard_reclaim(shard_t *shard, uint32_t wanted);
/* Open segments are full from now on. False: there was none. */
bool shard_seal_open(shard_t *shard);
/* Frees `count` neighbouring segments and takes them as a run; NULL: there are none that can be freed. */
segment_t *shard_reclaim_run(shard_t *shard, uint32_t count);
/* Removes every item of a segment; counts those that had not expired as evicted. */
void shard_empty(shard_t *shard, segment_t *segment);

/* -------------------------------------------------------------------------------------------- ttl.c */

unsigned ttl_bucket(uint32_t expiry, uint32_t now);
/* Drops sealed segments in which everything has expired, at most so many; returns how many. */
unsigned ttl_drop(shard_t *shard, uint32_t now, unsigned most);
bool item_expired(const item_t *item, uint32_t now);
bool item_flushed(const shard_t *shard, const item_t *item, uint32_t now);
void shard_flush(shard_t *shard, uint32_t at, uint32_t now);

#endif
