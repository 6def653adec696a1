/* SPDX-License-Identifier: Apache-2.0
 * output.c - the ranks' output, in whole lines, so that lines of two ranks never mix.
 */
#include "launch/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* nobody reads our output any more */
        bytes += n;
        length -= (size_t)n;
    }
}

static void put_out(const launch_job_t *job, int rank, const launch_stream_t *stream, size_t length)
{
    char label[16];
    if (job->labels)
        write_all(stream->target, label, (size_t)snprintf(label, sizeof(label), "[%d] ", rank));
    write_all(stream->target, stream->line, length);
}

static void drop(launch_stream_t *stream, size_t length)
{
    stream->length -= length;
    memmove(stream->line, stream->line + length, stream->length);
}

void launch_output_read(const launch_job_t *job, int rank, launch_stream_t *stream)
{
    for (;;) {
        const ssize_t n = read(stream->fd, stream->line + stream->length, sizeof(stream->line) - stream->length);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) { /* the end: what is left is a line, too */
            if (stream->length > 0)
                put_out(job, rank, stream, stream->length);
            stream->length = 0;
            close(stream->fd);
            stream->fd = -1;
            return;
        }
        stream->length += (size_t)n;
        char *end;
        while (stream->length > 0 &&
               ((end = memchr(stream->line, '\n', stream->length)) != NULL || stream->length == sizeof(stream->line))) {
            const size_t length = end == NULL ? stream->length : (size_t)(end + 1 - stream->line);
            put_out(job, rank, stream, length);
            drop(stream, length);
        }
    }
}
