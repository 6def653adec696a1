/* SPDX-License-Identifier: Apache-2.0
 * credit.c - window, cumulative acks, and flushes that wait for them.
 *
 * A side may have `window` DATA packets unacknowledged (the smaller of both sides' link.window). Every packet carries an
 * ack; a side that owes more than window/4 sends an ACK at once, so a sender that stops for credits always gets some.
 * Fewer owed acks are sent only with other packets or when the peer asks (LINK_FLAG_ACK_NOW: flush, close), so an idle
 * connection needs no timer and wakes nobody. ACKs need no credit. Over datagrams flow/arq.c does all this. */
#include "link/flow/flow.h"

void link_flush_complete(vbn_peer_t *peer)
{
    while (!fifo_empty(&peer->flushes)) {
        link_node_t *node = container_of(fifo_first(&peer->flushes), link_node_t, link);
        if ((int32_t)(peer->tx_acked - node->sequence) < 0)
            return;
        (void)fifo_pop(&peer->flushes);
        link_done_func_t done = node->done;
        void *arg = node->arg;
        mpool_put(&peer->engine->nodes, node);
        done(arg, VBN_OK);
    }
}

void link_credit_apply(vbn_peer_t *peer, uint32_t ack)
{
    if (ack == peer->tx_acked)
        return;
    peer->tx_acked = ack;
    if (!fifo_empty(&peer->flushes))
        link_flush_complete(peer);
    if (!list_empty(&peer->queue))
        link_drain(peer);
}

vbn_status_t link_send_ack(vbn_peer_t *peer, unsigned flags)
{
    return link_send_ack_over(peer, peer->arq != NULL ? link_rails_answer(peer) : peer->lane, flags);
}

vbn_status_t link_send_ack_over(vbn_peer_t *peer, link_lane_t *lane, unsigned flags)
{
    uint8_t bytes[LINK_HEADER_BYTES + LINK_HELD_MAX / 8];
    uint32_t sack_bytes = peer->arq != NULL ? link_kept_sack(peer, bytes + LINK_HEADER_BYTES) : 0;
    link_header_t header = {.version = LINK_VERSION,
                            .type = LINK_ACK,
                            .flags = (uint8_t)flags,
                            .connection = lane != NULL ? lane->remote_connection : 0,
                            .sequence = peer->tx_next,
                            .ack = peer->rx_next};
    link_header_encode(&header, bytes);
    tl_packet_t packet = {.header = bytes, .header_bytes = LINK_HEADER_BYTES + sack_bytes};
    vbn_status_t status = VBN_BUSY;
    if (lane != NULL && !lane->blocked && lane->hs == NULL)
        status = link_lane_ops(lane)->send(lane->ep, &packet);
    if (status == VBN_BUSY) {
        if (lane != NULL)
            lane->blocked = lane->blocked || lane->hs == NULL;
        peer->clear = NULL;
        if (flags != 0)
            peer->ask_ack = true;
        else
            peer->ack_due = true;
        return status;
    }
    if (status >= 0) {
        peer->rx_acked = peer->rx_next;
        if (peer->arq != NULL)
            peer->arq->ack_due_ns = 0;
        counter_add(peer->engine->params.counters, COUNTER_ACKS_SENT, 1);
    }
    return status;
}

void link_rails_ask(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (link_rails_usable(lane) && !lane->drop_sent)
            link_send_ack_over(peer, lane, LINK_FLAG_ACK_NOW);
}
