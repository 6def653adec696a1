/* SPDX-License-Identifier: Apache-2.0
 * listen.c - listening sockets, and the main thread that accepts on them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "server/login.h"

#define ACCEPT_AT_ONCE 64
#define RETRY_NS 10000000
#define STOP UINT32_MAX
#define SIGNALS (UINT32_MAX - 1)

static bool add_listener(server_t *server, int fd, const char *name, bool plain)
{
    if (server->listener_count == LISTENERS_MAX) {
        log_line(server, 0, "more than %u listening sockets: give fewer -l", LISTENERS_MAX);
        return false;
    }
    server->listeners[server->listener_count] = fd;
    server->listener_plain[server->listener_count] = plain;
    server->listener_names[server->listener_count++] = strdup(name);
    return true;
}

/* "tcp:host:port", "tcp6:[host]:port" or "unix:path". */
static void name_of(const struct sockaddr_storage *address, const char *unix_path, char *name, size_t capacity)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        (void)inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        (void)snprintf(name, capacity, "tcp:%s:%u", host, ntohs(in->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        (void)inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        (void)snprintf(name, capacity, "tcp6:[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        (void)snprintf(name, capacity, "unix:%s", unix_path == NULL ? "" : unix_path);
    }
}

static void set_port(server_t *server, const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        server->settings.port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    else if (address->ss_family == AF_INET6)
        server->settings.port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
}

/* A listening socket at one resolved address; -1: errno says why. */
static int open_tcp(const settings_t *settings, const struct addrinfo *info)
{
    int one = 1;
    uint32_t mark = settings->packet_mark;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info->ai_protocol);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (info->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if ((mark == 0 || setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0) &&
        bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, (int)settings->backlog) == 0)
        return fd; /* connections have the mark of their listener */
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

/* With -p -1 every address gets the port of the first one, where that is free there, too; else another. */
static int open_any(const server_t *server, const struct addrinfo *info)
{
    in_port_t port = htons((uint16_t)(server->settings.port < 0 ? 0 : server->settings.port));
    in_port_t *place = info->ai_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)info->ai_addr)->sin6_port
                                                   : &((struct sockaddr_in *)(void *)info->ai_addr)->sin_port;
    *place = port;
    int fd = open_tcp(&server->settings, info);
    if (fd >= 0 || errno != EADDRINUSE || port == 0)
        return fd;
    *place = 0;
    return open_tcp(&server->settings, info);
}

static bool listen_at(server_t *server, const char *host, const char *port, bool plain)
{
    bool any = server->any_port && strcmp(port, "0") == 0;
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *infos;
    unsigned opened = 0;
    int error = getaddrinfo(host, port, &hints, &infos);
    if (error != 0) {
        log_line(server, 0, "cannot listen on '%s': %s; give -l an address of this host", host, gai_strerror(error));
        return false;
    }
    errno = 0;
    for (const struct addrinfo *info = infos; info != NULL; info = info->ai_next) {
        int fd = any ? open_any(server, info) : open_tcp(&server->settings, info);
        struct sockaddr_storage address;
        socklen_t length = sizeof(address);
        char name[128];
        if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) && info->ai_next != NULL)
            continue;
        if (fd < 0)
            break;
        (void)getsockname(fd, (struct sockaddr *)&address, &length);
        set_port(server, &address);
        name_of(&address, NULL, name, sizeof(name));
        if (!add_listener(server, fd, name, plain))
            break;
        opened++;
    }
    freeaddrinfo(infos);
    if (opened == 0)
        log_line(server, 0, "cannot listen on %s port %s: %s; %s", host == NULL ? "any address" : host, port,
                 strerror(errno),
                 errno == EPERM && server->settings.packet_mark != 0 ? "sock_cookie_id needs CAP_NET_ADMIN"
                                                                     : "is another server running there?");
    return opened > 0;
}

static bool listen_on(server_t *server, const char *where, bool plain)
{
    char host[LISTEN_HOST], port[LISTEN_PORT];
    (void)snprintf(port, sizeof(port), "%d", server->any_port ? 0 : server->settings.port);
    listen_split(where, host, port);
    return listen_at(server, host, port, plain);
}

static bool listen_unix(server_t *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    char name[sizeof(address.sun_path) + 8];
    if (strlen(path) >= sizeof(address.sun_path)) {
        log_line(server, 0, "cannot listen on '%s': a socket's path has at most %zu bytes", path,
                 sizeof(address.sun_path) - 1);
        return false;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode))
        (void)unlink(path); /* left by a server that was killed */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask((mode_t)(~server->settings.socket_mask & 0777));
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    (void)umask(before);
    if (!bound || listen(fd, (int)server->settings.backlog) != 0) {
        log_line(server, 0, "cannot listen on '%s': %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    (void)snprintf(name, sizeof(name), "unix:%s", path);
    return add_listener(server, fd, name, true);
}

/* As memcached: whoever starts a server on any free port finds the file whole, or not at all. */
static void tell_ports(const server_t *server)
{
    const char *path = getenv("MEMCACHED_PORT_FILENAME");
    char unfinished[PATH_MAX];
    if (path == NULL || *path == '\0')
        return;
    int length = snprintf(unfinished, sizeof(unfinished), "%s.lck", path);
    FILE *file = length < (int)sizeof(unfinished) ? fopen(unfinished, "w") : NULL;
    for (unsigned i = 0; file != NULL && i < server->listener_count; i++) {
        const char *name = server->listener_names[i], *port = name == NULL ? NULL : strrchr(name, ':');
        if (port != NULL && strncmp(name, "tcp", 3) == 0)
            fprintf(file, "TCP INET%s: %s\n", name[3] == '6' ? "6" : "", port + 1);
    }
    if (file == NULL || fclose(file) != 0 || rename(unfinished, path) != 0)
        log_line(server, 0, "cannot write the ports to %s (MEMCACHED_PORT_FILENAME): %s", path, strerror(errno));
}

static bool open_all(server_t *server)
{
    const settings_t *settings = &server->settings;
    server->any_port = settings->port < 0;
    if (settings->socket_path != NULL)
        return listen_unix(server, settings->socket_path);
    if (settings->port == 0) {
        log_line(server, 0, "nothing to listen on: -p 0 needs -s FILE");
        return false;
    }
    for (unsigned i = 0; i < settings->listen_count; i++)
        if (!listen_on(server, settings->listen[i], settings->listen_plain[i]))
            return false;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", server->any_port ? 0 : settings->port);
    return settings->listen_count > 0 || listen_at(server, NULL, port, false);
}

bool listen_open(server_t *server)
{
    bool opened = open_all(server);
    if (opened)
        tell_ports(server);
    return opened;
}

void listen_close(server_t *server)
{
    for (unsigned i = 0; i < server->listener_count; i++) {
        (void)close(server->listeners[i]);
        free(server->listener_names[i]);
    }
    server->listener_count = 0;
    if (server->settings.socket_path != NULL)
        (void)unlink(server->settings.socket_path);
}

/* --------------------------------------------------------------------------------------- accepting */

static void refuse(server_t *server, int fd)
{
    static const char text[] = "ERROR Too many open connections\r\n";
    (void)send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
    (void)atomic_fetch_add_explicit(&server->connections_rejected, 1, memory_order_relaxed);
}

static void accept_one(server_t *server, int fd, const struct sockaddr_storage *from, unsigned listener, unsigned *next)
{
    char name[128];
    int one = 1;
    if (atomic_get_relaxed(&server->connections) >= server->settings.connections_max) {
        refuse(server, fd);
        return;
    }
    name_of(from, server->settings.socket_path, name, sizeof(name));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* no effect on a Unix socket */
    (void)atomic_fetch_add_explicit(&server->connections, 1, memory_order_relaxed);
    uint64_t serial = 1 + atomic_fetch_add_explicit(&server->connections_total, 1, memory_order_relaxed);
    worker_t *worker = &server->workers[(*next)++ % server->worker_count];
    if (worker_give(worker, fd, serial, name, listener))
        return;
    (void)atomic_fetch_sub_explicit(&server->connections, 1, memory_order_relaxed);
    refuse(server, fd);
}

static void accept_some(server_t *server, unsigned listener, unsigned *next)
{
    for (unsigned i = 0; i < ACCEPT_AT_ONCE; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof(from);
        int fd = accept4(server->listeners[listener], (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) {
                log_line(server, 1, "a connection waits: %s; raise ulimit -n or lower -c", strerror(errno));
                (void)nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL); /* nothing tells when one is free */
            }
            return;
        }
        accept_one(server, fd, &from, listener, next);
    }
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGHUP);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* False: the signal ends the server. */
static bool obey_signal(server_t *server, int signals)
{
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof(info)) != sizeof(info))
        return true;
    atomic_set_relaxed(&server->graceful, info.ssi_signo == SIGUSR1);
    if (info.ssi_signo != SIGHUP)
        return false;
    login_reload(server);
    return true;
}

static bool watch(int epoll, int fd, uint32_t number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void listen_run(server_t *server)
{
    struct epoll_event events[LISTENERS_MAX + 2];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int signals = open_signals();
    unsigned next = 0;
    bool stop = epoll < 0 || signals < 0 || !watch(epoll, signals, SIGNALS) || !watch(epoll, server->stop, STOP);
    for (unsigned i = 0; i < server->listener_count; i++)
        stop = stop || !watch(epoll, server->listeners[i], i);
    if (stop)
        log_line(server, 0, "cannot wait for connections: %s", strerror(errno));
    while (!stop) {
        int ready = epoll_wait(epoll, events, LISTENERS_MAX + 2, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.u32 == STOP)
                stop = true;
            else if (events[i].data.u32 == SIGNALS)
                stop = !obey_signal(server, signals) || stop;
            else
                accept_some(server, events[i].data.u32, &next);
        }
    }
    (void)close(epoll);
    (void)close(signals);
}
