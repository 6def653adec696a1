/* SPDX-License-Identifier: Apache-2.0
 * send.c - the way of a packet out: at once when credits and room are there and nothing waits, else in order
 * through the queue. No malloc once the node pool has grown, no system call of its own. */
#include "link/flow/flow.h"

#include <string.h>

static bool has_credit(const vbn_peer_t *peer)
{
    return peer->tx_next - peer->tx_acked < peer->window;
}

bool link_may_send(const vbn_peer_t *peer)
{
    const link_lane_t *lane = peer->lane;
    return (peer->arq != NULL ? link_rails_first(peer) != NULL : lane != NULL && lane->hs == NULL && !lane->blocked) &&
           (peer->state == PEER_READY || peer->state == PEER_CLOSING);
}

vbn_status_t link_send_leased(vbn_peer_t *peer, const link_lane_t *lane, const tl_packet_t *packet)
{
    if (LIKELY(packet->lease == NULL))
        return link_lane_ops(lane)->send(lane->ep, packet);
    if (mem_lease_enter(packet->lease, true) != MEM_LEASE_IN) {
        link_fail(peer, VBN_ERR_NO_MEMORY, err_text());
        return VBN_ERR_NO_MEMORY;
    }
    vbn_status_t status = link_lane_ops(lane)->send(lane->ep, packet);
    mem_lease_leave(packet->lease);
    return status;
}

/* Writes the link's header to the start of packet->header (`frame`) and sends. Consumes a sequence number when taken. */
static inline vbn_status_t transmit(vbn_peer_t *peer, uint8_t *frame, const tl_packet_t *packet)
{
    link_lane_t *lane = peer->lane;
    link_data_encode(lane->remote_connection, peer->tx_next, peer->rx_next, frame);
    vbn_status_t status = link_send_leased(peer, lane, packet);
    if (__builtin_expect(status == VBN_BUSY, 0)) {
        lane->blocked = true;
        peer->clear = NULL;
    } else if (status >= 0) {
        peer->tx_next++;
        peer->rx_acked = peer->rx_next;
    }
    return status;
}

static vbn_status_t refuse(const vbn_peer_t *peer, const link_packet_t *packet)
{
    if (peer->state >= PEER_ENDING)
        return err_set((vbn_status_t)peer->lost_status, "%s", link_lost_text(peer, "the peer is closed"));
    if (os_fork_generation_now() != peer->engine->fork_generation)
        return link_fork_check(peer->engine);
    return err_set(VBN_ERR_INVALID, "packet with a header of %u bytes and %u bytes of data cannot be sent",
                   packet->header_bytes, packet->payload_bytes);
}

void link_refused(vbn_peer_t *peer, vbn_status_t status)
{
    if (status == VBN_ERR_INVALID)
        link_fail(peer, VBN_ERR_INVALID, err_text());
}

static bool acceptable(const vbn_peer_t *peer, const link_packet_t *packet)
{
    return peer->state < PEER_ENDING && os_fork_generation_now() == peer->engine->fork_generation &&
           packet->header_bytes <= LINK_UPPER_HEADER_MAX && (packet->done != NULL || packet->payload_bytes == 0);
}

static tl_packet_t packet_of(const link_packet_t *packet, void *cookie)
{
    return (tl_packet_t){.header = packet->frame,
                         .header_bytes = LINK_HEADER_BYTES + packet->header_bytes,
                         .payload_bytes = packet->payload_bytes,
                         .iov = packet->iov,
                         .iov_count = packet->iov_count,
                         .cookie = cookie,
                         .patient = packet->patient,
                         .lease = packet->lease};
}

/* The transport may refer to the payload until tx_done, which finds its node by the cookie. */
static __attribute__((noinline)) vbn_status_t send_lent(vbn_peer_t *peer, const link_packet_t *packet)
{
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_ERR_NO_MEMORY;
    node->peer = peer;
    node->done = packet->done;
    node->arg = packet->arg;
    tl_packet_t out = packet_of(packet, node);
    vbn_status_t status = transmit(peer, packet->frame, &out);
    if (status == VBN_INPROGRESS)
        list_append(&peer->inflight, &node->link);
    else
        mpool_put(&peer->engine->nodes, node);
    return status;
}

void link_node_fill(link_node_t *node, vbn_peer_t *peer, const link_packet_t *packet)
{
    node->peer = peer;
    node->done = packet->done;
    node->arg = packet->arg;
    node->iov = packet->iov;
    node->lease = packet->lease;
    node->iov_count = packet->payload_bytes > 0 ? packet->iov_count : 0; /* nobody keeps an iov of nothing */
    node->payload_bytes = packet->payload_bytes;
    node->header_bytes = packet->header_bytes;
    memcpy(node->header + LINK_HEADER_BYTES, packet->frame + LINK_HEADER_BYTES, packet->header_bytes);
}

static __attribute__((noinline)) vbn_status_t enqueue(vbn_peer_t *peer, const link_packet_t *packet)
{
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_ERR_NO_MEMORY;
    link_node_fill(node, peer, packet);
    list_append(&peer->queue, &node->link);
    peer->queued++;
    peer->clear = NULL;
    if (UNLIKELY(peer->dormant))
        link_connect_now(peer);
    return VBN_INPROGRESS;
}

/* Opens the fast lane. Called with nothing queued, the lane ready and packets not kept (P0). */
static void make_clear(vbn_peer_t *peer)
{
    const link_lane_t *lane = peer->lane;
    if (peer->state != PEER_READY || !peer->engine->transports[lane->transport].fast || !fifo_empty(&peer->flushes))
        return;
    peer->data_word = LINK_DATA_WORD(lane->remote_connection);
    peer->clear = lane->ep;
}

vbn_status_t link_send(vbn_peer_t *peer, const link_packet_t *packet)
{
    if (__builtin_expect(!acceptable(peer, packet), 0))
        return refuse(peer, packet);
    if (__builtin_expect(peer->arq != NULL, 0))
        return link_arq_send(peer, packet);
    if (!list_empty(&peer->queue) || !link_may_send(peer))
        return enqueue(peer, packet);
    if (__builtin_expect(!has_credit(peer), 0)) {
        counter_add(peer->engine->params.counters, COUNTER_CREDIT_STALLS, 1);
        return enqueue(peer, packet);
    }
    vbn_status_t status;
    if (peer->clear == NULL)
        make_clear(peer);
    if (packet->payload_bytes == 0 || (link_caps(peer)->flags & TL_CAP_COPIES) != 0) {
        tl_packet_t out = packet_of(packet, NULL);
        status = transmit(peer, packet->frame, &out);
    } else {
        status = send_lent(peer, packet);
    }
    return __builtin_expect(status == VBN_BUSY, 0) ? enqueue(peer, packet) : status;
}

/* Sends the queue's first packet. false: it has to wait. */
static bool send_first(vbn_peer_t *peer)
{
    link_node_t *node = container_of(peer->queue.next, link_node_t, link);
    tl_packet_t out = {.header = node->header,
                       .header_bytes = LINK_HEADER_BYTES + node->header_bytes,
                       .payload_bytes = node->payload_bytes,
                       .iov = node->iov,
                       .iov_count = node->iov_count,
                       .cookie = node->payload_bytes > 0 ? node : NULL,
                       .lease = node->lease};
    vbn_status_t status = transmit(peer, node->header, &out);
    if (status == VBN_BUSY)
        return false;
    if (status < 0) {
        link_refused(peer, status);
        return false;
    }
    list_remove(&node->link);
    peer->queued--;
    if (status == VBN_INPROGRESS) {
        list_append(&peer->inflight, &node->link);
        return true;
    }
    link_done_func_t done = node->done;
    void *arg = node->arg;
    mpool_put(&peer->engine->nodes, node);
    if (done != NULL)
        done(arg, VBN_OK);
    return true;
}

void link_drain(vbn_peer_t *peer)
{
    link_quiet(peer); /* its close may have waited for the event that led here */
    if (peer->ack_due && link_may_send(peer)) {
        peer->ack_due = false;
        link_send_ack(peer, 0);
    }
    if (peer->arq != NULL)
        link_arq_push(peer);
    while (peer->arq == NULL && !list_empty(&peer->queue) && link_may_send(peer) && has_credit(peer))
        if (!send_first(peer))
            return;
    if (peer->ask_ack && list_empty(&peer->queue) && link_may_send(peer)) {
        peer->ask_ack = false;
        if (peer->tx_acked != peer->tx_next)
            link_send_ack(peer, LINK_FLAG_ACK_NOW);
    }
}
