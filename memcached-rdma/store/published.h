/* SPDX-License-Identifier: Apache-2.0
 * published.h - what readers without the lock, in other processes, know of a store: one page (some memory, in fact) that the store
 * writes and readers map read-only.
 *
 *   published_t | of each shard published_shard_t | of each memory published_memory_t | grains of index extents
 *
 * Constants are written before anybody reads. Tables only grow: an entry is written before the count that covers it (release).
 * What finds no entry any more in a full table is not published, and readers ask for it by message. `alive` is a robust
 * mutex that the opening thread holds: the kernel marks it when that thread ends, before any socket of the process is closed, so no
 * reader takes an old value for one of the server that was started next. */
#ifndef MC_STORE_PUBLISHED_H
#define MC_STORE_PUBLISHED_H

#include <pthread.h>
#include <stddef.h>

#include "base/atomics.h"
#include "store/store.h"

#define PUBLISHED_MAGIC UINT64_C(0x3530565f434d4256) /* "VBMC_V05" */
#define PUBLISHED_DIED 0x40000000u                   /* FUTEX_OWNER_DIED */
#define PUBLISHED_OWNER 0x3fffffffu                  /* FUTEX_TID_MASK; 0: unlocked, the server has ended */

typedef struct published_memory {
    uint32_t key_bytes;
    uint8_t key[STORE_KEY_BLOB];
} published_memory_t;

typedef struct published_shard {
    _Atomic uint64_t split;             /* of the index: level << 32 | split point (I6) */
    _Atomic uint32_t flush_time;        /* items created until this second are flushed (I4) */
    _Atomic uint32_t flush_next;        /* a flush that comes at this second; written after flush_time; 0: none */
    _Atomic uint32_t chunks, overflows; /* entries that are written */
    uint32_t chunks_at, chunks_max;     /* of the numbers: first grains of main buckets */
    uint32_t overflows_at, overflows_max;
    uint32_t per_chunk; /* buckets of an index extent */
    uint32_t zero;
} published_shard_t;

typedef struct published {
    uint64_t magic;
    uint64_t seed;          /* of the hash */
    uint64_t started_ns;    /* CLOCK_MONOTONIC at second STORE_CLOCK_START */
    _Atomic uint32_t clock; /* second of the last tick */
    uint32_t shard_count, shard_bits;
    uint32_t cas_shown;                          /* 0: clients are shown 0 instead of CAS ids */
    uint32_t shards_at, memories_at, numbers_at; /* offsets in bytes */
    uint32_t bytes;
    uint32_t memories_max, memory_shift; /* bytes of a memory at most: 1 << memory_shift */
    _Atomic uint32_t memories;           /* entries that are written */
    _Atomic uint32_t scarce; /* not 0: half of the memory has been in use, so it matters which items are read */
    pthread_mutex_t alive;
} published_t;

/* The Java client reads pages of this layout, too (../java: Page): a change of one is a change of both, and of the magic. */
_Static_assert(sizeof(published_shard_t) == 48 && offsetof(published_t, alive) == 72, "layout of version 05");

/* Tables of a shard in the page; NULL where the store is not published. */
typedef struct published_part {
    published_t *page;
    published_shard_t *shard;
} published_part_t;

static inline published_memory_t *published_memories(published_t *page)
{
    return (published_memory_t *)(void *)((char *)page + page->memories_at);
}

static inline _Atomic uint32_t *published_numbers(published_t *page)
{
    return (_Atomic uint32_t *)(void *)((char *)page + page->numbers_at);
}

/* Items created until this second are hidden at second `now`. Two flushes within a second are two seconds of flush_time, and new
 * items are created behind it; a flush at `next` hides at least the items created since the last one. */
static inline uint32_t published_flush(uint32_t flush_time, uint32_t next, uint32_t now)
{
    if (next == 0 || next > now)
        return flush_time;
    return next - 1 > flush_time ? next - 1 : flush_time + 1;
}

/* For the store: makes the page, for so many shards; does nothing where the source has no keys. False: no memory. */
bool published_open(store_t *store, const store_config_t *config);
void published_close(store_t *store);
/* One more entry of a table. The pool's lock; the shard's. */
void published_add_memory(published_t *page, const store_source_t *source, void *handle);
void published_add_chunk(const published_part_t *part, bool overflow, uint32_t grain);

#endif
