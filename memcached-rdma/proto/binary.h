/* SPDX-License-Identifier: Apache-2.0
 * binary.h - the binary protocol. Pure: bytes of a packet in, a request out, and back.
 *
 *   | magic 1 | opcode 1 | key bytes 2 | extras bytes 1 | type 1 | bucket or status 2 | body bytes 4 | opaque 4 | CAS id 8 |
 *   | extras | key | value |
 *
 * Numbers are big endian; the body is what follows the head. */
#ifndef MC_PROTO_BINARY_H
#define MC_PROTO_BINARY_H

#include "proto/reply.h"

#define BINARY_MAGIC 0x80u /* the first byte of every request, and of no line of the text protocol */
#define BINARY_HEAD 24u

typedef enum binary_status {
    BINARY_OK = 0,
    BINARY_NOT_FOUND = 1,
    BINARY_EXISTS = 2,
    BINARY_TOO_LARGE = 3,
    BINARY_INVALID = 4,
    BINARY_NOT_STORED = 5,
    BINARY_NON_NUMERIC = 6,
    BINARY_FORBIDDEN = 0x20,
    BINARY_UNKNOWN = 0x81,
    BINARY_NO_MEMORY = 0x82
} binary_status_t;

/* Parses the packet at the beginning of the bytes, but for a value that is to be stored. Returns the parsed length,
 * 0: more has to come. An error is REQUEST_ERROR with its status; a wrong magic is REQUEST_QUIT without an answer. */
size_t binary_parse(const char *bytes, size_t length, request_t *request);

/* An answer: its head and what stands in front of the value, whose bytes the caller adds. */
typedef struct binary_answer_s {
    uint64_t cas;
    text_t extras, key;
    size_t value_bytes;
} binary_answer_t;

void binary_answer(reply_t *reply, const packet_t *packet, const binary_answer_t *answer);
/* An error with its text; a miss that shows the key instead. */
void binary_error(reply_t *reply, const packet_t *packet, binary_status_t status);
void binary_miss(reply_t *reply, const packet_t *packet, text_t key);
void binary_put_u32(char *at, uint32_t number);
void binary_put_u64(char *at, uint64_t number);

#endif
