/* SPDX-License-Identifier: Apache-2.0
 * tcp_ep.c - an endpoint and its socket: creation, TLS, watched events. Its end: tcp_end.c. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "tl/tcp/tcp_private.h"

tcp_ep_t *tcp_ep_new(tcp_iface_t *iface, tcp_state_t state)
{
    tcp_ep_t *ep = calloc(1, sizeof(*ep));
    uint8_t *rx = malloc(TCP_RX_OPENING_BYTES);
    if (!ep || !rx) {
        free(ep);
        free(rx);
        (void)err_set(VBN_ERR_NO_MEMORY, "no memory for a tcp endpoint");
        return NULL;
    }
    ep->base.iface = &iface->base;
    ep->iface = iface;
    ep->fd = -1;
    ep->state = state;
    ep->rx = rx;
    ep->rx_capacity = TCP_RX_OPENING_BYTES;
    list_init(&ep->pending);
    list_init(&ep->untrusted);
    list_init(&ep->timed);
    list_init(&ep->watched);
    list_init(&ep->tx);
    list_init(&ep->written);
    list_append(&iface->eps, &ep->all);
    iface->ep_count++;
    return ep;
}

static uint32_t wanted_events(const tcp_ep_t *ep)
{
    if (ep->state == TCP_CONNECTING)
        return EPOLLOUT;
    bool writes = ep->tx_count > 0 && (ep->tls == NULL || !tcp_tls_waits_for_peer(ep->tls));
    return (ep->read_ended ? 0u : (uint32_t)EPOLLIN) | (writes ? (uint32_t)EPOLLOUT : 0u);
}

vbn_status_t tcp_ep_secure(tcp_ep_t *ep, bool initiator)
{
    if (ep->iface->tls == NULL)
        return VBN_OK;
    ep->tls = tcp_tls_attach(ep->iface->tls, ep->fd, initiator);
    return ep->tls != NULL ? VBN_OK : VBN_ERR_NO_MEMORY;
}

vbn_status_t tcp_ep_watch(tcp_ep_t *ep)
{
    uint32_t mask = wanted_events(ep);
    if (mask == ep->epoll_mask)
        return VBN_OK;
    struct epoll_event event = {.events = mask, .data.ptr = ep};
    if (epoll_ctl(ep->iface->epoll_fd, ep->epoll_mask ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, ep->fd, &event) != 0)
        return err_sys(errno, "cannot watch a tcp socket");
    ep->epoll_mask = mask;
    return VBN_OK;
}

void tcp_ep_close_socket(tcp_ep_t *ep)
{
    if (ep->fd < 0)
        return;
    /* Explicitly: a child of a fork that no handler saw (clone) would keep the registration alive by its copy. */
    if (ep->epoll_mask)
        (void)epoll_ctl(ep->iface->epoll_fd, EPOLL_CTL_DEL, ep->fd, NULL);
    ep->epoll_mask = 0;
    tcp_tls_free(ep->tls);
    ep->tls = NULL;
    os_own_close(ep->fd);
    ep->fd = -1;
}

void tcp_ep_pend(tcp_ep_t *ep)
{
    if (list_empty(&ep->pending))
        list_append(&ep->iface->pending, &ep->pending);
}

void tcp_ep_peer_text(const tcp_ep_t *ep, char text[TCP_ENDPOINT_TEXT])
{
    tcp_ip_text(&ep->peer_ip, ep->peer_port, text);
}
