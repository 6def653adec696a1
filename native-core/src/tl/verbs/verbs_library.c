/* SPDX-License-Identifier: Apache-2.0
 * verbs_library.c - see verbs_library.h. */
#include "tl/verbs/verbs_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void verbs_library_open(const verbs_library_t *library, void *table, char *problem, size_t capacity)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(problem, capacity, "%.120s; install %s", dlerror(), library->packages);
        return;
    }
    for (size_t i = 0; i < library->count; i++) {
        const verbs_symbol_t *symbol = &library->symbols[i];
        void *found = dlvsym(handle, symbol->name, symbol->version);
        if (found == NULL) {
            snprintf(problem, capacity, "%s has no %s@%s; install %s of %s or newer", library->file, symbol->name,
                     symbol->version, library->packages, library->oldest);
            (void)dlclose(handle);
            return;
        }
        memcpy((char *)table + symbol->offset, &found, sizeof(found));
    }
}
