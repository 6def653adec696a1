/* SPDX-License-Identifier: Apache-2.0
 * path.h - the value of ext_path: FILE:SIZE[UNIT]. */
#ifndef MC_SSD_PATH_H
#define MC_SSD_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_PATH 512u
#define DISK_ERROR 768u /* bytes of an error text */

typedef struct disk_file {
    char path[DISK_PATH];
    uint64_t bytes;
} disk_file_t;

/* UNIT is M, G, T or P, in either case, with or without a B behind it. False: error says what is wrong. */
bool disk_file_parse(const char *text, disk_file_t *file, char error[DISK_ERROR]);

#endif
