/* SPDX-License-Identifier: Apache-2.0
 * reader.c - reads of one thread, many at a time: from the buffer, by io_uring, or by the disk's threads. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ssd/pages.h"
#include "ssd/threads.h"
#include "ssd/uring.h"

#define READS_MOST 64u                /* under way */
#define BYTES_MOST ((size_t)32 << 20) /* of their buffers, if they are more than one */

typedef struct reads {
    disk_read_t *first, *last;
} reads_t;

struct disk_reader {
    disk_t *disk;
    uring_t *uring; /* NULL: the disk's threads read */
    int event;
    unsigned running;
    size_t running_bytes;
    reads_t queued;
    pthread_mutex_t lock; /* of `finished` */
    reads_t finished;
};

static void push(reads_t *reads, disk_read_t *read)
{
    read->next = NULL;
    if (reads->first == NULL)
        reads->first = read;
    else
        reads->last->next = read;
    reads->last = read;
}

static disk_read_t *pop(reads_t *reads)
{
    disk_read_t *read = reads->first;
    if (read != NULL)
        reads->first = read->next;
    return read;
}

/* Once for all readers. */
static void tell_threads(disk_t *disk, unsigned threads, int error)
{
    char line[DISK_ERROR];
    if (atomic_exchange_explicit(&disk->told, true, memory_order_relaxed) || disk->log == NULL)
        return;
    (void)snprintf(line, sizeof(line), "ext_path: %s the files, as io_uring is not to be had: %s",
                   threads == 1 ? "a thread reads" : "threads read",
                   error == 0 ? "it is switched off" : strerror(error));
    disk->log(disk->arg, line);
}

disk_reader_t *disk_reader_open(disk_t *disk)
{
    disk_reader_t *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return NULL;
    reader->disk = disk;
    pthread_mutex_init(&reader->lock, NULL);
    reader->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    errno = 0;
    if (reader->event >= 0 && !disk->no_uring)
        reader->uring = uring_open(READS_MOST, reader->event);
    int error = errno;
    unsigned threads = reader->event >= 0 && reader->uring == NULL ? threads_open(disk) : 0;
    if (threads > 0)
        tell_threads(disk, threads, error);
    if (reader->uring != NULL || threads > 0)
        return reader;
    disk_reader_close(reader);
    return NULL;
}

int disk_reader_fd(const disk_reader_t *reader)
{
    return reader->event;
}

void disk_reader_close(disk_reader_t *reader)
{
    if (reader == NULL)
        return;
    disk_reader_submit(reader);
    while (reader->running > 0) {
        struct pollfd event = {.fd = reader->event, .events = POLLIN};
        (void)poll(&event, 1, -1);
        disk_reader_reap(reader);
    }
    uring_close(reader->uring);
    if (reader->event >= 0)
        (void)close(reader->event);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
}

/* ------------------------------------------------------------------------------------------ results */

/* What the bytes are that came. */
static disk_result_t check(disk_t *disk, disk_read_t *read)
{
    bool right = record_read(read->buffer, read->bytes, disk->instance, &read->place, &read->item);
    pthread_mutex_lock(&disk->lock);
    bool current = page_of(disk, &read->place) != NULL;
    disk->stats.objects_read += right;
    disk->stats.bytes_read += right ? read->bytes : 0;
    disk->stats.badcrc += !right && current;
    pthread_mutex_unlock(&disk->lock);
    return right ? DISK_OK : current ? DISK_BAD : DISK_LOST; /* D2 */
}

/* got: bytes, or negative errno. */
static disk_result_t result_of(disk_t *disk, disk_read_t *read, ssize_t got)
{
    if (got == (ssize_t)read->bytes)
        return check(disk, read);
    disk_read_failed(disk, read->place.page, got < 0 ? strerror((int)-got) : "the file is shorter than it was");
    return DISK_BAD;
}

static void finish(disk_reader_t *reader, disk_read_t *read)
{
    reader->running--;
    reader->running_bytes -= read->bytes;
    (void)atomic_fetch_sub_explicit(&reader->disk->reading, 1, memory_order_relaxed);
    read->done(read);
}

/* On a thread of the disk. */
static void finish_elsewhere(disk_reader_t *reader, disk_read_t *read, ssize_t got)
{
    read->result = result_of(reader->disk, read, got);
    pthread_mutex_lock(&reader->lock);
    push(&reader->finished, read);
    pthread_mutex_unlock(&reader->lock);
    (void)eventfd_write(reader->event, 1);
}

static void prepare(disk_reader_t *reader, disk_read_t *read)
{
    uring_read(reader->uring, read->fd, read->buffer + read->got, (uint32_t)(read->bytes - read->got),
               read->at + read->got, read);
}

/* A read of the kernel's ring has ended, or goes on where it was cut short. */
static void take_result(disk_reader_t *reader, disk_read_t *read, int32_t result)
{
    if (result == -EINTR || result == -EAGAIN || (result > 0 && read->got + (size_t)result < read->bytes)) {
        read->got += result > 0 ? (size_t)result : 0;
        prepare(reader, read);
        return;
    }
    read->result = result_of(reader->disk, read, result < 0 ? result : (ssize_t)read->got + result);
    finish(reader, read);
}

void disk_reader_reap(disk_reader_t *reader)
{
    eventfd_t value;
    void *owner;
    int32_t result;
    (void)eventfd_read(reader->event, &value);
    while (reader->uring != NULL && uring_next(reader->uring, &owner, &result))
        take_result(reader, owner, result);
    pthread_mutex_lock(&reader->lock);
    reads_t finished = reader->finished;
    reader->finished = (reads_t){0};
    pthread_mutex_unlock(&reader->lock);
    for (disk_read_t *read = pop(&finished); read != NULL; read = pop(&finished))
        finish(reader, read);
    disk_reader_submit(reader);
}

/* ------------------------------------------------------------------------------------------- begin */

/* From the buffer, or that there is nothing to read any more. False: it is in its file. */
static bool read_at_once(disk_t *disk, disk_read_t *read)
{
    pthread_mutex_lock(&disk->lock);
    const page_t *page = page_of(disk, &read->place);
    bool waits = page != NULL && page->stream + read->place.offset + read->bytes > disk->tail;
    read->result = disk_failed(disk) ? DISK_BAD : page == NULL ? DISK_LOST : DISK_OK;
    if (read->result == DISK_OK && waits) {
        read->buffer = malloc(read->bytes);
        if (read->buffer == NULL)
            read->result = DISK_NO_MEMORY;
        else
            buffer_copy(disk, page->stream + read->place.offset, read->buffer, read->bytes);
    }
    pthread_mutex_unlock(&disk->lock);
    if (read->buffer != NULL)
        read->result = check(disk, read);
    return waits || read->result != DISK_OK;
}

bool disk_reader_read(disk_reader_t *reader, disk_read_t *read)
{
    off_t at;
    read->bytes = record_bytes(read->key_bytes, read->place.value_bytes);
    read->got = 0;
    read->buffer = NULL;
    if (read_at_once(reader->disk, read))
        return true;
    read->fd = page_file(reader->disk, read->place.page, &at)->fd;
    read->at = (uint64_t)at + read->place.offset;
    push(&reader->queued, read);
    return false;
}

static bool has_place(const disk_reader_t *reader)
{
    const disk_read_t *next = reader->queued.first;
    return next != NULL && reader->running < READS_MOST &&
           (reader->running == 0 || reader->running_bytes + next->bytes <= BYTES_MOST);
}

static void begin(disk_reader_t *reader, disk_read_t *read)
{
    reader->running++;
    reader->running_bytes += read->bytes;
    (void)atomic_fetch_add_explicit(&reader->disk->reading, 1, memory_order_relaxed);
    read->buffer = malloc(read->bytes);
    if (read->buffer == NULL) {
        read->result = DISK_NO_MEMORY;
        pthread_mutex_lock(&reader->lock);
        push(&reader->finished, read);
        pthread_mutex_unlock(&reader->lock);
        (void)eventfd_write(reader->event, 1);
    } else if (reader->uring != NULL) {
        prepare(reader, read);
    } else {
        threads_read(reader->disk, reader, read, finish_elsewhere);
    }
}

void disk_reader_submit(disk_reader_t *reader)
{
    while (has_place(reader))
        begin(reader, pop(&reader->queued));
    if (reader->uring != NULL && !uring_submit(reader->uring, 0))
        (void)eventfd_write(reader->event, 1); /* the kernel has no memory for more now: again when the event is seen */
}
