/* SPDX-License-Identifier: Apache-2.0
 * rc_signal.c - signals sent: packets of OPENING endpoints and the exchange of queue pair numbers, over datagrams. Their
 * receipt: rc_hear.c.
 *
 * Each signal says all that its sender knows: its queue pair, whether it is armed, the last packet it has got. Whoever
 * misses something asks (ASK) every RC_REPEAT_NS, a little later each time; who is asked answers. */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tl/rc/rc_private.h"

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

void rc_signal_step(rc_ep_t *ep)
{
    if (ep->state != RC_OPENING)
        return;
    if (ep->trusted && !ep->armed && ep->remote_qpn != 0) {
        if (rc_qp_arm(ep) < 0) {
            rc_ep_fail(ep, "its queue pair cannot be connected");
            return;
        }
        ep->armed = true;
        rc_signal_send(ep, 0);
    }
    if (!ep->trusted || !ep->armed || !ep->remote_armed || !list_empty(&ep->signals))
        return;
    ep->state = RC_READY;
    list_remove(&ep->opening);
    rc_ep_add_news(ep);
    ep->tell_room = true; /* with ready() */
}
