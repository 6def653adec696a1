/* SPDX-License-Identifier: Apache-2.0
 * hello.c - the hello line: which of the core's workers serves this client, and how. */
#include "proto/hello.h"

#include <unistd.h>

#include "server/native.h"

void native_hello(exec_t *exec, const request_t *request)
{
    server_t *server = exec->server;
    native_t *native = exec->native;
    hello_client_t client;
    hello_server_t hello = {.instance = server->instance,
                            .user = (uint32_t)geteuid(),
                            .lease_ms = server->settings.lease_ms,
                            .item_max = server->settings.item_max,
                            .address_bytes = sizeof(hello.address)};
    char text[HELLO_TEXT_MAX];
    if (!hello_client_decode(request->key.at, request->key.length, &client)) {
        reply_line(exec->reply, "CLIENT_ERROR bad hello");
        return;
    }
    if (native == NULL) {
        reply_string(exec->reply, "CLIENT_ERROR no messages: ");
        reply_line(exec->reply, server->no_messages);
        return;
    }
    native_wake(native); /* the core is called */
    if (vbn_worker_address(native->core, hello.address, &hello.address_bytes) != VBN_OK) {
        reply_string(exec->reply, "CLIENT_ERROR no messages: ");
        reply_line(exec->reply, vbn_error_text());
        return;
    }
    hello.flags = (uint8_t)((native->devices ? HELLO_DEVICES : 0) | (server->settings.no_auth ? HELLO_NO_AUTH : 0));
    count(&exec->counters->hellos, 1);
    log_line(server, 2, "process %u of user %u asks for messages", client.process, client.user);
    reply_string(exec->reply, HELLO_WORD " ");
    reply_bytes(exec->reply, text, hello_server_encode(&hello, text));
    reply_bytes(exec->reply, "\r\n", 2);
}
