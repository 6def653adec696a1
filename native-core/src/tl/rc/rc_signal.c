/* SPDX-License-Identifier: Apache-2.0
 * rc_signal.c - signals: packets of OPENING endpoints and the exchange of queue pair numbers, over datagrams.
 *
 * Each signal says all that its sender knows: its queue pair, whether it is armed, the last packet it has got. Whoever
 * misses something asks (ASK) every RC_REPEAT_NS, a little later each time; who is asked answers. */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

#define REPEATS_MOST 5u

void rc_tick_soon(rc_iface_t *iface)
{
    struct itimerspec spec = {.it_value = {.tv_nsec = (long)RC_TICK_NS}};
    if (iface->tick_ns != 0)
        return;
    iface->tick_ns = os_now_ns() + RC_TICK_NS;
    (void)timerfd_settime(iface->timer_fd, 0, &spec, NULL);
}

static uint32_t write_signal(const rc_ep_t *ep, unsigned flags, uint8_t *bytes)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    const rc_queued_t *queued = list_empty(&ep->signals) ? NULL : container_of(ep->signals.next, rc_queued_t, link);
    rc_signal_t signal = {.flags = flags | (ep->armed ? RC_SIGNAL_ARMED : 0),
                          .from = ep->id,
                          .to = ep->remote_id,
                          .received = ep->received,
                          .address = iface->verbs.address};
    if (ep->trusted && ep->sq.qp != NULL) {
        signal.qpn = ep->sq.qp->qp_num;
        signal.psn = ep->psn;
        signal.reads = rc_qp_serves(iface);
    }
    uint32_t length = 0;
    if (queued != NULL) {
        signal.number = ep->sent;
        signal.header_bytes = queued->header_bytes;
        signal.payload_bytes = queued->payload_bytes;
        length = queued->header_bytes + queued->payload_bytes;
        memcpy(bytes + RC_SIGNAL_BYTES, queued->bytes, length);
    }
    rc_signal_encode(&signal, bytes);
    return RC_SIGNAL_BYTES + length;
}

void rc_signal_send(rc_ep_t *ep, unsigned flags)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    verbs_datagram_t *datagram = &iface->verbs.datagram;
    if (ep->state == RC_OPENING && list_empty(&ep->opening)) {
        list_append(&iface->opening, &ep->opening);
        ep->repeat_ns = os_now_ns() + RC_REPEAT_NS;
        rc_tick_soon(iface);
    }
    if (iface->verbs.cm || datagram->broken || ep->route->ah == NULL)
        return; /* they wait for the connection; or are repeated later */
    verbs_slot_t *slot = verbs_sq_take(&datagram->sq, RC_SIGNAL_BYTES + TL_SIGNAL_MAX);
    if (slot == NULL)
        return;
    verbs_datagram_send(datagram, slot, write_signal(ep, flags, slot->buffer), ep->route, ep->remote.qpn);
    if (!iface->in_progress)
        verbs_datagram_flush(datagram);
}

void rc_signal_look(rc_ep_t *ep, uint64_t now)
{
    if (now < ep->repeat_ns)
        return;
    ep->repeats = (uint8_t)(ep->repeats + (ep->repeats < REPEATS_MOST));
    ep->repeat_ns = now + (RC_REPEAT_NS << ep->repeats);
    if (ep->armed && rc_iface_of(ep->base.iface)->verbs.cm) {
        rc_send_waiting(ep);
        rc_ep_step(ep);
    } else if (!list_empty(&ep->signals) || ep->trusted)
        rc_signal_send(ep, RC_SIGNAL_ASK);
}

static void copy_payload(uint8_t *to, const tl_packet_t *packet)
{
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].iov_len > 0)
            memcpy(to, packet->iov[i].iov_base, packet->iov[i].iov_len);
        to += packet->iov[i].iov_len;
    }
}

vbn_status_t rc_signal_queue(rc_ep_t *ep, const tl_packet_t *packet)
{
    if (packet->header_bytes > TL_HEADER_MAX || packet->payload_bytes > TL_SIGNAL_MAX - packet->header_bytes)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes to a peer that is not ready, at most %d",
                       packet->header_bytes, packet->payload_bytes, TL_SIGNAL_MAX);
    if (ep->signal_count == RC_SIGNALS) {
        ep->tell_room = true;
        return VBN_BUSY;
    }
    rc_queued_t *queued = malloc(sizeof(*queued));
    if (queued == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a packet");
    queued->header_bytes = packet->header_bytes;
    queued->payload_bytes = packet->payload_bytes;
    memcpy(queued->bytes, packet->header, packet->header_bytes);
    copy_payload(queued->bytes + packet->header_bytes, packet);
    bool first = list_empty(&ep->signals);
    list_append(&ep->signals, &queued->link);
    ep->signal_count++;
    if (first)
        rc_signal_send(ep, 0);
    return VBN_OK;
}

void rc_signal_drop(rc_ep_t *ep)
{
    for (list_link_t *link; (link = list_pop(&ep->signals)) != NULL;)
        free(container_of(link, rc_queued_t, link));
    ep->signal_count = 0;
}

/* -------------------------------------------------------------------------------------------- receiving */

static void acknowledged(rc_ep_t *ep, uint32_t number)
{
    if (list_empty(&ep->signals) || number != ep->sent)
        return;
    free(container_of(list_pop(&ep->signals), rc_queued_t, link));
    ep->signal_count--;
    ep->sent++;
    ep->repeats = 0;
    if (!list_empty(&ep->signals))
        rc_signal_send(ep, 0);
    if (ep->tell_room)
        rc_ep_add_news(ep);
}

static void take_packet(rc_ep_t *ep, const rc_signal_t *signal, const uint8_t *bytes)
{
    const rc_iface_t *iface = rc_iface_of(ep->base.iface);
    if (signal->number == ep->received + 1) {
        ep->received++;
        iface->params.upcalls.rx(&ep->base, bytes + RC_SIGNAL_BYTES, signal->header_bytes,
                                 bytes + RC_SIGNAL_BYTES + signal->header_bytes, signal->payload_bytes);
    }
    if (ep->state <= RC_READY)
        rc_signal_send(ep, 0); /* the acknowledgement; often with the answer */
}

/* The endpoint that a signal is for. The first packet to an unknown one makes it. */
static rc_ep_t *receiver(rc_iface_t *iface, const rc_signal_t *signal)
{
    char reason[128];
    if (signal->to != 0) {
        rc_ep_t *ep = map_get(&iface->by_id, signal->to);
        if (ep == NULL || (ep->remote_id != 0 && ep->remote_id != signal->from))
            return NULL;
        ep->remote_id = signal->from;
        return ep;
    }
    rc_ep_t *ep = map_get(&iface->by_remote, signal->from);
    if (ep != NULL || signal->number != 1 || (signal->flags & RC_SIGNAL_GONE) != 0)
        return ep;
    if (iface->untrusted >= RC_UNTRUSTED ||
        verbs_address_reachable(&iface->verbs.address, &signal->address, reason, sizeof(reason)) < 0)
        return NULL;
    ep = rc_ep_new(iface, NULL, &signal->address, signal->from, NULL);
    if (ep != NULL)
        iface->params.upcalls.accepted(iface->params.upcalls.arg, &ep->base);
    return ep;
}

void rc_signal_receive(rc_iface_t *iface, const uint8_t *bytes, uint32_t length)
{
    rc_signal_t signal;
    if (!rc_signal_decode(bytes, length, &signal)) {
        counter_add(iface->params.counters, COUNTER_BAD_FRAMES, 1);
        return;
    }
    rc_ep_t *ep = receiver(iface, &signal);
    if (ep == NULL || ep->state > RC_READY)
        return;
    if ((signal.flags & RC_SIGNAL_GONE) != 0) {
        if (signal.number != 0) /* its last word, which may not have come before */
            take_packet(ep, &signal, bytes);
        rc_ep_fail(ep, "the peer closed its side");
        return;
    }
    if (ep->remote_qpn == 0) {
        ep->remote_qpn = signal.qpn;
        ep->remote_psn = signal.psn;
        ep->remote_reads = (uint8_t)signal.reads;
    }
    ep->remote_armed = ep->remote_armed || (signal.flags & RC_SIGNAL_ARMED) != 0;
    acknowledged(ep, signal.received);
    if (signal.number != 0)
        take_packet(ep, &signal, bytes);
    else if ((signal.flags & RC_SIGNAL_ASK) != 0)
        rc_signal_send(ep, 0);
    rc_ep_step(ep);
}
