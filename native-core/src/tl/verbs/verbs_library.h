/* SPDX-License-Identifier: Apache-2.0
 * verbs_library.h - a library opened at run time, once, and its calls by name and version. It stays open for the life of the
 * process. Any thread. */
#ifndef VBN_TL_VERBS_LIBRARY_H
#define VBN_TL_VERBS_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct verbs_symbol {
    const char *name;
    const char *version;
    size_t offset; /* of the call in the table */
} verbs_symbol_t;

/* Static; the description and the table are given, the rest begins as zeros. */
typedef struct verbs_library {
    const char *file;
    const char *packages; /* that give it */
    const char *oldest;   /* release that has all calls */
    const verbs_symbol_t *symbols;
    size_t count;
    void *table;          /* filled once */
    pthread_mutex_t lock; /* for the two below */
    bool tried;
    char problem[256]; /* empty: the library is open */
    _Atomic(const void *) replacement;
} verbs_library_t;

/* The table. VBN_ERR_UNSUPPORTED: no library, or one without a call that is needed; the text names the package. */
vbn_status_t verbs_library_get(verbs_library_t *library, const void **table_p);
/* Tests: the table from now on; NULL: the library's again. */
void verbs_library_replace(verbs_library_t *library, const void *table);
const void *verbs_library_replacement(verbs_library_t *library);

#endif
