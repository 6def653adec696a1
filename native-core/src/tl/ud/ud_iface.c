/* SPDX-License-Identifier: Apache-2.0
 * ud_iface.c - the UD interface of a worker: opening, receiving, progress; the table of operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tl/ud/ud_private.h"

#define PACKETS_PER_PROGRESS 64u

static const verbs_sizes_t SIZES = {.datagrams = 1024, .slots = 2 * VERBS_DEPTH, .large_bytes = VERBS_LARGE_DATAGRAM};

static void fill_caps(ud_iface_t *iface)
{
    uint32_t most = iface->verbs.port.address.mtu - UD_OVERHEAD;
    iface->caps = (tl_caps_t){.flags = TL_CAP_COPIES | TL_CAP_GROUPS,
                              .packet_max = most,
                              .group_max = iface->verbs.port.address.mtu - UD_GROUP_BYTES,
                              .eager_best = most - TL_HEADER_MAX,
                              .stream_chunk = most - TL_HEADER_MAX,
                              .traffic = TRAFFIC_AT(TRAFFIC_UD),
                              .latency_ns = 2000,
                              .mbytes_per_s = 3000,
                              .copies = 2};
}

static vbn_status_t ud_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    ud_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a ud interface");
    iface->base.ops = &tl_ud_ops;
    iface->params = *params;
    list_init(&iface->eps);
    list_init(&iface->news);
    list_init(&iface->blocked);
    list_init(&iface->dead);
    list_init(&iface->groups);
    map_init(&iface->by_id);
    map_init(&iface->by_remote);
    vbn_status_t status = verbs_iface_open(&iface->verbs, params, &SIZES);
    if (status >= 0 && (status = ud_life_open(&iface->life, &iface->verbs, params)) < 0)
        verbs_iface_close(&iface->verbs);
    if (status < 0) {
        free(iface);
        return status;
    }
    fill_caps(iface);
    LOG_INFO(params->log, "ud over %s (%s)", iface->verbs.port.why, iface->verbs.port.reason);
    *iface_p = &iface->base;
    return VBN_OK;
}

static void ud_close(tl_iface_t *base)
{
    ud_iface_t *iface = ud_iface_of(base);
    ud_life_close(&iface->life);
    ud_ep_free_dead(&iface->eps);
    ud_ep_free_dead(&iface->dead);
    map_free(&iface->by_id);
    map_free(&iface->by_remote);
    ud_group_close(iface);
    verbs_iface_close(&iface->verbs);
    free(iface);
}

static const tl_caps_t *ud_caps(const tl_iface_t *base)
{
    return &((const ud_iface_t *)base)->caps;
}

static vbn_status_t ud_address(const tl_iface_t *base, void *buffer, size_t *length_p)
{
    return verbs_iface_address(&((const ud_iface_t *)base)->verbs, buffer, length_p);
}

static vbn_status_t ud_reachable(const tl_iface_t *base, const void *address, size_t length, char *reason,
                                 size_t capacity)
{
    return verbs_iface_reachable(&((const ud_iface_t *)base)->verbs, address, length, reason, capacity);
}

/* -------------------------------------------------------------------------------------------- receiving */

/* The endpoint a packet is for; first words of an unknown one make it. */
static ud_ep_t *receiver(ud_iface_t *iface, const ud_prefix_t *prefix)
{
    char reason[128];
    if (!prefix->first) {
        ud_ep_t *ep = map_get(&iface->by_id, prefix->to);
        if (ep == NULL || (ep->remote_id != 0 && ep->remote_id != prefix->from))
            return NULL;
        ep->remote_id = prefix->from;
        return ep;
    }
    ud_ep_t *ep = map_get(&iface->by_remote, prefix->from);
    if (ep != NULL)
        return ep;
    if (verbs_address_reachable(&iface->verbs.address, &prefix->address, reason, sizeof(reason)) < 0)
        return NULL;
    ep = ud_ep_new(iface, NULL, &prefix->address, prefix->from, NULL);
    if (ep != NULL)
        iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
    return ep;
}

static bool receive_answer(ud_iface_t *iface, const uint8_t *bytes, uint32_t length)
{
    ud_life_word_t word;
    if (!ud_life_decode(bytes, length, &word) || !word.answer)
        return false;
    ud_ep_t *ep = map_get(&iface->by_id, word.to);
    if (ep != NULL && ep->remote_id == word.from)
        iface->params.upcalls.alive(&ep->base);
    return true;
}

static void deliver(ud_iface_t *iface, const uint8_t *bytes, uint32_t length)
{
    ud_prefix_t prefix;
    uint32_t header_at, payload_at;
    if (!ud_prefix_decode(bytes, length, &prefix, &header_at, &payload_at)) {
        if (!receive_answer(iface, bytes, length) && !ud_group_receive(iface, bytes, length))
            counter_add(iface->params.counters, COUNTER_BAD_FRAMES, 1);
        return;
    }
    ud_ep_t *ep = receiver(iface, &prefix);
    if (ep == NULL || ep->gone)
        return;
    counter_add(iface->params.counters, COUNTER_UD_RX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_UD_RX_BYTES, prefix.header_bytes + length - payload_at);
    iface->params.upcalls.rx(&ep->base, bytes + header_at, prefix.header_bytes, bytes + payload_at,
                             length - payload_at);
}

static unsigned receive(ud_iface_t *iface)
{
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    const struct ibv_wc *wc;
    unsigned events = 0;
    for (; events < PACKETS_PER_PROGRESS && (wc = verbs_cq_next(&iface->verbs.cq)) != NULL; events++) {
        uint64_t number = wc->wr_id;
        uint32_t length;
        const uint8_t *bytes = verbs_datagram_completion(datagram, wc, &length);
        if (bytes == NULL)
            continue;
        deliver(iface, bytes, length);
        verbs_datagram_release(datagram, number);
    }
    return events;
}

/* --------------------------------------------------------------------------------------------- progress */

static void fail_all(ud_iface_t *iface, const char *why)
{
    list_for_each(link, &iface->eps) {
        ud_ep_t *ep = container_of(link, ud_ep_t, link);
        ep->failed = why;
        ud_ep_add_news(ep);
    }
}

/* Their host does not answer. */
static void fail_unreached(ud_iface_t *iface)
{
    list_for_each(link, &iface->eps) {
        ud_ep_t *ep = container_of(link, ud_ep_t, link);
        if (ep->route->problem == NULL)
            continue;
        ep->failed = ep->route->problem;
        ud_ep_add_news(ep);
    }
}

/* The device is gone: every endpoint fails, once. */
static void tell_dead(ud_iface_t *iface)
{
    verbs_port_t *port = &iface->verbs.port;
    if (iface->told_dead)
        return;
    iface->told_dead = true;
    (void)snprintf(port->news, sizeof(port->news), "the device %s is gone or failed", port->name);
    fail_all(iface, port->news);
}

static unsigned take_events(ud_iface_t *iface)
{
    struct ibv_async_event event;
    unsigned events = 0;
    while (verbs_port_event(&iface->verbs.port, &event)) {
        iface->verbs.port.dead = iface->verbs.port.dead || event.event_type == IBV_EVENT_CQ_ERR;
        iface->verbs.port.api->ack_async_event(&event);
        events++;
    }
    return events;
}

static unsigned tell_news(ud_iface_t *iface)
{
    unsigned events = 0;
    list_link_t turn; /* marks the end of this turn: news made meanwhile waits for the next */
    list_append(&iface->news, &turn);
    for (; iface->news.next != &turn; events++)
        ud_ep_tell(container_of(list_pop(&iface->news), ud_ep_t, news));
    list_remove(&turn);
    return events;
}

static void wake_blocked(ud_iface_t *iface)
{
    while (!list_empty(&iface->blocked) && iface->verbs.datagram.sq.used < VERBS_DEPTH / 2)
        ud_ep_add_news(container_of(list_pop(&iface->blocked), ud_ep_t, news));
}

static unsigned ud_progress(tl_iface_t *base)
{
    ud_iface_t *iface = ud_iface_of(base);
    unsigned events = 0;
    if (iface->in_progress)
        return 0;
    iface->in_progress = true;
    if (verbs_iface_look(&iface->verbs)) {
        events += take_events(iface);
        ud_group_look(iface);
    }
    if (UNLIKELY(iface->verbs.datagram.unsettled) && verbs_routes_look(&iface->verbs.datagram))
        fail_unreached(iface);
    if (!list_empty(&iface->news))
        events += tell_news(iface);
    events += receive(iface);
    verbs_datagram_flush(&iface->verbs.datagram);
    if (UNLIKELY(iface->verbs.datagram.broken))
        verbs_datagram_restart(&iface->verbs.datagram);
    if (UNLIKELY(!list_empty(&iface->blocked)))
        wake_blocked(iface);
    if (UNLIKELY(iface->verbs.port.moved) && verbs_iface_moved(&iface->verbs)) {
        fail_all(iface, iface->verbs.port.news);
        ud_group_renew(iface);
    }
    if (UNLIKELY(iface->verbs.port.dead))
        tell_dead(iface);
    iface->in_progress = false;
    if (!list_empty(&iface->dead))
        ud_ep_free_dead(&iface->dead);
    return events;
}

static vbn_status_t ud_arm(tl_iface_t *base)
{
    ud_iface_t *iface = ud_iface_of(base);
    ud_group_look(iface);
    if (!list_empty(&iface->news) || iface->verbs.datagram.failed || take_events(iface) > 0)
        return VBN_BUSY;
    if (iface->verbs.port.moved || (iface->verbs.port.dead && !iface->told_dead))
        return VBN_BUSY;
    return verbs_cq_arm(&iface->verbs.cq);
}

static int ud_event_fd(const tl_iface_t *base)
{
    return ((const ud_iface_t *)base)->verbs.cq.epoll_fd;
}

const tl_ops_t tl_ud_ops = {
    .name = "ud",
    .devices = verbs_port_count,
    .open = ud_open,
    .close = ud_close,
    .caps = ud_caps,
    .address = ud_address,
    .reachable = ud_reachable,
    .progress = ud_progress,
    .arm = ud_arm,
    .event_fd = ud_event_fd,
    .connect = ud_ep_connect,
    .trust = ud_ep_trust,
    .disconnect = ud_ep_disconnect,
    .send = ud_ep_send,
    .probe = ud_ep_probe,
    .join = ud_group_join,
    .leave = ud_group_leave,
    .cast = ud_group_cast,
};
