/* SPDX-License-Identifier: Apache-2.0
 * keep.c - see keep.h. */
#include "proto/keep.h"

static void let_go(keep_entry_t *entry)
{
    if (entry->import != NULL)
        mem_import_release(entry->import);
    *entry = (keep_entry_t){0};
}

static void tick(wheel_timer_t *timer)
{
    keep_t *keep = container_of(timer, keep_t, timer);
    keep->ticking = false;
    for (unsigned i = 0; i < KEEP_MAX; i++) {
        keep_entry_t *entry = &keep->entries[i];
        if (entry->info.owner_id == 0)
            continue;
        if (!entry->used && !entry->pending)
            let_go(entry);
        else
            keep->ticking = true;
        entry->used = false;
    }
    if (keep->ticking)
        link_timer_add(keep->link, timer, KEEP_NS);
}

void keep_open(keep_t *keep, mem_registry_t *memory)
{
    *keep = (keep_t){.memory = memory};
    wheel_timer_init(&keep->timer, tick);
}

mem_import_t *keep_find(keep_t *keep, uint64_t source, const mem_key_info_t *info)
{
    mem_import_t *import = mem_import_find(keep->memory, source, info);
    for (unsigned i = 0; i < KEEP_MAX && import != NULL; i++)
        if (keep->entries[i].import == import)
            keep->entries[i].used = true;
    return import;
}

static void answer(void *arg, vbn_status_t status, mem_import_t *import)
{
    keep_entry_t *entry = arg;
    entry->pending = false;
    entry->import = status == VBN_OK ? import : NULL;
}

/* NULL when the memory is known already. */
static keep_entry_t *room_for(keep_t *keep, uint64_t source, const mem_key_info_t *info)
{
    keep_entry_t *room = NULL;
    for (unsigned i = 0; i < KEEP_MAX; i++) {
        keep_entry_t *entry = &keep->entries[i];
        if (entry->source == source && entry->info.owner_id == info->owner_id &&
            entry->info.mem_handle == info->mem_handle && entry->info.access == info->access)
            return NULL;
        if (entry->info.owner_id == 0)
            room = entry;
    }
    return room;
}

void keep_want(keep_t *keep, link_engine_t *link, vbn_peer_t *peer, uint64_t source, const mem_key_info_t *info)
{
    keep_entry_t *entry = room_for(keep, source, info);
    if (entry == NULL)
        return;
    *entry = (keep_entry_t){.info = *info, .source = source, .pending = true, .used = true};
    if (!keep->ticking) {
        keep->link = link;
        keep->ticking = true;
        link_timer_add(link, &keep->timer, KEEP_NS);
    }
    if (link_import(peer, info, answer, entry) < 0)
        entry->pending = false; /* refused: not tried again before it is forgotten */
}

void keep_close(keep_t *keep)
{
    for (unsigned i = 0; i < KEEP_MAX; i++)
        let_go(&keep->entries[i]);
}
