/* SPDX-License-Identifier: Apache-2.0
 * pages.c - pages, the end of their use, statistics. */
#include "ssd/pages.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define NEEDED_AT(bytes) ((bytes) / 4 * 3) /* of the open page: from here on the next one is emptied, if none is free */

const file_t *page_file(const disk_t *disk, uint32_t number, off_t *at_p)
{
    const file_t *file = disk->files;
    while (number >= file->first + file->pages)
        file++;
    *at_p = (off_t)((uint64_t)(number - file->first) * disk->page_bytes);
    return file;
}

page_t *page_of(disk_t *disk, const place_t *place)
{
    page_t *page = place->page < disk->page_count ? &disk->pages[place->page] : NULL;
    return page != NULL && page->kind != PAGE_FREE && page->version == place->version ? page : NULL;
}

void page_free(disk_t *disk, page_t *page)
{
    list_remove(&page->link);
    list_append(&disk->free, &page->link);
    page->kind = PAGE_FREE;
    page->used = page->objects = 0;
    page->bytes = 0;
    disk->free_count++;
    disk->stats.page_reclaims++;
}

void page_free_if_empty(disk_t *disk, page_t *page)
{
    if (page->kind == PAGE_FULL && page->objects == 0 && page->stream + page->used <= disk->tail)
        page_free(disk, page);
}

bool page_is_needed(const disk_t *disk)
{
    return disk->free_count <= disk->reserve && (disk->open == NULL || disk->open->used >= NEEDED_AT(disk->page_bytes));
}

bool page_take(disk_t *disk, bool again)
{
    if (disk->free_count <= (again ? 0 : disk->reserve))
        return false;
    page_t *page = container_of(list_pop(&disk->free), page_t, link);
    list_append(&disk->stream, &page->link);
    disk->free_count--;
    disk->stats.page_allocs++;
    page->kind = PAGE_OPEN;
    page->version = disk->next_version++; /* D2 */
    page->stream = disk->head;
    disk->open = page;
    return true;
}

void disk_gone(disk_t *disk, const place_t *place, size_t key_bytes)
{
    pthread_mutex_lock(&disk->lock);
    page_t *page = page_of(disk, place);
    if (page != NULL) {
        page->objects--;
        page->bytes -= record_bytes(key_bytes, place->value_bytes);
        page_free_if_empty(disk, page);
    }
    pthread_mutex_unlock(&disk->lock);
}

bool disk_has(disk_t *disk, const place_t *place)
{
    pthread_mutex_lock(&disk->lock);
    bool has = !disk_failed(disk) && page_of(disk, place) != NULL;
    pthread_mutex_unlock(&disk->lock);
    return has;
}

/* ------------------------------------------------------------------------------------------- the end */

bool disk_failed(const disk_t *disk)
{
    return atomic_get_relaxed(&disk->failed);
}

void disk_fail(disk_t *disk, const char *what, const char *path, const char *cause)
{
    char line[DISK_ERROR + DISK_PATH];
    if (atomic_exchange_explicit(&disk->failed, true, memory_order_acq_rel))
        return;
    (void)snprintf(line, sizeof(line),
                   "ext_path %s: %s: %s; items are in memory alone until the next start, those on disk are lost", path,
                   what, cause);
    if (disk->log != NULL)
        disk->log(disk->arg, line);
    if (disk->wake != NULL)
        disk->wake(disk->arg);
}

void disk_read_failed(disk_t *disk, uint32_t page, const char *cause)
{
    off_t at;
    pthread_mutex_lock(&disk->lock);
    disk->stats.failures++;
    bool last = ++disk->read_failures == DISK_FAILURES;
    pthread_mutex_unlock(&disk->lock);
    if (last)
        disk_fail(disk, "reading", page_file(disk, page, &at)->path, cause);
}

ssize_t read_whole(int fd, char *to, size_t bytes, off_t at)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t more = pread(fd, to + got, bytes - got, at + (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -errno;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

/* --------------------------------------------------------------------------------------- statistics */

void disk_stats(disk_t *disk, disk_stats_t *stats)
{
    pthread_mutex_lock(&disk->lock);
    *stats = disk->stats;
    stats->waiting = disk->head - disk->written;
    stats->pages_free = disk->free_count;
    stats->pages_used = disk->page_count - disk->free_count;
    for (uint32_t i = 0; i < disk->page_count; i++) {
        stats->objects_used += disk->pages[i].objects;
        stats->bytes_used += disk->pages[i].bytes;
    }
    pthread_mutex_unlock(&disk->lock);
    stats->bytes_fragmented = stats->pages_used * disk->page_bytes - stats->bytes_used;
    stats->io_queue = atomic_get_relaxed(&disk->reading);
}
