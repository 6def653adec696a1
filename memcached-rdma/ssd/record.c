/* SPDX-License-Identifier: Apache-2.0
 * record.c - records: making and checking. */
#include "ssd/record.h"

#include "base/crc32c.h"

_Static_assert(sizeof(record_t) == 32, "no padding: its bytes would be in the checksum");

static uint32_t crc_of(const record_t *record, uint64_t instance, const place_t *place, const char *key,
                       const char *value)
{
    struct {
        uint64_t instance;
        uint32_t page, version, offset, zero;
    } seed = {.instance = instance, .page = place->page, .version = place->version, .offset = place->offset};
    uint32_t crc = crc32c(0, &seed, sizeof(seed));
    crc = crc32c(crc, (const char *)record + sizeof(record->crc), sizeof(*record) - sizeof(record->crc));
    crc = crc32c(crc, key, record->key_bytes);
    return crc32c(crc, value, record->value_bytes);
}

void record_make(record_t *record, uint64_t instance, const place_t *place, const disk_item_t *item)
{
    *record = (record_t){.value_bytes = item->value_bytes,
                         .client_flags = item->client_flags,
                         .created = item->created,
                         .expiry = item->expiry,
                         .key_bytes = (uint8_t)item->key_bytes,
                         .marks = item->marks,
                         .cas = item->cas};
    record->crc = crc_of(record, instance, place, item->key, item->value);
}

bool record_discover(const char *bytes, size_t length, uint64_t instance, place_t *place, disk_item_t *item)
{
    record_t record;
    if (length < sizeof(record))
        return false;
    memcpy(&record, bytes, sizeof(record));
    const char *key = bytes + sizeof(record), *value = key + record.key_bytes;
    if (record.key_bytes == 0 || length < sizeof(record) + record.key_bytes + (size_t)record.value_bytes ||
        record.crc != crc_of(&record, instance, place, key, value))
        return false;
    place->value_bytes = record.value_bytes;
    *item = (disk_item_t){.key = key,
                          .value = value,
                          .key_bytes = record.key_bytes,
                          .value_bytes = record.value_bytes,
                          .client_flags = record.client_flags,
                          .created = record.created,
                          .expiry = record.expiry,
                          .cas = record.cas,
                          .marks = record.marks};
    return true;
}

bool record_read(const char *bytes, size_t length, uint64_t instance, const place_t *place, disk_item_t *item)
{
    place_t found = *place;
    return record_discover(bytes, length, instance, &found, item) && item->value_bytes == place->value_bytes;
}

size_t record_claims(const char *bytes)
{
    record_t record;
    memcpy(&record, bytes, sizeof(record));
    return record_bytes(record.key_bytes, record.value_bytes);
}
