/* SPDX-License-Identifier: Apache-2.0
 * map.h - hash map from 64-bit key to pointer, open addressing with backward-shift deletion. No locking. */
#ifndef VBN_BASE_MAP_H
#define VBN_BASE_MAP_H

#include <stdbool.h>

#include "base/status.h"

typedef struct map_slot {
    uint64_t key;
    void *value; /* NULL = empty */
} map_slot_t;

typedef struct map {
    map_slot_t *slots;
    size_t capacity; /* power of two, 0 before the first put */
    size_t count;
} map_t;

void map_init(map_t *map);
void map_free(map_t *map);
/* Replaces an existing value. value must not be NULL. */
vbn_status_t map_put(map_t *map, uint64_t key, void *value);
void *map_get(const map_t *map, uint64_t key);
/* Removes and returns the value, NULL when absent. */
void *map_remove(map_t *map, uint64_t key);
/* Iteration: *cursor starts at 0; returns the next value or NULL at the end. No put or remove meanwhile. */
void *map_next(const map_t *map, size_t *cursor, uint64_t *key_p);

#endif
