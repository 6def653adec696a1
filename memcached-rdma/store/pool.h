/* SPDX-License-Identifier: Apache-2.0
 * pool.h - the memory of a store: memories of shareable bytes, cut into grains of 4 KiB, handed out as extents.
 *
 *   memory:  | generation words, one per grain | grain | grain | ...          position: memory number << shift | offset
 *            '---------- extents: neighbouring grains of one kind ----------'
 *
 * An extent is free, a segment (open: small items are appended; sealed: full), one large or pinned item, part of an index, or a
 * shard's spare segment (S1). The generation words stand in front of everything else, never among data that clients write, and
 * those of an extent change before its grains are used again (I3).
 * Age: sealed segments and large items of all shards are in one list, the oldest first (window.h chooses from it).
 * Threading: `lock` protects the pool and is a leaf: shards' locks are taken before it, nothing after it. An extent that a
 * shard owns (`shard`) changes its kind under that shard's lock and the pool's, so that either is enough to read it; its counts
 * need the shard's lock. Readers in other processes see generation words and items only. */
#ifndef MC_STORE_POOL_H
#define MC_STORE_POOL_H

#include "base/atomics.h"
#include "base/list.h"
#include "store/published.h"
#include "store/store.h"

#define GRAIN_SHIFT 12u
#define GRAIN_BYTES (1u << GRAIN_SHIFT)
#define POSITION_BITS 36u /* of a position in units of ITEM_UNIT: 512 GiB */
#define POSITION_MASK ((UINT64_C(1) << POSITION_BITS) - 1)
#define GENERATION_MASK 0xfffu /* bits of a generation word that an entry has */
#define MEMORY_BYTES ((size_t)64 << 20)
#define FREE_CLASSES 32u /* of free extents, by powers of two of grains */

typedef enum extent_kind {
    EXTENT_TABLE, /* generation words */
    EXTENT_FREE,
    EXTENT_HELD,  /* emptied for the shard that has claimed it (window.h) */
    EXTENT_SPARE, /* of its shard, for reclaim's copies (S1) */
    EXTENT_OPEN,
    EXTENT_SEALED,
    EXTENT_DRAFT, /* a large item that is not visible yet */
    EXTENT_LARGE,
    EXTENT_PIN_DRAFT, /* a pinned item that is not visible yet */
    EXTENT_PINNED,    /* one pinned item, of any size: never evicted (pin.c) */
    EXTENT_INDEX
} extent_kind_t;

struct shard;

typedef struct extent {
    list_link_t link;   /* in `aged`, a list of free ones, or `records` */
    list_link_t mine;   /* in its shard's list of its TTL bucket */
    list_link_t sparse; /* sealed, with dead bytes: in its shard's list by how many */
    struct shard *shard;
    char *base;
    _Atomic uint32_t *words; /* generation words of its grains */
    uint64_t stamp;          /* age: grains that had entered `aged` when it did */
    size_t used;             /* bytes written, from the start */
    size_t live;             /* bytes of items that the index refers to */
    size_t tail;             /* bytes behind `used` of a segment that was sealed early */
    uint32_t grain, grains;  /* number of the first in the pool; how many */
    _Atomic uint32_t pins; /* readers and writers outside the lock: not to be reused; changed under the shard's lock */
    uint32_t items;        /* that the index refers to */
    uint32_t drop;         /* every item has expired at this second of the clock; UINT32_MAX: never */
    uint32_t epoch;        /* of its shard when its last item was written: an earlier one was flushed */
    uint8_t kind;          /* extent_kind_t */
    uint8_t ttl;           /* TTL bucket */
    uint8_t deadness;      /* which list of `sparse` */
    bool claimed;          /* part of a window that is being emptied */
    bool held;             /* counts in the store's `held` until the last pin goes */
} extent_t;

typedef struct pool_memory {
    void *handle; /* of the source */
    char *address;
    uint32_t grains, index_grains;
    extent_t **at; /* by grain: its extent; of free ones only the first and the last */
} pool_memory_t;

typedef struct pool {
    pthread_mutex_t lock;
    store_source_t source;
    published_t *page; /* NULL: nobody reads without the lock */
    pool_memory_t *memories;
    unsigned shift; /* bytes of a memory at most: 1 << shift */
    uint32_t memory_count, memory_limit;
    uint32_t segment_grains, index_grains;
    size_t segment_bytes;
    size_t large_bytes; /* an item of more bytes has an extent of its own */
    uint32_t limit;     /* grains that may be in use; above `target` while it is lowered step by step */
    uint32_t target;
    uint32_t used;     /* not free */
    uint32_t capacity; /* of all memories */
    uint64_t entered;  /* grains that have entered `aged` */
    list_link_t aged;
    list_link_t free[FREE_CLASSES];
    list_link_t records; /* unused ones */
    void *slabs;         /* of records, linked by their first word */
} pool_t;

/* bytes: of the whole store. share: of one shard. item_bytes: the largest item with its header. */
store_status_t pool_open(pool_t *pool, const store_config_t *config, published_t *page, size_t share);
void pool_close(pool_t *pool);
/* Bytes of a segment in a store whose shards have so many bytes each: 1 MiB, less where there would be under 64 of them. */
size_t pool_segment_bytes(size_t share);
/* And of an extent of an index there. */
size_t pool_index_bytes(size_t share);
/* log2 of the bytes of a memory of a store with such items. */
unsigned pool_memory_shift(size_t item_max);
/* Another limit in bytes; memories that exist stay. A lower one comes step by step (pool_lower). False: beyond what references
 * can address. */
bool pool_limit(pool_t *pool, size_t bytes);
/* A step of so many grains towards the limit that was wanted. False: it is reached. */
bool pool_lower(pool_t *pool, uint32_t grains);
/* More is in use than the limit allows, with so many grains more. */
bool pool_is_over(pool_t *pool, uint32_t grains);

/* Takes free grains; NULL: there are none side by side, or the limit is reached. */
extent_t *pool_take(pool_t *pool, struct shard *shard, extent_kind_t kind, uint32_t grains);
/* What stays for long is at the ends of memories, so that it does not cut up the space: index and pinned items. */
static inline bool pool_stays(extent_kind_t kind)
{
    return kind == EXTENT_INDEX || kind == EXTENT_PIN_DRAFT;
}

/* Back to the free ones, with the next generations. Nothing in it may be live or pinned. */
void pool_release(pool_t *pool, extent_t *extent);
/* Makes an empty segment its shard's spare, with the next generations. */
void pool_make_spare(pool_t *pool, extent_t *extent);
/* Another kind; sealed segments and large items become the youngest. */
void pool_set_kind(pool_t *pool, extent_t *extent, extent_kind_t kind);
/* What is wrong with the pool, NULL: nothing. */
const char *pool_check(pool_t *pool);

/* --------------------------------------------------------------- for window.c, under the pool's lock */

/* A held extent is free from now on; returns the free extent that it is part of. */
extent_t *pool_free_held(pool_t *pool, extent_t *extent);
/* Takes `grains` of a free extent, of what stays from its end; NULL: the limit is reached. */
extent_t *pool_take_from(pool_t *pool, extent_t *from, struct shard *shard, extent_kind_t kind, uint32_t grains);
/* A free extent is held from now on. */
void pool_hold(pool_t *pool, extent_t *extent);
/* The oldest becomes the youngest. */
void pool_renew(pool_t *pool, extent_t *extent);

/* It holds one item, which is visible or was. */
static inline bool extent_is_single(const extent_t *extent)
{
    return extent->kind == EXTENT_LARGE || extent->kind == EXTENT_PINNED;
}

static inline bool extent_is_draft(const extent_t *extent)
{
    return extent->kind == EXTENT_DRAFT || extent->kind == EXTENT_PIN_DRAFT;
}

static inline bool extent_is_pinned(const extent_t *extent)
{
    return extent->kind == EXTENT_PINNED || extent->kind == EXTENT_PIN_DRAFT;
}

static inline pool_memory_t *pool_memory_of(const pool_t *pool, uint32_t grain)
{
    return &pool->memories[grain >> (pool->shift - GRAIN_SHIFT)];
}

static inline uint32_t pool_grain_in_memory(const pool_t *pool, uint32_t grain)
{
    return grain & ((1u << (pool->shift - GRAIN_SHIFT)) - 1);
}

/* The extent of a grain that is not inside a free one. */
static inline extent_t *pool_extent(const pool_t *pool, uint32_t grain)
{
    return pool_memory_of(pool, grain)->at[pool_grain_in_memory(pool, grain)];
}

static inline uint32_t pool_grains(size_t bytes)
{
    return (uint32_t)((bytes + GRAIN_BYTES - 1) >> GRAIN_SHIFT);
}

/* Number of the grain in which the byte at `at` lies. */
static inline uint32_t extent_grain(const extent_t *extent, const void *at)
{
    return extent->grain + (uint32_t)((size_t)((const char *)at - extent->base) >> GRAIN_SHIFT);
}

/* Generation of what begins there. */
static inline uint32_t extent_generation(const extent_t *extent, const void *at)
{
    return atomic_get_relaxed(&extent->words[extent_grain(extent, at) - extent->grain]);
}

static inline uint64_t extent_position(const extent_t *extent, const void *at)
{
    return ((uint64_t)extent->grain << GRAIN_SHIFT) + (uint64_t)((const char *)at - extent->base);
}

#endif
