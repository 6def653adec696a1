/* SPDX-License-Identifier: Apache-2.0
 * tcp_listen.c - the listening sockets, accepting, and running out of descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tl/tcp/tcp_private.h"

#define ACCEPTS_PER_PROGRESS 16
/* the kernel takes net.core.somaxconn of it: connections wait there while this side accepts none */
#define BACKLOG 4096
#define PORTS_TRIED 16u /* until one is free on all addresses */

static vbn_status_t bind_and_listen(tcp_iface_t *iface, int fd, const tcp_ip_t *ip, uint16_t *port_p, int *error_p)
{
    struct sockaddr_storage address;
    char text[TCP_ENDPOINT_TEXT];
    tcp_ip_t bound;
    socklen_t length = tcp_ip_to_sockaddr(ip, *port_p, &address);
    tcp_ip_text(ip, *port_p, text);
    if (iface->params.settings->tl_tcp_port)
        tcp_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (ip->family == 6)
        tcp_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
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

unsigned tcp_listen_accept(tcp_iface_t *iface, const void *event)
{
    int listen_fd = *(const int *)event;
    unsigned events = 0;
    for (int i = 0; i < ACCEPTS_PER_PROGRESS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof(from);
        int fd = os_own_accept(listen_fd, (struct sockaddr *)&from, &length);
        if (fd >= 0) {
            tcp_places_enter(iface, fd, (struct sockaddr *)&from);
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
