/* SPDX-License-Identifier: Apache-2.0
 * reply.h - answers on their way out: text in a buffer, and values that stay where they are until they have been sent. One
 * thread. When the heap is exhausted, `failed` stays set and nothing more is added: the connection ends. */
#ifndef MC_PROTO_REPLY_H
#define MC_PROTO_REPLY_H

#include <sys/uio.h>

#include "proto/request.h"

/* Bytes elsewhere that belong between bytes of the buffer. */
typedef struct reply_piece_s {
    size_t at; /* position in the buffer */
    const char *bytes;
    size_t length;
    void *owner[2]; /* whose they are; the caller's own */
} reply_piece_t;

typedef struct reply {
    char *bytes;
    size_t length, capacity;
    size_t sent; /* of the buffer */
    reply_piece_t *pieces;
    unsigned piece_count, piece_capacity;
    unsigned first; /* piece that is to be sent next */
    size_t pending; /* bytes to send, buffer and pieces */
    bool failed;
} reply_t;

void reply_free(reply_t *reply);
void reply_bytes(reply_t *reply, const void *bytes, size_t length);
void reply_string(reply_t *reply, const char *string);
void reply_number(reply_t *reply, uint64_t number);
/* A line with its end. */
void reply_line(reply_t *reply, const char *line);
void reply_format(reply_t *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Bytes that stay in place; false: they were not added, and are still the caller's. */
bool reply_piece(reply_t *reply, const char *bytes, size_t length, void *owner0, void *owner1);

/* What is to be sent next; returns the number of entries, at most `most`. */
int reply_iov(const reply_t *reply, struct iovec *iov, int most);
/* Takes away what was sent; done is called for each piece that is through. */
void reply_sent(reply_t *reply, size_t bytes, void (*done)(reply_piece_t *piece));
/* Copies pieces not sent yet to the heap, but those that stay (NULL: none does); done is called for each that is copied. */
void reply_own(reply_t *reply, bool (*stays)(reply_piece_t *piece), void (*done)(reply_piece_t *piece));

#endif
