/* SPDX-License-Identifier: Apache-2.0
 * tcp_ep.c - life of an endpoint: creation, watched events, deadlines, trust, failure, disconnect. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

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

/* ---------------------------------------------------------------------------------------------- deadlines */

static void arm_timer(tcp_iface_t *iface, uint64_t due_ns)
{
    struct itimerspec when = {0};
    when.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
    when.it_value.tv_nsec = (long)(due_ns % 1000000000u);
    iface->timer_ns = due_ns;
    (void)timerfd_settime(iface->timer_fd, TFD_TIMER_ABSTIME, &when, NULL); /* fails for bad arguments only */
}

void tcp_timer_by(tcp_iface_t *iface, uint64_t due_ns)
{
    if (iface->timer_ns == 0 || due_ns < iface->timer_ns)
        arm_timer(iface, due_ns);
}

void tcp_ep_set_deadline(tcp_ep_t *ep, uint64_t deadline_ns)
{
    tcp_iface_t *iface = ep->iface;
    ep->deadline_ns = deadline_ns;
    if (list_empty(&ep->timed))
        list_append(&iface->timed, &ep->timed);
    tcp_timer_by(iface, deadline_ns);
}

void tcp_ep_clear_deadline(tcp_ep_t *ep)
{
    list_remove(&ep->timed);
}

static tcp_ep_t *first_expired(tcp_iface_t *iface, uint64_t now)
{
    list_for_each(link, &iface->timed) {
        tcp_ep_t *ep = container_of(link, tcp_ep_t, timed);
        if (ep->deadline_ns <= now)
            return ep;
    }
    return NULL;
}

void tcp_timer_expired(tcp_iface_t *iface)
{
    uint64_t expirations;
    ssize_t n = read(iface->timer_fd, &expirations, sizeof(expirations));
    (void)n; /* EAGAIN when it was re-armed meanwhile: looking at the list is right in any case */
    uint64_t now = os_now_ns();
    iface->timer_ns = 0;
    tcp_ep_t *ep;
    while ((ep = first_expired(iface, now)) != NULL) {
        tcp_ep_clear_deadline(ep);
        if (ep->detached && now >= ep->flush_due_ns)
            tcp_ep_retire(ep);
        else if (ep->state == TCP_CONNECTING)
            tcp_connect_expired(ep);
    } /* of an unauthenticated one: tcp_places_admit looks */
    tcp_alive_look(iface, now);
    uint64_t next = iface->look_ns != 0 ? iface->look_ns : UINT64_MAX;
    list_for_each(link, &iface->timed) {
        const tcp_ep_t *timed = container_of(link, tcp_ep_t, timed);
        next = timed->deadline_ns < next ? timed->deadline_ns : next;
    }
    if (next != UINT64_MAX)
        arm_timer(iface, next);
}

/* ------------------------------------------------------------------------------------------- trust and end */

vbn_status_t tcp_trust(tl_ep_t *base)
{
    tcp_ep_t *ep = tcp_ep_of(base);
    if (ep->state != TCP_OPENING && ep->state != TCP_READY)
        return err_set(VBN_ERR_INVALID, "tcp endpoint is not connected");
    if (ep->trusted)
        return VBN_OK;
    ep->trusted = true;
    ep->announce_ready = true;
    tcp_places_proved(ep);
    tcp_places_leave(ep);
    tcp_ep_pend(ep);
    return VBN_OK;
}

void tcp_ep_peer_text(const tcp_ep_t *ep, char text[TCP_ENDPOINT_TEXT])
{
    tcp_ip_text(&ep->peer_ip, ep->peer_port, text);
}

static void end_activity(tcp_ep_t *ep)
{
    if (ep->iface->hot == ep)
        ep->iface->hot = NULL;
    tcp_ep_close_socket(ep);
    tcp_ep_clear_deadline(ep);
    list_remove(&ep->watched);
    tcp_places_leave(ep);
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
    tcp_places_leave(ep);
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
