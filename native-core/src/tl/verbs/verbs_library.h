/* SPDX-License-Identifier: Apache-2.0
 * verbs_library.h - a library opened at run time, and its calls by name and version. It stays open for the life of the
 * process. */
#ifndef VBN_TL_VERBS_LIBRARY_H
#define VBN_TL_VERBS_LIBRARY_H

#include <stddef.h>

typedef struct verbs_symbol {
    const char *name;
    const char *version;
    size_t offset; /* of the call in the table */
} verbs_symbol_t;

typedef struct verbs_library {
    const char *file;
    const char *packages; /* that give it */
    const char *oldest;   /* release that has all calls */
    const verbs_symbol_t *symbols;
    size_t count;
} verbs_library_t;

/* Fills the table; else `problem` gets what is missing and the cure. */
void verbs_library_open(const verbs_library_t *library, void *table, char *problem, size_t capacity);

#endif
