/* SPDX-License-Identifier: Apache-2.0
 * restore.c - pages as an earlier start left them. */
#include "ssd/pages.h"

uint64_t disk_instance(const disk_t *disk)
{
    return disk->instance;
}

uint32_t disk_pages(const disk_t *disk)
{
    return disk->page_count;
}

size_t disk_page_bytes(const disk_t *disk)
{
    return disk->page_bytes;
}

disk_page_state_t disk_page_state(disk_t *disk, uint32_t number)
{
    const page_t *page = &disk->pages[number];
    pthread_mutex_lock(&disk->lock);
    bool used = page->kind != PAGE_FREE;
    disk_page_state_t state = {
        .version = used ? page->version : 0, .used = used ? page->used : 0, .bytes = used ? page->bytes : 0};
    pthread_mutex_unlock(&disk->lock);
    return state;
}

/* Where the page with the next version belongs in the list of full ones. */
static list_link_t *place_in_order(disk_t *disk, uint32_t version)
{
    list_link_t *at = disk->full.prev; /* they come in any order; mostly in this one */
    while (at != &disk->full && container_of(at, page_t, link)->version > version)
        at = at->prev;
    return at;
}

void disk_restore(disk_t *disk, uint64_t instance, const disk_page_state_t *states)
{
    pthread_mutex_lock(&disk->lock);
    disk->instance = instance;
    disk->head = disk->written = disk->tail =
        disk->page_bytes; /* all of these pages, which begin at 0 of the stream, is written */
    for (uint32_t i = 0; i < disk->page_count; i++) {
        page_t *page = &disk->pages[i];
        if (states[i].version == 0 || states[i].used == 0 || states[i].used > disk->page_bytes)
            continue;
        list_remove(&page->link);
        list_prepend(place_in_order(disk, states[i].version), &page->link);
        page->kind = PAGE_FULL;
        page->version = states[i].version;
        page->used = states[i].used;
        disk->free_count--;
        if (page->version >= disk->next_version)
            disk->next_version = page->version + 1;
    }
    pthread_mutex_unlock(&disk->lock);
}

bool disk_restore_item(disk_t *disk, const place_t *place, size_t key_bytes)
{
    size_t bytes = record_bytes(key_bytes, place->value_bytes);
    pthread_mutex_lock(&disk->lock);
    page_t *page = page_of(disk, place);
    bool right = page != NULL && place->offset <= page->used && bytes <= page->used - place->offset;
    if (right) {
        page->objects++;
        page->bytes += bytes;
    }
    pthread_mutex_unlock(&disk->lock);
    return right;
}

void disk_restored(disk_t *disk)
{
    pthread_mutex_lock(&disk->lock);
    for (uint32_t i = 0; i < disk->page_count; i++)
        if (disk->pages[i].kind == PAGE_FULL)
            page_free_if_empty(disk, &disk->pages[i]);
    disk->stats.page_reclaims = 0;
    pthread_mutex_unlock(&disk->lock);
}
