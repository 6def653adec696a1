/* SPDX-License-Identifier: Apache-2.0
 * self.c - a worker talking to itself: connect() makes two endpoints of one interface, packets are copied to a queue
 * and delivered in progress, never inside send(). One worker thread owns all of it.
 *
 * Address: u8 version (1), 7 zero bytes, u64 worker uid, little endian. Nothing but the same worker is reachable. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mpool.h"
#include "tl/tl.h"

#define SELF_ADDRESS_VERSION 1
#define SELF_ADDRESS_BYTES 16
#define SELF_PAYLOAD_MAX 8192u
#define SELF_PACKET_MAX (SELF_PAYLOAD_MAX + TL_HEADER_MAX)
#define SELF_QUEUE_MAX 256u /* packets of one endpoint that wait */
#define SELF_PACKETS_PER_POLL 64u

typedef struct self_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;
    mpool_t packets;
    list_link_t queue; /* self_packet_t, in the order of sending */
    list_link_t eps;
    list_link_t dead; /* freed after progress */
    bool in_progress;
    unsigned pending; /* ready, ep_error or tx_ready to be told */
} self_iface_t;

typedef struct self_ep {
    tl_ep_t base;
    list_link_t link;
    struct self_ep *other; /* NULL once it is gone */
    bool accepted_told;    /* or not necessary */
    bool tell_ready;
    bool tell_lost;
    bool blocked;
    bool gone;
    uint32_t queued; /* packets sent here and not yet delivered */
} self_ep_t;

typedef struct self_packet {
    list_link_t link;
    self_ep_t *from; /* NULL once it is gone; packets stay */
    self_ep_t *to;   /* NULL: dropped */
    uint32_t header_bytes;
    uint32_t payload_bytes;
    _Alignas(16) uint8_t bytes[]; /* header, padding to 16, payload */
} self_packet_t;

static size_t payload_at(uint32_t header_bytes)
{
    return (header_bytes + 15u) & ~15u;
}

static vbn_status_t self_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    self_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for the self interface");
    iface->base.ops = &tl_self_ops;
    iface->params = *params;
    iface->caps = (tl_caps_t){.flags = TL_CAP_RELIABLE | TL_CAP_MAP | TL_CAP_COPIES | TL_CAP_SELF,
                              .packet_max = SELF_PACKET_MAX,
                              .traffic = TRAFFIC_AT(TRAFFIC_SELF),
                              .eager_best = SELF_PAYLOAD_MAX,
                              .stream_chunk = SELF_PAYLOAD_MAX,
                              .latency_ns = 50,
                              .mbytes_per_s = 20000,
                              .copies = 2};
    mpool_init(&iface->packets, sizeof(self_packet_t) + SELF_PACKET_MAX + 16, 16, 0);
    list_init(&iface->queue);
    list_init(&iface->eps);
    list_init(&iface->dead);
    *iface_p = &iface->base;
    return VBN_OK;
}

static void free_all(list_link_t *list)
{
    list_link_t *link;
    while ((link = list_pop(list)) != NULL)
        free(container_of(link, self_ep_t, link));
}

static void self_close(tl_iface_t *tl_iface)
{
    self_iface_t *iface = (self_iface_t *)tl_iface;
    free_all(&iface->eps);
    free_all(&iface->dead);
    mpool_free(&iface->packets);
    free(iface);
}

static const tl_caps_t *self_caps(const tl_iface_t *tl_iface)
{
    return &((const self_iface_t *)tl_iface)->caps;
}

static vbn_status_t self_address(const tl_iface_t *tl_iface, void *buffer, size_t *length_p)
{
    if (*length_p < SELF_ADDRESS_BYTES)
        return err_set(VBN_ERR_LIMIT, "buffer of %zu bytes for a self address of %d", *length_p, SELF_ADDRESS_BYTES);
    uint8_t *out = buffer;
    uint64_t uid = ((const self_iface_t *)tl_iface)->params.worker_uid;
    memset(out, 0, SELF_ADDRESS_BYTES);
    out[0] = SELF_ADDRESS_VERSION;
    for (unsigned i = 0; i < 8; i++)
        out[8 + i] = (uint8_t)(uid >> (8 * i));
    *length_p = SELF_ADDRESS_BYTES;
    return VBN_OK;
}

static vbn_status_t self_reachable(const tl_iface_t *tl_iface, const void *address, size_t length, char *reason,
                                   size_t capacity)
{
    uint8_t own[SELF_ADDRESS_BYTES];
    size_t own_length = sizeof(own);
    (void)self_address(tl_iface, own, &own_length);
    const uint8_t *in = address;
    if (length != SELF_ADDRESS_BYTES || in[0] != SELF_ADDRESS_VERSION) {
        snprintf(reason, capacity, "malformed self address of %zu bytes", length);
        return err_set(VBN_ERR_PROTOCOL, "%s", reason);
    }
    if (memcmp(own, address, SELF_ADDRESS_BYTES) != 0) {
        snprintf(reason, capacity, "another worker");
        return err_set(VBN_ERR_UNREACHABLE, "self: %s", reason);
    }
    snprintf(reason, capacity, "same worker");
    return VBN_OK;
}

static self_ep_t *new_ep(self_iface_t *iface, void *owner)
{
    self_ep_t *ep = calloc(1, sizeof(*ep));
    if (ep == NULL)
        return NULL;
    ep->base.iface = &iface->base;
    ep->base.owner = owner;
    list_append(&iface->eps, &ep->link);
    return ep;
}

static vbn_status_t self_connect(tl_iface_t *tl_iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    self_iface_t *iface = (self_iface_t *)tl_iface;
    char reason[64];
    vbn_status_t status = self_reachable(tl_iface, address, length, reason, sizeof(reason));
    if (status != VBN_OK)
        return status;
    self_ep_t *near = new_ep(iface, owner);
    self_ep_t *far = near != NULL ? new_ep(iface, NULL) : NULL;
    if (far == NULL) {
        if (near != NULL) {
            list_remove(&near->link);
            free(near);
        }
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a self endpoint");
    }
    near->other = far;
    far->other = near;
    near->accepted_told = true;
    iface->pending++; /* accepted(far) */
    *ep_p = &near->base;
    return VBN_OK;
}

static vbn_status_t self_trust(tl_ep_t *tl_ep)
{
    self_ep_t *ep = (self_ep_t *)tl_ep;
    if (!ep->tell_ready) {
        ep->tell_ready = true;
        ((self_iface_t *)tl_ep->iface)->pending++;
    }
    return VBN_OK;
}

/* FLUSH: packets sent are delivered before the other side hears of the end. NOW: they are dropped. */
static void forget_packets(self_iface_t *iface, const self_ep_t *ep, vbn_close_mode_t mode)
{
    list_for_each(link, &iface->queue) {
        self_packet_t *packet = container_of(link, self_packet_t, link);
        if (packet->to == ep || (packet->from == ep && mode == VBN_CLOSE_NOW))
            packet->to = NULL;
        if (packet->from == ep)
            packet->from = NULL;
    }
}

static void self_disconnect(tl_ep_t *tl_ep, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    (void)timeout_ns; /* delivery needs nothing but progress */
    self_ep_t *ep = (self_ep_t *)tl_ep;
    self_iface_t *iface = (self_iface_t *)tl_ep->iface;
    if (ep->gone)
        return;
    ep->gone = true;
    forget_packets(iface, ep, mode);
    if (ep->other != NULL) {
        ep->other->other = NULL;
        ep->other->tell_lost = true;
        iface->pending++;
    }
    list_remove(&ep->link);
    list_append(&iface->dead, &ep->link);
    if (!iface->in_progress)
        free_all(&iface->dead);
}

static vbn_status_t self_send(tl_ep_t *tl_ep, const tl_packet_t *packet)
{
    self_ep_t *ep = (self_ep_t *)tl_ep;
    self_iface_t *iface = (self_iface_t *)tl_ep->iface;
    if (packet->header_bytes > TL_HEADER_MAX || packet->payload_bytes > SELF_PACKET_MAX - packet->header_bytes)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %d and %u in all", packet->header_bytes,
                       packet->payload_bytes, TL_HEADER_MAX, SELF_PACKET_MAX);
    if (ep->other == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the worker's other end is closed");
    if (ep->queued >= SELF_QUEUE_MAX) {
        ep->blocked = true;
        return VBN_BUSY;
    }
    self_packet_t *copy = mpool_get(&iface->packets);
    if (copy == NULL)
        return VBN_ERR_NO_MEMORY;
    copy->from = ep;
    copy->to = ep->other;
    copy->header_bytes = packet->header_bytes;
    copy->payload_bytes = packet->payload_bytes;
    memcpy(copy->bytes, packet->header, packet->header_bytes);
    uint8_t *to = copy->bytes + payload_at(packet->header_bytes);
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].iov_len != 0)
            memcpy(to, packet->iov[i].iov_base, packet->iov[i].iov_len);
        to += packet->iov[i].iov_len;
    }
    ep->queued++;
    list_append(&iface->queue, &copy->link);
    counter_add(iface->params.counters, COUNTER_SELF_TX_MSGS, 1);
    counter_add(iface->params.counters, COUNTER_SELF_TX_BYTES, packet->header_bytes + packet->payload_bytes);
    return VBN_OK;
}

/* The key is our own registry's: map its memory once more, as any same-host peer would. */
static vbn_status_t self_import(tl_ep_t *tl_ep, const mem_key_info_t *info, tl_import_func_t func, void *arg)
{
    mem_registry_t *memory = ((self_iface_t *)tl_ep->iface)->params.memory;
    mem_import_t *import = mem_import_find(memory, MEM_SOURCE_SELF, info);
    if (import == NULL) {
        int fd;
        vbn_status_t status = mem_key_descriptor(memory, info->key_handle, &fd);
        if (status == VBN_OK)
            status = mem_import_map(memory, MEM_SOURCE_SELF, info, fd, &import);
        if (status != VBN_OK)
            return status;
    }
    func(arg, VBN_OK, import);
    return VBN_OK;
}

static void deliver(self_iface_t *iface, self_packet_t *packet)
{
    const tl_upcalls_t *up = &iface->params.upcalls;
    self_ep_t *from = packet->from;
    if (from != NULL)
        from->queued--;
    if (packet->to != NULL) /* endpoints live until the end of progress, also when an upcall disconnects them */
        up->rx(&packet->to->base, packet->bytes, packet->header_bytes, packet->bytes + payload_at(packet->header_bytes),
               packet->payload_bytes);
    if (from != NULL && !from->gone && from->blocked && from->queued <= SELF_QUEUE_MAX / 2) {
        from->blocked = false;
        up->tx_ready(&from->base);
    }
    mpool_put(&iface->packets, packet);
}

static bool tell_one(self_iface_t *iface, self_ep_t *ep)
{
    const tl_upcalls_t *up = &iface->params.upcalls;
    if (!ep->accepted_told) {
        ep->accepted_told = true;
        up->accepted(up->arg, &ep->base);
    } else if (ep->tell_ready) {
        ep->tell_ready = false;
        up->ready(&ep->base);
    } else {
        return false;
    }
    iface->pending--;
    return true;
}

/* Upcalls may add and remove endpoints: start over after each. */
static unsigned tell_news(self_iface_t *iface)
{
    unsigned count = 0;
    list_link_t *link = iface->eps.next;
    while (iface->pending > 0 && link != &iface->eps) {
        bool told = tell_one(iface, container_of(link, self_ep_t, link));
        count += told;
        link = told ? iface->eps.next : link->next;
    }
    return count;
}

/* After the queue has been emptied: the other side has gone. */
static unsigned tell_lost(self_iface_t *iface)
{
    unsigned count = 0;
    list_link_t *link = iface->eps.next;
    while (link != &iface->eps) {
        self_ep_t *ep = container_of(link, self_ep_t, link);
        link = link->next;
        if (!ep->tell_lost)
            continue;
        ep->tell_lost = false;
        iface->params.upcalls.ep_error(&ep->base, VBN_ERR_PEER_LOST, "the worker's other end was closed");
        count++;
        link = iface->eps.next;
    }
    return count;
}

static unsigned self_progress(tl_iface_t *tl_iface)
{
    self_iface_t *iface = (self_iface_t *)tl_iface;
    if (iface->in_progress || (iface->pending == 0 && list_empty(&iface->queue)))
        return 0;
    iface->in_progress = true;
    unsigned count = tell_news(iface);
    list_link_t *link;
    for (unsigned i = 0; i < SELF_PACKETS_PER_POLL && (link = list_pop(&iface->queue)) != NULL; i++, count++)
        deliver(iface, container_of(link, self_packet_t, link));
    if (list_empty(&iface->queue) && iface->pending > 0) {
        count += tell_lost(iface);
        iface->pending = 0;
        list_for_each(ep_link, &iface->eps) {
            const self_ep_t *ep = container_of(ep_link, self_ep_t, link);
            iface->pending += (unsigned)!ep->accepted_told + ep->tell_ready + ep->tell_lost;
        }
    }
    iface->in_progress = false;
    free_all(&iface->dead);
    return count;
}

static vbn_status_t self_arm(tl_iface_t *tl_iface)
{
    const self_iface_t *iface = (const self_iface_t *)tl_iface;
    return iface->pending == 0 && list_empty(&iface->queue) ? VBN_OK : VBN_BUSY;
}

static int self_event_fd(const tl_iface_t *iface)
{
    (void)iface;
    return -1; /* nothing arrives from outside */
}

static vbn_status_t self_host_user(const tl_ep_t *ep, uint32_t *user_p)
{
    (void)ep;
    *user_p = (uint32_t)geteuid();
    return VBN_OK;
}

const tl_ops_t tl_self_ops = {
    .name = "self",
    .open = self_open,
    .close = self_close,
    .caps = self_caps,
    .address = self_address,
    .reachable = self_reachable,
    .progress = self_progress,
    .arm = self_arm,
    .event_fd = self_event_fd,
    .connect = self_connect,
    .trust = self_trust,
    .disconnect = self_disconnect,
    .send = self_send,
    .import = self_import,
    .host_user = self_host_user,
};
