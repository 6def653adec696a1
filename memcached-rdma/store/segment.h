/* SPDX-License-Identifier: Apache-2.0
 * segment.h - the memory of one shard: memories of shareable bytes, cut into equal segments.
 *
 *   memory:  | generation words, one per segment, up to a page | segment 0 | segment 1 | ...
 *
 * A segment is free, open (items are appended), sealed (full), part of the index, or a run: neighbouring segments of one
 * memory that hold one large item. The generation word of a segment stands in front of all segments, never among data that
 * clients write, and changes before the segment is used again (I3).
 * Threading: the shard's lock protects everything here; readers in other processes see generation words and segments only. */
#ifndef MC_STORE_SEGMENT_H
#define MC_STORE_SEGMENT_H

#include "base/atomics.h"
#include "base/list.h"
#include "store/published.h"
#include "store/store.h"

#define SEGMENT_NUMBERS (1u << 20)     /* a reference has 20 bits for the segment */
#define SEGMENT_BYTES_MAX (2u << 20)   /* and 16 bits for the offset in units of 32 bytes */
#define SEGMENT_GENERATION_MASK 0xfffu /* and 12 bits for the generation */
#define MEMORY_BYTES ((size_t)64 << 20)
#define OCTILES 8u

typedef enum segment_kind {
    SEGMENT_FREE,
    SEGMENT_OPEN,
    SEGMENT_SEALED,
    SEGMENT_RUN,      /* first of a run */
    SEGMENT_RUN_REST, /* of the run that begins before */
    SEGMENT_INDEX
} segment_kind_t;

typedef struct segment {
    list_link_t link; /* in `free`, or in a list of `sealed` (sealed segments and runs) */
    char *base;
    _Atomic uint32_t *generation;
    size_t used; /* bytes written, from the start; of a run beyond one segment */
    size_t live; /* bytes of items that the index refers to */
    size_t tail; /* bytes behind `used` of a segment that was sealed early */
    uint32_t number;
    uint32_t run;   /* segments of the run, else 1 */
    uint32_t pins;  /* readers and writers outside the lock: not to be reused */
    uint32_t items; /* that the index refers to */
    uint32_t drop;  /* every item has expired at this second of the clock; UINT32_MAX: never */
    uint8_t kind;   /* segment_kind_t */
    uint8_t ttl;    /* TTL bucket */
    uint8_t octile; /* which list of `sealed` */
} segment_t;

typedef struct segment_memory {
    void *handle; /* of the source */
    char *address;
    segment_t *segments;
} segment_memory_t;

typedef struct segment_pool {
    store_source_t source;
    segment_memory_t *memories;
    size_t segment_bytes; /* power of two */
    uint32_t per_memory;  /* segments of a memory */
    uint32_t memory_count;
    uint32_t memory_limit; /* how many fit in `memories` */
    uint32_t limit;        /* segments that may be in use */
    uint32_t used;         /* not free */
    uint32_t free_count;
    published_part_t part; /* what readers see */
    list_link_t free;
    list_link_t sealed[OCTILES]; /* by bytes that are not dead, eighths of the segment; within one the oldest first */
} segment_pool_t;

/* bytes: what the shard may use. run_bytes: the largest item with its header. part: its tables for readers. */
store_status_t segment_pool_open(segment_pool_t *pool, const store_source_t *source, const published_part_t *part,
                                 size_t bytes, size_t run_bytes);
void segment_pool_close(segment_pool_t *pool);
/* Bytes of a segment in a shard of so many bytes: 1 MiB, less where there would be under 64 of them. */
size_t segment_bytes_for(size_t shard_bytes);
/* Another limit in bytes; memories that exist stay. False: beyond what references can address. */
bool segment_pool_limit(segment_pool_t *pool, size_t bytes);
/* One more memory, when the limit allows it. False: not allowed, or the source has none. */
bool segment_pool_grow(segment_pool_t *pool);
bool segment_pool_may_grow(const segment_pool_t *pool);

segment_t *segment_at(const segment_pool_t *pool, uint32_t number);
/* Takes a free segment; NULL: none, or the limit is reached. */
segment_t *segment_take(segment_pool_t *pool, segment_kind_t kind);
/* Takes `count` neighbouring free segments as a run; NULL: there are none. */
segment_t *segment_take_run(segment_pool_t *pool, uint32_t count);
/* Back to the free ones, with the next generation. Nothing in it may be live or pinned. A run goes back as a whole. */
void segment_release(segment_pool_t *pool, segment_t *segment);
/* Puts a full segment or a run where reclaim finds it; early: it is not full. */
void segment_seal(segment_pool_t *pool, segment_t *segment, bool early);
/* To the end of its list, as the youngest. */
void segment_renew(segment_pool_t *pool, segment_t *segment);
/* Adds to or takes from the live bytes. */
void segment_live(segment_pool_t *pool, segment_t *segment, ptrdiff_t bytes, int items);

static inline uint32_t segment_generation(const segment_t *segment)
{
    return atomic_get_relaxed(segment->generation);
}

static inline bool segment_available(const segment_pool_t *pool, uint32_t count)
{
    return pool->free_count >= count && pool->used + count <= pool->limit;
}

#endif
