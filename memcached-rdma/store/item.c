/* SPDX-License-Identifier: Apache-2.0
 * item.c - checksum and heat of items. */
#include "store/item.h"

#include <string.h>

#include "base/crc32c.h"

uint32_t item_data_crc(const item_t *item, uint32_t seed)
{
    return crc32c(seed, item->data, (size_t)item->key_bytes + item->value_bytes);
}

uint32_t item_crc(const item_t *item, uint32_t data_crc, uint32_t grain)
{
    struct {
        uint64_t cas;
        uint32_t grain, generation, client_flags, value_bytes, created;
        uint8_t key_bytes, marks, zero[2];
    } fixed = {.cas = item->cas,
               .grain = grain,
               .generation = item->generation,
               .client_flags = item->client_flags,
               .value_bytes = item->value_bytes,
               .created = item->created,
               .key_bytes = item->key_bytes,
               .marks = item->marks};
    _Static_assert(sizeof(fixed) == 32, "no padding: its bytes would be in the checksum");
    return crc32c(data_crc, &fixed, sizeof(fixed));
}

bool item_is_whole(const item_t *item, uint32_t seed, uint32_t grain)
{
    return item->crc == item_crc(item, item_data_crc(item, seed), grain);
}

void item_heat(item_t *item, uint32_t now, bool fetched)
{
    uint32_t heat = atomic_get_relaxed(&item->heat);
    uint32_t count = heat >> HEAT_COUNT_SHIFT;
    if (count < HEAT_COUNT_MAX)
        heat += 1u << HEAT_COUNT_SHIFT;
    atomic_set_relaxed(&item->heat, (uint16_t)(heat | (fetched ? HEAT_FETCHED : 0)));
    atomic_set_relaxed(&item->access, now);
}

uint32_t item_reads(const item_t *item)
{
    return atomic_get_relaxed(&item->heat) >> HEAT_COUNT_SHIFT;
}

void item_set_reads(item_t *item, uint32_t reads)
{
    uint32_t heat = atomic_get_relaxed(&item->heat);
    atomic_set_relaxed(&item->heat, (uint16_t)((heat & 0xffu) | reads << HEAT_COUNT_SHIFT));
}
