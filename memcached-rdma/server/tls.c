/* SPDX-License-Identifier: Apache-2.0
 * tls.c - the context of TLS. */
#include "server/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Paths are whole: a daemon is in /. */
struct tls {
    pthread_mutex_t lock; /* of the context, which connections share */
    SSL_CTX *context;
    char *chain, *key, *ca; /* ca: NULL if there is none */
    _Atomic uint32_t read_at;
};

static uint32_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint32_t)now.tv_sec;
}

/* ------------------------------------------------------------------------------------------ context */

static bool fail(char error[TLS_ERROR], const char *what, const char *which)
{
    char reason[200];
    unsigned long code = ERR_peek_error(); /* the first one is the cause */
    ERR_error_string_n(code, reason, sizeof(reason));
    (void)snprintf(error, TLS_ERROR, "%s %s: %s", what, which,
                   code == 0                               ? "it is wrong"
                   : ERR_SYSTEM_ERROR(code)                ? strerror((int)ERR_GET_REASON(code))
                   : ERR_reason_error_string(code) != NULL ? ERR_reason_error_string(code)
                                                           : reason);
    ERR_clear_error();
    return false;
}

/* A key with a passphrase is an error, and nobody is asked for it. */
static int no_passphrase(char *text, int capacity, int writing, void *arg)
{
    (void)text;
    (void)capacity;
    (void)writing;
    (void)arg;
    return -1;
}

static int verify_mode(unsigned mode)
{
    static const int modes[] = {SSL_VERIFY_NONE, SSL_VERIFY_PEER, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                                SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE};
    return modes[mode];
}

static void configure(const settings_t *settings, SSL_CTX *context)
{
    static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
    uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF;
    if (settings->tls_kernel)
        options |= SSL_OP_ENABLE_KTLS;
    SSL_CTX_set_read_ahead(context, !settings->tls_kernel); /* a record's head and body with one system call */
    (void)SSL_CTX_set_options(context, options);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_min_proto_version(context, versions[settings->tls_version]);
    (void)SSL_CTX_set_session_cache_mode(context, settings->tls_sessions ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_session_id_context(context, (const unsigned char *)"memcached",
                                         9); /* else clients with certificates
                                                                                              * cannot resume */
    if (!settings->tls_sessions) {
        (void)SSL_CTX_set_num_tickets(context, 0);
        (void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    }
    SSL_CTX_set_verify(context, verify_mode(settings->tls_verify), NULL);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
}

static bool load(const settings_t *settings, const struct tls *tls, SSL_CTX *context, char error[TLS_ERROR])
{
    int format = settings->tls_key_format == 2 ? SSL_FILETYPE_ASN1 : SSL_FILETYPE_PEM;
    if (SSL_CTX_use_certificate_chain_file(context, tls->chain) != 1)
        return fail(error, "Error loading the certificate chain:", tls->chain);
    if (SSL_CTX_use_PrivateKey_file(context, tls->key, format) != 1 || SSL_CTX_check_private_key(context) != 1)
        return fail(error, "Error loading the key:", tls->key);
    if (settings->tls_ciphers != NULL && SSL_CTX_set_cipher_list(context, settings->tls_ciphers) != 1)
        return fail(error, "Error setting the provided cipher(s):", settings->tls_ciphers);
    if (tls->ca == NULL)
        return true;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(tls->ca);
    if (names == NULL || SSL_CTX_load_verify_locations(context, tls->ca, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return fail(error, "Error loading the CA certificate:", tls->ca);
    }
    SSL_CTX_set_client_CA_list(context, names);
    return true;
}

bool tls_refresh(server_t *server, char error[TLS_ERROR])
{
    struct tls *tls = server->tls;
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        return fail(error, "Error making a context", "of TLS");
    configure(&server->settings, context);
    if (!load(&server->settings, tls, context, error)) {
        SSL_CTX_free(context);
        return false;
    }
    pthread_mutex_lock(&tls->lock);
    SSL_CTX *before = tls->context;
    tls->context = context;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(before); /* connections that use it keep it */
    atomic_set_relaxed(&tls->read_at, seconds());
    return true;
}

struct ssl_st *tls_accept(server_t *server, int fd)
{
    struct tls *tls = server->tls;
    pthread_mutex_lock(&tls->lock);
    SSL *ssl = SSL_new(tls->context);
    pthread_mutex_unlock(&tls->lock);
    if (ssl != NULL && SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        ssl = NULL;
    }
    if (ssl != NULL)
        SSL_set_accept_state(ssl);
    return ssl;
}

uint32_t tls_age(const server_t *server)
{
    return seconds() - atomic_get_relaxed(&server->tls->read_at);
}

/* ------------------------------------------------------------------------------------- start and end */

/* For free(); NULL: no memory, or the folder is unknown. */
static char *whole_path(const char *file)
{
    if (*file == '/')
        return strdup(file);
    char *here = getcwd(NULL, 0), *path = NULL;
    if (here != NULL && asprintf(&path, "%s/%s", here, file) < 0)
        path = NULL;
    free(here);
    return path;
}

static bool is_complete(const server_t *server)
{
    const settings_t *settings = &server->settings;
    const char *missing = settings->tls_chain == NULL                            ? "ssl_chain_cert"
                          : settings->tls_key == NULL                            ? "ssl_key"
                          : settings->tls_verify > 0 && settings->tls_ca == NULL ? "ssl_ca_cert"
                                                                                 : NULL;
    if (missing != NULL)
        log_line(server, 0, "-Z: no -o %s; give %s=FILE", missing, missing);
    return missing == NULL;
}

bool tls_open(server_t *server)
{
    const settings_t *settings = &server->settings;
    char error[TLS_ERROR];
    if (!settings->tls)
        return true;
    if (!is_complete(server))
        return false;
    struct tls *tls = server->tls = calloc(1, sizeof(*tls));
    if (tls == NULL)
        return false;
    pthread_mutex_init(&tls->lock, NULL);
    tls->chain = whole_path(settings->tls_chain);
    tls->key = whole_path(settings->tls_key);
    tls->ca = settings->tls_ca == NULL ? NULL : whole_path(settings->tls_ca);
    if (tls->chain == NULL || tls->key == NULL || (tls->ca == NULL && settings->tls_ca != NULL)) {
        log_line(server, 0, "-Z: %s; give whole paths of certificate and key", strerror(errno));
        return false;
    }
    bool loaded = tls_refresh(server, error);
    if (!loaded)
        log_line(server, 0, "-Z: %s; see the words ssl_* of -o", error);
    return loaded;
}

void tls_close(server_t *server)
{
    struct tls *tls = server->tls;
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    free(tls->chain);
    free(tls->key);
    free(tls->ca);
    free(tls);
    server->tls = NULL;
}
