/* SPDX-License-Identifier: Apache-2.0
 * saved.c - records of a warm restart. */
#include "proto/saved.h"

#include <string.h>

#include "base/crc32c.h"
#include "proto/request.h"
#include "util/place.h"

static const char MAGIC[8] = {'V', 'B', 'N', 'W', 'A', 'R', 'M', '2'};

static uint32_t head_crc(const saved_head_t *head)
{
    return crc32c(0, head, offsetof(saved_head_t, crc));
}

void saved_head_make(saved_head_t *head, int64_t moment, uint64_t items)
{
    *head = (saved_head_t){.moment = moment, .items = items};
    memcpy(head->magic, MAGIC, sizeof(MAGIC));
    head->crc = head_crc(head);
}

bool saved_head_is_right(const saved_head_t *head)
{
    return memcmp(head->magic, MAGIC, sizeof(MAGIC)) == 0 && head->crc == head_crc(head);
}

uint32_t saved_disk_crc(const saved_disk_t *disk, const saved_page_t *pages)
{
    uint32_t crc = crc32c(0, disk, offsetof(saved_disk_t, crc));
    return crc32c(crc, pages, disk->pages * sizeof(*pages));
}

uint32_t saved_crc(const saved_item_t *item, uint64_t number, const char *key, const char *value)
{
    uint32_t crc = crc32c(0, &number, sizeof(number));
    crc = crc32c(crc, item, offsetof(saved_item_t, crc));
    crc = crc32c(crc, key, item->key_bytes);
    return crc32c(crc, value, item->value_bytes);
}

bool saved_item_is_possible(const saved_item_t *item, size_t value_most)
{
    bool place = (item->flags & SAVED_ON_DISK) == 0 || item->value_bytes == sizeof(place_t);
    return place && item->key_bytes > 0 && item->key_bytes <= KEY_MAX && item->value_bytes <= value_most &&
           (item->flags & ~(SAVED_BINARY_KEY | SAVED_PINNED | SAVED_ON_DISK)) == 0 && item->zero == 0 && item->end == 0;
}
