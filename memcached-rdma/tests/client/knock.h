/* SPDX-License-Identifier: Apache-2.0
 * knock.h - a client without the library, which may lie: it asks the server by message whether it may read one-sided. */
#ifndef MC_TESTS_CLIENT_KNOCK_H
#define MC_TESTS_CLIENT_KNOCK_H

#include <stddef.h>
#include <stdint.h>

enum { KNOCK_FAILED = -1, KNOCK_READS = 1, KNOCK_OFF, KNOCK_USER, KNOCK_HOST };

typedef struct visitor {
    int port;
    const char *key_file;   /* NULL: without authentication */
    const char *transports; /* as tl.enable */
    uint32_t says_user;     /* user id in its messages */
} visitor_t;

/* KNOCK_*; key_bytes_p: how long the key is that came with the answer. Failures write a line on stderr. */
int knock(const visitor_t *how, size_t *key_bytes_p);

#endif
