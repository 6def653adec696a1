/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_record.c - records of a page on disk, as reclaim walks over them. A record that passes lies within its bytes, and in no
 * other place. */
#include "fuzz.h"
#include "ssd/record.h"

#define INSTANCE UINT64_C(0x0123456789abcdef)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    for (size_t at = 0; size - at >= sizeof(record_t);) {
        place_t place = {.page = 1, .version = 2, .offset = (uint32_t)at}, other = place;
        disk_item_t item;
        size_t claims = record_claims(bytes + at);
        require(claims >= sizeof(record_t) && claims % RECORD_UNIT == 0);
        if (claims > size - at || !record_discover(bytes + at, claims, INSTANCE, &place, &item))
            return 0;
        require(item.key == bytes + at + sizeof(record_t) && item.value + item.value_bytes <= bytes + at + claims);
        require(item.key_bytes > 0 && place.value_bytes == item.value_bytes);
        require(record_read(bytes + at, claims, INSTANCE, &place, &item));
        other.version++;
        require(!record_discover(bytes + at, claims, INSTANCE, &other, &item));
        at += claims;
    }
    return 0;
}
