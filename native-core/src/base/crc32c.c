/* SPDX-License-Identifier: Apache-2.0
 * crc32c.c - CRC-32C by SSE 4.2 (one step for 8 bytes) or by eight tables (8 look-ups for 8 bytes). */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/endian.h"

#define POLYNOMIAL 0x82f63b78u /* reflected */

/* Constants of the process, computed on first use: tables[k][b] is byte b followed by k zero bytes. */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static uint32_t tables[8][256];

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++)
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
}

uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t length)
{
    const uint8_t *at = data;
    (void)pthread_once(&tables_once, fill_tables);
    crc = ~crc;
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word = le_get_u64(at) ^ crc;
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= tables[7 - k][(word >> (8 * k)) & 0xff];
    }
    for (; length > 0; length--, at++)
        crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *at, size_t length)
{
    uint64_t sum = (uint32_t)~crc;
    for (; length >= 8; length -= 8, at += 8)
        sum = __builtin_ia32_crc32di(sum, le_get_u64(at));
    uint32_t rest = (uint32_t)sum;
    for (; length > 0; length--, at++)
        rest = __builtin_ia32_crc32qi(rest, *at);
    return ~rest;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t length)
{
    return has_instruction() ? by_instruction(crc, data, length) : crc32c_by_table(crc, data, length);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t length)
{
    return crc32c_by_table(crc, data, length);
}

#endif
