/* SPDX-License-Identifier: Apache-2.0
 * rc_iface.c - the RC interface of a worker: opening, receiving, progress; the table of operations. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

#define SIGNALS 128u    /* datagrams that may arrive at once */
#define RC_HEADERS 128u /* of a bulk packet, at most: with its payload it fills two frames of 4096 bytes, not three */
#define PACKETS_PER_PROGRESS 64u

/* --------------------------------------------------------------------------------------- open and close */

static void fill_caps(rc_iface_t *iface)
{
    iface->caps = (tl_caps_t){.flags = TL_CAP_RELIABLE | TL_CAP_BREAKS | TL_CAP_COSTLY | TL_CAP_NATIVE,
                              .packet_max = RC_PAYLOAD + TL_HEADER_MAX,
                              .eager_best = RC_PAYLOAD,
                              .stream_chunk = RC_PAYLOAD - RC_HEADERS,
                              .unread_max = VERBS_DEPTH,
                              .traffic = TRAFFIC_AT(TRAFFIC_RC),
                              .latency_ns = 1500,
                              .mbytes_per_s = 10000,
                              .copies = 2};
}

static void free_all(list_link_t *list)
{
    for (list_link_t *link; (link = list_pop(list)) != NULL;)
        rc_ep_free(container_of(link, rc_ep_t, link));
}

static void rc_close(tl_iface_t *base)
{
    rc_iface_t *iface = rc_iface_of(base);
    free_all(&iface->eps);
    free_all(&iface->closing);
    free_all(&iface->dead);
    rc_qp_drained_look(iface, UINT64_MAX);
    map_free(&iface->by_id);
    map_free(&iface->by_remote);
    map_free(&iface->by_qp);
    verbs_places_close(&iface->places);
    mem_device_end(iface->params.memory, &iface->device);
    rc_receives_close(iface);
    if (iface->timer_fd >= 0)
        close(iface->timer_fd);
    rc_cm_shut(iface);
    verbs_iface_close(&iface->verbs);
    free(iface);
}

static void init_lists(rc_iface_t *iface)
{
    list_link_t *lists[] = {&iface->eps,     &iface->news,    &iface->blocked, &iface->opening,
                            &iface->ringing, &iface->closing, &iface->dead,    &iface->draining};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        list_init(lists[i]);
    map_init(&iface->by_id);
    map_init(&iface->by_remote);
    map_init(&iface->by_qp);
}

static vbn_status_t rc_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    rc_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for an rc interface");
    iface->base.ops = &tl_rc_ops;
    iface->params = *params;
    iface->timer_fd = -1;
    init_lists(iface);
    rc_native_open(iface);
    const verbs_sizes_t sizes = {.datagrams = SIGNALS,
                                 .receives = RC_BLOCKS * RC_BLOCK,
                                 .receives_least = RC_RECEIVES,
                                 .slots = VERBS_SLOTS_MAX,
                                 .large_bytes = RC_STRIDE,
                                 .signals_only = true};
    vbn_status_t status = verbs_iface_open(&iface->verbs, params, &sizes);
    if (status < 0) {
        free(iface);
        return status;
    }
    iface->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    status = iface->timer_fd < 0 ? err_sys(errno, "cannot create a timer descriptor")
                                 : verbs_cq_watch(&iface->verbs.cq, iface->timer_fd);
    if (status >= 0)
        status = rc_receives_open(iface);
    if (status >= 0 && iface->verbs.cm)
        status = rc_cm_open(iface);
    if (status < 0) {
        rc_close(&iface->base);
        return status;
    }
    fill_caps(iface);
    LOG_INFO(params->log, "rc over %s (%s)%s", iface->verbs.port.why, iface->verbs.port.reason,
             iface->verbs.cm ? ", connections by rdma_cm" : "");
    *iface_p = &iface->base;
    return VBN_OK;
}

static const tl_caps_t *rc_caps(const tl_iface_t *base)
{
    return &((const rc_iface_t *)base)->caps;
}

static vbn_status_t rc_address(const tl_iface_t *base, void *buffer, size_t *length_p)
{
    return verbs_iface_address(&((const rc_iface_t *)base)->verbs, buffer, length_p);
}

static vbn_status_t rc_reachable(const tl_iface_t *base, const void *address, size_t length, char *reason,
                                 size_t capacity)
{
    return verbs_iface_reachable(&((const rc_iface_t *)base)->verbs, address, length, reason, capacity);
}

/* -------------------------------------------------------------------------------------------- receiving */

static void deliver(rc_iface_t *iface, rc_ep_t *ep, const uint8_t *bytes, uint32_t length)
{
    rc_message_t message;
    if (length > RC_STRIDE || !rc_message_decode(bytes, length, &message)) {
        counter_add(iface->params.counters, COUNTER_BAD_FRAMES, 1);
        rc_ep_fail(ep, "the peer sent a malformed packet");
        return;
    }
    if (!ep->trusted && message.header_bytes + message.payload_bytes > TL_SIGNAL_MAX) {
        rc_ep_fail(ep, "the peer sent a large packet before it was trusted");
        return;
    }
    if (message.kind == RC_MESSAGE_NOTHING)
        return;
    counter_add(iface->params.counters, COUNTER_RC_RX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_RC_RX_BYTES, message.header_bytes + message.payload_bytes);
    iface->params.upcalls.rx(&ep->base, bytes + RC_PREFIX_BYTES, message.header_bytes,
                             bytes + rc_payload_at(message.header_bytes), message.payload_bytes);
}

static void receive(rc_iface_t *iface, const struct ibv_wc *wc)
{
    uint32_t index = (uint32_t)(wc->wr_id >> 1);
    rc_ep_t *ep = map_get(&iface->by_qp, wc->qp_num);
    if (wc->status != IBV_WC_SUCCESS && ep != NULL)
        rc_ep_fail(ep, "a packet could not be received");
    else if (wc->status == IBV_WC_SUCCESS && ep != NULL && ep->state <= RC_READY)
        deliver(iface, ep, rc_receives_bytes(iface, index), wc->byte_len);
    rc_receives_again(iface, index);
}

static void handle(rc_iface_t *iface, const struct ibv_wc *wc)
{
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    if (!verbs_datagram_owns(datagram, wc)) {
        if ((wc->wr_id & 1) != 0)
            receive(iface, wc);
        else
            rc_sent(iface, wc);
        return;
    }
    uint64_t number = wc->wr_id;
    uint32_t length;
    const uint8_t *bytes = verbs_datagram_completion(datagram, wc, &length);
    if (bytes == NULL)
        return;
    rc_signal_receive(iface, bytes, length);
    verbs_datagram_release(datagram, number);
}

/* --------------------------------------------------------------------------------------------- progress */

static void fail_all(rc_iface_t *iface, const char *why)
{
    list_for_each(link, &iface->eps)
        rc_ep_fail(container_of(link, rc_ep_t, link), why);
}

/* Their host does not answer. */
static void fail_unreached(rc_iface_t *iface)
{
    list_for_each(link, &iface->eps) {
        rc_ep_t *ep = container_of(link, rc_ep_t, link);
        if (ep->route != NULL && ep->route->problem != NULL)
            rc_ep_fail(ep, ep->route->problem);
    }
}

static unsigned take_events(rc_iface_t *iface)
{
    verbs_port_t *port = &iface->verbs.port;
    struct ibv_async_event event;
    unsigned events = 0;
    for (; verbs_port_event(port, &event); events++) {
        rc_ep_t *ep = NULL;
        if (event.event_type == IBV_EVENT_QP_FATAL || event.event_type == IBV_EVENT_QP_REQ_ERR ||
            event.event_type == IBV_EVENT_QP_ACCESS_ERR)
            ep = map_get(&iface->by_qp, event.element.qp->qp_num);
        if (ep != NULL)
            rc_ep_fail(ep, "the device reported a fatal error of its queue pair");
        if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
            rc_qp_last_receive(iface, event.element.qp);
        if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
            rc_receives_low(iface);
        if (event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_SRQ_ERR)
            port->dead = true;
        port->api->ack_async_event(&event);
    }
    return events + rc_cm_look(iface);
}

static unsigned tell_news(rc_iface_t *iface)
{
    unsigned events = 0;
    list_link_t turn; /* marks the end of this turn: news made meanwhile waits for the next */
    list_append(&iface->news, &turn);
    for (; iface->news.next != &turn; events++)
        rc_ep_tell(container_of(list_pop(&iface->news), rc_ep_t, news));
    list_remove(&turn);
    return events;
}

static void tick(rc_iface_t *iface)
{
    uint64_t now = os_now_ns(), expired;
    if (now < iface->tick_ns)
        return;
    ssize_t got = read(iface->timer_fd, &expired, sizeof(expired));
    (void)got; /* only makes the descriptor quiet */
    iface->tick_ns = 0;
    if (!list_empty(&iface->draining)) {
        rc_qp_drained_look(iface, now);
        (void)take_events(iface); /* those it names are destroyed at the next tick, when what came has been taken off */
    }
    for (list_link_t *link = iface->opening.next, *next; link != &iface->opening; link = next) {
        next = link->next;
        rc_signal_look(container_of(link, rc_ep_t, opening), now);
    }
    for (list_link_t *link = iface->closing.next, *next; link != &iface->closing; link = next) {
        next = link->next;
        rc_ep_closing_look(container_of(link, rc_ep_t, link), now);
    }
    if (!list_empty(&iface->opening) || !list_empty(&iface->closing) || !list_empty(&iface->draining))
        rc_tick_soon(iface);
}

static void moved(rc_iface_t *iface)
{
    fail_all(iface, iface->verbs.port.news);
    if (iface->verbs.cm && rc_cm_listen(iface) < 0)
        LOG_WARN(iface->params.log, "%s", err_text());
}

static void wake_blocked(rc_iface_t *iface)
{
    for (list_link_t *link = iface->blocked.next, *next; link != &iface->blocked; link = next) {
        rc_ep_t *ep = container_of(link, rc_ep_t, news);
        next = link->next;
        if (ep->sq.used < VERBS_DEPTH / 2 && iface->verbs.slots.free != NULL)
            rc_ep_add_news(ep);
    }
}

static void finish(rc_iface_t *iface)
{
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    while (!list_empty(&iface->ringing))
        rc_ring(container_of(iface->ringing.next, rc_ep_t, ringing));
    verbs_datagram_flush(datagram);
    if (UNLIKELY(datagram->broken))
        verbs_datagram_restart(datagram);
    if (!list_empty(&iface->blocked))
        wake_blocked(iface);
    if (UNLIKELY(iface->verbs.port.moved) && verbs_iface_moved(&iface->verbs))
        moved(iface);
    if (UNLIKELY(iface->verbs.port.dead && !iface->told_dead)) {
        iface->told_dead = true;
        fail_all(iface, "the device is gone or failed");
    }
}

static unsigned rc_progress(tl_iface_t *base)
{
    rc_iface_t *iface = rc_iface_of(base);
    const struct ibv_wc *wc;
    unsigned events = 0, count = 0;
    if (iface->in_progress)
        return 0;
    iface->in_progress = true;
    if (verbs_iface_look(&iface->verbs)) {
        events += take_events(iface);
        verbs_places_look(&iface->places);
    }
    if (UNLIKELY(iface->tick_ns != 0))
        tick(iface);
    if (UNLIKELY(iface->verbs.datagram.unsettled) && verbs_routes_look(&iface->verbs.datagram))
        fail_unreached(iface);
    if (!list_empty(&iface->news))
        events += tell_news(iface);
    for (; count < PACKETS_PER_PROGRESS && (wc = verbs_cq_next(&iface->verbs.cq)) != NULL; count++)
        handle(iface, wc);
    iface->verbs.turns += count; /* few receives may be left */
    finish(iface);
    if (UNLIKELY(iface->cm.parted) && count < PACKETS_PER_PROGRESS)
        rc_cm_parted(iface);
    iface->in_progress = false;
    if (!list_empty(&iface->dead))
        free_all(&iface->dead);
    return events + count;
}

static vbn_status_t rc_arm(tl_iface_t *base)
{
    rc_iface_t *iface = rc_iface_of(base);
    verbs_places_look(&iface->places);
    if (!list_empty(&iface->news) || iface->verbs.datagram.failed || take_events(iface) > 0 ||
        iface->verbs.port.moved || (iface->verbs.port.dead && !iface->told_dead))
        return VBN_BUSY;
    return verbs_cq_arm(&iface->verbs.cq);
}

static int rc_event_fd(const tl_iface_t *base)
{
    return ((const rc_iface_t *)base)->verbs.cq.epoll_fd;
}

const tl_ops_t tl_rc_ops = {
    .name = "rc",
    .devices = verbs_port_count,
    .open = rc_open,
    .close = rc_close,
    .caps = rc_caps,
    .address = rc_address,
    .reachable = rc_reachable,
    .progress = rc_progress,
    .arm = rc_arm,
    .event_fd = rc_event_fd,
    .connect = rc_ep_connect,
    .trust = rc_ep_trust,
    .disconnect = rc_ep_disconnect,
    .send = rc_send,
    .probe = rc_probe,
    .expose = rc_native_expose,
    .access = rc_native_access,
    .ring = rc_native_ring,
};
