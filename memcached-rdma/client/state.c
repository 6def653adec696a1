/* SPDX-License-Identifier: Apache-2.0
 * state.c - the states of a server and why it is in one; ends of its connection. */
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "client/mc.h"

#define RETRY_NS (100 * NS_PER_MS) /* after an attempt that failed */

void server_say(mc_server_t *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(server->why, sizeof(server->why), format, arguments);
    va_end(arguments);
}

void server_enter(mc_server_t *server, server_state_t state)
{
    bool before = server->state != SERVER_NONE && server->state != SERVER_MESSAGES;
    bool after = state != SERVER_NONE && state != SERVER_MESSAGES;
    server->mc->sockets += (unsigned)after - (unsigned)before;
    server->state = (uint8_t)state;
    server->since_ns = os_now_ns();
}

/* -------------------------------------------------------------------------------------------- ends */

static void free_addresses(mc_server_t *server)
{
    if (server->addresses != NULL)
        freeaddrinfo(server->addresses);
    server->addresses = server->address = NULL;
}

static void close_by(mc_server_t *server, bool forked, vbn_close_mode_t mode)
{
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
    free_addresses(server);
    vbn_peer_t *peer = server->peer;
    onesided_close(server, forked);
    server->peer = NULL;
    server->net = NULL;
    if (peer != NULL && !forked)
        vbn_disconnect(peer, mode);
    server->in.at = server->in.end = server->out.at = server->out.end = 0;
    server->value_left = server->value_done = 0;
    if (server->state != SERVER_NONE)
        server_enter(server, SERVER_NONE);
}

void server_close(mc_server_t *server, bool forked)
{
    close_by(server, forked, VBN_CLOSE_NOW);
    if (!forked)
        return;
    lookup_drop(server->lookup, true);
    server->lookup = NULL;
}

void server_leave(mc_server_t *server)
{
    close_by(server, false, VBN_CLOSE_FLUSH);
    lookup_drop(server->lookup, false);
    server->lookup = NULL;
}

/* `why` is written. */
static void end_by(mc_server_t *server, server_fault_t fault)
{
    bool was_up = server->state == SERVER_MESSAGES || server->state == SERVER_SOCKET;
    server->fault = (uint8_t)fault;
    server_close(server, false);
    server->hello_closed = 0;
    calls_fail(server, VMC_ERR_SERVER_DEAD, !was_up);
    if (!was_up)
        server->retry_ns = os_now_ns() + RETRY_NS;
}

void server_break(mc_server_t *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(server->why, sizeof(server->why), format, arguments);
    va_end(arguments);
    end_by(server, FAULT_OTHER);
}

void server_break_by(mc_server_t *server, server_fault_t fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(server->why, sizeof(server->why), format, arguments);
    va_end(arguments);
    end_by(server, fault);
}

void join_end(mc_server_t *server)
{
    vbn_peer_t *peer = server->peer;
    server->peer = NULL;
    server->net = NULL;
    if (peer != NULL)
        vbn_disconnect(peer, VBN_CLOSE_NOW);
    calls_fail(server, VMC_ERR_CANCELLED, false); /* the first message alone */
}
