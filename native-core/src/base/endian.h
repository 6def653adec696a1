/* SPDX-License-Identifier: Apache-2.0
 * endian.h - little-endian integers at any address: what goes over a wire or into a blob. One move each on
 * little-endian machines. Pure functions; any thread. */
#ifndef VBN_BASE_ENDIAN_H
#define VBN_BASE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void le_put_u16(void *at, uint16_t value)
{
    uint16_t little = htole16(value);
    memcpy(at, &little, sizeof(little));
}

static inline void le_put_u32(void *at, uint32_t value)
{
    uint32_t little = htole32(value);
    memcpy(at, &little, sizeof(little));
}

static inline void le_put_u64(void *at, uint64_t value)
{
    uint64_t little = htole64(value);
    memcpy(at, &little, sizeof(little));
}

static inline uint16_t le_get_u16(const void *at)
{
    uint16_t little;
    memcpy(&little, at, sizeof(little));
    return le16toh(little);
}

static inline uint32_t le_get_u32(const void *at)
{
    uint32_t little;
    memcpy(&little, at, sizeof(little));
    return le32toh(little);
}

static inline uint64_t le_get_u64(const void *at)
{
    uint64_t little;
    memcpy(&little, at, sizeof(little));
    return le64toh(little);
}

#endif
