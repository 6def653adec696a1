/* SPDX-License-Identifier: Apache-2.0
 * login.h - who may log in (-Y): users of a file, which SIGHUP reads again. */
#ifndef MC_SERVER_LOGIN_H
#define MC_SERVER_LOGIN_H

#include "proto/login.h"
#include "server/server.h"

/* Reads the file of -Y, if there is one. To be called before the process leaves its folder and its user. False: a line on
 * stderr says why. */
bool login_open(server_t *server);
/* Reads the file again. One that is wrong changes nothing, and a line on stderr says why. */
void login_reload(server_t *server);
void login_close(server_t *server);
/* Checks the data of a login. Any thread. */
login_result_t login_try(server_t *server, const char *data, size_t length);

/* Clients on sockets log in before anything else. */
static inline bool login_is_needed(const server_t *server)
{
    return server->settings.login_file != NULL;
}

/* Messages stay open: -o verbena_key names the key that clients by messages prove in place of a login. */
static inline bool login_lets_messages(const server_t *server)
{
    bool guarded = login_is_needed(server) || server->settings.tls;
    return !guarded || server->settings.key_file != NULL;
}

#endif
