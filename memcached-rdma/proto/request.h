/* SPDX-License-Identifier: Apache-2.0
 * request.h - one command of a client, as every protocol gives it to the server. Texts point into the bytes that were parsed. */
#ifndef MC_PROTO_REQUEST_H
#define MC_PROTO_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_MAX 250u
#define OPAQUE_MAX 31u
#define LINE_MAX_BYTES 2048u  /* of a command line, except one that is a list of keys */
#define VALUE_MAX 2147483645u /* bytes that a command may announce */
#define META_FLAGS_MAX 24u

typedef struct text {
    const char *at;
    size_t length;
} text_t;

typedef enum request_kind {
    REQUEST_ERROR, /* `error` is the answer */
    REQUEST_GET,   /* get gets gat gats */
    REQUEST_PUT,   /* set add replace append prepend cas: a value follows */
    REQUEST_DELETE,
    REQUEST_DELTA, /* incr decr */
    REQUEST_TOUCH,
    REQUEST_META_GET,
    REQUEST_META_PUT, /* a value follows */
    REQUEST_META_DELETE,
    REQUEST_META_DELTA,
    REQUEST_META_NOOP,
    REQUEST_META_DEBUG,
    REQUEST_FLUSH,
    REQUEST_STATS,
    REQUEST_VERSION,
    REQUEST_VERBOSITY,
    REQUEST_MEMORY, /* cache_memlimit */
    REQUEST_SHUTDOWN,
    REQUEST_CRAWLER, /* lru_crawler */
    REQUEST_LRU,
    REQUEST_SLABS,
    REQUEST_WATCH,
    REQUEST_CERTIFICATES, /* refresh_certs */
    REQUEST_QUIT,
    REQUEST_HELLO, /* a client asks for messages; its hello is the key */
    REQUEST_ABSENT /* memcached has the command, this server does not have it yet */
} request_kind_t;

typedef enum put_mode { PUT_SET, PUT_ADD, PUT_REPLACE, PUT_APPEND, PUT_PREPEND, PUT_CAS } put_mode_t;

typedef struct meta_flag {
    char name;
    text_t token; /* what follows the name */
} meta_flag_t;

/* Tokens of flags. */
typedef struct meta_number {
    uint64_t value;
    bool given;
} meta_number_t;

typedef struct meta_seconds {
    int32_t value; /* as the client wrote it */
    bool given;
} meta_seconds_t;

/* The members from `binary` on keep the flags of flags.def. */
typedef struct meta {
    meta_flag_t flags[META_FLAGS_MAX]; /* in the order of the request: answers follow it */
    unsigned count;
    char key[KEY_MAX]; /* the decoded key of flag b; the request's key points here then */
    text_t shown_key;  /* as the client wrote it */
    bool binary, value, quiet, no_update, stale, empty, pinned;
    char mode; /* 0: none */
    meta_number_t compare, own_cas, initial, delta, client_flags;
    meta_seconds_t ttl, vivify, recache;
} meta_t;

/* A request of the binary protocol: what its answer needs. */
typedef struct packet {
    bool speaks;                 /* the request came as a packet */
    bool quiet;                  /* get: no answer to a miss; others: none to success */
    bool shows_key, shows_value; /* get */
    bool sets;                   /* set, also with a CAS id to compare */
    bool ends;                   /* with an error: the connection ends behind the answer */
    uint8_t opcode;
    uint8_t plain;   /* the opcode of the same command that is not quiet */
    uint16_t status; /* of REQUEST_ERROR */
    uint32_t opaque;
} packet_t;

typedef struct request {
    request_kind_t kind;
    text_t command; /* its name */
    text_t key;
    text_t rest;         /* get: all keys; stats: arguments, otherwise what follows the name */
    const char *checked; /* get: keys of `rest` up to here are known to be right; NULL: none */
    uint64_t resume;     /* stats, dumps: where a long answer goes on; 0: from its start */
    uint64_t shown;      /* and how much of it there was before */
    const char *error;   /* one line, without its end */
    int client;          /* socket of the client; 0: it came by message */
    bool noreply;
    bool swallow; /* with an error: the value of `value_bytes` follows, and is not a command */
    bool cas;     /* get: with CAS ids */
    bool touch;   /* get: with another expiry */
    bool decrement;
    put_mode_t mode;
    uint32_t client_flags;
    int32_t exptime;  /* seconds, as the client wrote them */
    bool has_exptime; /* flush_all */
    uint64_t number;  /* delta, CAS id to compare, megabytes */
    size_t value_bytes;
    packet_t packet;
    meta_t meta; /* of REQUEST_META_* only */
} request_t;

static inline bool request_has_value(const request_t *request)
{
    return request->kind == REQUEST_PUT || request->kind == REQUEST_META_PUT;
}

static inline bool text_is(text_t text, const char *word)
{
    size_t i = 0;
    while (i < text.length && word[i] != '\0' && text.at[i] == word[i])
        i++;
    return i == text.length && word[i] == '\0';
}

#endif
