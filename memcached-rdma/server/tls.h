/* SPDX-License-Identifier: Apache-2.0
 * tls.h - certificates and settings of TLS (-Z), which refresh_certs reads again. Connections: wire.h. */
#ifndef MC_SERVER_TLS_H
#define MC_SERVER_TLS_H

#include "server/server.h"

#define TLS_ERROR 400u /* bytes of an error text */

struct ssl_st; /* SSL of OpenSSL */

/* Reads certificate, key and CA, if there is -Z. To be called before the process leaves its folder and its user. False: a line on
 * stderr says why. */
bool tls_open(server_t *server);
void tls_close(server_t *server);
/* Reads the files again: all of them count from the next connection on, or none, and `error` says why. Any thread. */
bool tls_refresh(server_t *server, char error[TLS_ERROR]);
/* Seconds since the files were read. */
uint32_t tls_age(const server_t *server);
/* The server's side of a new connection; NULL: no memory. Any thread. */
struct ssl_st *tls_accept(server_t *server, int fd);

#endif
