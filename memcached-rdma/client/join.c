/* SPDX-License-Identifier: Apache-2.0
 * join.c - from the hello to messages: the key, a context of the core, the connection and a first answer. Until that has come
 * nothing of the user's is sent, so a server that turns out not to be reachable costs no request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/mc.h"
#include "util/key_file.h"

static bool find_key(mc_server_t *server, uint8_t key[VBN_JOB_KEY_BYTES])
{
    char path[512], error[KEY_FILE_ERROR];
    bool found = true;
    const char *named = server->mc->key_file != NULL ? server->mc->key_file : getenv("VERBENA_MEMCACHED_KEY");
    if (named != NULL) {
        (void)snprintf(path, sizeof(path), "%s", named);
    } else {
        const key_server_t place = {.port = server->port, .socket_path = server->port == 0 ? server->host : NULL};
        found = key_file_find(&place, path, sizeof(path), error);
    }
    if (found && key_file_read(path, named != NULL, key) == VBN_OK)
        return true;
    server_say(server, "%.250s", found ? vbn_error_text() : error);
    return false;
}

bool join_start(mc_server_t *server)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    bool no_auth = (server->hello.flags & HELLO_NO_AUTH) != 0;
    if (!no_auth && !find_key(server, key))
        return false;
    server->net = net_get(server->mc, key, no_auth, (server->hello.flags & HELLO_DEVICES) != 0);
    explicit_bzero(key, sizeof(key));
    if (server->net != NULL && vbn_connect(server->net->worker, server->hello.address, server->hello.address_bytes,
                                           message_lost, server, &server->peer) == VBN_OK) {
        if (message_knock(server))
            return true;
        join_end(server);
        server_say(server, "no memory for the first message");
        return false;
    }
    server->net = NULL;
    server_say(server, "the core: %.240s", vbn_error_text());
    return false;
}
