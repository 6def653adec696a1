/* SPDX-License-Identifier: Apache-2.0
 * reader.h - reads items of a store in another process, whose memories are mapped here, without its lock and without its help.
 *
 * A hit is an item that was in the store, not expired and not flushed, at some moment during the call. Everything else is
 * "ask": by message, the server knows. Nothing read from the page or the memories is trusted before it is checked (I5). One
 * thread. */
#ifndef MC_STORE_READER_H
#define MC_STORE_READER_H

#include "store/published.h"

#define READER_SHARDS 64u

/* Where a memory of the store is mapped, and how many bytes; NULL: not, or not yet. key: of the published page. */
typedef const char *(*reader_map_t)(void *arg, uint32_t memory, const uint8_t *key, size_t key_bytes, size_t *bytes_p);

typedef struct reader_memory {
    const char *address;
    size_t bytes;
} reader_memory_t;

typedef struct reader {
    published_t *page; /* mapped read-only */
    published_t fixed; /* its constants, as they were checked */
    published_shard_t shards[READER_SHARDS];
    reader_map_t map;
    void *arg;
    reader_memory_t *memories; /* by their place in the page's table */
    uint32_t memory_count;
    size_t value_max; /* larger values are asked for */
} reader_t;

typedef enum reader_status { READER_HIT, READER_ASK, READER_TRUNCATED, READER_DEAD } reader_status_t;

typedef struct reader_item {
    size_t value_bytes;
    uint32_t client_flags;
    uint64_t cas;
    bool uncounted; /* memory is scarce, and the store knows fewer than two reads since it looked at the item last */
} reader_item_t;

/* False: the page makes no sense, or there is no memory. The page stays the caller's. */
bool reader_open(reader_t *reader, const void *page, size_t bytes, reader_map_t map, void *arg);
void reader_close(reader_t *reader);
/* HIT: buffer and item are filled. TRUNCATED: item is. DEAD: the server has ended; nothing of it may be read any more. */
reader_status_t reader_get(reader_t *reader, const char *key, size_t length, void *buffer, size_t capacity,
                           reader_item_t *item);

#endif
