/* SPDX-License-Identifier: Apache-2.0
 * path.c - the value of ext_path. */
#include "ssd/path.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits by which a unit shifts a number; 0: no such unit. */
static unsigned shift_of(const char *unit)
{
    static const char letters[] = "mgtp";
    const char *letter = *unit == '\0' ? NULL : strchr(letters, tolower((unsigned char)*unit));
    bool ends = letter != NULL && (unit[1] == '\0' || (tolower((unsigned char)unit[1]) == 'b' && unit[2] == '\0'));
    return ends ? 20 + 10 * (unsigned)(letter - letters) : 0;
}

static bool size_of(const char *text, uint64_t *bytes_p)
{
    char *unit;
    errno = 0;
    unsigned long long number = strtoull(text, &unit, 10);
    unsigned shift = shift_of(unit);
    *bytes_p = (uint64_t)number << shift;
    return isdigit((unsigned char)*text) && errno == 0 && shift > 0 && number > 0 &&
           number <= (uint64_t)INT64_MAX >> shift;
}

bool disk_file_parse(const char *text, disk_file_t *file, char error[DISK_ERROR])
{
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    if (length == 0) {
        (void)snprintf(error, DISK_ERROR, "give a file and its size, as in /mnt/ssd/items:64G");
        return false;
    }
    if (length >= DISK_PATH) {
        (void)snprintf(error, DISK_ERROR, "the path is longer than %u bytes; give a shorter one", DISK_PATH - 1);
        return false;
    }
    memcpy(file->path, text, length);
    file->path[length] = '\0';
    if (size_of(colon + 1, &file->bytes))
        return true;
    (void)snprintf(error, DISK_ERROR, "'%.60s' is no size; give a number with M, G, T or P, as in 64G", colon + 1);
    return false;
}
