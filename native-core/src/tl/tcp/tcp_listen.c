/* SPDX-License-Identifier: Apache-2.0
 * tcp_listen.c - the listening socket, and incoming connections within their limits. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tl/tcp/tcp_private.h"

#define ACCEPTS_PER_PROGRESS 16
/* the kernel takes net.core.somaxconn of it: connections wait there while this side accepts none */
#define BACKLOG 4096
#define EVICT_AFTER_NS UINT64_C(1000000000) /* an unauthenticated connection has at least so long to prove the key */
#define PORTS_TRIED 16u                     /* until one is free on all addresses */
#define CHUNKS_UNSENT 2 /* that a socket takes beyond what it can send; with fewer it would run dry */

static void set_int(int fd, int level, int option, int value)
{
    /* Tuning only: a kernel that refuses one of these still carries the connection. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void tcp_socket_options(const tcp_iface_t *iface, int fd)
{
    const settings_t *settings = iface->params.settings;
    if (settings->tl_tcp_nodelay)
        set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (settings->tl_tcp_socket_buffer) {
        set_int(fd, SOL_SOCKET, SO_SNDBUF, (int)settings->tl_tcp_socket_buffer);
        set_int(fd, SOL_SOCKET, SO_RCVBUF, (int)settings->tl_tcp_socket_buffer);
    }
    /* Bulk data waits in the core's queue, not in the kernel's, where a request or an answer would wait behind it. */
    set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, (int)(CHUNKS_UNSENT * settings->tl_tcp_chunk_bytes));
    tcp_alive_options(iface, fd);
}

static vbn_status_t bind_and_listen(tcp_iface_t *iface, int fd, const tcp_ip_t *ip, uint16_t *port_p, int *error_p)
{
    struct sockaddr_storage address;
    char text[TCP_ENDPOINT_TEXT];
    tcp_ip_t bound;
    socklen_t length = tcp_ip_to_sockaddr(ip, *port_p, &address);
    tcp_ip_text(ip, *port_p, text);
    if (iface->params.settings->tl_tcp_port)
        set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (ip->family == 6)
        set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    tcp_socket_options(iface, fd); /* accepted sockets inherit the buffer sizes, which fix the window scale */
    *error_p = bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0 ? 0 : errno;
    if (*error_p != 0)
        return err_sys(*error_p, "cannot listen on %s%s", text,
                       *error_p == EADDRINUSE ? " (taken by another worker or program; tl.tcp.port=0 picks a free one)"
                                              : "");
    length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return err_sys(errno, "cannot read the port of %s", text);
    if (!tcp_ip_from_sockaddr((struct sockaddr *)&address, &bound, port_p))
        return err_set(VBN_ERR_SYSTEM, "the socket of %s has another address family", text);
    return VBN_OK;
}

/* *port_p: 0 = a free one, which comes back. *error_p: why the kernel does not listen there, as errno, 0 = another reason. */
static vbn_status_t listen_on(tcp_iface_t *iface, const tcp_ip_t *ip, uint16_t *port_p, int *error_p)
{
    int *fd_p = &iface->listen_fds[iface->address.count];
    *error_p = 0;
    int fd = os_own_socket(ip->family == 4 ? AF_INET : AF_INET6, SOCK_STREAM);
    vbn_status_t status = fd < 0 ? err_sys(errno, "cannot create a TCP socket") : VBN_OK;
    if (status == VBN_OK)
        status = bind_and_listen(iface, fd, ip, port_p, error_p);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd_p};
    if (status == VBN_OK && epoll_ctl(iface->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        status = err_sys(errno, "cannot watch the listening socket");
    if (status == VBN_OK) {
        *fd_p = fd;
        iface->address.ips[iface->address.count++] = *ip;
    } else if (fd >= 0) {
        os_own_close(fd);
    }
    return status;
}

void tcp_listen_close(tcp_iface_t *iface)
{
    for (unsigned i = 0; i < iface->address.count; i++)
        os_own_close(iface->listen_fds[i]);
    iface->address.count = 0;
}

/* Listens on all chosen addresses, with the port of the first. An address that the kernel does not know yet (IPv6 looks for
 * duplicates first) is left out, and so is one after the first on which nobody can listen. `again`: not when a program has that
 * port there, which is for another port to solve; then *taken_p. */
static vbn_status_t listen_on_all(tcp_iface_t *iface, bool again, bool *taken_p)
{
    uint16_t port = (uint16_t)iface->params.settings->tl_tcp_port;
    vbn_status_t status = VBN_OK;
    *taken_p = false;
    for (unsigned i = 0; i < iface->choice.count; i++) {
        int error;
        vbn_status_t one = listen_on(iface, &iface->choice.ips[i], &port, &error);
        if (one == VBN_OK)
            continue;
        *taken_p = again && iface->address.count > 0 && error == EADDRINUSE;
        status = one;
        if (*taken_p || (iface->address.count == 0 && error != EADDRNOTAVAIL))
            return status;
        LOG_WARN(iface->params.log, "tcp does without an address of this host: %s", err_text());
    }
    iface->address.port = port;
    return iface->address.count > 0 ? VBN_OK : status;
}

vbn_status_t tcp_listen_open(tcp_iface_t *iface)
{
    const settings_t *settings = iface->params.settings;
    vbn_status_t status = tcp_route_choose(settings->tl_tcp_interface, &iface->choice);
    if (status == VBN_OK)
        status = tcp_nets_list("", &iface->nets);
    bool taken = status == VBN_OK;
    for (unsigned tries = PORTS_TRIED; taken; tries--) {
        tcp_listen_close(iface);
        status = listen_on_all(iface, tries > 0 && settings->tl_tcp_port == 0, &taken);
    }
    if (status != VBN_OK)
        return status;
    iface->address.host_id = os_host_id();
    iface->address.netns_id = os_netns_id();
    iface->listens = true;
    return VBN_OK;
}

bool tcp_listen_owns(const tcp_iface_t *iface, const void *event)
{
    uintptr_t at = (uintptr_t)event;
    return at >= (uintptr_t)iface->listen_fds && at < (uintptr_t)(iface->listen_fds + TCP_ADDRESS_IPS);
}

/* Out of descriptors: a connection left in the queue would keep the listener readable and the worker spinning. The
 * reserve descriptor makes room to accept and close it. false = nothing was refused. */
static bool refuse_one(tcp_iface_t *iface, int listen_fd, int error)
{
    if (!iface->limit_logged)
        LOG_ERROR(iface->params.log, "tcp refuses incoming connections: %s%s", strerror(error), err_cure(error));
    iface->limit_logged = true;
    if (iface->reserve_fd < 0)
        return false;
    close(iface->reserve_fd);
    int fd = os_own_accept(listen_fd, NULL, NULL);
    if (fd >= 0)
        os_own_close(fd);
    iface->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static bool is_full(const tcp_iface_t *iface)
{
    return iface->untrusted_count >= (uint64_t)iface->params.settings->tl_tcp_max_unauthenticated;
}

static tcp_ep_t *oldest_untrusted(const tcp_iface_t *iface)
{
    return container_of(iface->untrusted.next, tcp_ep_t, untrusted);
}

static void watch_listeners(tcp_iface_t *iface, bool wanted)
{
    if (iface->listens == wanted)
        return;
    for (unsigned i = 0; i < iface->address.count; i++) {
        struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.ptr = &iface->listen_fds[i]};
        if (epoll_ctl(iface->epoll_fd, EPOLL_CTL_MOD, iface->listen_fds[i], &event) != 0)
            return;
    }
    iface->listens = wanted;
}

/* Whoever dials waits in the kernel's queue and not here, where it would cost another its connection: until one of the
 * unauthenticated has proved the key, has ended, or has had its time. */
static void stop_accepting(tcp_iface_t *iface)
{
    tcp_ep_t *oldest = oldest_untrusted(iface);
    watch_listeners(iface, false);
    tcp_ep_set_deadline(oldest, oldest->target_due_ns);
}

void tcp_listen_again(tcp_iface_t *iface)
{
    watch_listeners(iface, true);
}

static void drop_oldest_untrusted(tcp_iface_t *iface)
{
    tcp_ep_t *oldest = oldest_untrusted(iface);
    LOG_PEER_LOST(iface->params.log, VBN_LOG_WARN, 0,
                  "tcp closes the oldest of %u unauthenticated connection%s (tl.tcp.max_unauthenticated)",
                  iface->untrusted_count, plural(iface->untrusted_count));
    tcp_ep_fail(oldest, VBN_ERR_LIMIT, "more than tl.tcp.max_unauthenticated=%lld connections wait for authentication",
                (long long)iface->params.settings->tl_tcp_max_unauthenticated);
}

static void adopt(tcp_iface_t *iface, int fd, const struct sockaddr_storage *from)
{
    if (is_full(iface))
        drop_oldest_untrusted(iface);
    tcp_ep_t *ep = tcp_ep_new(iface, TCP_OPENING);
    if (!ep) {
        LOG_ERROR(iface->params.log, "tcp refuses a connection: %s", err_text());
        os_own_close(fd);
        return;
    }
    ep->fd = fd;
    ep->target_due_ns = os_now_ns() + EVICT_AFTER_NS;
    (void)tcp_ip_from_sockaddr((const struct sockaddr *)from, &ep->peer_ip, &ep->peer_port);
    tcp_socket_options(iface, fd);
    if (tcp_ep_secure(ep, false) != VBN_OK || tcp_ep_watch(ep) != VBN_OK) {
        LOG_ERROR(iface->params.log, "tcp refuses a connection: %s", err_text());
        tcp_ep_retire(ep);
        return;
    }
    list_append(&iface->untrusted, &ep->untrusted);
    iface->untrusted_count++;
    iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
}

unsigned tcp_listen_accept(tcp_iface_t *iface, const void *event)
{
    int listen_fd = *(const int *)event;
    unsigned events = 0;
    for (int i = 0; i < ACCEPTS_PER_PROGRESS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof(from);
        if (is_full(iface) && os_now_ns() < oldest_untrusted(iface)->target_due_ns) {
            stop_accepting(iface);
            break;
        }
        int fd = os_own_accept(listen_fd, (struct sockaddr *)&from, &length);
        if (fd >= 0) {
            adopt(iface, fd, &from);
            events++;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (!refuse_one(iface, listen_fd, errno))
                break;
            events++;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } /* else: that one connection died in the queue (ECONNABORTED, network errors) */
    }
    return events;
}
