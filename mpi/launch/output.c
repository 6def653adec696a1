/* SPDX-License-Identifier: Apache-2.0
 * output.c - the ranks' output and our own lines, put into the sinks line by line, so that lines of two never mix. A tag stands at
 * the start of a line only. A rank may end, or be ended, in the middle of a line, or wait there for an answer: what comes next
 * from somebody else begins a new one.
 */
#include "launch/launch.h"
#include "launch/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL 16  /* of "[RANK] ", and what ends somebody else's line */
#define PIECES 16 /* reads of one stream in its turn: more than a pipe holds */
/* A line that has no end yet is shown when no rank has written for so long, a prompt for one; or when it is so old. */
#define QUIET_NS 100000000
#define OLD_NS 1000000000

/* Whose line has no end yet, of each sink; NULL: nobody's. */
static const void *unfinished[2];
static int64_t last_output; /* of any rank, ns */

static const void **unfinished_of(int target)
{
    return &unfinished[sink_of(target)];
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
    sink_put(stream->target, line, (size_t)before + length);
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
    sink_put(STDERR_FILENO, line, end);
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
    const size_t before = stream->length;
    while (stream->length > 0 &&
           ((end = memchr(stream->line, '\n', stream->length)) != NULL || stream->length == sizeof(stream->line))) {
        const size_t length = end == NULL ? stream->length : (size_t)(end + 1 - stream->line);
        put_out(job, one, stream, length);
        drop(stream, length);
    }
    if (stream->length == 0)
        stream->since = 0;
    else if (stream->since == 0 || stream->length != before) /* its rest is a new one */
        stream->since = last_output;
}

static void put_rest(const launch_job_t *job, const launch_rank_t *one, launch_stream_t *stream)
{
    if (stream->length > 0)
        put_out(job, one, stream, stream->length);
    stream->length = 0;
    stream->since = 0;
}

void launch_output_end(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream)
{
    put_rest(job, one, stream);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

void launch_output_put(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream, const void *bytes,
                       size_t length)
{
    last_output = launch_now();
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

int launch_output_read(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream, int always)
{
    for (int i = 0; i < PIECES && (always || !sink_is_full(stream->target)); i++) {
        const ssize_t n = read(stream->fd, stream->line + stream->length, sizeof(stream->line) - stream->length);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0) {
            launch_output_end(job, one, stream);
            return 0;
        }
        last_output = launch_now();
        stream->length += (size_t)n;
        put_lines(job, one, stream);
    }
    return 1;
}

/* When the rest of a stream is shown, ns. */
static int64_t due_of(const launch_stream_t *stream)
{
    const int64_t quiet = last_output + QUIET_NS;
    return quiet < stream->since + OLD_NS ? quiet : stream->since + OLD_NS;
}

/* Whether nothing was read for a sink that was full, until now: what its ranks write meanwhile nobody has seen. */
static int was_held(int target)
{
    static int was_full[2];
    int *full = &was_full[target - 1];
    const int before = *full;
    *full = sink_is_full(target);
    if (before || *full)
        last_output = launch_now();
    return before || *full;
}

static int has_more(const launch_stream_t *stream)
{
    int bytes = 0;
    return stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

int launch_output_due(launch_job_t *job)
{
    const int held[] = {was_held(STDOUT_FILENO), was_held(STDERR_FILENO)};
    const int64_t now = launch_now();
    int64_t first = INT64_MAX;
    for (int i = 0; i < 2 * job->size; i++) {
        launch_rank_t *one = &job->ranks[i / 2];
        launch_stream_t *stream = &one->streams[i % 2];
        int64_t due = due_of(stream);
        if (stream->length == 0)
            continue;
        if (held[i % 2] || (due <= now && has_more(stream)))
            due = (stream->since = now) + QUIET_NS;
        if (due <= now)
            put_rest(job, one, stream);
        else if (due < first)
            first = due;
    }
    return first == INT64_MAX ? -1 : (int)((first - now) / 1000000) + 1;
}
