/* SPDX-License-Identifier: Apache-2.0
 * tcp_tls.h - TLS 1.3 on a TCP connection (tl.tcp.tls). Both sides know the job key, so no certificates are needed: a
 * pre-shared key derived from it, with a Diffie-Hellman exchange, TLS_AES_128_GCM_SHA256. Who has no key gets nowhere.
 * The handshake runs inside read and write. Everything belongs to the worker's thread. */
#ifndef VBN_TL_TCP_TLS_H
#define VBN_TL_TCP_TLS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/status.h"

typedef struct tcp_tls_context tcp_tls_context_t; /* one per interface */
typedef struct tcp_tls tcp_tls_t;                 /* one per connection */

vbn_status_t tcp_tls_open(const uint8_t job_key[32], tcp_tls_context_t **context_p);
void tcp_tls_close(tcp_tls_context_t *context); /* after all its connections; NULL is allowed */
/* For the connected, non-blocking socket. NULL: no memory, recorded. */
tcp_tls_t *tcp_tls_attach(tcp_tls_context_t *context, int fd, bool initiator);
void tcp_tls_free(tcp_tls_t *tls); /* says good-bye if there is room; the socket stays open */
/* As sendmsg and recvmsg: bytes, or -1 with errno (EAGAIN; EPROTO: tcp_tls_reason() says why); read: 0 at the end. What
 * write did not take must be offered again first. read fills only the first piece. */
ssize_t tcp_tls_write(tcp_tls_t *tls, const struct iovec *pieces, size_t count);
ssize_t tcp_tls_read(tcp_tls_t *tls, const struct iovec *pieces);
/* The last write waits for bytes of the peer (handshake), not for room in the socket. */
bool tcp_tls_waits_for_peer(const tcp_tls_t *tls);
const char *tcp_tls_reason(const tcp_tls_t *tls);

#endif
