/* SPDX-License-Identifier: Apache-2.0
 * reader.c - the validated read path.
 *
 * The order that makes a copy valid (I1 to I3): the entry (acquire: the item's bytes were written before it), the generation of
 * the grain, header and bytes, a fence, the generation again, the entry again. Whoever reuses the bytes changes the generation
 * first; whoever replaces or removes the item changes the entry. */
#include "store/reader.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/index.h"

#define TRIES 3u
#define COUNTED_READS 2u /* of an item since the server's last look, that it is to see: they keep the item longer */
#define CHAIN_MOST 64u   /* overflow buckets: a longer chain is a chain that changes under us */
#define VALUE_MOST (64u << 10)

/* ------------------------------------------------------------------------------------------ opening */

static bool shard_is_right(const reader_t *reader, const published_shard_t *shard)
{
    uint64_t numbers = (reader->fixed.bytes - reader->fixed.numbers_at) / sizeof(uint32_t);
    return shard->per_chunk > 0 && shard->per_chunk <= MEMORY_BYTES / sizeof(bucket_t) &&
           (uint64_t)shard->chunks_at + shard->chunks_max <= numbers &&
           (uint64_t)shard->overflows_at + shard->overflows_max <= numbers;
}

static bool page_is_right(const published_t *fixed, size_t bytes)
{
    return fixed->magic == PUBLISHED_MAGIC && fixed->bytes <= bytes && fixed->shard_count >= 1 &&
           fixed->shard_count <= READER_SHARDS && fixed->shard_bits <= 6 &&
           fixed->shard_count == 1u << fixed->shard_bits && fixed->shards_at >= sizeof(*fixed) &&
           fixed->shards_at <= fixed->memories_at &&
           fixed->memories_at - fixed->shards_at >= fixed->shard_count * sizeof(published_shard_t) &&
           fixed->memories_at <= fixed->numbers_at && fixed->numbers_at <= fixed->bytes && fixed->shards_at % 8 == 0 &&
           fixed->memories_at % 4 == 0 && fixed->numbers_at % 4 == 0 && fixed->memory_shift > GRAIN_SHIFT &&
           fixed->memory_shift < 48 &&
           fixed->memories_max == (fixed->numbers_at - fixed->memories_at) / sizeof(published_memory_t);
}

bool reader_open(reader_t *reader, const void *page, size_t bytes, reader_map_t map, void *arg)
{
    memset(reader, 0, sizeof(*reader));
    if (bytes < sizeof(published_t))
        return false;
    memcpy(&reader->fixed, page, sizeof(reader->fixed));
    if (!page_is_right(&reader->fixed, bytes))
        return false;
    reader->page = (published_t *)(uintptr_t)page; /* atomics of C11 are not loaded through const; nothing is written */
    reader->map = map;
    reader->arg = arg;
    reader->value_max = VALUE_MOST;
    memcpy(reader->shards, (const char *)page + reader->fixed.shards_at,
           reader->fixed.shard_count * sizeof(published_shard_t));
    for (unsigned i = 0; i < reader->fixed.shard_count; i++)
        if (!shard_is_right(reader, &reader->shards[i]))
            return false;
    reader->memory_count = reader->fixed.memories_max;
    reader->memories = calloc(reader->memory_count + 1, sizeof(*reader->memories));
    return reader->memories != NULL;
}

void reader_close(reader_t *reader)
{
    free(reader->memories);
    reader->memories = NULL;
}

/* ----------------------------------------------------------------------------------------- memories */

/* One get's view of its shard: `fixed` has been checked, `live` is the page's. */
typedef struct view {
    reader_t *reader;
    const published_shard_t *fixed;
    published_shard_t *live;
} view_t;

/* A memory of the store; NULL: not mapped. */
static const reader_memory_t *map_memory(reader_t *reader, uint32_t number)
{
    reader_memory_t *mapped = &reader->memories[number];
    if (mapped->address == NULL) {
        const published_memory_t *published = (const published_memory_t *)(const void *)((const char *)reader->page +
                                                                                         reader->fixed.memories_at) +
                                              number;
        uint32_t key_bytes = published->key_bytes;
        if (key_bytes == 0 || key_bytes > STORE_KEY_BLOB)
            return NULL;
        mapped->address = reader->map(reader->arg, number, published->key, key_bytes, &mapped->bytes);
    }
    return mapped->address == NULL ? NULL : mapped;
}

/* What lies at a position, and the generation word of its grain; NULL: not mapped, or fewer bytes than `least` to the end of
 * the memory (I5). room: bytes from there to that end. */
static const char *find_position(const view_t *view, uint64_t position, size_t least, _Atomic uint32_t **word_p,
                                 size_t *room_p)
{
    reader_t *reader = view->reader;
    uint64_t number = position >> reader->fixed.memory_shift;
    size_t offset = position & (((uint64_t)1 << reader->fixed.memory_shift) - 1);
    if (number >= reader->memory_count || number >= atomic_get_acquire(&reader->page->memories))
        return NULL;
    const reader_memory_t *memory = map_memory(reader, (uint32_t)number);
    if (memory == NULL || memory->bytes < offset + least)
        return NULL;
    *word_p = (_Atomic uint32_t *)(void *)(uintptr_t)memory->address + (offset >> GRAIN_SHIFT);
    *room_p = memory->bytes - offset;
    return memory->address + offset;
}

static bucket_t *find_bucket(const view_t *view, uint64_t number, bool overflow)
{
    const published_shard_t *fixed = view->fixed;
    uint64_t chunk = number / fixed->per_chunk;
    uint32_t count = atomic_get_acquire(overflow ? &view->live->overflows : &view->live->chunks);
    uint32_t most = overflow ? fixed->overflows_max : fixed->chunks_max;
    _Atomic uint32_t *word;
    size_t room;
    if (chunk >= count || chunk >= most)
        return NULL;
    _Atomic uint32_t *numbers = (_Atomic uint32_t *)(void *)((char *)view->reader->page +
                                                             view->reader->fixed.numbers_at);
    uint32_t grain = atomic_get_relaxed(numbers + (overflow ? fixed->overflows_at : fixed->chunks_at) + chunk);
    size_t bytes = fixed->per_chunk * sizeof(bucket_t);
    const char *base = find_position(view, (uint64_t)grain << GRAIN_SHIFT, bytes, &word, &room);
    return base == NULL ? NULL : (bucket_t *)(void *)(uintptr_t)base + number % fixed->per_chunk;
}

/* -------------------------------------------------------------------------------------------- items */

typedef struct wanted {
    const char *key;
    size_t length;
    uint64_t hash;
    void *buffer;
    size_t capacity;
    reader_item_t *item;
} wanted_t;

static uint32_t now_of(const reader_t *reader)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    uint64_t ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    uint32_t ticked = atomic_get_relaxed(&reader->page->clock);
    uint64_t own = ns < reader->fixed.started_ns ? 0
                                                 : (ns - reader->fixed.started_ns) / 1000000000u + STORE_CLOCK_START;
    return own > ticked ? (uint32_t)own
                        : ticked; /* another time namespace: the server's tick is at most a second late */
}

/* Whether a reader may show the item (I4); flush_next before flush_time, which is written first. */
static bool is_shown(const view_t *view, const item_t *header, uint32_t expiry)
{
    uint32_t now = now_of(view->reader);
    uint32_t next = atomic_get_acquire(&view->live->flush_next);
    return header->marks == 0 && (expiry == 0 || expiry > now) &&
           header->created > published_flush(atomic_get_acquire(&view->live->flush_time), next, now);
}

/* The item that an entry refers to. ASK: not this one, or it changed. */
static reader_status_t read_item(const view_t *view, index_slot_t *slot, uint64_t entry, const wanted_t *wanted)
{
    uint64_t position = (entry >> 12 & POSITION_MASK) * ITEM_UNIT;
    _Atomic uint32_t *word;
    item_t header;
    size_t room;
    const char *base = find_position(view, position, sizeof(header), &word, &room);
    if (base == NULL)
        return READER_ASK;
    uint32_t generation = atomic_get_acquire(word);
    item_t *item = (item_t *)(void *)(uintptr_t)base;
    memcpy(&header, item, sizeof(header));
    uint32_t expiry = atomic_get_relaxed(&item->expiry);
    size_t size = sizeof(header) + (size_t)header.key_bytes + header.value_bytes;
    if (header.generation != generation || (entry & GENERATION_MASK) != (generation & GENERATION_MASK) ||
        header.key_bytes != wanted->length || size > room || header.value_bytes > view->reader->value_max ||
        memcmp(item->data, wanted->key, wanted->length) != 0)
        return READER_ASK;
    bool fits = header.value_bytes <= wanted->capacity;
    if (fits && header.value_bytes > 0)
        memcpy(wanted->buffer, item->data + header.key_bytes, header.value_bytes);
    bool shown = is_shown(view, &header, expiry);
    atomic_acquire_fence(); /* all bytes were read before the words below */
    if (!shown || atomic_get_relaxed(word) != generation || atomic_get_relaxed(slot) != entry)
        return READER_ASK;
    *wanted->item = (reader_item_t){.value_bytes = header.value_bytes,
                                    .client_flags = header.client_flags,
                                    .cas = view->reader->fixed.cas_shown ? header.cas : 0,
                                    .uncounted = item_reads(&header) < COUNTED_READS &&
                                                 atomic_get_relaxed(&view->reader->page->scarce) != 0};
    return fits ? READER_HIT : READER_TRUNCATED;
}

static reader_status_t read_bucket(const view_t *view, bucket_t *bucket, const wanted_t *wanted)
{
    for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
        uint64_t entry = atomic_get_acquire(&bucket->entry[i]); /* I1 */
        if (entry == 0 || entry >> 48 != wanted->hash >> 48)
            continue;
        reader_status_t status = read_item(view, &bucket->entry[i], entry, wanted);
        if (status != READER_ASK)
            return status;
    }
    return READER_ASK;
}

static reader_status_t try_once(const view_t *view, const wanted_t *wanted)
{
    uint64_t split = atomic_get_acquire(&view->live->split);
    unsigned level = (unsigned)(split >> 32) & 31;
    uint64_t number = wanted->hash & (((uint64_t)1 << level) - 1);
    if (number < (split & UINT32_MAX))
        number = wanted->hash & (((uint64_t)2 << level) - 1);
    bucket_t *bucket = find_bucket(view, number, false);
    for (unsigned i = 0; bucket != NULL && i < CHAIN_MOST; i++) {
        reader_status_t status = read_bucket(view, bucket, wanted);
        if (status != READER_ASK)
            return status;
        uint32_t link = atomic_get_acquire(&bucket->overflow);
        bucket = link == 0 ? NULL : find_bucket(view, link - 1, true);
    }
    return READER_ASK;
}

static bool is_alive(const reader_t *reader)
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)&reader->page->alive; /* the futex stands first */
    uint32_t value = atomic_get_acquire(word);
    return (value & PUBLISHED_DIED) == 0 && (value & PUBLISHED_OWNER) != 0;
}

reader_status_t reader_get(reader_t *reader, const char *key, size_t length, void *buffer, size_t capacity,
                           reader_item_t *item)
{
    wanted_t wanted = {.key = key,
                       .length = length,
                       .hash = index_hash(reader->fixed.seed, key, length),
                       .buffer = buffer,
                       .capacity = capacity,
                       .item = item};
    unsigned number = reader->fixed.shard_bits == 0 ? 0 : (unsigned)(wanted.hash >> (64 - reader->fixed.shard_bits));
    view_t view = {.reader = reader,
                   .fixed = &reader->shards[number],
                   .live = (published_shard_t *)(void *)((char *)reader->page + reader->fixed.shards_at) + number};
    reader_status_t status = READER_ASK;
    if (!is_alive(reader))
        return READER_DEAD;
    for (unsigned i = 0; i < TRIES && status == READER_ASK; i++)
        status = try_once(&view, &wanted);
    return status;
}
