/* SPDX-License-Identifier: Apache-2.0
 * map.c - open addressing with linear probing, at most 3/4 full; a removal shifts later entries back, so that there
 * are no tombstones. */
#include "base/map.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16u

void map_init(map_t *map)
{
    *map = (map_t){0};
}

void map_free(map_t *map)
{
    free(map->slots);
    map_init(map);
}

/* Spreads every bit of the key over the low bits (finalizer of MurmurHash3). */
static size_t home_slot(uint64_t key, size_t capacity)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    key ^= key >> 33;
    return (size_t)key & (capacity - 1);
}

/* The slot that holds key, or the empty one where it belongs. capacity > 0 and at least one slot is empty. */
static map_slot_t *find_slot(map_slot_t *slots, size_t capacity, uint64_t key)
{
    size_t at = home_slot(key, capacity);
    while (slots[at].value != NULL && slots[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static vbn_status_t map_grow(map_t *map)
{
    size_t capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2;
    map_slot_t *slots = calloc(capacity, sizeof(*slots));
    if (slots == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a map of %zu slots", capacity);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != NULL)
            *find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return VBN_OK;
}

vbn_status_t map_put(map_t *map, uint64_t key, void *value)
{
    if (value == NULL)
        return err_set(VBN_ERR_INVALID, "a map cannot hold NULL");
    if (map->count + 1 > map->capacity / 4 * 3 && map_get(map, key) == NULL) {
        vbn_status_t status = map_grow(map);
        if (status < 0)
            return status;
    }
    map_slot_t *slot = find_slot(map->slots, map->capacity, key);
    if (slot->value == NULL)
        map->count++;
    *slot = (map_slot_t){.key = key, .value = value};
    return VBN_OK;
}

void *map_get(const map_t *map, uint64_t key)
{
    return map->capacity == 0 ? NULL : find_slot(map->slots, map->capacity, key)->value;
}

void *map_remove(map_t *map, uint64_t key)
{
    if (map->capacity == 0)
        return NULL;
    map_slot_t *slot = find_slot(map->slots, map->capacity, key);
    void *value = slot->value;
    if (value == NULL)
        return NULL;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(slot - map->slots);
    for (size_t at = (hole + 1) & mask; map->slots[at].value != NULL; at = (at + 1) & mask) {
        size_t home = home_slot(map->slots[at].key, map->capacity);
        /* An entry may fill the hole when the hole lies on its way from its home slot. */
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole] = (map_slot_t){0};
    map->count--;
    return value;
}

void *map_next(const map_t *map, size_t *cursor, uint64_t *key_p)
{
    while (*cursor < map->capacity) {
        const map_slot_t *slot = &map->slots[(*cursor)++];
        if (slot->value == NULL)
            continue;
        if (key_p != NULL)
            *key_p = slot->key;
        return slot->value;
    }
    return NULL;
}
