/* SPDX-License-Identifier: Apache-2.0
 * handle.h - table that turns pointers into 64-bit handles (index + generation), so that a handle of a freed
 * object, or a forged one, is recognised. Handle 0 is never given out. Not thread safe: the owner locks. */
#ifndef VBN_BASE_HANDLE_H
#define VBN_BASE_HANDLE_H

#include <stdbool.h>

#include "base/status.h"

typedef struct handle_entry {
    void *object;        /* NULL = free */
    uint32_t generation; /* random start, +1 per free (unguessable: random); 0 is skipped */
    uint32_t next_free;
} handle_entry_t;

typedef struct handle_table {
    handle_entry_t *entries;
    uint32_t capacity;
    uint32_t count;
    uint32_t first_free; /* UINT32_MAX = none */
    uint32_t limit;
    bool unguessable; /* set after init: a handle says nothing about the one that follows it at its index */
} handle_table_t;

/* limit: most live handles, error text names it. */
void handle_table_init(handle_table_t *table, uint32_t limit);
void handle_table_free(handle_table_t *table);
vbn_status_t handle_new(handle_table_t *table, void *object, uint64_t *handle_p);
/* NULL when the handle is not live. */
void *handle_get(const handle_table_t *table, uint64_t handle);
/* Removes it; NULL when it was not live. */
void *handle_drop(handle_table_t *table, uint64_t handle);

#endif
