/* SPDX-License-Identifier: Apache-2.0
 * wire.c - bytes of a connection, plain or by TLS. */
#include "server/wire.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/tls.h"

bool wire_open(wire_t *wire, worker_t *worker, int fd)
{
    wire->ssl = tls_accept(worker->server, fd);
    return wire->ssl != NULL;
}

void wire_close(wire_t *wire)
{
    if (wire->ssl == NULL)
        return;
    ERR_clear_error();
    if (wire->shaken && !wire->broken)
        (void)SSL_shutdown(wire->ssl);
    SSL_free(wire->ssl);
    free(wire->kept);
    ERR_clear_error();
    *wire = (wire_t){0};
}

bool wire_has_more(const wire_t *wire)
{
    return wire->ssl != NULL && !wire->dry && SSL_has_pending(wire->ssl) != 0;
}

/* Returns what recvmsg would: 0 at the end, -1 with EAGAIN, or with another error. */
static ssize_t result_of(wire_t *wire, int result)
{
    switch (SSL_get_error(wire->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default:
        wire->broken = true;
        errno = ECONNRESET;
        return -1;
    }
}

/* Counts a handshake that has just ended, well or not. */
static void note_handshake(wire_t *wire, worker_t *worker)
{
    if (wire->shaken)
        return;
    wire->shaken = SSL_is_init_finished(wire->ssl) != 0;
    count(&worker->counters.ssl_new_sessions, wire->shaken && !SSL_session_reused(wire->ssl));
    count(&worker->counters.ssl_handshake_errors, !wire->shaken && wire->broken);
}

ssize_t wire_receive(wire_t *wire, worker_t *worker, int fd, struct msghdr *message)
{
    ssize_t all = 0, got = 1;
    if (wire->ssl == NULL)
        return recvmsg(fd, message, MSG_DONTWAIT);
    for (size_t i = 0; i < message->msg_iovlen && got > 0; i++) {
        char *at = message->msg_iov[i].iov_base, *end = at + message->msg_iov[i].iov_len;
        while (at < end && got > 0 && (all == 0 || SSL_has_pending(wire->ssl) != 0)) { /* the socket tells of more */
            size_t bytes = 0;
            ERR_clear_error();
            int result = SSL_read_ex(wire->ssl, at, (size_t)(end - at), &bytes);
            got = result == 1 ? (ssize_t)bytes : result_of(wire, result);
            at += bytes;
            all += (ssize_t)bytes;
        }
    }
    note_handshake(wire, worker);
    wire->dry = got < 0;
    return all > 0 ? all : got;
}

/* The next record's bytes; returns their number. */
static size_t gather(char *buffer, size_t capacity, const struct msghdr *message)
{
    size_t length = 0;
    for (size_t i = 0; i < message->msg_iovlen && length < capacity; i++) {
        size_t bytes = message->msg_iov[i].iov_len;
        bytes = bytes < capacity - length ? bytes : capacity - length;
        memcpy(buffer + length, message->msg_iov[i].iov_base, bytes);
        length += bytes;
    }
    return length;
}

static bool keep(wire_t *wire, const char *bytes, size_t length)
{
    wire->kept = malloc(length);
    if (wire->kept == NULL)
        return false;
    memcpy(wire->kept, bytes, length);
    wire->kept_bytes = length;
    return true;
}

ssize_t wire_send(wire_t *wire, worker_t *worker, int fd, const struct msghdr *message)
{
    size_t capacity = (size_t)worker->server->settings.tls_write_kb << 10, written;
    if (wire->ssl == NULL)
        return sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
    errno = EAGAIN;
    if (wire_keeps(wire))
        return -1;
    if (worker->tls_buffer == NULL)
        worker->tls_buffer = malloc(capacity);
    errno = ENOMEM;
    if (worker->tls_buffer == NULL)
        return -1;
    size_t length = gather(worker->tls_buffer, capacity, message);
    ERR_clear_error();
    int result = SSL_write_ex(wire->ssl, worker->tls_buffer, length, &written);
    if (result != 1 && (result_of(wire, result) == 0 || errno != EAGAIN || !keep(wire, worker->tls_buffer, length)))
        return -1;
    return (ssize_t)length;
}

bool wire_flush(wire_t *wire)
{
    size_t written;
    if (!wire_keeps(wire))
        return true;
    ERR_clear_error();
    int result = SSL_write_ex(wire->ssl, wire->kept, wire->kept_bytes, &written);
    if (result != 1 && result_of(wire, result) != 0 && errno == EAGAIN)
        return false;
    free(wire->kept);
    wire->kept = NULL;
    return true; /* also when the connection is broken: the next call says so */
}
