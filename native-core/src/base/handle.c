/* SPDX-License-Identifier: Apache-2.0
 * handle.c - handle table: handle = generation << 32 | index. Free entries form a list through next_free. */
#include "base/handle.h"

#include <stdlib.h>

#include "base/os.h"

#define NO_ENTRY UINT32_MAX
#define FIRST_CAPACITY 16u

void handle_table_init(handle_table_t *table, uint32_t limit)
{
    *table = (handle_table_t){.first_free = NO_ENTRY, .limit = limit};
}

void handle_table_free(handle_table_t *table)
{
    free(table->entries);
    handle_table_init(table, table->limit);
}

static uint32_t random_generation(void)
{
    uint32_t generation;
    os_random(&generation, sizeof(generation));
    return generation == 0 ? 1 : generation;
}

static uint32_t next_generation(const handle_table_t *table, uint32_t generation)
{
    uint32_t next = table->unguessable ? random_generation() : generation;
    if (next == generation)
        next++;
    return next == 0 ? 1 : next;
}

static vbn_status_t table_grow(handle_table_t *table)
{
    uint32_t old = table->capacity;
    uint32_t wanted = old == 0 ? FIRST_CAPACITY : (old > UINT32_MAX / 2 ? UINT32_MAX : old * 2);
    if (wanted > table->limit)
        wanted = table->limit;
    handle_entry_t *entries = realloc(table->entries, wanted * sizeof(*entries));
    if (entries == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a table of %u handles", wanted);
    for (uint32_t i = old; i < wanted; i++)
        entries[i] = (handle_entry_t){.generation = random_generation(),
                                      .next_free = i + 1 < wanted ? i + 1 : NO_ENTRY};
    table->entries = entries;
    table->capacity = wanted;
    table->first_free = old;
    return VBN_OK;
}

vbn_status_t handle_new(handle_table_t *table, void *object, uint64_t *handle_p)
{
    if (object == NULL)
        return err_set(VBN_ERR_INVALID, "a handle needs an object, not NULL");
    if (table->count >= table->limit)
        return err_set(VBN_ERR_LIMIT, "%u handles are in use, which is the limit; release some first", table->count);
    if (table->first_free == NO_ENTRY) {
        vbn_status_t status = table_grow(table);
        if (status < 0)
            return status;
    }
    uint32_t index = table->first_free;
    handle_entry_t *entry = &table->entries[index];
    table->first_free = entry->next_free;
    entry->object = object;
    table->count++;
    *handle_p = (uint64_t)entry->generation << 32 | index;
    return VBN_OK;
}

static handle_entry_t *live_entry(const handle_table_t *table, uint64_t handle)
{
    uint32_t index = (uint32_t)handle;
    if (index >= table->capacity)
        return NULL;
    handle_entry_t *entry = &table->entries[index];
    if (entry->object == NULL || entry->generation != (uint32_t)(handle >> 32))
        return NULL;
    return entry;
}

void *handle_get(const handle_table_t *table, uint64_t handle)
{
    handle_entry_t *entry = live_entry(table, handle);
    return entry == NULL ? NULL : entry->object;
}

void *handle_drop(handle_table_t *table, uint64_t handle)
{
    handle_entry_t *entry = live_entry(table, handle);
    if (entry == NULL)
        return NULL;
    void *object = entry->object;
    entry->object = NULL;
    entry->generation = next_generation(table, entry->generation);
    entry->next_free = table->first_free;
    table->first_free = (uint32_t)handle;
    table->count--;
    return object;
}
