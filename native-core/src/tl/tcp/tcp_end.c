/* SPDX-License-Identifier: Apache-2.0
 * tcp_end.c - trust, failure and disconnect of an endpoint. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tl/tcp/tcp_private.h"

vbn_status_t tcp_trust(tl_ep_t *base)
{
    tcp_ep_t *ep = tcp_ep_of(base);
    if (ep->state != TCP_OPENING && ep->state != TCP_READY)
        return err_set(VBN_ERR_INVALID, "tcp endpoint is not connected");
    if (ep->trusted)
        return VBN_OK;
    ep->trusted = true;
    ep->announce_ready = true;
    tcp_stranger_proved(ep);
    tcp_stranger_leave(ep);
    tcp_ep_pend(ep);
    return VBN_OK;
}

static void end_activity(tcp_ep_t *ep)
{
    if (ep->iface->hot == ep)
        ep->iface->hot = NULL;
    tcp_ep_close_socket(ep);
    tcp_ep_clear_deadline(ep);
    list_remove(&ep->watched);
    tcp_stranger_leave(ep);
    list_remove(&ep->pending);
    ep->large = NULL;
}

void tcp_ep_fail(tcp_ep_t *ep, vbn_status_t status, const char *format, ...)
{
    if (ep->state == TCP_FAILED || ep->state == TCP_GONE)
        return;
    if (ep->detached) {
        tcp_ep_retire(ep);
        return;
    }
    char text[TCP_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    end_activity(ep);
    ep->state = TCP_FAILED;
    tcp_tx_drop(ep, true, status);
    if (ep->state == TCP_FAILED) /* T2 */
        ep->iface->params.upcalls.ep_error(&ep->base, status, text);
}

void tcp_ep_retire(tcp_ep_t *ep)
{
    if (ep->state == TCP_GONE)
        return;
    tcp_iface_t *iface = ep->iface;
    end_activity(ep);
    ep->state = TCP_GONE;
    tcp_tx_drop(ep, false, VBN_ERR_CLOSED);
    list_remove(&ep->all);
    list_append(&iface->gone, &ep->all);
    iface->ep_count--;
    if (!iface->progressing)
        tcp_ep_reap(iface);
}

void tcp_ep_reap(tcp_iface_t *iface)
{
    list_link_t *link;
    while ((link = list_pop(&iface->gone)) != NULL) {
        tcp_ep_t *ep = container_of(link, tcp_ep_t, all);
        free(ep->rx);
        free(ep->assembly);
        free(ep->targets);
        free(ep);
    }
}

void tcp_ep_flush_step(tcp_ep_t *ep)
{
    if (ep->state != TCP_FLUSHING)
        return;
    if (ep->tx_count == 0 && !ep->write_ended) {
        ep->write_ended = true;
        if (shutdown(ep->fd, SHUT_WR) != 0)
            ep->read_ended = true; /* the connection is gone already */
    }
    /* Closing before the peer's end was read would reset the connection, and could cost the peer our last bytes. */
    if (ep->write_ended && ep->read_ended)
        tcp_ep_retire(ep);
}

static void begin_flush(tcp_ep_t *ep, uint64_t timeout_ns)
{
    uint64_t now = os_now_ns();
    ep->detached = true;
    ep->base.owner = NULL;
    ep->announce_ready = false;
    ep->want_tx_ready = false;
    ep->large = NULL;
    ep->flush_due_ns = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    tcp_stranger_leave(ep);
    if (ep->state == TCP_CONNECTING) {
        if (ep->flush_due_ns < ep->target_due_ns)
            ep->target_due_ns = ep->flush_due_ns;
        if (ep->flush_due_ns < ep->deadline_ns)
            tcp_ep_set_deadline(ep, ep->flush_due_ns);
        return;
    }
    ep->state = TCP_FLUSHING;
    if (ep->iface->hot == ep)
        ep->iface->hot = NULL;
    tcp_ep_set_deadline(ep, ep->flush_due_ns);
    tcp_ep_flush_step(ep);
}

void tcp_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    tcp_ep_t *ep = tcp_ep_of(base);
    bool flush = mode == VBN_CLOSE_FLUSH && timeout_ns > 0 && ep->state != TCP_FAILED;
    if (ep->state == TCP_CONNECTING)
        flush = flush && ep->tx_count > 0;
    else if (ep->broken)
        flush = false;
    if (flush && tcp_tx_detach(ep) != VBN_OK) {
        LOG_PEER_LOST(ep->iface->params.log, VBN_LOG_WARN, 0, "tcp drops unsent packets of a closing peer: %s",
                      err_text());
        flush = false;
    }
    if (flush)
        begin_flush(ep, timeout_ns);
    else
        tcp_ep_retire(ep);
}
