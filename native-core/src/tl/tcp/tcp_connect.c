/* SPDX-License-Identifier: Apache-2.0
 * tcp_connect.c - outgoing connections: the peer's addresses are tried in turn, without blocking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tl/tcp/tcp_private.h"

static const char *cure(int error)
{
    switch (error) {
    case ECONNREFUSED: return "; nothing listens there: has the peer ended, or does a firewall reject the port?";
    case ETIMEDOUT: return "; no answer: check firewall and address, or raise tl.tcp.connect_timeout";
    case ENETUNREACH:
    case EHOSTUNREACH: return "; no route: the peer should listen on a reachable network, see tl.tcp.interface";
    case EADDRNOTAVAIL: return "; no free local port: too many connections, see net.ipv4.ip_local_port_range";
    default: return err_cure(error);
    }
}

/* The kernel may connect a socket to itself when the target is a free ephemeral port of this host. */
static bool connected_to_itself(int fd)
{
    struct sockaddr_storage own = {0};
    struct sockaddr_storage peer = {0};
    socklen_t own_length = sizeof(own);
    socklen_t peer_length = sizeof(peer);
    if (getsockname(fd, (struct sockaddr *)&own, &own_length) != 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_length) != 0)
        return false;
    return own_length == peer_length && memcmp(&own, &peer, own_length) == 0;
}

/* Begins with the current target: 0 = under way or connected, else errno. */
static int start_target(tcp_ep_t *ep)
{
    tcp_iface_t *iface = ep->iface;
    struct sockaddr_storage address;
    ep->peer_ip = ep->targets->ips[ep->target];
    ep->peer_port = ep->targets->port;
    socklen_t length = tcp_ip_to_sockaddr(&ep->peer_ip, ep->peer_port, &address);
    ep->fd = os_own_socket(address.ss_family, SOCK_STREAM);
    if (ep->fd < 0)
        return errno;
    tcp_socket_options(iface, ep->fd);
    int error = connect(ep->fd, (struct sockaddr *)&address, length) == 0 ? 0 : errno;
    if (error != 0 && error != EINPROGRESS)
        return error;
    if (tcp_ep_watch(ep) != VBN_OK)
        return ENOMEM;
    uint64_t now = os_now_ns();
    uint64_t left = ep->target_due_ns > now ? ep->target_due_ns - now : 0;
    tcp_ep_set_deadline(ep, now + left / (ep->targets->count - ep->target));
    return 0;
}

/* Notes why the current target failed, and goes on with the next that can be begun; ends the endpoint when none is
 * left. */
static void next_target(tcp_ep_t *ep, int error)
{
    while (error != 0) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ep_peer_text(ep, text);
        tcp_ep_close_socket(ep);
        if (ep->target + 1 >= ep->targets->count) {
            vbn_status_t status = error == ETIMEDOUT                   ? VBN_ERR_TIMEOUT
                                  : error == EMFILE || error == ENFILE ? VBN_ERR_LIMIT
                                                                       : VBN_ERR_UNREACHABLE;
            tcp_ep_fail(ep, status, "cannot connect to %s (address %u of %u): %s%s", text, ep->target + 1,
                        (unsigned)ep->targets->count, strerror(error), cure(error));
            return;
        }
        LOG_PEER(ep->iface->params.log, VBN_LOG_INFO, 0,
                 "tcp cannot connect to %s: %s; it tries the peer's next address", text, strerror(error));
        ep->target++;
        error = start_target(ep);
    }
}

vbn_status_t tcp_connect_targets(const tcp_iface_t *iface, const void *address, size_t length, tcp_address_t *targets_p)
{
    vbn_status_t status = tcp_address_decode(address, length, targets_p);
    if (status != VBN_OK)
        return status;
    bool same_stack = targets_p->host_id == iface->address.host_id && targets_p->netns_id == iface->address.netns_id;
    return tcp_targets_sort(&iface->nets, same_stack, targets_p);
}

vbn_status_t tcp_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    tcp_iface_t *iface = tcp_iface_of(base);
    tcp_address_t targets;
    vbn_status_t status = tcp_connect_targets(iface, address, length, &targets);
    if (status != VBN_OK)
        return status;
    tcp_ep_t *ep = tcp_ep_new(iface, TCP_CONNECTING);
    if (!ep)
        return VBN_ERR_NO_MEMORY;
    ep->base.owner = owner;
    ep->targets = malloc(sizeof(targets));
    if (!ep->targets) {
        tcp_ep_retire(ep);
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a tcp endpoint");
    }
    *ep->targets = targets;
    ep->target_due_ns = os_now_ns() + iface->params.settings->tl_tcp_connect_timeout;
    ep->broken = start_target(ep);
    if (ep->broken)
        tcp_ep_pend(ep); /* T3: the next progress() goes on */
    *ep_p = &ep->base;
    return VBN_OK;
}

void tcp_connect_event(tcp_ep_t *ep)
{
    int error = ep->broken;
    socklen_t length = sizeof(error);
    ep->broken = 0;
    if (error == 0 && getsockopt(ep->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0) {
        struct sockaddr_storage peer;
        length = sizeof(peer);
        if (getpeername(ep->fd, (struct sockaddr *)&peer, &length) != 0)
            return; /* ENOTCONN: still under way */
        if (connected_to_itself(ep->fd))
            error = ECONNREFUSED;
    }
    if (error != 0) {
        next_target(ep, error);
        return;
    }
    tcp_ep_clear_deadline(ep);
    free(ep->targets);
    ep->targets = NULL;
    if (tcp_ep_secure(ep, true) != VBN_OK) {
        tcp_ep_fail(ep, VBN_ERR_NO_MEMORY, "%s", err_text());
        return;
    }
    ep->state = ep->detached ? TCP_FLUSHING : TCP_OPENING;
    if (ep->detached)
        tcp_ep_set_deadline(ep, ep->flush_due_ns);
    (void)tcp_tx_progress(ep);
}

void tcp_connect_expired(tcp_ep_t *ep)
{
    next_target(ep, ETIMEDOUT);
}
