/* SPDX-License-Identifier: Apache-2.0
 * rx.c - upcalls of the transports: packets in, room again, endpoints ready or broken. Every header comes from outside and is
 * checked before use. A wrong one ends its peer only. */
#include "link/flow/flow.h"

static void bad_packet(link_lane_t *lane, const char *text)
{
    counter_add(lane->engine->params.counters, COUNTER_BAD_FRAMES, 1);
    link_lane_fail(lane, VBN_ERR_PROTOCOL, text);
}

static bool header_fits(const link_lane_t *lane, const link_header_t *header)
{
    const vbn_peer_t *peer = lane->peer;
    return lane->state == LANE_PROVED && peer != NULL && peer->lane != NULL &&
           header->connection == lane->local_connection && link_credit_ack_valid(peer, header->ack);
}

/* A DATA packet, with all checks. The upcall comes last: the peer may be gone after it. */
static void rx_data(link_lane_t *lane, const uint8_t *header, uint32_t header_bytes, const void *payload,
                    uint32_t payload_bytes)
{
    vbn_peer_t *peer = lane->peer;
    uint64_t numbers = le_get_u64(header + 8);
    uint32_t sequence = (uint32_t)numbers;
    uint32_t ack = (uint32_t)(numbers >> 32);
    if (lane->state != LANE_PROVED || peer == NULL || peer->lane == NULL || sequence != peer->rx_next ||
        !link_credit_ack_valid(peer, ack) || header_bytes > TL_HEADER_MAX || sequence - peer->rx_acked > peer->window) {
        bad_packet(lane, "the peer sent a packet out of order or beyond its credits");
        return;
    }
    lane->rx_word = LINK_DATA_WORD(lane->local_connection);
    lane->rx_room = LINK_UPPER_HEADER_MAX + 1; /* proved and bound to its peer until the lane ends */
    peer->rx_next = sequence + 1;
    link_credit_apply(peer, ack);
    if (peer->state >= PEER_ENDING) /* a callback ended it */
        return;
    peer->seen = true;
    if (peer->rx_next - peer->rx_acked > peer->owed_most)
        link_send_ack(peer, 0);
    lane->engine->params.upcalls.rx(peer->head.upper_engine, peer, header + LINK_HEADER_BYTES,
                                    header_bytes - LINK_HEADER_BYTES, payload, payload_bytes);
}

static void rx_ack(link_lane_t *lane, const link_header_t *header)
{
    vbn_peer_t *peer = lane->peer;
    if (!header_fits(lane, header)) {
        bad_packet(lane, "the peer sent an ack that does not belong to the connection");
        return;
    }
    link_credit_apply(peer, header->ack);
    if (peer->state != PEER_LOST && peer->state != PEER_ENDING && (header->flags & LINK_FLAG_ACK_NOW) != 0)
        link_send_ack(peer, 0);
}

static void rx_close(link_lane_t *lane, const link_header_t *header)
{
    if (!header_fits(lane, header)) {
        bad_packet(lane, "the peer sent a close that does not belong to the connection");
        return;
    }
    link_peer_end(lane->peer, VBN_ERR_PEER_LOST, "the peer closed the connection", false);
}

/* Everything but an ordinary DATA packet. */
static COLD void rx_any(link_lane_t *lane, const uint8_t *bytes, uint32_t header_bytes, const void *payload,
                        uint32_t payload_bytes)
{
    link_header_t header;
    if (lane->kept) {
        link_kept_rx(lane, bytes, header_bytes, payload, payload_bytes);
        return;
    }
    if (lane->peer != NULL && lane->peer->state == PEER_ENDING)
        return;
    if (!link_header_decode(bytes, header_bytes, &header)) {
        bad_packet(lane, "the peer sent a malformed packet header");
        return;
    }
    const uint8_t *body = bytes + LINK_HEADER_BYTES;
    uint32_t body_bytes = header_bytes - LINK_HEADER_BYTES;
    if (header.type == LINK_DATA && header.connection == lane->local_connection)
        rx_data(lane, bytes, header_bytes, payload, payload_bytes);
    else if (header.type == LINK_DATA)
        bad_packet(lane, "the peer sent a packet for another connection");
    else if (payload_bytes > 0 || (header.type < LINK_HELLO && body_bytes > 0))
        bad_packet(lane, "the peer sent a control packet with data");
    else if (header.type == LINK_ACK)
        rx_ack(lane, &header);
    else if (header.type == LINK_CLOSE)
        rx_close(lane, &header);
    else
        link_wireup_rx(lane, &header, body, body_bytes);
}

COLD void link_rx_other(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload,
                        uint32_t payload_bytes)
{
    rx_any(ep->owner, header, header_bytes, payload, payload_bytes);
}

/* Once a lane has brought a packet that was right, the next DATA packets are recognised by their first word. */
static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    link_lane_t *lane = ep->owner;
    const vbn_peer_t *peer = lane->peer;
    if (LIKELY(header_bytes - LINK_HEADER_BYTES < lane->rx_room) && LIKELY(le_get_u64(header) == lane->rx_word) &&
        LIKELY(peer != NULL && peer->state < PEER_ENDING)) /* a worker has a second lane to itself */
        rx_data(lane, header, header_bytes, payload, payload_bytes);
    else
        rx_any(lane, header, header_bytes, payload, payload_bytes);
}

static void *on_sink(tl_ep_t *ep, const void *header_bytes, uint32_t header_length, uint32_t payload_bytes)
{
    link_lane_t *lane = ep->owner;
    link_engine_t *engine = lane->engine;
    link_header_t header;
    if (engine->params.upcalls.sink == NULL || !link_header_decode(header_bytes, header_length, &header) ||
        header.type != LINK_DATA || lane->peer == NULL || lane->peer->state == PEER_ENDING)
        return NULL;
    if (lane->kept)
        return link_kept_sink(lane, &header, (const uint8_t *)header_bytes + LINK_HEADER_BYTES,
                              header_length - LINK_HEADER_BYTES, payload_bytes);
    if (!header_fits(lane, &header) || header.sequence != lane->peer->rx_next)
        return NULL;
    return engine->params.upcalls.sink(engine->params.upcalls.arg, lane->peer,
                                       (const uint8_t *)header_bytes + LINK_HEADER_BYTES,
                                       header_length - LINK_HEADER_BYTES, payload_bytes, false);
}

static bool on_write_begin(tl_ep_t *ep, const void *place)
{
    const link_lane_t *lane = ep->owner;
    const link_upcalls_t *up = &lane->engine->params.upcalls;
    return lane->peer != NULL && (up->write_begin == NULL || up->write_begin(up->arg, lane->peer, place));
}

static void on_write_end(tl_ep_t *ep, const void *place)
{
    const link_lane_t *lane = ep->owner;
    const link_upcalls_t *up = &lane->engine->params.upcalls;
    if (up->write_end != NULL)
        up->write_end(up->arg, lane->peer, place);
}

static void on_tx_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    link_node_t *node = cookie;
    link_done_func_t done = node->done;
    void *arg = node->arg;
    (void)ep;
    if (node->peer->arq != NULL) {
        vbn_peer_t *peer = node->peer;
        link_arq_tx_done(node);
        link_kept_let_go(peer);
        return;
    }
    list_remove(&node->link);
    mpool_put(&node->peer->engine->nodes, node);
    if (done != NULL)
        done(arg, status);
}

static void on_tx_ready(tl_ep_t *ep)
{
    link_lane_t *lane = ep->owner;
    lane->blocked = false;
    link_wireup_resume(lane);
    vbn_peer_t *peer = lane->peer;
    if (peer == NULL || lane->hs != NULL || (peer->lane != lane && peer->arq == NULL))
        return;
    link_drain(peer);
    link_rails_drop_step(peer);
}

static void on_ready(tl_ep_t *ep)
{
    link_lane_t *lane = ep->owner;
    lane->tl_ready = true;
    link_lane_check_ready(lane);
}

static void on_ep_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    link_lane_t *lane = ep->owner;
    if (lane->peer != NULL && lane->peer->arq == NULL &&
        lane->peer->lane != lane) { /* a worker's second endpoint to itself */
        link_lane_free(lane, VBN_CLOSE_NOW);
        return;
    }
    link_lane_broke(lane, status, text != NULL ? text : "the connection broke");
}

static void on_alive(tl_ep_t *ep)
{
    link_lane_t *lane = ep->owner;
    if (lane->peer != NULL && lane->peer->arq != NULL && lane->hs == NULL)
        link_life_alive(lane);
}

void link_fill_upcalls(tl_upcalls_t *upcalls, link_engine_t *engine)
{
    *upcalls = (tl_upcalls_t){.arg = engine,
                              .accepted = link_lane_accept,
                              .ready = on_ready,
                              .rx = on_rx,
                              .sink = on_sink,
                              .write_begin = on_write_begin,
                              .write_end = on_write_end,
                              .tx_done = on_tx_done,
                              .tx_ready = on_tx_ready,
                              .access_done = link_native_done,
                              .alive = on_alive,
                              .ep_error = on_ep_error,
                              .group_rx = link_group_rx};
}
