/* SPDX-License-Identifier: Apache-2.0
 * key_blob.h - the bytes of an exported key. Pure functions, no state; any thread.
 *
 *   offset  0  u8  version (1)      8  u64 key handle     32  u64 bytes of the whole memory
 *           1  u8  flags (1: reached by packets only)    16  u64 owner id       40  u64 offset of the range
 *           2  u16 access bits     24  u64 memory handle  48  u64 length of the range
 *           4  u32 reserved (0)                           56  end
 * All little endian. A key is an address, not a secret: the owner checks handle, range and rights at every use. */
#ifndef VBN_MEM_KEY_BLOB_H
#define VBN_MEM_KEY_BLOB_H

#include "mem/mem.h"

#define KEY_BLOB_VERSION 1
#define KEY_BLOB_BYTES 56
#define KEY_BLOB_BY_PACKETS 1

void key_blob_encode(const mem_key_info_t *info, uint8_t blob[KEY_BLOB_BYTES]);

#endif
