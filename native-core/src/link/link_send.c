/* SPDX-License-Identifier: Apache-2.0
 * link_send.c - the way of a packet out: at once when credits and room are there and nothing waits, else in order
 * through the queue. No malloc once the node pool has grown, no system call of its own. */
#include "link/link_private.h"

#include <string.h>

static bool has_credit(const vbn_peer_t *peer)
{
    return peer->tx_next - peer->tx_acked < peer->window;
}

static bool may_send(const vbn_peer_t *peer)
{
    const link_lane_t *lane = peer->lane;
    return lane != NULL && lane->hs == NULL && !lane->blocked &&
           (peer->state == PEER_READY || peer->state == PEER_CLOSING);
}

/* header: LINK_HEADER_BYTES of room, then the upper header. Consumes a sequence number when taken. */
static vbn_status_t transmit(vbn_peer_t *peer, uint8_t *header, const link_node_t *node, void *cookie)
{
    link_lane_t *lane = peer->lane;
    link_header_t fields = {.version = LINK_VERSION, .type = LINK_DATA, .connection = lane->remote_connection,
                            .sequence = peer->tx_next, .ack = peer->rx_next};
    link_header_encode(&fields, header);
    tl_packet_t packet = {.header = header,
                          .header_bytes = LINK_HEADER_BYTES + node->header_bytes,
                          .payload_bytes = node->payload_bytes,
                          .iov = node->iov,
                          .iov_count = node->iov_count,
                          .cookie = cookie};
    vbn_status_t status = peer->engine->transports[peer->transport].ops->send(lane->ep, &packet);
    if (status == VBN_BUSY) {
        lane->blocked = true;
    } else if (status >= 0) {
        peer->tx_next++;
        peer->rx_acked = peer->rx_next;
    }
    return status;
}

static vbn_status_t check_packet(const vbn_peer_t *peer, const link_packet_t *packet)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return err_set((vbn_status_t)peer->lost_status, "%s",
                       peer->lost_text != NULL ? peer->lost_text : "the peer is closed");
    if (os_fork_generation() != peer->engine->fork_generation)
        return link_fork_check(peer->engine);
    if (packet->header_bytes > LINK_UPPER_HEADER_MAX || (packet->done == NULL && packet->payload_bytes > 0))
        return err_set(VBN_ERR_INVALID, "packet with a header of %u bytes and %u bytes of data cannot be sent",
                       packet->header_bytes, packet->payload_bytes);
    return VBN_OK;
}

static void fill_node(link_node_t *node, vbn_peer_t *peer, const link_packet_t *packet)
{
    node->peer = peer;
    node->done = packet->done;
    node->arg = packet->arg;
    node->iov = packet->iov;
    node->iov_count = packet->iov_count;
    node->payload_bytes = packet->payload_bytes;
    node->header_bytes = packet->header_bytes;
    if (packet->header_bytes > 0)
        memcpy(node->header + LINK_HEADER_BYTES, packet->header, packet->header_bytes);
}

/* Header-only packets: the transport copies, no node is needed unless it has to wait. */
static vbn_status_t send_bare(vbn_peer_t *peer, const link_packet_t *packet)
{
    uint8_t header[TL_HEADER_MAX];
    link_node_t bare;
    bare.payload_bytes = 0;
    bare.iov = NULL;
    bare.iov_count = 0;
    bare.header_bytes = packet->header_bytes;
    if (packet->header_bytes > 0)
        memcpy(header + LINK_HEADER_BYTES, packet->header, packet->header_bytes);
    return transmit(peer, header, &bare, NULL);
}

static vbn_status_t send_now(vbn_peer_t *peer, const link_packet_t *packet, link_node_t **node_p)
{
    if (packet->payload_bytes == 0)
        return send_bare(peer, packet);
    link_node_t *node = mpool_get(&peer->engine->nodes);
    if (node == NULL)
        return VBN_ERR_NO_MEMORY;
    fill_node(node, peer, packet);
    vbn_status_t status = transmit(peer, node->header, node, node);
    if (status == VBN_INPROGRESS)
        list_append(&peer->inflight, &node->link);
    else if (status == VBN_BUSY)
        *node_p = node;
    else
        mpool_put(&peer->engine->nodes, node);
    return status;
}

vbn_status_t link_send(vbn_peer_t *peer, const link_packet_t *packet)
{
    link_node_t *node = NULL;
    vbn_status_t status = check_packet(peer, packet);
    if (status < 0)
        return status;
    if (list_empty(&peer->queue) && may_send(peer)) {
        if (has_credit(peer)) {
            status = send_now(peer, packet, &node);
            if (status != VBN_BUSY)
                return status;
        } else {
            counter_add(peer->engine->params.counters, COUNTER_CREDIT_STALLS, 1);
        }
    }
    if (node == NULL) {
        node = mpool_get(&peer->engine->nodes);
        if (node == NULL)
            return VBN_ERR_NO_MEMORY;
        fill_node(node, peer, packet);
    }
    list_append(&peer->queue, &node->link);
    peer->queued++;
    return VBN_INPROGRESS;
}

/* Sends the queue's first packet. false: it has to wait. */
static bool send_first(vbn_peer_t *peer)
{
    link_node_t *node = container_of(peer->queue.next, link_node_t, link);
    vbn_status_t status = transmit(peer, node->header, node, node->payload_bytes > 0 ? node : NULL);
    if (status == VBN_BUSY || status < 0)
        return false; /* failed: ep_error follows and ends the queue */
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
    if (peer->ack_due && may_send(peer)) {
        peer->ack_due = false;
        link_send_ack(peer, 0);
    }
    while (!list_empty(&peer->queue) && may_send(peer) && has_credit(peer))
        if (!send_first(peer))
            return;
    if (peer->ask_ack && list_empty(&peer->queue) && may_send(peer)) {
        peer->ask_ack = false;
        if (peer->tx_acked != peer->tx_next)
            link_send_ack(peer, LINK_FLAG_ACK_NOW);
    }
}
