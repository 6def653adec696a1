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

static vbn_status_t bind_and_listen(tcp_iface_t *iface, int fd, uint16_t port)
{
    struct sockaddr_storage address;
    char text[TCP_ENDPOINT_TEXT];
    socklen_t length = tcp_ip_to_sockaddr(&iface->choice.ip, port, &address);
    tcp_ip_text(&iface->choice.ip, port, text);
    if (port)
        set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    tcp_socket_options(iface, fd); /* accepted sockets inherit the buffer sizes, which fix the window scale */
    if (bind(fd, (struct sockaddr *)&address, length) != 0)
        return err_sys(errno, "cannot listen on %s%s", text,
                       errno == EADDRINUSE ? " (taken by another worker or program; tl.tcp.port=0 picks a free one)"
                                           : "");
    if (listen(fd, BACKLOG) != 0)
        return err_sys(errno, "cannot listen on %s", text);
    length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return err_sys(errno, "cannot read the port of %s", text);
    if (!tcp_ip_from_sockaddr((struct sockaddr *)&address, &iface->address.ips[0], &iface->address.port))
        return err_set(VBN_ERR_SYSTEM, "the socket of %s has another address family", text);
    return VBN_OK;
}

vbn_status_t tcp_listen_open(tcp_iface_t *iface)
{
    const settings_t *settings = iface->params.settings;
    vbn_status_t status = tcp_route_choose(settings->tl_tcp_interface, &iface->choice);
    if (status != VBN_OK)
        return status;
    int fd = os_own_socket(iface->choice.ip.family == 4 ? AF_INET : AF_INET6, SOCK_STREAM);
    if (fd < 0)
        return err_sys(errno, "cannot create a TCP socket");
    status = bind_and_listen(iface, fd, (uint16_t)settings->tl_tcp_port);
    if (status != VBN_OK) {
        os_own_close(fd);
        return status;
    }
    iface->listen_fd = fd;
    iface->address.count = 1;
    iface->address.host_id = os_host_id();
    iface->address.netns_id = os_netns_id();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &iface->listen_fd};
    if (epoll_ctl(iface->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return err_sys(errno, "cannot watch the listening socket");
    iface->listens = true;
    return VBN_OK;
}

/* Out of descriptors: a connection left in the queue would keep the listener readable and the worker spinning. The
 * reserve descriptor makes room to accept and close it. false = nothing was refused. */
static bool refuse_one(tcp_iface_t *iface, int error)
{
    if (!iface->limit_logged)
        LOG_ERROR(iface->params.log, "tcp refuses incoming connections: %s%s", strerror(error), err_cure(error));
    iface->limit_logged = true;
    if (iface->reserve_fd < 0)
        return false;
    close(iface->reserve_fd);
    int fd = os_own_accept(iface->listen_fd, NULL, NULL);
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

static void watch_listener(tcp_iface_t *iface, bool wanted)
{
    struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.ptr = &iface->listen_fd};
    if (iface->listens != wanted && epoll_ctl(iface->epoll_fd, EPOLL_CTL_MOD, iface->listen_fd, &event) == 0)
        iface->listens = wanted;
}

/* Whoever dials waits in the kernel's queue and not here, where it would cost another its connection: until one of the
 * unauthenticated has proved the key, has ended, or has had its time. */
static void stop_accepting(tcp_iface_t *iface)
{
    tcp_ep_t *oldest = oldest_untrusted(iface);
    watch_listener(iface, false);
    tcp_ep_set_deadline(oldest, oldest->target_due_ns);
}

void tcp_listen_again(tcp_iface_t *iface)
{
    watch_listener(iface, true);
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

unsigned tcp_listen_accept(tcp_iface_t *iface)
{
    unsigned events = 0;
    for (int i = 0; i < ACCEPTS_PER_PROGRESS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof(from);
        if (is_full(iface) && os_now_ns() < oldest_untrusted(iface)->target_due_ns) {
            stop_accepting(iface);
            break;
        }
        int fd = os_own_accept(iface->listen_fd, (struct sockaddr *)&from, &length);
        if (fd >= 0) {
            adopt(iface, fd, &from);
            events++;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (!refuse_one(iface, errno))
                break;
            events++;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } /* else: that one connection died in the queue (ECONNABORTED, network errors) */
    }
    return events;
}
