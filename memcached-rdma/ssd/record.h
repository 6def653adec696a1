/* SPDX-License-Identifier: Apache-2.0
 * record.h - an item as it lies on disk.
 *
 *   | header 32 B | key | value | up to the next multiple of 8 B
 *
 * The checksum begins with the start of the server and the place. So bytes of another server, of an earlier start, of what lay
 * there before, or of another place never pass for the item. */
#ifndef MC_SSD_RECORD_H
#define MC_SSD_RECORD_H

#include <stddef.h>

#include "util/place.h"

#define RECORD_UNIT 8u

typedef struct record {
    uint32_t crc; /* of the place, the other members, key and value */
    uint32_t value_bytes;
    uint32_t client_flags;
    uint32_t created, expiry; /* seconds of the store's clock when the item was written */
    uint8_t key_bytes, marks;
    uint8_t zero[2];
    uint64_t cas;
} record_t;

/* What is written of an item, and what is read. */
typedef struct disk_item {
    const char *key, *value;
    uint32_t key_bytes, value_bytes;
    uint32_t client_flags, created, expiry;
    uint64_t cas;
    uint8_t marks; /* the store's own */
} disk_item_t;

static inline size_t record_bytes(size_t key_bytes, size_t value_bytes)
{
    return (sizeof(record_t) + key_bytes + value_bytes + RECORD_UNIT - 1) / RECORD_UNIT * RECORD_UNIT;
}

/* The header of an item at a place. */
void record_make(record_t *record, uint64_t instance, const place_t *place, const disk_item_t *item);
/* The record that begins at `bytes`, of which so many are there. False: it is not whole, or not of this place. */
bool record_read(const char *bytes, size_t length, uint64_t instance, const place_t *place, disk_item_t *item);
/* As record_read, of a place whose value_bytes nobody knows: they are taken from the record. */
bool record_discover(const char *bytes, size_t length, uint64_t instance, place_t *place, disk_item_t *item);
/* Bytes of the record that begins at `bytes` as its header says, unchecked. */
size_t record_claims(const char *bytes);

#endif
