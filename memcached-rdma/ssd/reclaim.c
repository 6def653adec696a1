/* SPDX-License-Identifier: Apache-2.0
 * reclaim.c - emptying the oldest page: what was read meanwhile is written again, the rest is forgotten. */
#include <stdlib.h>

#include "ssd/pages.h"

#define WINDOW_BYTES ((size_t)1 << 20) /* that are read at once, or one record */
#define RESCUED_PART 2u                /* of a page: at most 1 / this is written again */

typedef struct emptying {
    disk_t *disk;
    const disk_owner_t *owner;
    page_t *page;
    uint32_t number;
    char *window;
    size_t window_bytes;
    size_t rescued; /* bytes */
} emptying_t;

/* The oldest page that is wholly written, if too few are free; NULL: none. */
static page_t *choose(disk_t *disk)
{
    pthread_mutex_lock(&disk->lock);
    bool needed = page_is_needed(disk) && !disk_failed(disk);
    list_link_t *link = needed ? list_pop(&disk->full) : NULL;
    page_t *page = link == NULL ? NULL : container_of(link, page_t, link);
    if (page != NULL) {
        list_init(&page->link);
        page->kind = PAGE_EMPTYING;
    }
    pthread_mutex_unlock(&disk->lock);
    return page;
}

/* Writes an item again. The buffer is full: some of it is written first. */
static bool put_again(disk_t *disk, const disk_item_t *item, place_t *place_p)
{
    while (!disk_append(disk, item, true, place_p))
        if (!disk_write(disk, true))
            return false;
    return true;
}

static void count_dropped(disk_t *disk, disk_answer_t answer, size_t bytes)
{
    pthread_mutex_lock(&disk->lock);
    disk->stats.skipped += answer == DISK_DEAD;
    disk->stats.objects_evicted += answer == DISK_DROPPED;
    disk->stats.bytes_evicted += answer == DISK_DROPPED ? bytes : 0;
    pthread_mutex_unlock(&disk->lock);
}

static void rescue(emptying_t *emptying, const disk_item_t *item, const place_t *from)
{
    disk_t *disk = emptying->disk;
    const disk_owner_t *owner = emptying->owner;
    size_t bytes = record_bytes(item->key_bytes, item->value_bytes);
    place_t to;
    if (!put_again(disk, item, &to)) {
        count_dropped(disk, owner->wants(owner->arg, item, from, false), bytes);
        return;
    }
    emptying->rescued += bytes;
    if (!owner->moved(owner->arg, item, from, &to))
        disk_gone(disk, &to, item->key_bytes);
    pthread_mutex_lock(&disk->lock);
    disk->stats.rescues++;
    pthread_mutex_unlock(&disk->lock);
}

/* The record at `at` of the window, at `offset` of the page. One that is damaged is left out: nobody can read it, either. */
static void empty_record(emptying_t *emptying, size_t at, size_t length, uint32_t offset)
{
    disk_t *disk = emptying->disk;
    const disk_owner_t *owner = emptying->owner;
    place_t place = {.page = emptying->number, .version = emptying->page->version, .offset = offset};
    disk_item_t item;
    if (!record_discover(emptying->window + at, length, disk->instance, &place, &item))
        return;
    bool keep = disk->reserve > 0 && emptying->rescued + length <= disk->page_bytes / RESCUED_PART;
    disk_answer_t answer = owner->wants(owner->arg, &item, &place, keep);
    if (answer == DISK_WANTED)
        rescue(emptying, &item, &place);
    else
        count_dropped(disk, answer, length);
}

static bool widen(emptying_t *emptying, size_t bytes)
{
    char *wider = bytes <= emptying->window_bytes ? emptying->window : realloc(emptying->window, bytes);
    if (wider == NULL)
        return false;
    emptying->window = wider;
    emptying->window_bytes = bytes > emptying->window_bytes ? bytes : emptying->window_bytes;
    return true;
}

/* Records of the window's first `have` bytes, at `offset` of the page. Returns the bytes of whole ones; SIZE_MAX: a damaged length.
 * need_p: bytes that the next record takes. */
static size_t empty_window(emptying_t *emptying, size_t have, uint32_t offset, size_t *need_p)
{
    size_t at = 0;
    *need_p = WINDOW_BYTES;
    while (have - at >= sizeof(record_t)) {
        size_t bytes = record_claims(emptying->window + at);
        if (bytes > emptying->page->used - offset - at)
            return SIZE_MAX;
        if (bytes > have - at) {
            *need_p = bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES;
            break;
        }
        empty_record(emptying, at, bytes, offset + (uint32_t)at);
        at += bytes;
    }
    return at;
}

/* Every record of the page. NULL: all were there; otherwise why not. */
static const char *empty_page(emptying_t *emptying)
{
    off_t start;
    size_t need = WINDOW_BYTES;
    const file_t *file = page_file(emptying->disk, emptying->number, &start);
    for (uint32_t offset = 0; offset < emptying->page->used;) {
        size_t left = emptying->page->used - offset, want = left < need ? left : need;
        if (!widen(emptying, want))
            return "no memory";
        ssize_t got = read_whole(file->fd, emptying->window, want, start + offset);
        if (got < (ssize_t)want)
            return got < 0 ? strerror((int)-got) : "the file is shorter than it was";
        size_t done = empty_window(emptying, want, offset, &need);
        if (done == SIZE_MAX || (done == 0 && need <= want))
            return "a record is damaged";
        offset += (uint32_t)done;
    }
    return NULL;
}

bool disk_reclaim(disk_t *disk, const disk_owner_t *owner)
{
    page_t *page = choose(disk);
    if (page == NULL)
        return false;
    emptying_t emptying = {.disk = disk, .owner = owner, .page = page, .number = page_number(disk, page)};
    pthread_mutex_lock(&disk->lock);
    const uint32_t objects = page->objects;
    pthread_mutex_unlock(&disk->lock);
    const char *wrong = empty_page(&emptying);
    free(emptying.window);
    if (wrong != NULL)
        disk_read_failed(disk, emptying.number, wrong);
    pthread_mutex_lock(&disk->lock);
    disk->stats.lost += page->objects; /* what could not be read; its stubs are found to be old later */
    disk->stats.page_evictions += objects > 0;
    page_free(disk, page);
    pthread_mutex_unlock(&disk->lock);
    return true;
}
