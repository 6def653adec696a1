/* SPDX-License-Identifier: Apache-2.0
 * buffer.c - the way of records from memory to their page: a ring of bytes, in the order of the pages. */
#include <errno.h>
#include <unistd.h>

#include "ssd/pages.h"

#define PIECE_BYTES ((size_t)1 << 20) /* of one write; a smaller one waits for more, unless a page ends */

/* --------------------------------------------------------------------------------------------- in */

static void fill(disk_t *disk, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        size_t at = (size_t)(disk->head % disk->capacity);
        size_t step = length < disk->capacity - at ? length : disk->capacity - at;
        memcpy(disk->buffer + at, from, step);
        disk->head += step;
        from += step;
        length -= step;
    }
}

static void write_record(disk_t *disk, const disk_item_t *item, size_t bytes, const place_t *place)
{
    static const char zeros[RECORD_UNIT];
    record_t record;
    record_make(&record, disk->instance, place, item);
    fill(disk, &record, sizeof(record));
    fill(disk, item->key, item->key_bytes);
    fill(disk, item->value, item->value_bytes);
    fill(disk, zeros, bytes - sizeof(record) - item->key_bytes - item->value_bytes);
}

/* The open page has space for so many bytes. */
static bool find_page(disk_t *disk, size_t bytes, bool again)
{
    if (disk->open != NULL && disk->open->used + bytes > disk->page_bytes) {
        disk->open->kind = PAGE_FULL;
        disk->open = NULL;
    }
    return disk->open != NULL || page_take(disk, again);
}

static bool append(disk_t *disk, const disk_item_t *item, bool again, place_t *place_p)
{
    size_t bytes = record_bytes(item->key_bytes, item->value_bytes);
    if (bytes > disk->page_bytes || disk_failed(disk))
        return false;
    if (disk->head - disk->tail + bytes > disk->capacity || !find_page(disk, bytes, again)) {
        disk->stats.behind++;
        return false;
    }
    page_t *page = disk->open;
    *place_p = (place_t){.page = page_number(disk, page),
                         .version = page->version,
                         .offset = page->used,
                         .value_bytes = item->value_bytes};
    write_record(disk, item, bytes, place_p);
    page->used += (uint32_t)bytes;
    page->bytes += bytes;
    page->objects++;
    disk->stats.objects_written++;
    return true;
}

/* A write is worth while, or nothing more can be put before a page is emptied. */
static bool has_work(const disk_t *disk)
{
    size_t enough = disk->capacity / 4 < PIECE_BYTES ? disk->capacity / 4 : PIECE_BYTES;
    return disk->head - disk->written >= enough || page_is_needed(disk);
}

bool disk_append(disk_t *disk, const disk_item_t *item, bool again, place_t *place_p)
{
    pthread_mutex_lock(&disk->lock);
    bool done = append(disk, item, again, place_p);
    bool work = has_work(disk);
    pthread_mutex_unlock(&disk->lock);
    if (work && !again && disk->wake != NULL)
        disk->wake(disk->arg);
    return done;
}

bool disk_put(disk_t *disk, const disk_item_t *item, place_t *place_p)
{
    return disk_append(disk, item, false, place_p);
}

bool disk_has_room(disk_t *disk, size_t bytes)
{
    pthread_mutex_lock(&disk->lock);
    bool page = disk->free_count > disk->reserve ||
                (disk->open != NULL && disk->open->used + bytes <= disk->page_bytes);
    bool room = !disk_failed(disk) && page && disk->head - disk->tail + bytes <= disk->capacity;
    pthread_mutex_unlock(&disk->lock);
    return room;
}

void buffer_copy(const disk_t *disk, uint64_t stream, char *to, size_t bytes)
{
    while (bytes > 0) {
        size_t at = (size_t)(stream % disk->capacity);
        size_t step = bytes < disk->capacity - at ? bytes : disk->capacity - at;
        memcpy(to, disk->buffer + at, step);
        stream += step;
        to += step;
        bytes -= step;
    }
}

/* -------------------------------------------------------------------------------------------- out */

typedef struct piece {
    const char *bytes;
    size_t length;
    const file_t *file;
    off_t at;
} piece_t;

/* The ring needs records no more that are wholly written (D1). */
static void leave_records(disk_t *disk)
{
    char header[sizeof(record_t)];
    while (disk->tail + sizeof(header) <= disk->written) {
        buffer_copy(disk, disk->tail, header, sizeof(header));
        size_t bytes = record_claims(header);
        if (disk->tail + bytes > disk->written)
            break;
        disk->tail += bytes;
    }
}

/* The page in which `written` is; pages that are wholly written are left. NULL: nothing waits. */
static page_t *page_to_write(disk_t *disk)
{
    while (!list_empty(&disk->stream)) {
        page_t *page = container_of(disk->stream.next, page_t, link);
        if (page->stream + page->used > disk->tail || page->kind == PAGE_OPEN)
            return page;
        list_remove(&page->link);
        list_append(&disk->full, &page->link);
        page_free_if_empty(disk, page);
    }
    return NULL;
}

/* False: nothing is worth a write. */
static bool next_piece(disk_t *disk, bool all, piece_t *piece)
{
    page_t *page = page_to_write(disk);
    if (page == NULL || (!all && !has_work(disk) && page->kind == PAGE_OPEN))
        return false;
    size_t at = (size_t)(disk->written % disk->capacity);
    uint64_t left = page->stream + page->used - disk->written;
    size_t most = disk->capacity - at < PIECE_BYTES ? disk->capacity - at : PIECE_BYTES;
    off_t start;
    *piece = (piece_t){.bytes = disk->buffer + at, .length = left < most ? (size_t)left : most};
    piece->file = page_file(disk, page_number(disk, page), &start);
    piece->at = start + (off_t)(disk->written - page->stream);
    return piece->length > 0;
}

static bool write_whole(const piece_t *piece)
{
    for (size_t done = 0; done < piece->length;) {
        ssize_t wrote = pwrite(piece->file->fd, piece->bytes + done, piece->length - done, piece->at + (off_t)done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote == 0)
            errno = ENOSPC;
        if (wrote <= 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

bool disk_write(disk_t *disk, bool all)
{
    piece_t piece;
    pthread_mutex_lock(&disk->lock);
    bool has = !disk_failed(disk) && next_piece(disk, all, &piece);
    pthread_mutex_unlock(&disk->lock);
    if (!has)
        return false;
    if (!write_whole(&piece)) { /* without the lock: only this thread moves `written` and `tail` */
        disk_fail(disk, "writing", piece.file->path, strerror(errno));
        return false;
    }
    pthread_mutex_lock(&disk->lock);
    disk->written += piece.length;
    leave_records(disk);
    disk->stats.bytes_written += piece.length;
    (void)page_to_write(disk);
    pthread_mutex_unlock(&disk->lock);
    return true;
}

bool disk_sync(disk_t *disk)
{
    while (disk_write(disk, true))
        ;
    for (unsigned i = 0; i < disk->file_count; i++)
        if (fdatasync(disk->files[i].fd) != 0 && errno != EINVAL && errno != EROFS)
            disk_fail(disk, "writing", disk->files[i].path, strerror(errno));
    return !disk_failed(disk);
}
