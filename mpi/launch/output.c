/* SPDX-License-Identifier: Apache-2.0
 * output.c - the ranks' output and our own lines, each in one write, so that lines of two never mix. A rank may end, or be ended,
 * in the middle of a line: what comes next from somebody else begins a new one.
 */
#include "launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL 16 /* of "[RANK] ", and what ends somebody else's line */

/* Whose line has no end yet, of stdout and stderr; NULL: nobody's. */
static const void *unfinished[3];

static const void **unfinished_of(int target)
{
    static int are_one = -1; /* a terminal, usually */
    struct stat out;
    struct stat err;
    if (are_one < 0)
        are_one = fstat(1, &out) == 0 && fstat(2, &err) == 0 && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
    return &unfinished[are_one ? 1 : target];
}

static void write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE) { /* nobody reads our output any more: we end, as any program does */
            (void)signal(SIGPIPE, SIG_DFL);
            (void)raise(SIGPIPE);
        }
        if (n < 0)
            return;
        bytes += n;
        length -= (size_t)n;
    }
}

static void put_out(const launch_job_t *job, const launch_rank_t *one, const launch_stream_t *stream, size_t length)
{
    char line[LABEL + LAUNCH_LINE];
    const void **open = unfinished_of(stream->target);
    int before = 0;
    if (*open != stream) /* not a part of a long line */
        before = snprintf(line, LABEL, *open != NULL ? "\n" : "");
    if (*open != stream && job->labels)
        before += snprintf(line + before, (size_t)(LABEL - before), "[%d] ", one->number);
    memcpy(line + before, stream->line, length);
    write_all(stream->target, line, (size_t)before + length);
    *open = stream->line[length - 1] == '\n' ? NULL : stream;
}

void launch_say(const char *format, ...)
{
    static const char begin[] = "mpiexec: ";
    char line[PIPE_BUF];
    const void **open = unfinished_of(STDERR_FILENO);
    const int before = snprintf(line, sizeof(line), "%s%s", *open != NULL ? "\n" : "", begin);
    const size_t room = sizeof(line) - (size_t)before - 1;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line + before, room, format, arguments);
    va_end(arguments);
    size_t end = (size_t)before + (length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1);
    line[end++] = '\n';
    write_all(STDERR_FILENO, line, end);
    *open = NULL;
}

static void drop(launch_stream_t *stream, size_t length)
{
    stream->length -= length;
    memmove(stream->line, stream->line + length, stream->length);
}

static void put_lines(const launch_job_t *job, const launch_rank_t *one, launch_stream_t *stream)
{
    char *end;
    while (stream->length > 0 &&
           ((end = memchr(stream->line, '\n', stream->length)) != NULL || stream->length == sizeof(stream->line))) {
        const size_t length = end == NULL ? stream->length : (size_t)(end + 1 - stream->line);
        put_out(job, one, stream, length);
        drop(stream, length);
    }
}

void launch_output_end(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream)
{
    if (stream->length > 0)
        put_out(job, one, stream, stream->length);
    stream->length = 0;
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

void launch_output_put(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream, const void *bytes,
                       size_t length)
{
    for (const char *at = bytes; length > 0;) {
        const size_t room = sizeof(stream->line) - stream->length;
        const size_t now = length < room ? length : room;
        memcpy(stream->line + stream->length, at, now);
        stream->length += now;
        at += now;
        length -= now;
        put_lines(job, one, stream);
    }
}

void launch_output_read(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream)
{
    for (;;) {
        const ssize_t n = read(stream->fd, stream->line + stream->length, sizeof(stream->line) - stream->length);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            launch_output_end(job, one, stream);
            return;
        }
        stream->length += (size_t)n;
        put_lines(job, one, stream);
    }
}
