/* SPDX-License-Identifier: Apache-2.0
 * rc_hear.c - signals received, and repeated until the peer has received ours (rc_signal.c). */
#include <stdlib.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

#define REPEATS_MOST 5u

void rc_signal_look(rc_ep_t *ep, uint64_t now)
{
    if (now < ep->repeat_ns)
        return;
    ep->repeats = (uint8_t)(ep->repeats + (ep->repeats < REPEATS_MOST));
    ep->repeat_ns = now + (RC_REPEAT_NS << ep->repeats);
    if (ep->armed && rc_iface_of(ep->base.iface)->verbs.cm) {
        rc_send_waiting(ep);
        rc_signal_step(ep);
    } else if (!list_empty(&ep->signals) || ep->trusted)
        rc_signal_send(ep, RC_SIGNAL_ASK);
}

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
    rc_signal_step(ep);
}
