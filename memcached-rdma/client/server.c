/* SPDX-License-Identifier: Apache-2.0
 * server.c - one server: asking what it is, events of its socket, time limits. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "client/mc.h"

#define HELLO_TRIES 2u /* connections that may end before the hello is answered */
#define ASK_META "mn\r\n"

/* --------------------------------------------------------------------------------------- the hello */

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

/* A line of the server; a server that asks for a login is given up. False: more has to come, or it was. */
static bool take_line(mc_server_t *server, text_t *line_p)
{
    if (!stream_line(&server->in, line_p))
        return false;
    if (!text_is(*line_p, "CLIENT_ERROR unauthenticated"))
        return true;
    server_break(server, "the server asks for a login (-Y), which this library does not have");
    return false;
}

/* The answer to the hello. False: more has to come. */
static bool take_hello(mc_server_t *server)
{
    text_t line;
    if (!take_line(server, &line))
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
    if ((server->hello_asked && !take_hello(server)) || !take_line(server, &line))
        return;
    if (!text_is(line, "MN")) {
        server_break_by(server, FAULT_OLD, "the server knows no meta commands: memcached 1.6 or later is needed");
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

/* Answers make place for what waits. */
static bool read_socket(mc_server_t *server)
{
    bool right = socket_read(server);
    if (right)
        server_pump(server);
    return right;
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
        open = read_socket(server) && open;
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
        server_break_by(server, FAULT_NAME, "cannot resolve '%s': no answer within the time of connect=", server->host);
        return;
    }
    if (server->state != SERVER_JOINING) {
        server_break_by(server, FAULT_SILENT, "no answer within the time of connect=");
        return;
    }
    server->plain_ns = now + PLAIN_NS;
    server_say(server, "the core did not connect within the time of connect=");
    join_end(server);
    join_socket(server);
}
