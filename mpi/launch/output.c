/* SPDX-License-Identifier: Apache-2.0
 * output.c - the ranks' output, in whole lines, so that lines of two ranks never mix.
 */
#include "launch/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    char label[16];
    if (job->labels)
        write_all(stream->target, label, (size_t)snprintf(label, sizeof(label), "[%d] ", one->number));
    write_all(stream->target, stream->line, length);
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
