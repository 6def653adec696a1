/* SPDX-License-Identifier: Apache-2.0
 * store.h - the items of a server: what every protocol and every carrier calls.
 *
 * A store is cut into shards by the hash of the key; each shard has its own lock, index and counters. All shards take memory
 * from one pool; the oldest extent of all is evicted first. Every call may be made by any thread. Nothing waits for
 * I/O inside a call.
 * Times are seconds of the store's clock, which begins at STORE_CLOCK_START; 0 as expiry means never. */
#ifndef MC_STORE_STORE_H
#define MC_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/place.h"

#define STORE_KEY_MAX 250u
#define STORE_CLOCK_START 2u /* so that second 1 is always past */
#define STORE_EXPIRED 1u     /* an expiry that has passed whenever it is given */
#define STORE_TTL_BUCKETS 8u
#define STORE_SIZES 2048u      /* of items */
#define STORE_SIZE_STEP 32u    /* bytes between two of them */
#define STORE_STEP_ITEMS 1000u /* that a step of the store's upkeep removes of each shard */
#define STORE_STEP_LOOKS 1000u /* segments and large items that it looks at */
#define STORE_KEY_BLOB 128u

typedef enum store_status {
    STORE_OK = 0,
    STORE_NOT_FOUND,
    STORE_EXISTS,     /* the item has another CAS id than the one compared */
    STORE_NOT_STORED, /* the mode's condition does not hold */
    STORE_TOO_LARGE,
    STORE_NO_MEMORY,
    STORE_PINS_FULL, /* pinned items have used up their share of the memory */
    STORE_NON_NUMERIC,
    STORE_ON_DISK /* the value is needed, and is not in memory: nothing has changed or was counted */
} store_status_t;

/* Where memory comes from. get returns page-aligned zeroed bytes, or NULL; put gets back what get wrote to *handle_p. */
typedef struct store_source {
    void *(*get)(void *arg, size_t bytes, void **handle_p);
    void (*put)(void *arg, void *handle);
    /* NULL, or: writes what lets other processes read the memory, at most STORE_KEY_BLOB bytes; returns the length, 0: nothing. */
    size_t (*key)(void *arg, void *handle, uint8_t *blob);
    void *arg;
} store_source_t;

struct store_hit;

/* Where items go for which memory has no place (shelf.c). Called with a shard's lock: short, and never back into the store. */
typedef struct store_shelf {
    /* Copies an item. False: it is not taken, and is evicted. created: second of the store's clock. NULL: there is no shelf. */
    bool (*put)(void *arg, const struct store_hit *hit, uint32_t created, place_t *place_p);
    /* Nothing refers to the place any more. */
    void (*gone)(void *arg, const place_t *place, size_t key_bytes);
    void *arg;
    size_t least; /* items of fewer bytes stay in memory */
} store_shelf_t;

typedef struct store_config {
    size_t bytes;            /* items, index and headers together (-m) */
    size_t item_max;         /* key, value and header of the largest item (-I) */
    unsigned shards;         /* at most so many; fewer where an item would not fit */
    unsigned pinned_percent; /* most of `bytes` that pinned items take */
    bool evict;              /* false: STORE_NO_MEMORY when full (-M) */
    store_source_t source;
    uint32_t (*now)(void *arg); /* the clock */
    void *now_arg;
    /* NULL, or a function that gets each evicted item. The shard's lock is held: the function must not call the store. */
    void (*evicted)(void *arg, const struct store_hit *hit);
    void *evicted_arg;
    uint64_t started_ns; /* CLOCK_MONOTONIC at second STORE_CLOCK_START, for readers in other processes */
    store_shelf_t shelf;
    bool cas_shown; /* readers are shown CAS ids */
} store_config_t;

typedef struct store store_t;
struct shard; /* shard.h, item.h, pool.h: for the store's own files */
struct item;
struct extent;

/* The calling thread has to live as long as the store: readers in other processes look whether it does. */
store_status_t store_open(const store_config_t *config, store_t **store_p);
void store_close(store_t *store);
uint32_t store_now(const store_t *store);
/* The memory of the published page (published.h), as the source gave it; NULL: there is none. */
void *store_page(const store_t *store);

typedef struct store_key {
    const char *bytes;
    size_t length; /* 1 to STORE_KEY_MAX */
} store_key_t;

/* ------------------------------------------------------------------------------------------- read */

/* Keeps the bytes of a value in place outside the lock. Short-lived: nothing may wait while one is held. */
typedef struct store_pin_s {
    struct shard *shard; /* NULL: no pin */
    struct extent *extent;
} store_pin_t;

/* An item as a visitor sees it. The pointers are valid during the visit, the value's longer when it is pinned. */
typedef struct store_hit {
    const char *key, *value; /* value NULL: it is on disk, and was not asked for */
    uint32_t key_bytes, value_bytes;
    uint32_t client_flags;
    uint64_t cas;
    uint32_t expiry;  /* before this call's touch */
    uint32_t touched; /* after it */
    uint32_t access;  /* last read before this one; creation when there was none */
    uint32_t now;
    size_t size;            /* bytes taken */
    unsigned ttl;           /* TTL bucket of its extent */
    bool fetched;           /* somebody had read it before */
    bool stale, won_before; /* marked stale; an earlier reader has won the right to renew it */
    bool binary_key;        /* as it was stored */
    bool win;               /* this caller wins the right to renew it */
    bool created;           /* by this call (vivify) */
    bool pinned;            /* store_begin_pinned */
    bool on_disk;           /* there is a stub in memory; `value`, if any, is what store_get_t's fetch gave */
    place_t shelved;        /* on_disk: where */
    store_pin_t place;      /* for store_pin */
} store_hit_t;

typedef void (*store_visit_t)(void *arg, const store_hit_t *hit);

typedef struct store_get_s {
    bool touch, vivify, recache;
    bool recache_touched;   /* recache looks at the new expiry, not at the one before the touch */
    bool without_value;     /* the visit needs no value, so that of an item on disk is not fetched */
    bool quiet;             /* does not count as a read of the item */
    bool uncounted;         /* not in the statistics either */
    bool meta;              /* as mg: one reader of a stale item may renew it; a touch that misses counts as a get */
    bool binary_key;        /* vivify: as of store_put_t */
    uint32_t expiry;        /* touch: the new one */
    uint32_t vivify_expiry; /* vivify: creates an empty item when there is none */
    uint64_t cas;           /* vivify: CAS id of that item; 0: a new one */
    /* The value of an item on disk as it was read from that place; NULL: it was not, and the call ends with STORE_ON_DISK. The
     * function NULL: no value was read. Under the shard's lock. */
    const char *(*fetch)(void *arg, store_key_t key, const place_t *place);
    void *fetch_arg;
    uint32_t recache_before; /* recache: the first reader of an item that expires before wins the right to renew it */
} store_get_t;

/* Finds an item and calls visit (may be NULL) under the shard's lock: it must be short. how NULL: a plain read. */
store_status_t store_get(store_t *store, store_key_t key, const store_get_t *how, store_visit_t visit, void *arg);
/* In a visit: keeps the value in place until store_unpin. */
void store_pin(const store_hit_t *hit, store_pin_t *pin);
void store_unpin(store_pin_t *pin);
/* The pin outlives a turn: false where the value lies among others in a segment, so that it is better copied. What large items
 * are held so counts in store_held until the last pin goes. */
bool store_hold(const store_pin_t *pin);
/* Bytes of large items that are held. */
uint64_t store_held(const store_t *store);
/* In the visit that pinned it: takes the pin back. */
void store_pin_undo(const store_hit_t *hit);

/* ------------------------------------------------------------------------------------------ write */

/* Space for a new item. The caller fills the value, then commits or abandons it. */
typedef struct store_draft {
    char *value;
    uint32_t value_bytes;
    uint32_t expiry;
    uint32_t crc, summed; /* checksum of the key and of so many bytes of the value */
    uint64_t hash;
    struct item *item;
    store_pin_t pin;
} store_draft_t;

typedef enum store_mode { STORE_SET, STORE_ADD, STORE_REPLACE, STORE_APPEND, STORE_PREPEND, STORE_CAS } store_mode_t;

typedef struct store_put_s {
    store_mode_t mode;
    uint32_t client_flags;
    uint64_t compare; /* 0: nothing; of STORE_CAS, APPEND and PREPEND the CAS id that the item must have */
    uint64_t cas;     /* CAS id that the item gets; 0: a new one */
    bool restores;    /* `cas` is of an earlier start: new ones are larger */
    bool vivify;      /* STORE_APPEND, STORE_PREPEND: the draft becomes the item when there is none */
    bool binary_key;  /* the key may hold any bytes: readers are shown it in base64 */
    bool invalidate;  /* STORE_CAS: an older CAS id stores the item too, marked stale and with its old expiry */
} store_put_t;

/* Whether such an item has an extent of its own; a draft of it then costs the bytes that it takes. */
bool store_is_large(const store_t *store, size_t key_bytes, size_t value_bytes);
/* STORE_TOO_LARGE, STORE_NO_MEMORY: nothing was reserved. */
store_status_t store_begin(store_t *store, store_key_t key, size_t value_bytes, uint32_t expiry, store_draft_t *draft);
/* Of an item that is not evicted until store_delete releases it or another value takes its place. Appended bytes and arithmetic
 * leave it pinned. Also STORE_PINS_FULL. */
store_status_t store_begin_pinned(store_t *store, store_key_t key, size_t value_bytes, uint32_t expiry,
                                  store_draft_t *draft);
/* The first so many bytes of the value are filled: their checksum is computed now, so that the commit of a huge value has little
 * left to do. May be called, with growing numbers, for a value that comes in pieces; they must not change any more. */
void store_sum(store_draft_t *draft, size_t filled);
/* cas_p: NULL, or where the new CAS id goes. The draft is used up, whatever the status, but for STORE_ON_DISK of append and
 * prepend; value_bytes is then that of the item. */
store_status_t store_commit(store_draft_t *draft, const store_put_t *put, uint64_t *cas_p);
void store_abandon(store_draft_t *draft);

typedef struct store_delete_s {
    bool has_compare;
    bool release;    /* the item stays, and is not pinned any more */
    bool stale;      /* marks the item instead, with a new CAS id */
    bool empty;      /* leaves the item without value, client flags and expiry */
    bool has_expiry; /* with stale or empty: another expiry */
    bool has_cas;    /* with stale or empty: this CAS id, not a new one (stale) or the old one (empty) */
    uint64_t compare, cas;
    uint32_t expiry;
} store_delete_t;

/* how NULL: a plain delete. */
store_status_t store_delete(store_t *store, store_key_t key, const store_delete_t *how);
/* Removes an item without counting a delete: what a failed set leaves nothing of. */
void store_drop(store_t *store, store_key_t key);

typedef struct store_delta_s {
    bool decrement, has_compare, has_cas, touch, vivify, binary_key;
    uint64_t delta, compare, initial;
    uint64_t cas;    /* has_cas: CAS id that the item gets, not a new one */
    uint32_t expiry; /* touch */
    uint32_t vivify_expiry;
} store_delta_t;

typedef struct store_number {
    uint64_t value, cas;
    uint32_t expiry, now;
    bool created; /* by this call (vivify) */
} store_number_t;

store_status_t store_delta(store_t *store, store_key_t key, const store_delta_t *how, store_number_t *number_p);

/* -------------------------------------------------------------------------------- items on disk */

/* Where the value of a key is on disk. False: it is not there. */
bool store_where(store_t *store, store_key_t key, place_t *place_p);
/* What was read from there comes back to memory, unless the item has changed meanwhile. STORE_NO_MEMORY: it stays. */
store_status_t store_promote(store_t *store, store_key_t key, const place_t *place, const char *value);
/* It cannot be read from there: the item is gone, unless it is another one by now. */
void store_lost(store_t *store, store_key_t key, const place_t *place);
/* What becomes of an item whose place on disk is to be used for others. */
typedef enum store_shelved { STORE_SHELF_DEAD, STORE_SHELF_DROPPED, STORE_SHELF_WANTED } store_shelved_t;
/* keep: it is wanted if it was read since it went there; else it is dropped now. */
store_shelved_t store_shelf_ask(store_t *store, store_key_t key, const place_t *place, bool keep);
/* It is at another place now. False: nobody wants it any more. */
bool store_shelf_moved(store_t *store, store_key_t key, const place_t *from, const place_t *to);
/* Demotes the oldest items if little memory is free, so that those who write need not; a step. True: there may be more to do. */
bool store_make_room(store_t *store);
/* A step over all items, as store_walk: those that nobody has read for so many seconds go to disk. */
bool store_shelve_idle(store_t *store, uint64_t *at_p, unsigned most, uint32_t seconds);
/* A step: all items on disk are lost. */
bool store_lose_all(store_t *store, uint64_t *at_p, unsigned most);
/* An item that an earlier start has left on disk; put as of store_commit. The place is `gone` where there is no memory. */
store_status_t store_restore(store_t *store, store_key_t key, const place_t *place, uint32_t expiry,
                             const store_put_t *put);

/* ------------------------------------------------------------------------------------ whole store */

/* Hides every item that exists now (at 0) or that is older than second `at` when it comes. */
void store_flush(store_t *store, uint32_t at);
/* A second has passed: what has expired as a whole is to go. To be called about once a second. */
void store_tick(store_t *store);
/* A step of what a tick, a flush or a lower limit has left to do: at most STORE_STEP_ITEMS items of each shard go under one hold of
 * its lock, and of what is above the limit a segment or a large item. True: there is more; to be called again soon, by a thread
 * for which nobody waits. */
bool store_step(store_t *store);
/* Visits live items, in no order, from *at_p on, which begins with 0 and moves on; ends after about so many items and places for
 * items. True: these were the last. Between two calls no lock is held. An item that is there from the first call to the last is
 * visited exactly once, also when the index grows meanwhile; store_pin must not be called. */
bool store_walk(store_t *store, uint64_t *at_p, unsigned most, store_visit_t visit, void *arg);
/* Another limit; what is above it goes by store_step, and as writes come. False: too large to be addressed, or too small. */
bool store_limit(store_t *store, size_t bytes);

/* clang-format off */
#define STORE_COUNTERS(X)                                                                                              \
    X(cmd_get) X(cmd_set) X(cmd_touch) X(get_hits) X(get_misses) X(get_expired) X(get_flushed) X(delete_misses)        \
    X(delete_hits) X(incr_misses) X(incr_hits) X(decr_misses) X(decr_hits) X(cas_misses) X(cas_hits) X(cas_badval)     \
    X(touch_hits) X(touch_misses) X(store_too_large) X(store_no_memory) X(store_pins_full) X(total_items)              \
    X(expired_unfetched) X(evicted_unfetched) X(evictions) X(reclaimed) X(moved) X(shelved) X(promoted) X(get_disk) X(lost)       \
    X(stubs_evicted) X(segments_dropped) X(segments_reclaimed)
/* clang-format on */

#define STORE_FIELD(name) uint64_t name;
typedef struct store_counters {
    STORE_COUNTERS(STORE_FIELD)
} store_counters_t;

/* What went by reason, and commands that found or stored an item, of the items of one TTL bucket. */
/* clang-format off */
#define STORE_TTL_COUNTERS(X)                                                                                          \
    X(evicted) X(evicted_nonzero) X(evicted_unfetched) X(reclaimed) X(expired_unfetched) X(outofmemory) X(get_hits)    \
    X(cmd_set) X(delete_hits) X(incr_hits) X(decr_hits) X(cas_hits) X(cas_badval) X(touch_hits)
/* clang-format on */

typedef struct store_ttl_stats {
    uint64_t items, bytes; /* live */
    uint64_t segments;     /* as if large items were in segments */
    uint32_t age;          /* seconds since the oldest segment began */
    uint32_t evicted_time; /* seconds that nobody had read the item for that was evicted last */
    STORE_TTL_COUNTERS(STORE_FIELD)
} store_ttl_stats_t;
#undef STORE_FIELD

typedef struct store_stats_s {
    store_counters_t counters;
    uint64_t items, bytes; /* live items, bytes that they take with headers */
    uint64_t memory_bytes; /* taken from the source */
    uint64_t pinned_items, pinned_bytes, pinned_limit;
    uint64_t stubs, stub_bytes; /* of items on disk */
    uint64_t index_bytes, buckets, overflow_buckets;
    uint64_t segments_used, segments_free, segments_limit, segment_bytes; /* as if all memory were segments */
    unsigned shards;
    store_ttl_stats_t ttl[STORE_TTL_BUCKETS];
} store_stats_t;

void store_stats(store_t *store, store_stats_t *stats);
/* Counters start again from 0. */
void store_stats_reset(store_t *store);
/* Upper end of a TTL bucket, seconds; 0: never expires. */
uint32_t store_ttl_range(unsigned bucket);
/* Live items by size: sizes[i] of those that take up to (i + 1) * STORE_SIZE_STEP bytes, the last also the larger ones. */
void store_sizes(store_t *store, uint64_t sizes[STORE_SIZES]);
/* Checks every live item and every count, with all locks; NULL, or what is wrong. For tests. */
const char *store_check(store_t *store);

#endif
