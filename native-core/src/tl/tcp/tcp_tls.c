/* SPDX-License-Identifier: Apache-2.0
 * tcp_tls.c - TLS 1.3 with a pre-shared key, over OpenSSL. A BIO of our own writes with MSG_NOSIGNAL, because a library
 * must not change the process's signals. */
#include "tl/tcp/tcp_tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hmac.h"

#define RECORD_BYTES 16384u
#define REASON_BYTES 160u

struct tcp_tls_context {
    SSL_CTX *ssl;
    uint8_t key[HMAC_BYTES];
};

struct tcp_tls {
    SSL *ssl;
    bool waits_for_peer;
    bool failed;
    char reason[REASON_BYTES];
};

static const char identity[] = "verbena";
static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method; /* lives as long as the process */

/* ------------------------------------------------------------------------------------------------ socket */

static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *data, int length)
{
    ssize_t n = send(fd_of(bio), data, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)n;
}

static int socket_read(BIO *bio, char *data, int length)
{
    ssize_t n = recv(fd_of(bio), data, (size_t)length, MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)n;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int socket_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "verbena socket");
    if (method == NULL)
        return;
    BIO_meth_set_write(method, socket_write);
    BIO_meth_set_read(method, socket_read);
    BIO_meth_set_ctrl(method, socket_control);
    BIO_meth_set_create(method, socket_create);
}

/* --------------------------------------------------------------------------------------------------- key */

static SSL_SESSION *make_session(SSL *ssl)
{
    static const unsigned char suite[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */
    const tcp_tls_context_t *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session != NULL && cipher != NULL && SSL_SESSION_set1_master_key(session, context->key, sizeof(context->key)) &&
        SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

/* Initiator: the key to offer. */
static int use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *id_length, SSL_SESSION **session_p)
{
    *id = (const unsigned char *)identity;
    *id_length = sizeof(identity) - 1;
    *session_p = digest == NULL || EVP_MD_get_type(digest) == NID_sha256 ? make_session(ssl) : NULL;
    return *session_p != NULL || digest != NULL;
}

/* Responder: the key of a name. */
static int find_key(SSL *ssl, const unsigned char *id, size_t id_length, SSL_SESSION **session_p)
{
    bool known = id_length == sizeof(identity) - 1 && memcmp(id, identity, id_length) == 0;
    *session_p = known ? make_session(ssl) : NULL;
    return 1; /* unknown: the handshake fails, because there is no certificate either */
}

static bool configure(SSL_CTX *ssl)
{
    SSL_CTX_set_mode(ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_psk_use_session_callback(ssl, use_key);
    SSL_CTX_set_psk_find_session_callback(ssl, find_key);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) && SSL_CTX_set_num_tickets(ssl, 0) &&
           SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256");
}

vbn_status_t tcp_tls_open(const uint8_t job_key[32], tcp_tls_context_t **context_p)
{
    static const char label[] = "verbena tcp tls 1.3 key";
    tcp_tls_context_t *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for TLS");
    vbn_status_t status = hmac_sha256(job_key, label, sizeof(label) - 1, context->key);
    (void)pthread_once(&method_once, make_method);
    context->ssl = status == VBN_OK && method != NULL ? SSL_CTX_new(TLS_method()) : NULL;
    if (context->ssl == NULL || !configure(context->ssl)) {
        tcp_tls_close(context);
        return err_set(VBN_ERR_SYSTEM, "OpenSSL cannot set up TLS 1.3 (%s)",
                       ERR_reason_error_string(ERR_peek_last_error()));
    }
    SSL_CTX_set_app_data(context->ssl, context);
    *context_p = context;
    return VBN_OK;
}

void tcp_tls_close(tcp_tls_context_t *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ssl);
    explicit_bzero(context->key, sizeof(context->key));
    free(context);
}

/* -------------------------------------------------------------------------------------------- connection */

tcp_tls_t *tcp_tls_attach(tcp_tls_context_t *context, int fd, bool initiator)
{
    tcp_tls_t *tls = calloc(1, sizeof(*tls));
    BIO *bio = tls != NULL ? BIO_new(method) : NULL;
    SSL *ssl = bio != NULL ? SSL_new(context->ssl) : NULL;
    if (ssl == NULL) {
        BIO_free(bio);
        free(tls);
        (void)err_set(VBN_ERR_NO_MEMORY, "no memory for a TLS connection");
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    SSL_set_bio(ssl, bio, bio);
    if (initiator) {
        SSL_set_connect_state(ssl);
        SSL_set_verify(ssl, SSL_VERIFY_PEER,
                       NULL); /* who would rather show a certificate is refused: none is trusted */
    } else {
        SSL_set_accept_state(ssl);
    }
    tls->ssl = ssl;
    return tls;
}

void tcp_tls_free(tcp_tls_t *tls)
{
    if (tls == NULL)
        return;
    if (!tls->failed && SSL_is_init_finished(tls->ssl))
        (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
    SSL_free(tls->ssl);
    free(tls);
}

/* -1 with errno for a call that gave nothing; 0 at the peer's orderly end. */
static ssize_t nothing(tcp_tls_t *tls, int result)
{
    int error = errno;
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        tls->waits_for_peer = true;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL:
        tls->failed = true;
        if (error == 0 && SSL_is_init_finished(tls->ssl))
            return 0;
        errno = error;
        if (error != 0)
            return -1;
        break;
    default: break;
    }
    bool ended = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (ended && SSL_is_init_finished(tls->ssl))
        return 0; /* a connection that is cut: the link layer's own end of it would have come before */
    const char *why = ended ? "the peer ended the handshake" : ERR_reason_error_string(ERR_peek_error());
    tls->failed = true;
    snprintf(tls->reason, sizeof(tls->reason),
             "TLS failed: %s; tl.tcp.tls and the job key must be the same on both sides",
             why != NULL ? why : "unknown reason");
    errno = EPROTO;
    return -1;
}

/* One record's worth of the pieces. */
static size_t gather(const struct iovec *pieces, size_t count, uint8_t *to)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < RECORD_BYTES; i++) {
        size_t step = pieces[i].iov_len < RECORD_BYTES - used ? pieces[i].iov_len : RECORD_BYTES - used;
        memcpy(to + used, pieces[i].iov_base, step);
        used += step;
    }
    return used;
}

ssize_t tcp_tls_write(tcp_tls_t *tls, const struct iovec *pieces, size_t count)
{
    uint8_t record[RECORD_BYTES];
    const void *from = pieces[0].iov_base;
    size_t length = pieces[0].iov_len < RECORD_BYTES ? pieces[0].iov_len : RECORD_BYTES;
    size_t n;
    if (count > 1 && length < RECORD_BYTES) {
        length = gather(pieces, count, record);
        from = record;
    }
    tls->waits_for_peer = false;
    ERR_clear_error();
    errno = 0;
    int result = SSL_write_ex(tls->ssl, from, length, &n);
    if (result == 1)
        return (ssize_t)n;
    ssize_t none = nothing(tls, result);
    if (none == 0)
        errno = EPIPE; /* the peer has ended the connection */
    return -1;
}

ssize_t tcp_tls_read(tcp_tls_t *tls, const struct iovec *pieces)
{
    size_t n;
    bool waited = tls->waits_for_peer;
    ERR_clear_error();
    errno = 0;
    int result = SSL_read_ex(tls->ssl, pieces->iov_base, pieces->iov_len, &n);
    ssize_t got = result == 1 ? (ssize_t)n : nothing(tls, result);
    tls->waits_for_peer = waited && !SSL_is_init_finished(tls->ssl);
    return got;
}

bool tcp_tls_waits_for_peer(const tcp_tls_t *tls)
{
    return tls->waits_for_peer;
}

const char *tcp_tls_reason(const tcp_tls_t *tls)
{
    return tls->reason;
}
