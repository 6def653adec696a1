/* SPDX-License-Identifier: Apache-2.0
 * sink.c - threads that write stdout and stderr.
 */
#include "launch/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct piece {
    char *bytes;
    size_t length;
    size_t room;
} piece_t;

/* All but fd and the piece that the thread holds is guarded by lock. */
typedef struct sink {
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t more;
    piece_t queue;
    size_t leaving; /* bytes that the thread has taken and not written */
    uint64_t written;
    int error;
} sink_t;

static sink_t sinks[2] = {{.fd = STDOUT_FILENO, .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER},
                          {.fd = STDERR_FILENO, .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER}};
static int have_threads;
static int event = -1;

int sink_of(int target)
{
    static int are_one = -1;
    struct stat out;
    struct stat err;
    if (are_one < 0)
        are_one = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
                  out.st_ino == err.st_ino;
    return are_one ? 0 : target == STDERR_FILENO;
}

/* Somebody else may have made the file non-blocking. 0, or errno. */
static int write_some(int fd, const char *bytes, size_t length, size_t *written_p)
{
    struct pollfd entry = {.fd = fd, .events = POLLOUT};
    const ssize_t n = write(fd, bytes, length);
    *written_p = n > 0 ? (size_t)n : 0;
    if (n >= 0 || errno == EINTR)
        return 0;
    if (errno != EAGAIN)
        return errno;
    return poll(&entry, 1, -1) < 0 && errno != EINTR ? errno : 0;
}

/* 0, or errno. */
static int write_all(sink_t *sink, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t n;
        const int error = write_some(sink->fd, bytes, length, &n);
        if (error != 0)
            return error;
        bytes += n;
        length -= n;
        (void)pthread_mutex_lock(&sink->lock);
        sink->written += n;
        (void)pthread_mutex_unlock(&sink->lock);
    }
    return 0;
}

/* How many of the bytes one write takes (S2). */
static size_t whole_lines(const char *bytes, size_t length)
{
    const char *end = memrchr(bytes, '\n', length < PIPE_BUF ? length : PIPE_BUF);
    if (end == NULL)
        end = memchr(bytes, '\n', length);
    return end == NULL ? length : (size_t)(end + 1 - bytes);
}

static void wake(void)
{
    const uint64_t one = 1;
    (void)!write(event, &one, sizeof(one));
}

static void take(sink_t *sink, piece_t *piece)
{
    const piece_t empty = *piece;
    (void)pthread_mutex_lock(&sink->lock);
    while (sink->queue.length == 0)
        (void)pthread_cond_wait(&sink->more, &sink->lock);
    *piece = sink->queue;
    sink->queue = (piece_t){.bytes = empty.bytes, .room = empty.room};
    sink->leaving = piece->length;
    (void)pthread_mutex_unlock(&sink->lock);
}

/* Who waits for room looks again when all that was taken has left. */
static void on_left(sink_t *sink, size_t length, int error)
{
    (void)pthread_mutex_lock(&sink->lock);
    const int is_news = sink->leaving == length || (error != 0 && sink->error == 0);
    sink->leaving -= length;
    if (sink->error == 0)
        sink->error = error;
    (void)pthread_mutex_unlock(&sink->lock);
    if (is_news)
        wake();
}

static void *write_on(void *argument)
{
    sink_t *sink = argument;
    piece_t piece = {0};
    int error = 0;
    for (;;) {
        take(sink, &piece);
        for (size_t at = 0; at < piece.length;) {
            const size_t length = whole_lines(piece.bytes + at, piece.length - at);
            if (error != EPIPE)
                error = write_all(sink, piece.bytes + at, length);
            at += length;
            on_left(sink, length, error);
        }
    }
    return NULL;
}

int sink_start(void)
{
    pthread_t thread;
    event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0)
        return -1;
    have_threads = 1;
    for (int i = 0; i <= sink_of(STDERR_FILENO) && have_threads; i++)
        have_threads = pthread_create(&thread, NULL, write_on, &sinks[i]) == 0 && pthread_detach(thread) == 0;
    return have_threads ? event : -1;
}

void sink_leave(void)
{
    have_threads = 0;
}

static int append(piece_t *queue, const char *bytes, size_t length)
{
    size_t room = queue->room > 0 ? queue->room : 2 * PIPE_BUF;
    while (room < queue->length + length)
        room *= 2;
    char *grown = room == queue->room ? queue->bytes : realloc(queue->bytes, room);
    if (grown == NULL)
        return -1;
    queue->bytes = grown;
    queue->room = room;
    memcpy(grown + queue->length, bytes, length);
    queue->length += length;
    return 0;
}

/* There is no thread, so nobody else. */
static void put_at_once(sink_t *sink, const char *bytes, size_t length)
{
    const int error = sink->error != EPIPE ? write_all(sink, bytes, length) : 0;
    if (sink->error == 0 || error == EPIPE)
        sink->error = error;
}

void sink_put(int target, const char *bytes, size_t length)
{
    sink_t *sink = &sinks[sink_of(target)];
    if (!have_threads) {
        put_at_once(sink, bytes, length);
        return;
    }
    (void)pthread_mutex_lock(&sink->lock);
    if (sink->error != EPIPE && append(&sink->queue, bytes, length) != 0 && sink->error == 0)
        sink->error = ENOMEM;
    (void)pthread_cond_signal(&sink->more);
    (void)pthread_mutex_unlock(&sink->lock);
}

size_t sink_waiting(int target)
{
    sink_t *sink = &sinks[sink_of(target)];
    (void)pthread_mutex_lock(&sink->lock);
    const size_t waiting = sink->queue.length + sink->leaving;
    (void)pthread_mutex_unlock(&sink->lock);
    return waiting;
}

int sink_is_full(int target)
{
    return sink_waiting(target) >= SINK_FULL;
}

int sink_error(int target)
{
    sink_t *sink = &sinks[sink_of(target)];
    (void)pthread_mutex_lock(&sink->lock);
    const int error = sink->error;
    (void)pthread_mutex_unlock(&sink->lock);
    return error;
}

uint64_t sink_written(void)
{
    uint64_t written = 0;
    for (int i = 0; i < 2; i++) {
        (void)pthread_mutex_lock(&sinks[i].lock);
        written += sinks[i].written;
        (void)pthread_mutex_unlock(&sinks[i].lock);
    }
    return written;
}

void sink_look(void)
{
    uint64_t count;
    (void)!read(event, &count, sizeof(count));
}
