/* SPDX-License-Identifier: Apache-2.0
 * crc32c.h - CRC-32C (Castagnoli, as in RFC 3720): with the processor's instruction where it has one. Any thread. */
#ifndef VBN_BASE_CRC32C_H
#define VBN_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0 to begin with, or the result for the bytes before, to go on. */
uint32_t crc32c(uint32_t crc, const void *data, size_t length);
/* The same by table only; for tests. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t length);

#endif
