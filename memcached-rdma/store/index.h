/* SPDX-License-Identifier: Apache-2.0
 * index.h - where a shard's items are: linear hashing over buckets of one cache line.
 *
 *   bucket 64 B   7 x entry | version | overflow link
 *   entry  8 B    tag 16 (of the hash) | position / 8 36 | generation 12;  0: empty
 *
 * I1 an entry is changed by one 8-byte store with release order. I6 the index grows bucket by bucket: the new bucket is
 * filled, then the split point is published, then the old bucket is cleared, its version odd meanwhile: a reader that misses
 * while the version has changed looks again. Buckets lie in extents of kind EXTENT_INDEX, overflow buckets in others of
 * that kind. The shard's lock protects everything here. */
#ifndef MC_STORE_INDEX_H
#define MC_STORE_INDEX_H

#include "store/item.h"
#include "store/pool.h"

#define BUCKET_ENTRIES 7u

typedef struct bucket {
    _Atomic uint64_t entry[BUCKET_ENTRIES];
    _Atomic uint32_t version;  /* odd while entries move away */
    _Atomic uint32_t overflow; /* number of an overflow bucket + 1, 0: none */
} bucket_t;

_Static_assert(sizeof(bucket_t) == 64, "a bucket is a cache line");

typedef struct chunk_list {
    extent_t **extents;
    uint32_t count, capacity;
} chunk_list_t;

typedef struct item_index {
    pool_t *pool;
    published_part_t part; /* what readers see */
    uint64_t seed;         /* of the hash */
    chunk_list_t main, overflow;
    uint32_t per_chunk; /* buckets of an extent */
    unsigned level;     /* buckets: 2^level + split */
    uint32_t split;
    uint32_t overflow_used; /* overflow buckets that were ever taken, from the start */
    uint32_t overflow_free; /* first free one + 1, linked by `overflow` */
    uint32_t overflow_free_count;
    uint64_t entries;
} item_index_t;

typedef _Atomic uint64_t index_slot_t;

/* Where extents for the index come from: may evict items. NULL: there are none. */
typedef extent_t *(*index_take_t)(void *arg);

/* take: for the first extent. */
store_status_t index_open(item_index_t *index, pool_t *pool, const published_part_t *part, uint64_t seed,
                          index_take_t take, void *arg);
void index_close(item_index_t *index);
uint64_t index_hash(uint64_t seed, const char *key, size_t length);

/* Entry of an item. */
uint64_t index_entry(uint64_t hash, const extent_t *extent, const item_t *item);
/* The item of an entry that is in the index, and its extent. */
item_t *index_item(const item_index_t *index, uint64_t entry, extent_t **extent_p);

/* The entry for a key, or NULL. */
index_slot_t *index_find(const item_index_t *index, uint64_t hash, const char *key, size_t length, item_t **item_p,
                         extent_t **extent_p);
/* The place of exactly this entry, or NULL: the item is dead. */
index_slot_t *index_find_entry(const item_index_t *index, uint64_t hash, uint64_t entry);
/* Adds an entry for a key that has none. STORE_NO_MEMORY: no bucket was left and take gave no extent. */
store_status_t index_insert(item_index_t *index, uint64_t hash, uint64_t entry, index_take_t take, void *arg);
void index_remove(item_index_t *index, index_slot_t *slot);
/* Splits one bucket when the index is fuller than it should be; without an extent it stays as it is. */
void index_grow(item_index_t *index, index_take_t take, void *arg);

typedef void (*index_visit_t)(void *arg, item_t *item, extent_t *extent);
/* A step of a walk: visits the items of one bucket. at: 0, then the result of the step before; the result 0: that was the last.
 * Buckets come in the order of their hash bits, the lowest first, so a bucket that was split between two steps has been visited
 * with both parts, or with none: an item that stays is visited exactly once. */
uint64_t index_walk(const item_index_t *index, uint64_t at, index_visit_t visit, void *arg);

static inline uint64_t index_buckets(const item_index_t *index)
{
    return ((uint64_t)1 << index->level) + index->split;
}

#endif
