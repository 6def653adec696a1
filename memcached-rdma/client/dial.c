/* SPDX-License-Identifier: Apache-2.0
 * dial.c - from a server's name to a connected socket, within the time of connect=. A name may have several addresses, of which
 * the first one leads nowhere: they are tried in their order, each as soon as the one before has failed, or has used its equal
 * share of the time that is left. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os.h"
#include "base/status.h"
#include "client/mc.h"

/* A socket that is connected or connects; -1: errno. */
static int open_to(int family, const struct sockaddr *address, socklen_t length)
{
    int one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && family != AF_UNIX)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (fd < 0 || connect(fd, address, length) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

static void dial_path(mc_server_t *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    errno = ENAMETOOLONG;
    if (strlen(server->host) < sizeof(address.sun_path)) {
        memcpy(address.sun_path, server->host, strlen(server->host));
        server->fd = open_to(AF_UNIX, (struct sockaddr *)&address, sizeof(address));
    }
    if (server->fd < 0)
        server_break(server, "cannot connect: %s%s", strerror(errno), err_cure(errno));
    else
        server_enter(server, SERVER_CONNECTING);
}

static unsigned count(const struct addrinfo *info)
{
    unsigned number = 0;
    for (; info != NULL; info = info->ai_next)
        number++;
    return number;
}

static void drop_fd(mc_server_t *server)
{
    if (server->fd >= 0)
        (void)close(server->fd);
    server->fd = -1;
}

void dial_next(mc_server_t *server, int error)
{
    drop_fd(server);
    for (const struct addrinfo *info; (info = server->address) != NULL;) {
        uint64_t now = os_now_ns(), end = server->since_ns + server->mc->connect_ns;
        server->share_ns = now + (end > now ? (end - now) / count(info) : 0);
        server->address = info->ai_next;
        server->fd = open_to(info->ai_family, info->ai_addr, info->ai_addrlen);
        if (server->fd >= 0)
            return;
        error = errno;
    }
    unsigned all = count(server->addresses);
    if (all > 1)
        server_break(server, "cannot connect to any of %u addresses, the last one: %s%s", all, strerror(error),
                     err_cure(error));
    else
        server_break(server, "cannot connect: %s%s", strerror(error), err_cure(error));
}

/* The time of connect= began with the name. */
static void dial_addresses(mc_server_t *server, struct addrinfo *addresses)
{
    uint64_t since = server->state == SERVER_RESOLVING ? server->since_ns : os_now_ns();
    drop_fd(server);
    server->addresses = addresses;
    server->address = addresses;
    server_enter(server, SERVER_CONNECTING);
    server->since_ns = since;
    dial_next(server, 0);
}

/* NULL: the host is a name. */
static struct addrinfo *address_of(const mc_server_t *server)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *address = NULL;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", server->port);
    return getaddrinfo(server->host, port, &hints, &address) == 0 ? address : NULL;
}

/* A lookup that an earlier attempt has not waited for goes on, or its answer is used. */
static void dial_name(mc_server_t *server)
{
    if (server->lookup != NULL && lookup_is_spent(server->lookup)) {
        lookup_drop(server->lookup, false);
        server->lookup = NULL;
    }
    if (server->lookup == NULL)
        server->lookup = lookup_start(server->host, server->port);
    server->fd = server->lookup == NULL ? -1 : fcntl(lookup_fd(server->lookup), F_DUPFD_CLOEXEC, 0);
    if (server->fd < 0)
        server_break_by(server, FAULT_NAME, "cannot resolve '%s': %s%s", server->host, strerror(errno),
                        err_cure(errno));
    else
        server_enter(server, SERVER_RESOLVING);
}

void dial_start(mc_server_t *server)
{
    struct addrinfo *address = server->port == 0 ? NULL : address_of(server);
    if (server->port == 0)
        dial_path(server);
    else if (address != NULL)
        dial_addresses(server, address);
    else
        dial_name(server);
}

void dial_resolved(mc_server_t *server)
{
    struct addrinfo *addresses = NULL;
    const char *error = lookup_take(server->lookup, &addresses);
    lookup_drop(server->lookup, false);
    server->lookup = NULL;
    if (error != NULL)
        server_break_by(server, FAULT_NAME, "cannot resolve '%s': %s", server->host, error);
    else
        dial_addresses(server, addresses);
}
