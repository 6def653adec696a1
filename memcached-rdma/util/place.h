/* SPDX-License-Identifier: Apache-2.0
 * place.h - where an item lies on disk: what the store keeps of it in memory, and what the disk finds it by. */
#ifndef MC_UTIL_PLACE_H
#define MC_UTIL_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct place {
    uint32_t page;    /* number of the page, of all files together */
    uint32_t version; /* of the page when the item was written: another one holds other items */
    uint32_t offset;  /* bytes from the start of the page */
    uint32_t value_bytes;
} place_t;

static inline bool place_is(const place_t *a, const place_t *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

#endif
