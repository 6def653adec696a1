/* SPDX-License-Identifier: Apache-2.0
 * server.c - one server: connecting its socket, asking what it is, ends and new attempts. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "client/mc.h"
#include "util/key_file.h"

#define RETRY_NS (100 * NS_PER_MS) /* after an attempt that failed */
#define HELLO_TRIES 2u             /* connections that may end before the hello is answered */
#define ASK_META "mn\r\n"

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

static void close_by(mc_server_t *server, bool forked, vbn_close_mode_t mode)
{
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
    dial_end(server);
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

void server_break(mc_server_t *server, const char *format, ...)
{
    va_list arguments;
    bool was_up = server->state == SERVER_MESSAGES || server->state == SERVER_SOCKET;
    va_start(arguments, format);
    (void)vsnprintf(server->why, sizeof(server->why), format, arguments);
    va_end(arguments);
    server_close(server, false);
    server->hello_closed = 0;
    calls_fail(server, VMC_ERR_SERVER_DEAD, !was_up);
    if (!was_up)
        server->retry_ns = os_now_ns() + RETRY_NS;
}

/* --------------------------------------------------------------------------------------- connecting */

/* The socket is there: what is the other side? */
static void ask(mc_server_t *server)
{
    hello_client_t hello = {.user = (uint32_t)geteuid(), .process = (uint32_t)getpid()};
    char text[HELLO_TEXT_MAX];
    vmc_t *mc = server->mc;
    server->hello_asked = mc->carrier != CARRIER_SOCKETS && os_now_ns() >= server->plain_ns;
    bool fits = true;
    server->hello.address_bytes = 0;
    if (server->hello_asked) {
        size_t length = hello_client_encode(&hello, text);
        fits = stream_add(&server->out, HELLO_WORD " ", sizeof(HELLO_WORD)) && stream_add(&server->out, text, length) &&
               stream_add(&server->out, "\r\n", 2);
    } else if (mc->carrier == CARRIER_SOCKETS) {
        server_say(server, "carrier=sockets");
    }
    fits = fits && stream_add(&server->out, ASK_META, strlen(ASK_META));
    server_enter(server, SERVER_HELLO);
    if (!fits || !socket_flush(server))
        server_break(server, "the connection broke while it was set up");
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

/* The answer to the hello. False: more has to come. */
static bool take_hello(mc_server_t *server)
{
    text_t line;
    if (!stream_line(&server->in, &line))
        return false;
    server->hello_asked = false;
    server->hello_closed = 0;
    server->hello.address_bytes = 0;
    if (line.length > sizeof(HELLO_WORD) && memcmp(line.at, HELLO_WORD " ", sizeof(HELLO_WORD)) == 0) {
        if (!hello_server_decode(line.at + sizeof(HELLO_WORD), line.length - sizeof(HELLO_WORD), &server->hello))
            server_say(server, "the server's hello is of another version");
        return true;
    }
    server->plain_ns = os_now_ns() + PLAIN_NS;
    if (line.length > 26 && memcmp(line.at, "CLIENT_ERROR no messages: ", 26) == 0)
        server_say(server, "the server has no messages: %.*s", (int)(line.length - 26 > 200 ? 200 : line.length - 26),
                   line.at + 26);
    else
        server_say(server, "the server is not verbena-memcached");
    return true;
}

/* Answers to what `ask` asked. */
static void take_answers(mc_server_t *server)
{
    text_t line;
    if ((server->hello_asked && !take_hello(server)) || !stream_line(&server->in, &line))
        return;
    if (!text_is(line, "MN")) {
        server_break(server, "the server knows no meta commands: memcached 1.6 or later is needed");
        return;
    }
    if (server->hello.address_bytes > 0 && os_now_ns() >= server->plain_ns && server->mc->carrier != CARRIER_SOCKETS &&
        join_start(server)) {
        server_enter(server, SERVER_JOINING);
        return;
    }
    join_socket(server);
}

/* ------------------------------------------------------------------------------------------ events */

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

short server_events(const mc_server_t *server)
{
    if (server->fd < 0)
        return 0;
    bool writes = server->state == SERVER_CONNECTING || server->out.at < server->out.end;
    return (short)(POLLIN | (writes ? POLLOUT : 0));
}

/* Some servers close instead of answering what they do not know; a server that is ending closes, too. Who does it twice in a
 * row is of the first kind. */
static void close_at_hello(mc_server_t *server)
{
    server_say(server, "the server has closed the connection instead of answering the hello");
    if (++server->hello_closed < HELLO_TRIES)
        return;
    server->hello_closed = 0;
    server->plain_ns = os_now_ns() + PLAIN_NS;
    server_say(server, "the server is not verbena-memcached");
}

static void end_of_stream(mc_server_t *server)
{
    if (server->state == SERVER_HELLO && server->hello_asked) {
        server_close(server, false);
        close_at_hello(server);
        server_pump(server);
        return;
    }
    server_break(server, "the server has closed the connection");
    server_pump(server);
}

void server_ready(mc_server_t *server, short events)
{
    if (server->state == SERVER_RESOLVING) {
        dial_resolved(server);
        return;
    }
    if (server->state == SERVER_CONNECTING) {
        int error = 0;
        socklen_t length = sizeof(error);
        (void)getsockopt(server->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0)
            dial_next(server, error);
        else if ((events & POLLOUT) != 0)
            ask(server);
        return;
    }
    if ((events & POLLOUT) != 0 && !socket_flush(server)) {
        end_of_stream(server);
        return;
    }
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0)
        return;
    bool open = stream_fill(&server->in, server->fd);
    if (server->state == SERVER_HELLO)
        take_answers(server);
    else if (server->state == SERVER_SOCKET)
        open = socket_read(server) && open;
    if (!open && server->fd >= 0)
        end_of_stream(server);
}

void server_check(mc_server_t *server, uint64_t now)
{
    if (server->state == SERVER_CONNECTING && server->address != NULL && now >= server->share_ns) {
        dial_next(server, ETIMEDOUT);
        return;
    }
    bool setting_up = server->state != SERVER_NONE && server->state != SERVER_MESSAGES &&
                      server->state != SERVER_SOCKET;
    if (!setting_up || now - server->since_ns < server->mc->connect_ns)
        return;
    if (server->state == SERVER_RESOLVING) {
        server_break(server, "cannot resolve '%s': no answer within the time of connect=", server->host);
        return;
    }
    if (server->state != SERVER_JOINING) {
        server_break(server, "no answer within the time of connect=");
        return;
    }
    server->plain_ns = now + PLAIN_NS;
    server_say(server, "the core did not connect within the time of connect=");
    join_end(server);
    join_socket(server);
}
