/* SPDX-License-Identifier: Apache-2.0
 * pages.h - the disk's own: files, pages and the buffer, for the files of this folder. */
#ifndef MC_SSD_PAGES_H
#define MC_SSD_PAGES_H

#include <pthread.h>
#include <sys/types.h>

#include "base/atomics.h"
#include "base/list.h"
#include "ssd/disk.h"

typedef enum page_kind { PAGE_FREE, PAGE_OPEN, PAGE_FULL, PAGE_EMPTYING } page_kind_t;

typedef struct page {
    list_link_t link; /* in `free`, `stream` or `full` */
    uint64_t stream;  /* position in the stream of all bytes at which the page begins */
    uint64_t bytes;   /* of records that are referred to */
    uint32_t version;
    uint32_t used; /* bytes from its start */
    uint32_t objects;
    uint8_t kind; /* page_kind_t */
} page_t;

typedef struct file {
    int fd;
    uint32_t first, pages;
    char path[DISK_PATH];
} file_t;

struct disk {
    pthread_mutex_t lock;
    file_t files[DISK_FILES_MAX];
    unsigned file_count;
    page_t *pages;
    uint32_t page_count, free_count, reserve; /* reserve: pages for what is written again */
    size_t page_bytes;
    uint64_t instance; /* of this start, and of those that it continues */
    uint32_t next_version;
    list_link_t free, stream, full; /* stream: not wholly written yet; both of them the oldest first */
    page_t *open;                   /* where records are appended; NULL: none */
    char *buffer;
    size_t capacity;
    /* Positions in the stream: what is put next, what is written next, and the start of the first record of which a part is not
     * written. The ring has all from there on. */
    uint64_t head, written, tail;
    disk_stats_t stats;
    unsigned read_failures;
    _Atomic bool failed;
    bool no_uring;
    _Atomic uint64_t reading; /* reads under way */
    _Atomic bool told;        /* that threads read */
    unsigned threads_wanted;
    struct disk_threads *threads; /* NULL: nobody has needed them */
    void (*log)(void *arg, const char *line);
    void (*wake)(void *arg);
    void *arg;
};

static inline uint32_t page_number(const disk_t *disk, const page_t *page)
{
    return (uint32_t)(page - disk->pages);
}

/* The file of a page, and where the page begins in it. */
const file_t *page_file(const disk_t *disk, uint32_t number, off_t *at_p);
/* The page of a place; NULL: it holds other items, or there is no such page. The lock. */
page_t *page_of(disk_t *disk, const place_t *place);
/* Nothing in the page is referred to, and all of it is written: it is free. The lock. */
void page_free_if_empty(disk_t *disk, page_t *page);
void page_free(disk_t *disk, page_t *page);
/* The open page is full soon, and there is no other one for what comes. The lock. */
bool page_is_needed(const disk_t *disk);
/* A free page becomes the open one. False: there is none; again: the reserve may be used. The lock. */
bool page_take(disk_t *disk, bool again);
/* disk_put; again: of what is written again. */
bool disk_append(disk_t *disk, const disk_item_t *item, bool again, place_t *place_p);
/* Bytes of the stream, from the buffer. The lock. */
void buffer_copy(const disk_t *disk, uint64_t stream, char *to, size_t bytes);
/* D3. cause: errno, or 0 and a text. */
void disk_fail(disk_t *disk, const char *what, const char *path, const char *cause);
/* A read failed, so many times that the files are given up: DISK_FAILURES. */
void disk_read_failed(disk_t *disk, uint32_t page, const char *cause);
/* Reads so many bytes; returns those that came, the rest is not there; negative: errno. */
ssize_t read_whole(int fd, char *to, size_t bytes, off_t at);

#endif
