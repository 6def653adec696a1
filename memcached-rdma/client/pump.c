/* SPDX-License-Identifier: Apache-2.0
 * pump.c - sends the requests that wait for a server: by messages, or on its socket. */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "client/mc.h"

void server_pump(mc_server_t *server)
{
    if (server->state == SERVER_NONE && !list_empty(&server->queue)) {
        if (os_now_ns() < server->retry_ns) {
            calls_fail(server, VMC_ERR_SERVER_DEAD, true);
            return;
        }
        server->mc->counts.connects++;
        dial_start(server);
    }
    while (!list_empty(&server->queue)) {
        call_t *call = container_of(server->queue.next, call_t, link);
        if (server->state == SERVER_MESSAGES) {
            if (!message_may_send(call))
                return;
            message_send(call);
        } else if (server->state == SERVER_SOCKET) {
            if (!socket_write(call))
                return;
        } else {
            return;
        }
    }
    if (server->state == SERVER_SOCKET && !socket_flush(server))
        server_break(server, "the connection broke: %s", strerror(errno));
}

void join_socket(mc_server_t *server)
{
    if (server->mc->carrier == CARRIER_MESSAGES) {
        char why[sizeof(server->why)];
        memcpy(why, server->why, sizeof(why));
        server_break(server, "no messages, and carrier=messages: %.200s", why);
        return;
    }
    server_enter(server, SERVER_SOCKET);
    server_pump(server);
}

void server_joined(mc_server_t *server)
{
    server_enter(server, SERVER_MESSAGES);
    server_pump(server);
}
