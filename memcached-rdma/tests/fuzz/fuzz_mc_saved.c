/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_saved.c - records of a warm restart (-e): a head, pages, then records with key and value, as the server reads them. A
 * record that passes fits its bounds, and no other number of a record has its checksum. */
#include "fuzz.h"
#include "proto/request.h"
#include "proto/saved.h"

/* Takes so many bytes off the input; NULL: there are fewer. */
static const uint8_t *take(const uint8_t **data, size_t *size, size_t bytes)
{
    const uint8_t *at = *data;
    if (*size < bytes)
        return NULL;
    *data += bytes;
    *size -= bytes;
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    saved_head_t head;
    saved_item_t item;
    const uint8_t *at = take(&data, &size, sizeof(head));
    if (at == NULL)
        return 0;
    memcpy(&head, at, sizeof(head));
    (void)saved_head_is_right(&head);
    saved_disk_t disk;
    at = take(&data, &size, sizeof(disk));
    if (at == NULL)
        return 0;
    memcpy(&disk, at, sizeof(disk));
    disk.pages %= 8; /* what the server reads is bounded by the length of the file */
    saved_page_t pages[8];
    at = take(&data, &size, disk.pages * sizeof(*pages));
    if (at == NULL)
        return 0;
    memcpy(pages, at, disk.pages * sizeof(*pages));
    (void)saved_disk_crc(&disk, pages);
    for (uint64_t i = 0; (at = take(&data, &size, sizeof(item))) != NULL; i++) {
        memcpy(&item, at, sizeof(item));
        if (!saved_item_is_possible(&item, size))
            return 0;
        require(item.key_bytes > 0 && item.key_bytes <= KEY_MAX && item.value_bytes <= size);
        const char *key = (const char *)take(&data, &size, item.key_bytes);
        const char *value = key == NULL ? NULL : (const char *)take(&data, &size, item.value_bytes);
        if (value == NULL)
            return 0;
        if (item.crc == saved_crc(&item, i, key, value))
            require(item.crc != saved_crc(&item, i + 1, key, value));
    }
    return 0;
}
