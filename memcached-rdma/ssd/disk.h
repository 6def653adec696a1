/* SPDX-License-Identifier: Apache-2.0
 * disk.h - items on disk: files cut into pages, written once from their start to their end, read one by one, and emptied in the
 * order in which they were written.
 *
 *   disk_put --> buffer (a ring of bytes) --> disk_write --> page --> disk_reader_read, disk_reclaim
 *
 * D1 a record lies in one page, and is in the buffer until all of it is in the file: readers find it in one or the other. D2 a
 * page gets another version before it is written again, and the checksum of a record holds it: what a late reader finds there
 * is never taken for the item. D3 a failure of writing, or DISK_FAILURES of reading, ends the use of all
 * files for this start, with one line of the log; every item there is lost, and none is shown.
 * Threads: any may call. `lock` is a leaf. Writing and reclaim are for one thread, the disk's own. */
#ifndef MC_SSD_DISK_H
#define MC_SSD_DISK_H

#include "ssd/path.h"
#include "ssd/record.h"

#define DISK_FILES_MAX 16u
#define DISK_THREADS_MAX 64u
#define DISK_FAILURES 3u

typedef struct disk disk_t;

typedef struct disk_config {
    const disk_file_t *files;
    unsigned file_count;
    size_t page_bytes;
    size_t buffer_bytes; /* of the ring; at least two records of item_max are made of it */
    size_t item_max;     /* of key, value and header in the store */
    bool no_uring;       /* reads by threads, as where the kernel refuses io_uring */
    unsigned threads;    /* that read then, at most DISK_THREADS_MAX; 0 is 1 */
    void (*log)(void *arg, const char *line);
    void (*wake)(void *arg); /* there is something to write or to reclaim. Any thread; must not call the disk */
    void *arg;
} disk_config_t;

/* False: `error` has cause and cure, and no file is open. */
bool disk_open(const disk_config_t *config, disk_t **disk_p, char error[DISK_ERROR]);
/* Nobody uses it any more. */
void disk_close(disk_t *disk);
/* The files failed (D3): everything is in memory alone. */
bool disk_failed(const disk_t *disk);

/* ------------------------------------------------------------------------------------------- write */

/* A copy of the item goes to the buffer. False: the buffer is full, no page is free, or the files failed; never waits. */
bool disk_put(disk_t *disk, const disk_item_t *item, place_t *place_p);
/* So many bytes would find a place now. */
bool disk_has_room(disk_t *disk, size_t bytes);
/* Nobody refers to the record at this place any more. */
void disk_gone(disk_t *disk, const place_t *place, size_t key_bytes);
/* The page still holds the records that it held when the place was given. */
bool disk_has(disk_t *disk, const place_t *place);
/* Writes a piece of the buffer, if a worthwhile one is there; all: any piece. True: there is more. */
bool disk_write(disk_t *disk, bool all);
/* Writes everything, also from the kernel's cache. False: the files failed. */
bool disk_sync(disk_t *disk);

typedef enum disk_answer { DISK_DEAD, DISK_DROPPED, DISK_WANTED } disk_answer_t;

/* Whose the items are. */
typedef struct disk_owner {
    /* An item in a page that is emptied. Only with `keep` it may be wanted, and is written again; otherwise it goes. */
    disk_answer_t (*wants)(void *arg, const disk_item_t *item, const place_t *place, bool keep);
    /* It is at another place now. False: it was not wanted any more. */
    bool (*moved)(void *arg, const disk_item_t *item, const place_t *from, const place_t *to);
    void *arg;
} disk_owner_t;

/* Empties the oldest page if too few are free. What was read meanwhile is written again, at most half of a page: so at most as
 * many bytes are written again as new ones. True: a page became free. */
bool disk_reclaim(disk_t *disk, const disk_owner_t *owner);

/* -------------------------------------------------------------------------------------------- read */

typedef enum disk_result {
    DISK_OK,
    DISK_LOST,     /* the page holds other items: the item was moved, or is gone */
    DISK_BAD,      /* the record cannot be read, or has other bytes than those written */
    DISK_NO_MEMORY /* for the buffer */
} disk_result_t;

struct list_link;

/* One record on its way; the caller's. */
typedef struct disk_read {
    place_t place;
    size_t key_bytes;
    void (*done)(struct disk_read *read); /* NULL: was finished at once */
    disk_result_t result;
    disk_item_t item; /* DISK_OK: what was read, in `buffer` */
    char *buffer;     /* heap; the caller frees it */
    /* the disk's own */
    struct disk_read *next;
    size_t bytes, got;
    uint64_t at;
    int fd;
} disk_read_t;

/* Reads of one thread: by io_uring, or by threads of the disk where the kernel refuses it. */
typedef struct disk_reader disk_reader_t;

/* NULL: no memory or no descriptor. */
disk_reader_t *disk_reader_open(disk_t *disk);
/* Waits for what is under way; `done` is called. */
void disk_reader_close(disk_reader_t *reader);
/* Readable when reads are done. */
int disk_reader_fd(const disk_reader_t *reader);
/* True: finished at once. False: `done` will be called by disk_reader_reap. */
bool disk_reader_read(disk_reader_t *reader, disk_read_t *read);
/* Those since the last call begin. */
void disk_reader_submit(disk_reader_t *reader);
void disk_reader_reap(disk_reader_t *reader);

/* -------------------------------------------------------------------------------------- restart, counts */

/* What a restart needs to find the items again, beside their places. */
typedef struct disk_page_state_s {
    uint32_t version, used; /* 0: it is free; bytes from its start */
    uint64_t bytes;         /* that are referred to; no matter for a restart */
} disk_page_state_t;

uint64_t disk_instance(const disk_t *disk);
uint32_t disk_pages(const disk_t *disk);
size_t disk_page_bytes(const disk_t *disk);
disk_page_state_t disk_page_state(disk_t *disk, uint32_t page);
/* Before the first disk_put: the pages are as an earlier start left them, and nothing in them is referred to yet. versions: of
 * disk_pages() pages with their used bytes. */
void disk_restore(disk_t *disk, uint64_t instance, const disk_page_state_t *states);
/* One more record there is referred to. False: the place is not of these pages. */
bool disk_restore_item(disk_t *disk, const place_t *place, size_t key_bytes);
/* All that was to be restored was: pages without items are free. */
void disk_restored(disk_t *disk);

/* clang-format off */
#define DISK_COUNTERS(X)                                                                                               \
    X(page_allocs) X(page_evictions) X(page_reclaims) X(objects_evicted) X(objects_read) X(objects_written)            \
    X(bytes_evicted) X(bytes_written) X(bytes_read) X(rescues) X(lost) X(skipped) X(badcrc) X(failures) X(behind)
/* clang-format on */
#define DISK_FIELD(name) uint64_t name;
typedef struct disk_stats_s {
    DISK_COUNTERS(DISK_FIELD)
    uint64_t pages_free, pages_used, objects_used, bytes_used, bytes_fragmented, limit_maxbytes, io_queue,
        waiting; /* waiting: bytes in the buffer */
} disk_stats_t;
#undef DISK_FIELD

void disk_stats(disk_t *disk, disk_stats_t *stats);

#endif
