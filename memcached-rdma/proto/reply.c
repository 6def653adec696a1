/* SPDX-License-Identifier: Apache-2.0
 * reply.c - the buffer and the pieces of answers. */
#include "proto/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 2048u
#define FIRST_PIECES 8u

void reply_free(reply_t *reply)
{
    free(reply->bytes);
    free(reply->pieces);
    *reply = (reply_t){0};
}

static char *space(reply_t *reply, size_t length)
{
    if (reply->length + length > reply->capacity) {
        size_t capacity = reply->capacity == 0 ? FIRST_BYTES : reply->capacity;
        while (capacity < reply->length + length)
            capacity *= 2;
        char *bytes = realloc(reply->bytes, capacity);
        if (bytes == NULL) {
            reply->failed = true;
            return NULL;
        }
        reply->bytes = bytes;
        reply->capacity = capacity;
    }
    reply->length += length;
    reply->pending += length;
    return reply->bytes + reply->length - length;
}

void reply_bytes(reply_t *reply, const void *bytes, size_t length)
{
    char *to = reply->failed ? NULL : space(reply, length);
    if (to != NULL && length > 0)
        memcpy(to, bytes, length);
}

void reply_string(reply_t *reply, const char *string)
{
    reply_bytes(reply, string, strlen(string));
}

void reply_number(reply_t *reply, uint64_t number)
{
    char digits[20];
    unsigned at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    reply_bytes(reply, digits + at, sizeof(digits) - at);
}

void reply_line(reply_t *reply, const char *line)
{
    reply_string(reply, line);
    reply_bytes(reply, "\r\n", 2);
}

void reply_format(reply_t *reply, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length > 0)
        reply_bytes(reply, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

bool reply_piece(reply_t *reply, const char *bytes, size_t length, void *owner0, void *owner1)
{
    if (reply->failed)
        return false;
    if (reply->piece_count == reply->piece_capacity) {
        unsigned capacity = reply->piece_capacity == 0 ? FIRST_PIECES : reply->piece_capacity * 2;
        reply_piece_t *pieces = realloc(reply->pieces, capacity * sizeof(*pieces));
        if (pieces == NULL) {
            reply->failed = true;
            return false;
        }
        reply->pieces = pieces;
        reply->piece_capacity = capacity;
    }
    reply->pieces[reply->piece_count++] = (reply_piece_t){
        .at = reply->length, .bytes = bytes, .length = length, .owner = {owner0, owner1}};
    reply->pending += length;
    return true;
}

int reply_iov(const reply_t *reply, struct iovec *iov, int most)
{
    int count = 0;
    size_t at = reply->sent;
    for (unsigned i = reply->first; count < most; i++) {
        bool last = i == reply->piece_count;
        size_t end = last ? reply->length : reply->pieces[i].at;
        if (end > at)
            iov[count++] = (struct iovec){.iov_base = reply->bytes + at, .iov_len = end - at};
        if (last || count == most)
            break;
        iov[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)reply->pieces[i].bytes,
                                      .iov_len = reply->pieces[i].length};
        at = end;
    }
    return count;
}

static void restart(reply_t *reply)
{
    if (reply->pending > 0)
        return;
    reply->length = reply->sent = 0;
    reply->piece_count = reply->first = 0;
}

void reply_sent(reply_t *reply, size_t bytes, void (*done)(reply_piece_t *piece))
{
    reply->pending -= bytes;
    while (bytes > 0) {
        bool last = reply->first == reply->piece_count;
        reply_piece_t *piece = last ? NULL : &reply->pieces[reply->first];
        size_t text = (last ? reply->length : piece->at) - reply->sent;
        size_t step = text < bytes ? text : bytes;
        reply->sent += step;
        bytes -= step;
        if (piece == NULL || bytes == 0)
            continue;
        step = piece->length < bytes ? piece->length : bytes;
        piece->bytes += step;
        piece->length -= step;
        bytes -= step;
        if (piece->length == 0) {
            done(piece);
            reply->first++;
        }
    }
    restart(reply);
}

void reply_own(reply_t *reply, bool (*stays)(reply_piece_t *piece), void (*done)(reply_piece_t *piece))
{
    reply_t own = {.failed = reply->failed};
    size_t at = reply->sent;
    if (reply->first == reply->piece_count)
        return;
    for (unsigned i = reply->first; i <= reply->piece_count; i++) {
        bool last = i == reply->piece_count;
        size_t end = last ? reply->length : reply->pieces[i].at;
        if (end > at)
            reply_bytes(&own, reply->bytes + at, end - at);
        at = end;
        if (last)
            break;
        reply_piece_t *piece = &reply->pieces[i];
        if (stays != NULL && stays(piece) &&
            reply_piece(&own, piece->bytes, piece->length, piece->owner[0], piece->owner[1]))
            continue;
        reply_bytes(&own, piece->bytes, piece->length);
        done(piece);
    }
    reply_free(reply);
    *reply = own;
}
