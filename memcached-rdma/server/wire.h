/* SPDX-License-Identifier: Apache-2.0
 * wire.h - bytes of a connection: as they are, or by TLS. For the thread of the connection.
 *
 * A record that TLS could not send whole is kept until it has gone: OpenSSL wants the same bytes again, and the answers that come
 * meanwhile are others. */
#ifndef MC_SERVER_WIRE_H
#define MC_SERVER_WIRE_H

#include "server/server.h"

struct ssl_st;
struct msghdr;

typedef struct wire {
    struct ssl_st *ssl; /* NULL: no TLS */
    char *kept;         /* NULL: nothing */
    size_t kept_bytes;
    bool shaken; /* the handshake is done */
    bool dry;    /* the bytes that have arrived are no whole record of TLS */
    bool broken;
} wire_t;

/* False: no memory. */
bool wire_open(wire_t *wire, worker_t *worker, int fd);
void wire_close(wire_t *wire);
/* As recvmsg and sendmsg with MSG_DONTWAIT. */
ssize_t wire_receive(wire_t *wire, worker_t *worker, int fd, struct msghdr *message);
ssize_t wire_send(wire_t *wire, worker_t *worker, int fd, const struct msghdr *message);
/* Sends the bytes that the connection keeps. False: the client takes nothing now. */
bool wire_flush(wire_t *wire);
/* There are bytes that no event of the socket tells. */
bool wire_has_more(const wire_t *wire);

static inline bool wire_keeps(const wire_t *wire)
{
    return wire->kept != NULL;
}

#endif
