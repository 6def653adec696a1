/* SPDX-License-Identifier: Apache-2.0
 * stream.c - buffers of a server's socket: bytes to send, bytes that came. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client/mc.h"

#define STREAM_FIRST (16u << 10)
#define STREAM_KEPT (1u << 20) /* a larger buffer goes when it is empty */

void stream_free(stream_t *stream)
{
    free(stream->bytes);
    *stream = (stream_t){0};
}

/* Space for so many bytes behind the end. */
static bool reserve(stream_t *stream, size_t length)
{
    if (stream->at == stream->end) {
        stream->at = stream->end = 0;
        if (stream->capacity > STREAM_KEPT)
            stream_free(stream);
    }
    if (stream->end + length <= stream->capacity)
        return true;
    if (stream->at > 0) {
        memmove(stream->bytes, stream->bytes + stream->at, stream->end - stream->at);
        stream->end -= stream->at;
        stream->at = 0;
    }
    size_t capacity = stream->capacity == 0 ? STREAM_FIRST : stream->capacity;
    while (capacity < stream->end + length)
        capacity *= 2;
    char *bytes = capacity == stream->capacity ? stream->bytes : realloc(stream->bytes, capacity);
    if (bytes == NULL)
        return false;
    stream->bytes = bytes;
    stream->capacity = capacity;
    return true;
}

bool stream_add(stream_t *stream, const void *bytes, size_t length)
{
    if (!reserve(stream, length))
        return false;
    if (length > 0)
        memcpy(stream->bytes + stream->end, bytes, length);
    stream->end += length;
    return true;
}

bool stream_fill(stream_t *stream, int fd)
{
    if (!reserve(stream, STREAM_FIRST / 2))
        return false;
    ssize_t got = recv(fd, stream->bytes + stream->end, stream->capacity - stream->end, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    stream->end += (size_t)got;
    return got > 0;
}

bool stream_line(stream_t *stream, text_t *line_p)
{
    const char *at = stream->bytes + stream->at;
    const char *end = stream->at == stream->end ? NULL : memchr(at, '\n', stream->end - stream->at);
    if (end == NULL)
        return false;
    size_t length = (size_t)(end - at);
    stream->at += length + 1;
    *line_p = (text_t){.at = at, .length = length > 0 && at[length - 1] == '\r' ? length - 1 : length};
    return true;
}

bool socket_flush(mc_server_t *server)
{
    stream_t *out = &server->out;
    while (out->at < out->end) {
        ssize_t sent = send(server->fd, out->bytes + out->at, out->end - out->at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        out->at += (size_t)sent;
    }
    return true;
}
