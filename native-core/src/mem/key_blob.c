/* SPDX-License-Identifier: Apache-2.0
 * key_blob.c - encodes and decodes exported keys. */
#include "mem/key_blob.h"

#include <string.h>

#include "base/endian.h"

_Static_assert(KEY_BLOB_BYTES <= VBN_KEY_MAX, "a key blob fits the public limit");

void key_blob_encode(const mem_key_info_t *info, uint8_t blob[KEY_BLOB_BYTES])
{
    memset(blob, 0, KEY_BLOB_BYTES);
    blob[0] = KEY_BLOB_VERSION;
    blob[1] = info->by_packets ? KEY_BLOB_BY_PACKETS : 0;
    blob[2] = (uint8_t)info->access;
    le_put_u64(blob + 8, info->key_handle);
    le_put_u64(blob + 16, info->owner_id);
    le_put_u64(blob + 24, info->mem_handle);
    le_put_u64(blob + 32, info->mem_bytes);
    le_put_u64(blob + 40, info->offset);
    le_put_u64(blob + 48, info->length);
}

static vbn_status_t check_info(const mem_key_info_t *info)
{
    unsigned known = VBN_ACCESS_READ | VBN_ACCESS_WRITE | (info->by_packets ? VBN_ACCESS_COPY : 0u);
    if ((info->access & (VBN_ACCESS_READ | VBN_ACCESS_WRITE)) == 0 || (info->access & ~known) != 0)
        return err_set(VBN_ERR_PROTOCOL, "key blob has access bits 0x%x, expected 1 to 3, with 4 for user memory only",
                       info->access);
    if (info->key_handle == 0 || info->owner_id == 0 || info->mem_handle == 0)
        return err_set(VBN_ERR_PROTOCOL, "key blob has an empty handle or owner");
    if (info->mem_bytes == 0 || info->mem_bytes > SIZE_MAX / 2)
        return err_set(VBN_ERR_PROTOCOL, "key blob names a memory of %llu bytes", (unsigned long long)info->mem_bytes);
    if (info->offset > info->mem_bytes || info->length > info->mem_bytes - info->offset)
        return err_set(VBN_ERR_PROTOCOL, "key blob has a range beyond its memory of %llu bytes",
                       (unsigned long long)info->mem_bytes);
    return VBN_OK;
}

vbn_status_t mem_key_decode(const void *blob, size_t length, mem_key_info_t *info_p)
{
    if (blob == NULL || length != KEY_BLOB_BYTES)
        return err_set(VBN_ERR_PROTOCOL, "key blob has %zu bytes, expected %d", length, KEY_BLOB_BYTES);
    uint8_t copy[KEY_BLOB_BYTES]; /* the blob may lie in memory that a peer can still write */
    memcpy(copy, blob, sizeof(copy));
    if (copy[0] != KEY_BLOB_VERSION)
        return err_set(VBN_ERR_PROTOCOL, "key blob has version %u, this build reads version %d", copy[0],
                       KEY_BLOB_VERSION);
    if (copy[1] > KEY_BLOB_BY_PACKETS || copy[3] != 0 || copy[4] != 0 || copy[5] != 0 || copy[6] != 0 || copy[7] != 0)
        return err_set(VBN_ERR_PROTOCOL, "key blob has reserved bytes that are not zero");
    mem_key_info_t info = {
        .access = copy[2],
        .by_packets = copy[1] == KEY_BLOB_BY_PACKETS,
        .key_handle = le_get_u64(copy + 8),
        .owner_id = le_get_u64(copy + 16),
        .mem_handle = le_get_u64(copy + 24),
        .mem_bytes = le_get_u64(copy + 32),
        .offset = le_get_u64(copy + 40),
        .length = le_get_u64(copy + 48),
    };
    vbn_status_t status = check_info(&info);
    if (status == VBN_OK)
        *info_p = info;
    return status;
}
