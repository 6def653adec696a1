/* SPDX-License-Identifier: Apache-2.0
 * rc_send.c - packets over the connection, and their completions. */
#include <stdlib.h>
#include <string.h>

#include "tl/rc/rc_private.h"

static const char *cause_of(const struct ibv_wc *wc)
{
    switch (wc->status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "no answer within 7 tries of 268 ms: the peer's process has ended, a link is down, or the fabric loses "
               "packets (RoCE: see docs/verbs.md on lossless fabrics)";
    case IBV_WC_RNR_RETRY_EXC_ERR: return "the peer had no receive buffer for too long: it does not call vbn_progress";
    case IBV_WC_LOC_QP_OP_ERR: return "the link of this host's port went down";
    case IBV_WC_LOC_PROT_ERR: return "memory that the device reads is not registered any more";
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        return "a packet was larger than the receiver's buffers: use one release in the whole job";
    case IBV_WC_REM_ACCESS_ERR: return "the peer refused access to its memory";
    case IBV_WC_REM_OP_ERR: return "the peer's device failed";
    case IBV_WC_WR_FLUSH_ERR: return "the connection had failed before";
    case IBV_WC_FATAL_ERR: return "the device failed";
    default: return "the device reported an error (dmesg may say more)";
    }
}

void rc_ring(rc_ep_t *ep)
{
    list_remove(&ep->ringing);
    if (verbs_sq_flush(&ep->sq) != 0)
        rc_ep_fail(ep, "the device took no more requests");
}

/* Posts now, or with the others at the end of progress. */
void rc_ring_soon(rc_ep_t *ep)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    if (!iface->in_progress)
        rc_ring(ep);
    else if (list_empty(&ep->ringing))
        list_append(&iface->ringing, &ep->ringing);
}

static vbn_status_t busy(rc_iface_t *iface, rc_ep_t *ep)
{
    if (list_empty(&ep->news))
        list_append(&iface->blocked, &ep->news);
    ep->tell_room = true;
    return VBN_BUSY;
}

/* Prefix, header and padding; returns the bytes written. */
static uint32_t write_header(uint8_t *to, const tl_packet_t *packet)
{
    rc_message_t message = {
        .header_bytes = packet->header_bytes, .payload_bytes = packet->payload_bytes, .kind = RC_MESSAGE_PACKET};
    uint32_t end = RC_PREFIX_BYTES + packet->header_bytes;
    uint32_t at = packet->payload_bytes == 0 ? end : rc_payload_at(packet->header_bytes);
    rc_message_encode(&message, to);
    memcpy(to + RC_PREFIX_BYTES, packet->header, packet->header_bytes);
    memset(to + end, 0, at - end);
    return at;
}

static uint32_t write_payload(uint8_t *to, const tl_packet_t *packet)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].iov_len > 0)
            memcpy(to + at, packet->iov[i].iov_base, packet->iov[i].iov_len);
        at += (uint32_t)packet->iov[i].iov_len;
    }
    return at;
}

/* All of the payload lies in memory that the device may read: its places, from sges[1] on. Not what is leased: its
 * owner may give it up before the device has read it, and waits for no device. */
static bool in_place(rc_iface_t *iface, const tl_packet_t *packet, struct ibv_sge *sges)
{
    if (packet->cookie == NULL || packet->lease != NULL || packet->payload_bytes < RC_IN_PLACE ||
        packet->iov_count >= VERBS_SGES)
        return false;
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        const struct iovec *iov = &packet->iov[i];
        sges[i + 1] = (struct ibv_sge){.addr = (uintptr_t)iov->iov_base, .length = (uint32_t)iov->iov_len};
        if (iov->iov_len == 0 ||
            !verbs_places_key(&iface->places, iov->iov_base, iov->iov_len, false, &sges[i + 1].lkey))
            return false;
    }
    return true;
}

static void fill(verbs_slot_t *slot, uint32_t bytes)
{
    slot->wr.opcode = IBV_WR_SEND;
    slot->wr.num_sge = 1;
    slot->sges[0] = (struct ibv_sge){.addr = (uintptr_t)slot->buffer, .length = bytes};
}

/* NULL: no room now. */
static verbs_slot_t *build(rc_iface_t *iface, rc_ep_t *ep, const tl_packet_t *packet)
{
    struct ibv_sge sges[VERBS_SGES];
    bool placed = in_place(iface, packet, sges);
    verbs_slot_t *slot = verbs_sq_take(&ep->sq,
                                       rc_payload_at(packet->header_bytes) + (placed ? 0 : packet->payload_bytes));
    if (slot == NULL)
        return NULL;
    uint32_t bytes = write_header(slot->buffer, packet);
    if (!placed) {
        bytes += write_payload(slot->buffer + bytes, packet);
        verbs_count_copy(&iface->verbs, packet->payload_bytes);
    }
    fill(slot, bytes);
    if (placed) {
        memcpy(slot->sges + 1, sges + 1, packet->iov_count * sizeof(*sges));
        slot->wr.num_sge += (int)packet->iov_count;
        slot->cookie = packet->cookie;
        verbs_places_name(&iface->places, slot);
    }
    return slot;
}

static bool fits_signal(const tl_packet_t *packet)
{
    return packet->header_bytes <= TL_HEADER_MAX && packet->payload_bytes <= TL_SIGNAL_MAX - packet->header_bytes;
}

vbn_status_t rc_send(tl_ep_t *base, const tl_packet_t *packet)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    rc_iface_t *iface = rc_iface_of(base->iface);
    bool opening = ep->state == RC_OPENING;
    if (opening && !(iface->verbs.cm && ep->armed && list_empty(&ep->signals) && fits_signal(packet)))
        return rc_signal_queue(ep, packet);
    if (ep->state > RC_READY)
        return err_set(VBN_ERR_PEER_LOST, "%s", ep->failed != NULL ? ep->failed : "the connection is closed");
    if (packet->header_bytes > TL_HEADER_MAX || packet->payload_bytes > iface->caps.packet_max - packet->header_bytes)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %d and %u in all", packet->header_bytes,
                       packet->payload_bytes, TL_HEADER_MAX, iface->caps.packet_max);
    verbs_slot_t *slot = build(iface, ep, packet);
    if (slot == NULL)
        return busy(iface, ep);
    bool placed = slot->cookie != NULL;
    verbs_sq_add(&ep->sq, slot);
    counter_add(iface->params.counters, COUNTER_RC_TX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_RC_TX_BYTES, packet->header_bytes + packet->payload_bytes);
    rc_ring_soon(ep);
    return placed ? VBN_INPROGRESS : VBN_OK;
}

void rc_send_waiting(rc_ep_t *ep)
{
    rc_iface_t *iface = rc_iface_of(ep->base.iface);
    while (!list_empty(&ep->signals)) {
        rc_queued_t *queued = container_of(ep->signals.next, rc_queued_t, link);
        struct iovec iov = {queued->bytes + queued->header_bytes, queued->payload_bytes};
        tl_packet_t packet = {.header = queued->bytes,
                              .header_bytes = queued->header_bytes,
                              .payload_bytes = queued->payload_bytes,
                              .iov = &iov,
                              .iov_count = 1};
        verbs_slot_t *slot = build(iface, ep, &packet);
        if (slot == NULL)
            break; /* at the next tick */
        verbs_sq_add(&ep->sq, slot);
        list_remove(&queued->link);
        ep->signal_count--;
        free(queued);
    }
    rc_ring_soon(ep);
    if (ep->tell_room)
        rc_ep_add_news(ep);
}

void rc_send_nothing(rc_ep_t *ep)
{
    rc_message_t message = {.kind = RC_MESSAGE_NOTHING};
    verbs_slot_t *slot = verbs_sq_take(&ep->sq, RC_PREFIX_BYTES);
    if (slot != NULL) {
        rc_message_encode(&message, slot->buffer);
        fill(slot, RC_PREFIX_BYTES);
        slot->cookie = ep; /* asks for the completion */
        verbs_sq_add(&ep->sq, slot);
    }
    rc_ring(ep);
}

/* A write of nothing: the peer's device acknowledges it without a receive and without its program, or the connection fails. */
void rc_probe(tl_ep_t *base)
{
    rc_ep_t *ep = (rc_ep_t *)base;
    verbs_slot_t *slot = ep->state == RC_READY ? verbs_sq_take(&ep->sq, 0) : NULL;
    if (slot == NULL)
        return; /* a full queue asks as well */
    slot->wr.opcode = IBV_WR_RDMA_WRITE;
    slot->wr.wr.rdma.rkey = 0;
    slot->wr.wr.rdma.remote_addr = 0;
    slot->wr.num_sge = 0;
    verbs_sq_add(&ep->sq, slot);
    rc_ring_soon(ep);
}

static void scatter(const uint8_t *buffer, const struct iovec *iov, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; iov++) {
        size_t take = iov->iov_len < bytes - at ? iov->iov_len : bytes - at;
        if (take > 0)
            memcpy(iov->iov_base, buffer + at, take);
        at += (uint32_t)take;
    }
}

/* A get or put of rc_native.c is done: bytes that came into a buffer go to their place. */
static void finish_access(rc_ep_t *ep, const verbs_slot_t *slot)
{
    bool read = slot->wr.opcode == IBV_WR_RDMA_READ;
    ep->accesses--;
    ep->reads = (uint8_t)(ep->reads - read);
    if (slot->scatter != NULL)
        scatter(slot->buffer, slot->scatter, slot->sges[0].length);
}

/* The device needs the payload no more. After a failure the link takes everything back with the endpoint. */
static void release(rc_iface_t *iface, rc_ep_t *ep, verbs_slot_t *slot)
{
    void *cookie = slot->cookie;
    bool one_sided = slot->one_sided;
    if (one_sided && ep->state == RC_READY)
        finish_access(ep, slot);
    verbs_slot_free(&iface->verbs.slots, slot);
    if (cookie == NULL || ep->state != RC_READY)
        return;
    if (one_sided)
        iface->params.upcalls.access_done(&ep->base, cookie);
    else
        iface->params.upcalls.tx_done(&ep->base, cookie, VBN_OK);
}

/* Everything up to this request has been taken by the peer's device, or it failed. */
void rc_sent(rc_iface_t *iface, const struct ibv_wc *wc)
{
    verbs_slot_t *slot = verbs_slots_find(&iface->verbs.slots, wc->wr_id), *first;
    if (slot == NULL)
        return; /* of a queue pair that is gone */
    counter_add(iface->params.counters, COUNTER_VERBS_COMPLETIONS, 1);
    verbs_sq_t *sq = slot->sq;
    rc_ep_t *ep = rc_ep_of_sq(sq);
    if (wc->status != IBV_WC_SUCCESS)
        rc_ep_fail(ep, cause_of(wc));
    bool last;
    do {
        first = verbs_sq_pop(sq);
        last = first == slot;
        release(iface, ep, first);
    } while (!last && sq->qp != NULL); /* an upcall may close the endpoint */
}
