/* SPDX-License-Identifier: Apache-2.0
 * verbs_library.c - see verbs_library.h. */
#include "tl/verbs/verbs_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Fills the table, or says in `problem` what is missing and the cure. */
static void load(verbs_library_t *library)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(library->problem, sizeof(library->problem), "%.120s; install %s", dlerror(), library->packages);
        return;
    }
    for (size_t i = 0; i < library->count; i++) {
        const verbs_symbol_t *symbol = &library->symbols[i];
        void *found = dlvsym(handle, symbol->name, symbol->version);
        if (found == NULL) {
            snprintf(library->problem, sizeof(library->problem), "%s has no %s@%s; install %s of %s or newer",
                     library->file, symbol->name, symbol->version, library->packages, library->oldest);
            (void)dlclose(handle);
            return;
        }
        memcpy((char *)library->table + symbol->offset, &found, sizeof(found));
    }
}

vbn_status_t verbs_library_get(verbs_library_t *library, const void **table_p)
{
    *table_p = verbs_library_replacement(library);
    if (*table_p != NULL)
        return VBN_OK;
    pthread_mutex_lock(&library->lock);
    if (!library->tried)
        load(library);
    library->tried = true;
    pthread_mutex_unlock(&library->lock);
    if (library->problem[0] != '\0') /* never changed again */
        return err_set(VBN_ERR_UNSUPPORTED, "%s", library->problem);
    *table_p = library->table;
    return VBN_OK;
}

void verbs_library_replace(verbs_library_t *library, const void *table)
{
    atomic_store_explicit(&library->replacement, table,
                          memory_order_release); /* pairs with verbs_library_replacement */
}

const void *verbs_library_replacement(verbs_library_t *library)
{
    return atomic_load_explicit(&library->replacement, memory_order_acquire); /* pairs with verbs_library_replace */
}
