/* SPDX-License-Identifier: Apache-2.0
 * table.h - hashes by their number. */
#ifndef MC_COMPAT_TABLE_H
#define MC_COMPAT_TABLE_H

#include "compat/hashkit/hashkit.h"

typedef struct hash_row {
    const char *name;
    hashkit_hash_fn function; /* NULL: it cannot be chosen by its number */
} hash_row_t;

extern const hash_row_t HASHES[HASHKIT_HASH_MAX];

#endif
