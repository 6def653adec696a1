/* SPDX-License-Identifier: Apache-2.0
 * saved.h - the file of a warm restart (-e): a head, the pages of ext_path; of each item a record, its key and its value. Pure.
 *
 * Numbers are those of the host: the file is for a server on the same one. A checksum covers record, key and value, and begins with
 * the number of the record, so that none may be missing or stand elsewhere. */
#ifndef MC_PROTO_SAVED_H
#define MC_PROTO_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAVED_BINARY_KEY 1u
#define SAVED_PINNED 2u
#define SAVED_ON_DISK 4u /* the value is a place_t */

typedef struct saved_head {
    char magic[8];
    int64_t moment; /* Unix time when the items were saved */
    uint64_t items;
    uint32_t zero, crc; /* of what stands before */
} saved_head_t;

/* Behind the head: how the files of ext_path were used. saved_page_t of so many pages follow it. */
typedef struct saved_disk {
    uint64_t instance; /* of the start that began to write there */
    uint64_t page_bytes;
    uint32_t pages; /* 0: there are no such files */
    uint32_t crc;   /* of what stands before, and of the pages */
} saved_disk_t;

typedef struct saved_page {
    uint32_t version, used;
} saved_page_t;

typedef struct saved_item {
    uint64_t cas;
    uint32_t client_flags;
    uint32_t ttl; /* seconds left at the moment of the head; 0: it never expires */
    uint32_t value_bytes;
    uint8_t key_bytes, flags; /* SAVED_* */
    uint16_t zero;
    uint32_t crc, end;
} saved_item_t;

_Static_assert(sizeof(saved_disk_t) == 24 && sizeof(saved_head_t) == 32 && sizeof(saved_item_t) == 32,
               "no byte of a record is undefined");

void saved_head_make(saved_head_t *head, int64_t moment, uint64_t items);
bool saved_head_is_right(const saved_head_t *head);
uint32_t saved_disk_crc(const saved_disk_t *disk, const saved_page_t *pages);
/* The checksum of the record with this number, whose other members are set. */
uint32_t saved_crc(const saved_item_t *item, uint64_t number, const char *key, const char *value);
/* Lengths and flags of a record can be right. To be asked before its key and value are read. */
bool saved_item_is_possible(const saved_item_t *item, size_t value_most);

#endif
