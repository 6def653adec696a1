/* SPDX-License-Identifier: Apache-2.0
 * line.c - a connection for the commands that the client library does not have: text, one command at a time. Each server has one
 * of its own, opened by the first such command. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os.h"
#include "compat/compat.h"

#define LINE_MOST (1u << 20) /* bytes of a line: those of servers are far shorter */

struct line {
    int fd;
    uint64_t forks; /* os_fork_generation when it was opened */
    stream_t in;
};

/* ------------------------------------------------------------------------------------------------- waits */

/* Until the descriptor is ready. False: not in time. */
static bool wait_ready(int fd, short events, uint64_t end_ns)
{
    struct pollfd wait = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = os_now_ns();
        if (now >= end_ns)
            return false;
        uint64_t ms = (end_ns - now) / NS_PER_MS + 1;
        int ready = poll(&wait, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static uint64_t end_after(int32_t timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : os_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

/* --------------------------------------------------------------------------------------------- connecting */

/* A connected socket, or -1: errno. */
static int connect_to(const struct sockaddr *address, socklen_t length, uint64_t end_ns)
{
    int error = 0, fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(error);
    if (fd < 0)
        return -1;
    if (connect(fd, address, length) == 0)
        return fd;
    error = errno;
    if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        if (wait_ready(fd, POLLOUT, end_ns))
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0)
        return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

static int connect_path(const char *path, uint64_t end_ns)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    return connect_to((struct sockaddr *)&address, sizeof(address), end_ns);
}

/* To the first address that answers. `why`: the name has none. */
static int connect_name(const char *host, in_port_t port, uint64_t end_ns, const char **why)
{
    struct addrinfo *addresses = NULL;
    int fd = -1;
    char plain[MEMCACHED_NI_MAXHOST]; /* without the brackets of an IPv6 address */
    (void)snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(host + (*host == '['), "]"), host + (*host == '['));
    lookup_t *lookup = lookup_start(plain, port);
    if (lookup == NULL)
        return -1;
    *why = "no answer of a name server in time";
    if (wait_ready(lookup_fd(lookup), POLLIN, end_ns))
        *why = lookup_take(lookup, &addresses);
    lookup_drop(lookup, false);
    for (struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next)
        fd = connect_to(at->ai_addr, at->ai_addrlen, end_ns);
    int error = errno;
    if (addresses != NULL)
        freeaddrinfo(addresses);
    errno = error;
    return fd;
}

static rc_t open_line(memcached_instance_st *server)
{
    uint64_t end_ns = end_after(server->root->connect_timeout);
    const char *why = NULL;
    line_t *line = calloc(1, sizeof(*line));
    if (line == NULL)
        return fail(server->root, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    line->forks = os_fork_generation();
    line->fd = server->hostname[0] == '/' ? connect_path(server->hostname, end_ns)
                                          : connect_name(server->hostname, server->port, end_ns, &why);
    if (line->fd >= 0) {
        server->line = line;
        return MEMCACHED_SUCCESS;
    }
    int error = errno;
    free(line);
    if (why != NULL)
        return fail_server(server, MEMCACHED_HOST_LOOKUP_FAILURE, 0, why);
    return fail_server(server, error == ETIMEDOUT ? MEMCACHED_TIMEOUT : MEMCACHED_CONNECTION_FAILURE, error,
                       strerror(error));
}

void line_close(memcached_instance_st *server)
{
    line_t *line = server->line;
    server->line = NULL;
    if (line == NULL)
        return;
    (void)close(line->fd); /* a parent's socket stays open in the parent */
    stream_free(&line->in);
    free(line);
}

/* ---------------------------------------------------------------------------------------------- commands */

static bool send_all(const line_t *line, const char *bytes, size_t length, uint64_t end_ns)
{
    while (length > 0) {
        ssize_t sent = send(line->fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!wait_ready(line->fd, POLLOUT, end_ns))
                return false;
            continue;
        }
        if (sent < 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Hands lines on until `take` has had the last one. */
static rc_t receive(memcached_instance_st *server, line_take_t take, void *arg)
{
    line_t *line = server->line;
    uint64_t end_ns = end_after(server->root->poll_timeout);
    for (;;) {
        text_t text;
        while (stream_line(&line->in, &text))
            if (!take(arg, (char *)(uintptr_t)text.at, text.length))
                return MEMCACHED_SUCCESS;
        if (line->in.end - line->in.at > LINE_MOST)
            return fail_server(server, MEMCACHED_PROTOCOL_ERROR, 0, "a line of the answer does not end");
        if (!wait_ready(line->fd, POLLIN, end_ns))
            return fail_server(server, MEMCACHED_TIMEOUT, 0, "no answer in time");
        if (!stream_fill(&line->in, line->fd))
            return fail_server(server, MEMCACHED_CONNECTION_FAILURE, 0, "the connection broke");
    }
}

static rc_t ask_once(memcached_instance_st *server, const char *command, line_take_t take, void *arg)
{
    rc_t rc = server->line == NULL ? open_line(server) : MEMCACHED_SUCCESS;
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (!send_all(server->line, command, strlen(command), end_after(server->root->poll_timeout)))
        rc = fail_server(server, MEMCACHED_CONNECTION_FAILURE, errno, "the connection broke");
    else
        rc = receive(server, take, arg);
    if (rc != MEMCACHED_SUCCESS)
        line_close(server); /* a late answer is never that of the next command */
    return rc;
}

/* The server, or its idle_timeout, may have ended the connection since the last command. */
static bool is_stale(const line_t *line)
{
    char byte;
    return line->forks != os_fork_generation() || recv(line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

rc_t line_ask(memcached_instance_st *server, const char *command, line_take_t take, void *arg)
{
    if (server->line != NULL && is_stale(server->line))
        line_close(server);
    return ask_once(server, command, take, arg);
}
