/* SPDX-License-Identifier: Apache-2.0
 * loop_tl.c - the link tests' transport. Endpoints live until their interface closes. */
#include "loop_tl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/os.h"

typedef struct loop_packet {
    list_link_t link;
    uint32_t header_bytes;
    uint32_t payload_bytes;
    uint8_t bytes[];
} loop_packet_t;

typedef struct loop_done {
    list_link_t link;
    void *cookie;
} loop_done_t;

typedef struct loop_ep {
    tl_ep_t base;
    struct loop_ep *other;
    list_link_t link;
    list_link_t inbox; /* loop_packet_t */
    list_link_t done;  /* loop_done_t */
    bool tell_accepted, trusted, ready, blocked, lost, told_lost, gone;
} loop_ep_t;

typedef struct loop_iface {
    tl_iface_t base;
    tl_params_t params;
    list_link_t eps;
    list_link_t link;
} loop_iface_t;

loop_control_t loop_control;
static list_link_t ifaces = {&ifaces, &ifaces};
static const tl_caps_t caps2 = {.flags = TL_CAP_RELIABLE,
                                .packet_max = 2048,
                                .eager_best = 1024,
                                .stream_chunk = 1024,
                                .latency_ns = 100,
                                .mbytes_per_s = 1000};
static const tl_caps_t caps = {.flags = TL_CAP_RELIABLE,
                               .packet_max = 65536,
                               .eager_best = 8192,
                               .stream_chunk = 32768,
                               .latency_ns = 100,
                               .mbytes_per_s = 1000};

static uint64_t loop_random(void)
{
    uint64_t x = loop_control.seed + 0x9e3779b97f4a7c15u;
    loop_control.seed = x;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool lucky(unsigned one_of)
{
    return one_of > 0 && loop_random() % one_of == 0;
}

static vbn_status_t open_as(const tl_ops_t *ops, const tl_params_t *params, tl_iface_t **iface_p)
{
    loop_iface_t *iface = calloc(1, sizeof(*iface));
    if (iface == NULL)
        return VBN_ERR_NO_MEMORY;
    iface->base.ops = ops;
    iface->params = *params;
    list_init(&iface->eps);
    list_append(&ifaces, &iface->link);
    *iface_p = &iface->base;
    return VBN_OK;
}

static vbn_status_t loop_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    return open_as(&loop_ops, params, iface_p);
}

static vbn_status_t loop2_open(const tl_params_t *params, tl_iface_t **iface_p)
{
    return open_as(&loop2_ops, params, iface_p);
}

static void clear_ep(loop_ep_t *ep)
{
    for (list_link_t *link; (link = list_pop(&ep->inbox)) != NULL;)
        free(container_of(link, loop_packet_t, link));
    for (list_link_t *link; (link = list_pop(&ep->done)) != NULL;)
        free(container_of(link, loop_done_t, link));
}

static void loop_close(tl_iface_t *base)
{
    loop_iface_t *iface = (loop_iface_t *)base;
    for (list_link_t *link; (link = list_pop(&iface->eps)) != NULL;) {
        loop_ep_t *ep = container_of(link, loop_ep_t, link);
        clear_ep(ep);
        if (ep->other != NULL) {
            ep->other->other = NULL;
            ep->other->lost = true;
        }
        free(ep);
    }
    list_remove(&iface->link);
    free(iface);
}

static const tl_caps_t *loop_caps(const tl_iface_t *base)
{
    return base->ops == &loop2_ops ? &caps2 : &caps;
}

static vbn_status_t loop_address(const tl_iface_t *base, void *buffer, size_t *length_p)
{
    memcpy(buffer, &((const loop_iface_t *)base)->params.worker_uid, 8);
    *length_p = 8;
    return VBN_OK;
}

static loop_iface_t *find(const tl_ops_t *ops, const void *address)
{
    list_for_each(link, &ifaces) {
        loop_iface_t *iface = container_of(link, loop_iface_t, link);
        if (iface->base.ops == ops && memcmp(&iface->params.worker_uid, address, 8) == 0)
            return iface;
    }
    return NULL;
}

static vbn_status_t loop_reachable(const tl_iface_t *base, const void *address, size_t length, char *reason,
                                   size_t capacity)
{
    bool there = length == 8 && find(base->ops, address) != NULL;
    snprintf(reason, capacity, there ? "same process" : "nobody there");
    return there ? VBN_OK : VBN_ERR_UNREACHABLE;
}

static loop_ep_t *new_ep(loop_iface_t *iface, void *owner)
{
    loop_ep_t *ep = calloc(1, sizeof(*ep));
    if (ep == NULL)
        abort();
    ep->base.iface = &iface->base;
    ep->base.owner = owner;
    list_init(&ep->inbox);
    list_init(&ep->done);
    list_append(&iface->eps, &ep->link);
    return ep;
}

static vbn_status_t loop_connect(tl_iface_t *base, const void *address, size_t length, void *owner, tl_ep_t **ep_p)
{
    loop_iface_t *to = length == 8 ? find(base->ops, address) : NULL;
    if (to == NULL)
        return err_set(VBN_ERR_UNREACHABLE, "nobody there");
    loop_ep_t *near = new_ep((loop_iface_t *)base, owner);
    loop_ep_t *far = new_ep(to, NULL);
    near->other = far;
    far->other = near;
    far->tell_accepted = true;
    *ep_p = &near->base;
    return VBN_OK;
}

static vbn_status_t loop_trust(tl_ep_t *ep)
{
    ((loop_ep_t *)ep)->trusted = true;
    return VBN_OK;
}

static void loop_disconnect(tl_ep_t *base, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    loop_ep_t *ep = (loop_ep_t *)base;
    (void)timeout_ns;
    loop_control.waits += loop_control.unsettled;
    ep->gone = true;
    clear_ep(ep);
    if (ep->other == NULL)
        return;
    ep->other->lost = true;
    if (mode == VBN_CLOSE_NOW)
        for (list_link_t *link; (link = list_pop(&ep->other->inbox)) != NULL;)
            free(container_of(link, loop_packet_t, link));
    ep->other->other = NULL;
    ep->other = NULL;
}

static bool loop_settled(tl_ep_t *base)
{
    (void)base;
    return !loop_control.unsettled;
}

static vbn_status_t loop_send(tl_ep_t *base, const tl_packet_t *packet)
{
    loop_ep_t *ep = (loop_ep_t *)base;
    uint32_t header_bytes = packet->header_bytes;
    if (ep->other == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the other end is gone");
    if (header_bytes + packet->payload_bytes > loop_caps(base->iface)->packet_max)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes", header_bytes, packet->payload_bytes);
    if (ep->blocked || lucky(loop_control.busy_1_of)) {
        ep->blocked = true;
        return VBN_BUSY;
    }
    loop_packet_t *copy = malloc(sizeof(*copy) + header_bytes + packet->payload_bytes);
    if (copy == NULL)
        abort();
    memcpy(copy->bytes, packet->header, header_bytes);
    if (loop_control.dies == base->iface->ops ||
        (loop_control.packet != NULL && !loop_control.packet(loop_control.arg, copy->bytes, &header_bytes))) {
        free(copy);
        ep->lost = ep->other->lost = true;
        ep->other->other = NULL;
        ep->other = NULL;
        return err_set(VBN_ERR_PEER_LOST, "killed by the test");
    }
    copy->header_bytes = header_bytes;
    copy->payload_bytes = packet->payload_bytes;
    uint8_t *to = copy->bytes + header_bytes;
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        memcpy(to, packet->iov[i].iov_base, packet->iov[i].iov_len);
        to += packet->iov[i].iov_len;
    }
    list_append(&ep->other->inbox, &copy->link);
    if (packet->cookie == NULL || !lucky(loop_control.later_1_of))
        return VBN_OK;
    loop_done_t *done = malloc(sizeof(*done));
    if (done == NULL)
        abort();
    done->cookie = packet->cookie;
    list_append(&ep->done, &done->link);
    return VBN_INPROGRESS;
}

static void deliver(const tl_upcalls_t *up, loop_ep_t *ep)
{
    loop_packet_t *packet = container_of(list_pop(&ep->inbox), loop_packet_t, link);
    up->rx(&ep->base, packet->bytes, packet->header_bytes, packet->bytes + packet->header_bytes, packet->payload_bytes);
    free(packet);
}

/* One event of one endpoint. */
static unsigned step(const tl_upcalls_t *up, loop_ep_t *ep)
{
    if (ep->gone || ep->told_lost)
        return 0;
    if (ep->tell_accepted) {
        ep->tell_accepted = false;
        up->accepted(up->arg, &ep->base);
    } else if (!list_empty(&ep->done)) {
        loop_done_t *done = container_of(list_pop(&ep->done), loop_done_t, link);
        void *cookie = done->cookie;
        free(done);
        up->tx_done(&ep->base, cookie, VBN_OK);
    } else if (ep->trusted && !ep->ready && ep->other != NULL && ep->other->trusted) {
        ep->ready = true;
        up->ready(&ep->base);
    } else if (ep->blocked && !ep->lost) {
        ep->blocked = false;
        up->tx_ready(&ep->base);
    } else if (!list_empty(&ep->inbox)) {
        deliver(up, ep);
    } else if (ep->lost) {
        ep->told_lost = true;
        up->ep_error(&ep->base, VBN_ERR_PEER_LOST, "the other end is gone");
    } else {
        return 0;
    }
    return 1;
}

static unsigned loop_progress(tl_iface_t *base)
{
    loop_iface_t *iface = (loop_iface_t *)base;
    unsigned events = 0;
    for (list_link_t *link = iface->eps.next; link != &iface->eps; link = link->next)
        for (uint64_t turns = loop_control.seed != 0 ? loop_random() % 3 : 4; turns > 0; turns--)
            events += step(&iface->params.upcalls, container_of(link, loop_ep_t, link));
    return events;
}

static vbn_status_t loop_arm(tl_iface_t *base)
{
    loop_iface_t *iface = (loop_iface_t *)base;
    list_for_each(link, &iface->eps) {
        loop_ep_t *ep = container_of(link, loop_ep_t, link);
        bool to_tell = ep->trusted && !ep->ready && ep->other != NULL && ep->other->trusted;
        if (!ep->gone && !ep->told_lost &&
            (!list_empty(&ep->inbox) || !list_empty(&ep->done) || ep->lost || ep->tell_accepted || ep->blocked ||
             to_tell))
            return VBN_BUSY;
    }
    return VBN_OK;
}

static int loop_event_fd(const tl_iface_t *base)
{
    (void)base;
    return -1;
}

#define LOOP_OPS(ops_name, ops_open)                                                                                   \
    {.name = ops_name,                                                                                                 \
     .open = ops_open,                                                                                                 \
     .close = loop_close,                                                                                              \
     .caps = loop_caps,                                                                                                \
     .address = loop_address,                                                                                          \
     .reachable = loop_reachable,                                                                                      \
     .progress = loop_progress,                                                                                        \
     .arm = loop_arm,                                                                                                  \
     .event_fd = loop_event_fd,                                                                                        \
     .connect = loop_connect,                                                                                          \
     .trust = loop_trust,                                                                                              \
     .disconnect = loop_disconnect,                                                                                    \
     .send = loop_send,                                                                                                \
     .settled = loop_settled}

const tl_ops_t loop_ops = LOOP_OPS("loop", loop_open);
const tl_ops_t loop2_ops = LOOP_OPS("loop2", loop2_open);
