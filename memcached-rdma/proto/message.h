/* SPDX-License-Identifier: Apache-2.0
 * message.h - requests and answers as active messages of the core. Pure: bytes in, structs out, and back. Little endian.
 *
 *   request   0 u8 op | 1 u8 flags | 2 u8 mode | 3 u8 key bytes | 4 u32 id | 8 u32 client flags | 12 i32 exptime
 *            16 u64 number: CAS id to compare, delta, or count of keys | 24 u64 initial | 32 key
 *             data: the key, with MESSAGE_KEY_IN_DATA; then the value (put) or the keys (get of several)
 *   answer    0 u32 id | 4 u8 code | 5 u8[3] 0 | 8 u32 client flags | 12 u32 seconds to live | 16 u64 CAS id
 *            24 u64 number: result of a delta, or how many keys of a list are answered
 *             data: the value, or an entry for each key that was found: head, value
 *   entry     0 u32 index of the key | 4 u32 client flags | 8 u64 CAS id | 16 u32 value bytes | 20 u32 seconds to live
 *   keys      u8 length, bytes, for each
 *
 * A key longer than MESSAGE_KEY_INLINE begins the data. Decoders refuse what they do not know. */
#ifndef MC_PROTO_MESSAGE_H
#define MC_PROTO_MESSAGE_H

#include "proto/request.h"

#define MESSAGE_REQUEST 1u /* ids of active messages */
#define MESSAGE_ANSWER 2u

#define MESSAGE_HEAD 32u         /* bytes before the key; of an answer all of it */
#define MESSAGE_KEY_INLINE 160u  /* bytes of a key that fit into the header */
#define MESSAGE_ENTRY 24u        /* bytes before the value of an entry */
#define MESSAGE_KEYS_BYTES 3584u /* of a list of keys: always sent eagerly */
#define MESSAGE_KEYS_MAX 1024u
#define MESSAGE_FOREVER UINT32_MAX /* seconds to live */

typedef enum message_op {
    MESSAGE_GET = 1,
    MESSAGE_GET_LIST,
    MESSAGE_PUT,
    MESSAGE_DELETE,
    MESSAGE_DELTA,
    MESSAGE_TOUCH,
    MESSAGE_NOOP, /* no key, no data; is answered */
    MESSAGE_OPS
} message_op_t;

#define MESSAGE_HAS_TTL 1u     /* get: touches the item */
#define MESSAGE_HAS_COMPARE 2u /* put, delete: number is a CAS id */
#define MESSAGE_HAS_INITIAL 4u /* delta: a missing item is created with `initial` and this exptime */
#define MESSAGE_DECREMENT 8u
#define MESSAGE_KEY_IN_DATA 16u
#define MESSAGE_PINNED 32u /* put: the item is pinned; delete: it is released, and stays */

typedef struct message_request {
    uint8_t op, flags, mode, key_bytes; /* mode: put_mode_t */
    uint32_t id, client_flags;
    int32_t exptime;
    uint64_t number, initial;
} message_request_t;

typedef enum message_code {
    MESSAGE_OK,
    MESSAGE_NOT_FOUND,
    MESSAGE_EXISTS,
    MESSAGE_NOT_STORED,
    MESSAGE_TOO_LARGE,
    MESSAGE_NO_MEMORY,
    MESSAGE_NON_NUMERIC,
    MESSAGE_INVALID, /* the request makes no sense */
    MESSAGE_CODES
} message_code_t;

typedef struct message_answer {
    uint32_t id;
    uint8_t code; /* message_code_t */
    uint32_t client_flags, ttl;
    uint64_t cas, number;
} message_answer_t;

/* The number of a noop's answer: whether the client may read one-sided. */
enum {
    MESSAGE_READS_ALLOWED = 1, /* data: the key of the published page */
    MESSAGE_READS_OFF,
    MESSAGE_READS_USER, /* they are for the server's own user, and the kernel says that the client is another one */
    MESSAGE_READS_HOST, /* they go over shared memory, and the client came by another transport */
    MESSAGE_READS
};

typedef struct message_entry {
    uint32_t index, client_flags;
    uint64_t cas;
    uint32_t value_bytes, ttl;
} message_entry_t;

/* `key` is NULL when it is in the data. Returns the length of the header. `header` has space for MESSAGE_HEAD +
 * MESSAGE_KEY_INLINE bytes. */
size_t message_request_encode(const message_request_t *request, const char *key, uint8_t *header);
/* Checks everything that does not depend on the data; false: malformed. *key_p: the key in the header, NULL when it is in the
 * data or there is none. */
bool message_request_decode(const void *header, size_t length, message_request_t *request, const char **key_p);
/* The same request for exec: `bytes` of data follow, key excluded. A key has any bytes: one that the text protocol cannot name is
 * as one of flag b. False: the key is too long, or the data are not those of the request. */
bool message_to_request(const message_request_t *message, const char *key, size_t bytes, request_t *request);
/* The next key of a list; false: the list ends here or is malformed, rest->length says which. */
bool message_next_key(text_t *rest, text_t *key_p);
/* Whether memcached's text protocol can name this key. */
bool message_key_valid(const char *key, size_t length);

void message_answer_encode(const message_answer_t *answer, uint8_t header[MESSAGE_HEAD]);
bool message_answer_decode(const void *header, size_t length, message_answer_t *answer);
void message_entry_encode(const message_entry_t *entry, uint8_t head[MESSAGE_ENTRY]);
/* The next entry of an answer's data and its value; false: the data ends here or is malformed, rest->length says which. */
bool message_next_entry(text_t *rest, message_entry_t *entry, const char **value_p);

#endif
