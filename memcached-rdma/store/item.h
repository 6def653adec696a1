/* SPDX-License-Identifier: Apache-2.0
 * item.h - one item as it lies in its extent, and its checksum.
 *
 *   | header 40 B | key | value | up to the next multiple of 8 B
 *
 * Items are write-once: after an index entry refers to an item, its bytes never change (I2), but for three atomic words that
 * the checksum leaves out: expiry, access and heat. Of a stub the place changes, too: readers without the lock read no marked
 * item. Lengths stay valid for as long as the extent holds items, so that a
 * segment can be walked from its start, also over items that are dead or were never completed. */
#ifndef MC_STORE_ITEM_H
#define MC_STORE_ITEM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"
#include "util/place.h"

#define ITEM_UNIT 8u       /* bytes; an item's position is a multiple of it */
#define ITEM_STALE 1u      /* marks: invalidated by a client, still served with a hint */
#define ITEM_BINARY_KEY 2u /* marks: the key was given in base64 */
#define ITEM_ON_DISK 4u    /* marks: a stub, whose value is the place on disk (shelf.c) */

#define HEAT_FETCHED 1u    /* heat: somebody has read the item */
#define HEAT_WON 2u        /* heat: a client was told to renew the item */
#define HEAT_DISK_READ 4u  /* heat of a stub: its value was read since it was written to disk */
#define HEAT_COUNT_SHIFT 8 /* heat: the upper byte counts reads since the item was looked at last */
#define HEAT_COUNT_MAX 255u

typedef struct item {
    uint32_t generation; /* of the grain in which it begins, when the item was written */
    uint8_t key_bytes;
    uint8_t marks;         /* ITEM_* */
    _Atomic uint16_t heat; /* HEAT_*; outside the checksum */
    uint32_t client_flags;
    uint32_t value_bytes;
    _Atomic uint32_t expiry; /* second of the store's clock, 0: never; outside the checksum */
    _Atomic uint32_t access; /* second of the last read; outside the checksum */
    uint64_t cas;
    uint32_t created; /* second of the store's clock, or ahead of it (ttl_creation) */
    uint32_t crc;
    char data[]; /* key, value */
} item_t;

_Static_assert(sizeof(item_t) == 40, "the item header is part of the layout that readers know");

static inline size_t item_bytes(size_t key_bytes, size_t value_bytes)
{
    return (sizeof(item_t) + key_bytes + value_bytes + ITEM_UNIT - 1) / ITEM_UNIT * ITEM_UNIT;
}

static inline size_t item_size(const item_t *item)
{
    return item_bytes(item->key_bytes, item->value_bytes);
}

static inline char *item_value(item_t *item)
{
    return item->data + item->key_bytes;
}

static inline bool item_is_stub(const item_t *item)
{
    return (item->marks & ITEM_ON_DISK) != 0;
}

/* Of a stub: where its value is. */
static inline place_t item_place(const item_t *item)
{
    place_t place;
    memcpy(&place, item->data + item->key_bytes, sizeof(place));
    return place;
}

/* Bytes of the value that clients see. */
static inline uint32_t item_value_bytes(const item_t *item)
{
    return item_is_stub(item) ? item_place(item).value_bytes : item->value_bytes;
}

/* Checksum of key and value, to be completed by item_seal once the header is final; needs no lock. */
uint32_t item_data_crc(const item_t *item, uint32_t seed);
/* The whole checksum: seed and data_crc as above, `grain` is the number of the grain in which the item begins. */
uint32_t item_crc(const item_t *item, uint32_t data_crc, uint32_t grain);
/* True when the item is what item_crc was computed of. */
bool item_is_whole(const item_t *item, uint32_t seed, uint32_t grain);
/* Counts one more use, at second `now`; fetched: its value was read. */
void item_heat(item_t *item, uint32_t now, bool fetched);
uint32_t item_reads(const item_t *item);
void item_set_reads(item_t *item, uint32_t reads);

#endif
