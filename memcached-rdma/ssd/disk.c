/* SPDX-License-Identifier: Apache-2.0
 * disk.c - opening and closing files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "ssd/threads.h"

#define RECORDS_LEAST 2u   /* of the largest item, that the buffer holds */
#define PAGES_TO_RESCUE 3u /* with fewer no page is kept for what is written again */

static bool refuse(char error[DISK_ERROR], const char *path, const char *cause)
{
    (void)snprintf(error, DISK_ERROR, "%s: %s", path, cause);
    return false;
}

/* A regular file gets its size; a device must have it. Others, such as /dev/null or a pipe, lose what is
 * written. */
static bool fit_size(int fd, const disk_file_t *wanted, char error[DISK_ERROR])
{
    struct stat found;
    if (fstat(fd, &found) != 0)
        return refuse(error, wanted->path, strerror(errno));
    if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode))
        return refuse(error, wanted->path,
                      "it is neither a file nor a block device, so it would not keep the items; give one of these");
    if (S_ISREG(found.st_mode) && (uint64_t)found.st_size != wanted->bytes && ftruncate(fd, (off_t)wanted->bytes) != 0)
        return refuse(error, wanted->path, strerror(errno));
    off_t end = S_ISBLK(found.st_mode) ? lseek(fd, 0, SEEK_END) : (off_t)wanted->bytes;
    if (end < 0 || (uint64_t)end < wanted->bytes)
        return refuse(error, wanted->path, "the device is smaller than the size behind it; give a smaller size");
    return true;
}

static bool open_file(disk_t *disk, const disk_file_t *wanted, char error[DISK_ERROR])
{
    file_t *file = &disk->files[disk->file_count];
    uint64_t pages = wanted->bytes / disk->page_bytes;
    *file = (file_t){.first = disk->page_count, .pages = (uint32_t)pages};
    memcpy(file->path, wanted->path, sizeof(file->path));
    if (pages == 0)
        return refuse(error, wanted->path,
                      "it is smaller than a page; give it a larger size, or a smaller ext_page_size");
    if (disk->page_count + pages >= UINT32_MAX)
        return refuse(error, wanted->path, "too many pages; raise ext_page_size");
    file->fd = open(wanted->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600); /* the items are nobody else's */
    if (file->fd < 0)
        return refuse(error, wanted->path, strerror(errno));
    disk->file_count++;
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0)
        return refuse(error, wanted->path,
                      "another server uses it, or it is given twice; give each server a file of its own");
    disk->page_count += (uint32_t)pages;
    return fit_size(file->fd, wanted, error);
}

static bool open_files(disk_t *disk, const disk_config_t *config, char error[DISK_ERROR])
{
    if (config->item_max > config->page_bytes) {
        (void)snprintf(error, DISK_ERROR, "an item of -I does not fit into a page of %zu MiB; raise ext_page_size",
                       config->page_bytes >> 20);
        return false;
    }
    for (unsigned i = 0; i < config->file_count; i++)
        if (!open_file(disk, &config->files[i], error))
            return false;
    return true;
}

static bool make_pages(disk_t *disk, const disk_config_t *config)
{
    size_t least = RECORDS_LEAST * record_bytes(0, config->item_max);
    disk->capacity = config->buffer_bytes > least ? config->buffer_bytes : least;
    disk->buffer = malloc(disk->capacity);
    disk->pages = calloc(disk->page_count, sizeof(*disk->pages));
    if (disk->buffer == NULL || disk->pages == NULL)
        return false;
    for (uint32_t i = 0; i < disk->page_count; i++)
        list_append(&disk->free, &disk->pages[i].link);
    disk->free_count = disk->page_count;
    disk->reserve = disk->page_count >= PAGES_TO_RESCUE;
    disk->stats.limit_maxbytes = (uint64_t)disk->page_count * disk->page_bytes;
    return true;
}

bool disk_open(const disk_config_t *config, disk_t **disk_p, char error[DISK_ERROR])
{
    disk_t *disk = calloc(1, sizeof(*disk));
    (void)snprintf(error, DISK_ERROR, "no memory");
    if (disk == NULL)
        return false;
    *disk = (disk_t){.page_bytes = config->page_bytes,
                     .instance = os_random_u64(),
                     .next_version = 1,
                     .no_uring = config->no_uring,
                     .threads_wanted = config->threads == 0 ? 1 : config->threads,
                     .log = config->log,
                     .wake = config->wake,
                     .arg = config->arg};
    pthread_mutex_init(&disk->lock, NULL);
    list_init(&disk->free);
    list_init(&disk->full);
    list_init(&disk->stream);
    if (!open_files(disk, config, error) || !make_pages(disk, config)) {
        disk_close(disk);
        return false;
    }
    *disk_p = disk;
    return true;
}

void disk_close(disk_t *disk)
{
    if (disk == NULL)
        return;
    threads_close(disk);
    for (unsigned i = 0; i < disk->file_count; i++)
        (void)close(disk->files[i].fd);
    free(disk->buffer);
    free(disk->pages);
    pthread_mutex_destroy(&disk->lock);
    free(disk);
}
