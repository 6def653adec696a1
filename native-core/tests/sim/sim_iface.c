/* SPDX-License-Identifier: Apache-2.0
 * sim_iface.c - the transport over a simulated net: interface, endpoints, delivery in progress. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"

#define ADDRESS_VERSION 1
#define ADDRESS_BYTES 16
#define PACKETS_PER_PROGRESS 64u

/* ------------------------------------------------------------------------------------------- endpoints */

static void add_news(sim_ep_t *ep)
{
    if (list_empty(&ep->link) && !ep->gone)
        list_append(&((sim_iface_t *)ep->base.iface)->news, &ep->link);
}

void sim_ep_fail(sim_ep_t *ep, sim_failure_t why)
{
    if (ep->failed != FAILED_NOT || ep->gone)
        return;
    ep->failed = (uint8_t)why;
    add_news(ep);
}

static const char *failure_text(const sim_ep_t *ep)
{
    switch ((sim_failure_t)ep->failed) {
    case FAILED_NOT: break;
    case FAILED_CLOSED: return "the peer closed the simulated connection";
    case FAILED_BROKEN: return "the simulated connection broke";
    case FAILED_GONE: return "nobody is there any more";
    }
    return "";
}

static sim_ep_t *new_ep(sim_iface_t *iface, void *owner, uint64_t remote_uid, uint64_t remote_ep)
{
    sim_ep_t *ep = calloc(1, sizeof(*ep));
    if (ep == NULL)
        return NULL;
    ep->base.iface = &iface->base;
    ep->base.owner = owner;
    ep->id = iface->net->next_ep++;
    ep->remote_uid = remote_uid;
    ep->remote_ep = remote_ep;
    list_init(&ep->link);
    list_init(&ep->tx);
    vbn_status_t status = map_put(&iface->by_id, ep->id, ep);
    if (status >= 0 && remote_ep != 0 && (status = map_put(&iface->by_remote, remote_ep, ep)) < 0)
        (void)map_remove(&iface->by_id, ep->id);
    if (status < 0) {
        free(ep);
        return NULL;
    }
    return ep;
}

static void free_ep(sim_ep_t *ep)
{
    for (list_link_t *link; (link = list_pop(&ep->tx)) != NULL;)
        sim_packet_free(container_of(link, sim_packet_t, link));
    free(ep);
}

static void free_all(list_link_t *list)
{
    for (list_link_t *link; (link = list_pop(list)) != NULL;)
        free_ep(container_of(link, sim_ep_t, link));
}

/* ------------------------------------------------------------------------------------------- interface */

static vbn_status_t open_on(const tl_params_t *params, const tl_ops_t *ops, unsigned fabric, tl_iface_t **iface_p)
{
    sim_net_t *net = sim_net_entered();
    if (net == NULL)
        return err_set(VBN_ERR_INVALID, "transport %s has no simulated net: call sim_net_enter first", ops->name);
    sim_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a simulated interface");
    const sim_fabric_t *config = &net->fabrics[fabric];
    uint32_t payload = config->packet_max - TL_HEADER_MAX;
    iface->base.ops = ops;
    iface->params = *params;
    iface->net = net;
    iface->fabric = fabric;
    unsigned flags = config->datagram ? 0 : TL_CAP_RELIABLE | TL_CAP_BREAKS;
    iface->caps = (tl_caps_t){.flags = flags | (config->costly ? TL_CAP_COSTLY : 0),
                              .packet_max = config->packet_max,
                              .eager_best = payload < 8192 ? payload : 8192,
                              .stream_chunk = payload,
                              .latency_ns = (uint32_t)config->delay_ns,
                              .mbytes_per_s = 1000};
    list_init(&iface->news);
    list_init(&iface->dead);
    list_init(&iface->inbox);
    map_init(&iface->by_id);
    map_init(&iface->by_remote);
    vbn_status_t status = map_put(&net->ifaces[fabric], params->worker_uid, iface);
    if (status < 0) {
        free(iface);
        return status;
    }
    *iface_p = &iface->base;
    return VBN_OK;
}

static vbn_status_t open_first(const tl_params_t *params, tl_iface_t **iface_p)
{
    return open_on(params, &tl_sim_ops, 0, iface_p);
}

static vbn_status_t open_second(const tl_params_t *params, tl_iface_t **iface_p)
{
    return open_on(params, &tl_sim2_ops, 1, iface_p);
}

static void sim_close(tl_iface_t *tl_iface)
{
    sim_iface_t *iface = (sim_iface_t *)tl_iface;
    sim_net_t *net = iface->net;
    sim_ep_t *ep;
    size_t cursor = 0;
    map_remove(&net->ifaces[iface->fabric], iface->params.worker_uid);
    if ((iface->caps.flags & TL_CAP_RELIABLE) != 0)
        while ((ep = map_next(&iface->by_id, &cursor, NULL)) != NULL)
            sim_net_notify(net, ep, SIM_BROKEN, false);
    cursor = 0;
    while ((ep = map_next(&iface->by_id, &cursor, NULL)) != NULL)
        free_ep(ep);
    free_all(&iface->dead);
    for (list_link_t *link; (link = list_pop(&iface->inbox)) != NULL;)
        sim_packet_free(container_of(link, sim_packet_t, link));
    map_free(&iface->by_id);
    map_free(&iface->by_remote);
    free(iface);
}

static const tl_caps_t *sim_caps(const tl_iface_t *iface)
{
    return &((const sim_iface_t *)iface)->caps;
}

static vbn_status_t sim_address(const tl_iface_t *tl_iface, void *buffer, size_t *length_p)
{
    if (*length_p < ADDRESS_BYTES)
        return err_set(VBN_ERR_LIMIT, "buffer of %zu bytes for a sim address of %d", *length_p, ADDRESS_BYTES);
    uint8_t *out = buffer;
    uint64_t uid = ((const sim_iface_t *)tl_iface)->params.worker_uid;
    memset(out, 0, ADDRESS_BYTES);
    out[0] = ADDRESS_VERSION;
    for (unsigned i = 0; i < 8; i++)
        out[8 + i] = (uint8_t)(uid >> (8 * i));
    *length_p = ADDRESS_BYTES;
    return VBN_OK;
}

/* 0: malformed. */
static uint64_t decode_uid(const void *address, size_t length)
{
    const uint8_t *in = address;
    uint64_t uid = 0;
    if (length != ADDRESS_BYTES || in[0] != ADDRESS_VERSION)
        return 0;
    for (unsigned i = 0; i < 8; i++)
        uid |= (uint64_t)in[8 + i] << (8 * i);
    return uid;
}

static vbn_status_t sim_reachable(const tl_iface_t *tl_iface, const void *address, size_t length, char *reason,
                                  size_t capacity)
{
    const sim_iface_t *iface = (const sim_iface_t *)tl_iface;
    uint64_t uid = decode_uid(address, length);
    snprintf(reason, capacity, uid == 0 ? "malformed sim address" : "same simulated net");
    if (uid == 0)
        return err_set(VBN_ERR_PROTOCOL, "%s", reason);
    if (map_get(&iface->net->ifaces[iface->fabric], uid) != NULL)
        return VBN_OK;
    snprintf(reason, capacity, "not in this simulated net");
    return err_set(VBN_ERR_UNREACHABLE, "sim: %s", reason);
}

static vbn_status_t sim_connect(tl_iface_t *iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    uint64_t uid = decode_uid(address, length);
    if (uid == 0)
        return err_set(VBN_ERR_PROTOCOL, "malformed sim address of %zu bytes", length);
    sim_ep_t *ep = new_ep((sim_iface_t *)iface, owner, uid, 0);
    if (ep == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a sim endpoint");
    *ep_p = &ep->base;
    return VBN_OK;
}

static vbn_status_t sim_trust(tl_ep_t *tl_ep)
{
    sim_ep_t *ep = (sim_ep_t *)tl_ep;
    ep->tell_ready = true;
    add_news(ep);
    return VBN_OK;
}

/* ---------------------------------------------------------------------------------------------- sending */

static void read_payload(sim_packet_t *packet, const struct iovec *iov, uint32_t count)
{
    uint8_t *to = packet->bytes + sim_payload_at(packet->header_bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (iov[i].iov_len > 0)
            memcpy(to, iov[i].iov_base, iov[i].iov_len);
        to += iov[i].iov_len;
    }
}

static bool full(const sim_iface_t *iface, const sim_ep_t *ep)
{
    const sim_fabric_t *config = &iface->net->fabrics[iface->fabric];
    const sim_iface_t *to = map_get(&iface->net->ifaces[iface->fabric], ep->remote_uid);
    return !config->datagram && config->inbox_max > 0 && to != NULL && to->inbox_count >= config->inbox_max;
}

static vbn_status_t sim_send(tl_ep_t *tl_ep, const tl_packet_t *packet)
{
    sim_ep_t *ep = (sim_ep_t *)tl_ep;
    sim_iface_t *iface = (sim_iface_t *)tl_ep->iface;
    sim_net_t *net = iface->net;
    const sim_fabric_t *config = &net->fabrics[iface->fabric];
    if (ep->failed != FAILED_NOT)
        return err_set(VBN_ERR_PEER_LOST, "%s", failure_text(ep));
    if (packet->header_bytes > TL_HEADER_MAX || packet->payload_bytes > iface->caps.packet_max - packet->header_bytes)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %d and %u in all", packet->header_bytes,
                       packet->payload_bytes, TL_HEADER_MAX, iface->caps.packet_max);
    if (ep->blocked || full(iface, ep) || sim_net_lucky(net, config->busy_ppm)) {
        ep->blocked = true;
        add_news(ep);
        return VBN_BUSY;
    }
    sim_packet_t *copy = sim_packet_new(ep, packet->header_bytes, packet->payload_bytes);
    if (copy == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a simulated packet");
    memcpy(copy->bytes, packet->header, packet->header_bytes);
    bool later = !list_empty(&ep->tx) || sim_net_lucky(net, config->later_ppm);
    if (!later || packet->cookie == NULL)
        read_payload(copy, packet->iov, packet->iov_count);
    if (!later) {
        sim_net_launch(net, ep, copy);
        return VBN_OK;
    }
    copy->iov = packet->cookie != NULL ? packet->iov : NULL;
    copy->iov_count = packet->iov_count;
    copy->cookie = packet->cookie;
    if (config->later_ns > 0 && packet->cookie != NULL) {
        copy->due_ns = net->now_ns + sim_net_random(net) % config->later_ns;
        sim_net_wake(net, ep, copy->due_ns);
    }
    list_append(&ep->tx, &copy->link);
    add_news(ep);
    return packet->cookie != NULL ? VBN_INPROGRESS : VBN_OK;
}

/* Over a reliable fabric connections see to it by themselves. */
static void sim_probe(tl_ep_t *tl_ep)
{
    sim_ep_t *ep = (sim_ep_t *)tl_ep;
    sim_iface_t *iface = (sim_iface_t *)tl_ep->iface;
    if ((iface->caps.flags & TL_CAP_RELIABLE) != 0 || ep->failed != FAILED_NOT || ep->remote_ep == 0)
        return;
    sim_packet_t *packet = sim_packet_new(ep, 0, 0);
    if (packet == NULL)
        return;
    packet->kind = SIM_ASK;
    sim_net_launch(iface->net, ep, packet);
}

static void launch_first(sim_iface_t *iface, sim_ep_t *ep)
{
    sim_packet_t *packet = container_of(list_pop(&ep->tx), sim_packet_t, link);
    void *cookie = packet->cookie;
    if (packet->iov != NULL)
        read_payload(packet, packet->iov, packet->iov_count);
    packet->iov = NULL;
    sim_net_launch(iface->net, ep, packet);
    if (cookie != NULL)
        iface->params.upcalls.tx_done(&ep->base, cookie, VBN_OK);
}

/* FLUSH on a reliable fabric: what was taken is delivered before the end. Datagrams end without a word. */
static void sim_disconnect(tl_ep_t *tl_ep, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    sim_ep_t *ep = (sim_ep_t *)tl_ep;
    sim_iface_t *iface = (sim_iface_t *)tl_ep->iface;
    (void)timeout_ns; /* delivery needs nothing but time */
    if (ep->gone)
        return;
    while (mode == VBN_CLOSE_FLUSH && ep->failed == FAILED_NOT && !list_empty(&ep->tx)) {
        sim_packet_t *packet = container_of(list_pop(&ep->tx), sim_packet_t, link);
        if (packet->iov != NULL)
            read_payload(packet, packet->iov, packet->iov_count);
        packet->iov = NULL;
        sim_net_launch(iface->net, ep, packet);
    }
    if (ep->failed == FAILED_NOT && (iface->caps.flags & TL_CAP_RELIABLE) != 0)
        sim_net_notify(iface->net, ep, SIM_FIN, mode == VBN_CLOSE_FLUSH);
    ep->gone = true;
    (void)map_remove(&iface->by_id, ep->id);
    if (ep->remote_ep != 0 && map_get(&iface->by_remote, ep->remote_ep) == ep)
        (void)map_remove(&iface->by_remote, ep->remote_ep);
    list_remove(&ep->link);
    list_append(&iface->dead, &ep->link);
    if (!iface->in_progress)
        free_all(&iface->dead);
}

/* --------------------------------------------------------------------------------------------- progress */

/* The endpoint a packet is for; an unknown sender's first packet makes one. */
static sim_ep_t *receiver(sim_iface_t *iface, const sim_packet_t *packet)
{
    const tl_upcalls_t *up = &iface->params.upcalls;
    sim_ep_t *ep = packet->to_ep != 0 ? map_get(&iface->by_id, packet->to_ep)
                                      : map_get(&iface->by_remote, packet->from_ep);
    if (ep != NULL) {
        if (ep->remote_uid != packet->from_uid || (ep->remote_ep != 0 && ep->remote_ep != packet->from_ep))
            return NULL;
        ep->remote_ep = packet->from_ep;
        return ep;
    }
    bool datagram = (iface->caps.flags & TL_CAP_RELIABLE) == 0;
    if (packet->to_ep != 0 || packet->kind != SIM_DATA || (!datagram && !packet->first))
        return NULL;
    ep = new_ep(iface, NULL, packet->from_uid, packet->from_ep);
    if (ep != NULL)
        up->accepted(up->arg, &ep->base);
    return ep;
}

static void wake(sim_iface_t *iface, sim_packet_t *packet)
{
    sim_ep_t *ep = map_get(&iface->by_id, packet->to_ep);
    if (ep != NULL)
        add_news(ep);
    sim_packet_free(packet);
}

static void deliver(sim_iface_t *iface, sim_packet_t *packet)
{
    if (packet->kind == SIM_WAKE) {
        wake(iface, packet);
        return;
    }
    sim_ep_t *ep = receiver(iface, packet);
    if (ep != NULL && !ep->gone && ep->failed == FAILED_NOT) {
        if (packet->kind == SIM_DATA)
            iface->params.upcalls.rx(&ep->base, packet->bytes, packet->header_bytes,
                                     packet->bytes + sim_payload_at(packet->header_bytes), packet->payload_bytes);
        else if (packet->kind == SIM_ALIVE)
            iface->params.upcalls.alive(&ep->base);
        else
            sim_ep_fail(ep, packet->kind == SIM_FIN ? FAILED_CLOSED : FAILED_BROKEN);
    }
    sim_packet_free(packet);
}

/* Everything one endpoint has to tell; it may go in any upcall. */
static void tell(sim_iface_t *iface, sim_ep_t *ep)
{
    const tl_upcalls_t *up = &iface->params.upcalls;
    if (ep->failed != FAILED_NOT) {
        if (!ep->told)
            up->ep_error(&ep->base, VBN_ERR_PEER_LOST, failure_text(ep));
        ep->told = true;
        return;
    }
    if (ep->tell_ready) {
        ep->tell_ready = false;
        up->ready(&ep->base);
    }
    while (!ep->gone && ep->failed == FAILED_NOT && !list_empty(&ep->tx) &&
           container_of(ep->tx.next, sim_packet_t, link)->due_ns <= iface->net->now_ns)
        launch_first(iface, ep);
    if (ep->gone || ep->failed != FAILED_NOT || !ep->blocked)
        return;
    if (full(iface, ep)) {
        add_news(ep);
        return;
    }
    ep->blocked = false;
    up->tx_ready(&ep->base);
}

static unsigned sim_progress(tl_iface_t *tl_iface)
{
    sim_iface_t *iface = (sim_iface_t *)tl_iface;
    unsigned events = 0;
    list_link_t turn;
    if (iface->in_progress || (list_empty(&iface->news) && list_empty(&iface->inbox)))
        return 0;
    iface->in_progress = true;
    list_init(&turn); /* marks the end of this turn: news made meanwhile waits for the next */
    list_append(&iface->news, &turn);
    while (iface->news.next != &turn) {
        tell(iface, container_of(list_pop(&iface->news), sim_ep_t, link));
        events++;
    }
    list_remove(&turn);
    for (unsigned i = 0; i < PACKETS_PER_PROGRESS && !list_empty(&iface->inbox); i++, events++) {
        iface->inbox_count--;
        deliver(iface, container_of(list_pop(&iface->inbox), sim_packet_t, link));
    }
    iface->in_progress = false;
    free_all(&iface->dead);
    return events;
}

static vbn_status_t sim_arm(tl_iface_t *tl_iface)
{
    const sim_iface_t *iface = (const sim_iface_t *)tl_iface;
    return list_empty(&iface->news) && list_empty(&iface->inbox) ? VBN_OK : VBN_BUSY;
}

static int sim_event_fd(const tl_iface_t *iface)
{
    (void)iface;
    return -1; /* time passes only when the test says so */
}

#define SIM_OPS(label, opener)                                                                                         \
    {.name = label,                                                                                                    \
     .open = opener,                                                                                                   \
     .close = sim_close,                                                                                               \
     .caps = sim_caps,                                                                                                 \
     .address = sim_address,                                                                                           \
     .reachable = sim_reachable,                                                                                       \
     .progress = sim_progress,                                                                                         \
     .arm = sim_arm,                                                                                                   \
     .event_fd = sim_event_fd,                                                                                         \
     .connect = sim_connect,                                                                                           \
     .trust = sim_trust,                                                                                               \
     .disconnect = sim_disconnect,                                                                                     \
     .send = sim_send,                                                                                                 \
     .probe = sim_probe}

const tl_ops_t tl_sim_ops = SIM_OPS("sim", open_first);
const tl_ops_t tl_sim2_ops = SIM_OPS("sim2", open_second);
