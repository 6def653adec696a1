/* SPDX-License-Identifier: Apache-2.0
 * index.c - hash, entries, buckets, growth. */
#include "store/index.h"

#include <stdlib.h>
#include <string.h>

#define REF_BITS 48
#define POSITION_SHIFT 12
#define ENTRIES_WANTED 5u /* of BUCKET_ENTRIES, on average, before the index grows */

/* ------------------------------------------------------------------------------------------- hash */

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t index_hash(uint64_t seed, const char *key, size_t length)
{
    uint64_t hash = seed ^ length * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word = 0;
    for (; length > 8; key += 8, length -= 8) {
        memcpy(&word, key, 8);
        hash = fold(hash ^ word, UINT64_C(0xd6e8feb86659fd93));
    }
    word = 0;
    memcpy(&word, key, length);
    hash = fold(hash ^ word, UINT64_C(0xa0761d6478bd642f));
    return fold(hash, UINT64_C(0xe7037ed1a0b428db) ^ seed);
}

/* ---------------------------------------------------------------------------------------- entries */

static uint64_t tag_of(uint64_t hash)
{
    return hash >> REF_BITS;
}

uint64_t index_entry(uint64_t hash, const extent_t *extent, const item_t *item)
{
    return tag_of(hash) << REF_BITS | extent_position(extent, item) / ITEM_UNIT << POSITION_SHIFT |
           (extent_generation(extent, item) & GENERATION_MASK);
}

item_t *index_item(const item_index_t *index, uint64_t entry, extent_t **extent_p)
{
    const pool_t *pool = index->pool;
    uint64_t position = (entry >> POSITION_SHIFT & POSITION_MASK) * ITEM_UNIT;
    const pool_memory_t *memory = &pool->memories[position >> pool->shift];
    uint64_t offset = position & (((uint64_t)1 << pool->shift) - 1);
    *extent_p = memory->at[offset >> GRAIN_SHIFT];
    return (item_t *)(void *)(memory->address + offset);
}

/* ---------------------------------------------------------------------------------------- buckets */

static bucket_t *chunk_bucket(const item_index_t *index, const chunk_list_t *chunks, uint32_t number)
{
    char *base = chunks->extents[number / index->per_chunk]->base;
    return (bucket_t *)(void *)base + number % index->per_chunk;
}

static bucket_t *main_bucket(const item_index_t *index, uint64_t number)
{
    return chunk_bucket(index, &index->main, (uint32_t)number);
}

static bucket_t *next_bucket(const item_index_t *index, bucket_t *bucket)
{
    uint32_t link = atomic_get_relaxed(&bucket->overflow);
    return link == 0 ? NULL : chunk_bucket(index, &index->overflow, link - 1);
}

static uint64_t bucket_of(const item_index_t *index, uint64_t hash)
{
    uint64_t number = hash & (((uint64_t)1 << index->level) - 1);
    if (number < index->split)
        number = hash & (((uint64_t)2 << index->level) - 1);
    return number;
}

static bool add_chunk(item_index_t *index, chunk_list_t *chunks, index_take_t take, void *arg)
{
    if (chunks->count == chunks->capacity) {
        uint32_t capacity = chunks->capacity == 0 ? 16 : chunks->capacity * 2;
        extent_t **grown = realloc(chunks->extents, capacity * sizeof(extent_t *));
        if (grown == NULL)
            return false;
        chunks->extents = grown;
        chunks->capacity = capacity;
    }
    extent_t *extent = take(arg);
    if (extent == NULL)
        return false;
    memset(extent->base, 0, index->per_chunk * sizeof(bucket_t));
    chunks->extents[chunks->count++] = extent;
    published_add_chunk(&index->part, chunks == &index->overflow, extent->grain);
    return true;
}

/* For readers; release: the new bucket was filled before (I6). */
static void store_split(const item_index_t *index)
{
    published_shard_t *shard = index->part.shard;
    if (shard != NULL)
        atomic_set_release(&shard->split, (uint64_t)index->level << 32 | index->split);
}

store_status_t index_open(item_index_t *index, pool_t *pool, const published_part_t *part, uint64_t seed,
                          index_take_t take, void *arg)
{
    *index = (item_index_t){
        .pool = pool, .part = *part, .seed = seed, .per_chunk = (pool->index_grains << GRAIN_SHIFT) / sizeof(bucket_t)};
    while (1u << index->level < index->per_chunk)
        index->level++;
    if (part->shard != NULL)
        part->shard->per_chunk = index->per_chunk;
    store_split(index);
    return add_chunk(index, &index->main, take, arg) ? STORE_OK : STORE_NO_MEMORY;
}

void index_close(item_index_t *index)
{
    free(index->main.extents);
    free(index->overflow.extents);
}

static bucket_t *new_overflow(item_index_t *index, uint32_t *link_p, index_take_t take, void *arg)
{
    uint32_t number = index->overflow_used;
    bucket_t *bucket;
    if (index->overflow_free != 0) {
        number = index->overflow_free - 1;
        bucket = chunk_bucket(index, &index->overflow, number);
        index->overflow_free = atomic_get_relaxed(&bucket->overflow);
        index->overflow_free_count--;
        atomic_set_relaxed(&bucket->overflow, 0);
    } else {
        if (number == index->overflow.count * index->per_chunk && !add_chunk(index, &index->overflow, take, arg))
            return NULL;
        index->overflow_used++;
        bucket = chunk_bucket(index, &index->overflow, number);
    }
    *link_p = number + 1;
    return bucket;
}

/* An empty slot in the chain of a bucket, with another overflow bucket if need be. */
static index_slot_t *empty_slot(item_index_t *index, bucket_t *bucket, index_take_t take, void *arg)
{
    for (;;) {
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
            if (atomic_get_relaxed(&bucket->entry[i]) == 0)
                return &bucket->entry[i];
        bucket_t *next = next_bucket(index, bucket);
        if (next == NULL) {
            uint32_t link;
            next = new_overflow(index, &link, take, arg);
            if (next == NULL)
                return NULL;
            atomic_set_release(&bucket->overflow, link); /* pairs with a reader's acquire: the bucket is empty before */
        }
        bucket = next;
    }
}

/* ------------------------------------------------------------------------------ find, add, remove */

index_slot_t *index_find(const item_index_t *index, uint64_t hash, const char *key, size_t length, item_t **item_p,
                         extent_t **extent_p)
{
    for (bucket_t *b = main_bucket(index, bucket_of(index, hash)); b != NULL; b = next_bucket(index, b))
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
            uint64_t entry = atomic_get_relaxed(&b->entry[i]);
            if (entry == 0 || entry >> REF_BITS != tag_of(hash))
                continue;
            item_t *item = index_item(index, entry, extent_p);
            if (item->key_bytes == length && memcmp(item->data, key, length) == 0) {
                *item_p = item;
                return &b->entry[i];
            }
        }
    return NULL;
}

index_slot_t *index_find_entry(const item_index_t *index, uint64_t hash, uint64_t entry)
{
    for (bucket_t *b = main_bucket(index, bucket_of(index, hash)); b != NULL; b = next_bucket(index, b))
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
            if (atomic_get_relaxed(&b->entry[i]) == entry)
                return &b->entry[i];
    return NULL;
}

store_status_t index_insert(item_index_t *index, uint64_t hash, uint64_t entry, index_take_t take, void *arg)
{
    index_slot_t *slot = empty_slot(index, main_bucket(index, bucket_of(index, hash)), take, arg);
    if (slot == NULL)
        return STORE_NO_MEMORY;
    atomic_set_release(slot, entry); /* I1; pairs with a reader's acquire: the item's bytes were written before */
    index->entries++;
    return STORE_OK;
}

void index_remove(item_index_t *index, index_slot_t *slot)
{
    atomic_set_release(slot, 0);
    index->entries--;
}

/* ----------------------------------------------------------------------------------------- growth */

static void free_overflow(item_index_t *index, uint32_t link)
{
    bucket_t *bucket = chunk_bucket(index, &index->overflow, link - 1);
    atomic_set_relaxed(&bucket->overflow, index->overflow_free);
    index->overflow_free = link;
    index->overflow_free_count++;
}

static bool is_empty(bucket_t *bucket)
{
    for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
        if (atomic_get_relaxed(&bucket->entry[i]) != 0)
            return false;
    return true;
}

/* Takes empty overflow buckets out of a chain. */
static void trim(item_index_t *index, bucket_t *bucket)
{
    for (bucket_t *next = next_bucket(index, bucket); next != NULL; next = next_bucket(index, bucket)) {
        if (!is_empty(next)) {
            bucket = next;
            continue;
        }
        uint32_t link = atomic_get_relaxed(&bucket->overflow);
        atomic_set_release(&bucket->overflow, atomic_get_relaxed(&next->overflow));
        free_overflow(index, link);
    }
}

static bool belongs_to(const item_index_t *index, uint64_t entry, uint64_t mask, uint64_t number)
{
    extent_t *extent;
    const item_t *item = index_item(index, entry, &extent);
    return (index_hash(index->seed, item->data, item->key_bytes) & mask) == number;
}

/* No extent for overflow buckets while splitting: eviction would change the chains that are being read. */
static extent_t *take_none(void *arg)
{
    (void)arg;
    return NULL;
}

/* Copies to bucket `to` what belongs there of the chain of `from`. False: no memory; nothing refers to the copies yet. */
static bool copy_to_new(item_index_t *index, bucket_t *from, uint64_t mask, uint64_t to)
{
    bucket_t *b = from;
    do {
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
            uint64_t entry = atomic_get_relaxed(&b->entry[i]);
            if (entry == 0 || !belongs_to(index, entry, mask, to))
                continue;
            index_slot_t *slot = empty_slot(index, main_bucket(index, to), take_none, NULL);
            if (slot == NULL)
                return false;
            atomic_set_relaxed(slot, entry);
        }
        b = next_bucket(index, b);
    } while (b != NULL);
    return true;
}

static void clear_chain(item_index_t *index, bucket_t *bucket)
{
    bucket_t *b = bucket;
    do {
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
            atomic_set_relaxed(&b->entry[i], 0);
        trim(index, bucket);
        b = next_bucket(index, b);
    } while (b != NULL);
}

static void clear_moved(item_index_t *index, bucket_t *from, uint64_t mask, uint64_t to)
{
    bucket_t *b = from;
    do {
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
            uint64_t entry = atomic_get_relaxed(&b->entry[i]);
            if (entry != 0 && belongs_to(index, entry, mask, to))
                atomic_set_release(&b->entry[i], 0);
        }
        b = next_bucket(index, b);
    } while (b != NULL);
}

static void publish_split(item_index_t *index)
{
    if (++index->split == (uint32_t)1 << index->level) {
        index->split = 0;
        index->level++;
    }
    store_split(index);
}

static void split_bucket(item_index_t *index)
{
    uint64_t from = index->split;
    uint64_t to = from + ((uint64_t)1 << index->level);
    uint64_t mask = ((uint64_t)2 << index->level) - 1;
    bucket_t *old = main_bucket(index, from);
    if (!copy_to_new(index, old, mask, to)) {
        clear_chain(index, main_bucket(index, to));
        return;
    }
    publish_split(index);
    uint32_t version = atomic_get_relaxed(&old->version);
    atomic_set_relaxed(&old->version, version + 1);
    atomic_full_fence(); /* a reader sees the odd version before any entry that is gone (I6) */
    clear_moved(index, old, mask, to);
    trim(index, old);
    atomic_set_release(&old->version, version + 2);
}

void index_grow(item_index_t *index, index_take_t take, void *arg)
{
    if (index->entries <= index_buckets(index) * ENTRIES_WANTED)
        return;
    if (index_buckets(index) == (uint64_t)index->main.count * index->per_chunk &&
        !add_chunk(index, &index->main, take, arg))
        return;
    split_bucket(index);
}

/* ------------------------------------------------------------------------------------------- walk */

static uint64_t reversed(uint64_t bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 64; i++, bits >>= 1)
        result = result << 1 | (bits & 1);
    return result;
}

uint64_t index_walk(const item_index_t *index, uint64_t at, index_visit_t visit, void *arg)
{
    uint64_t hash = reversed(at);
    bool is_split = (hash & (((uint64_t)1 << index->level) - 1)) < index->split;
    for (bucket_t *b = main_bucket(index, bucket_of(index, hash)); b != NULL; b = next_bucket(index, b))
        for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
            uint64_t entry = atomic_get_relaxed(&b->entry[i]);
            extent_t *extent;
            item_t *item = entry == 0 ? NULL : index_item(index, entry, &extent);
            if (item != NULL)
                visit(arg, item, extent);
        }
    return at + ((uint64_t)1 << (64 - index->level - is_split));
}
