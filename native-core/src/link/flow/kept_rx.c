/* SPDX-License-Identifier: Apache-2.0
 * kept_rx.c - the receiver's side of packets that their sender keeps until they are acknowledged, over datagrams and
 * over connections that resume: duplicates dropped, early packets held, acks.
 *
 * An ack goes at once when a packet came early or twice, when the sender asks, and after ACK_EVERY packets; else with the
 * next packet or after ACK_DELAY_NS. Nothing that arrives over datagrams ends a peer except a proved peer's CLOSE: a wrong
 * packet may be late, doubled or damaged, so it is counted and dropped. */
#include "link/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#define ACK_EVERY 16u
#define ACK_DELAY_NS UINT64_C(1000000)
#define ACK_BYTES 16384u /* a packet that large is acknowledged at once: its sender's memory waits */
#define LINGER_NS UINT64_C(3000000000)

static uint32_t payload_at(uint32_t upper_bytes)
{
    return (upper_bytes + 15u) & ~15u;
}

/* ----------------------------------------------------------------------------------------- early packets */

/* false: no memory, the packet is as if it had been lost. */
static bool hold(vbn_peer_t *peer, const link_header_t *header, const void *upper, uint32_t upper_bytes,
                 const void *payload, uint32_t payload_bytes, bool placed)
{
    link_arq_t *arq = peer->arq;
    if (arq->held == NULL)
        arq->held = calloc(LINK_HELD_MAX, sizeof(*arq->held)); /* NOLINT: array of pointers */
    if (arq->held == NULL)
        return false;
    link_held_t **place = &arq->held[header->sequence % LINK_HELD_MAX];
    if (*place != NULL) {
        counter_add(peer->engine->params.counters, COUNTER_DUPLICATES, 1);
        return true;
    }
    uint32_t copied = placed ? 0 : payload_bytes;
    link_held_t *held = malloc((sizeof(*held) + payload_at(upper_bytes) + copied + 15u) & ~(size_t)15);
    if (held == NULL)
        return false;
    *held = (link_held_t){.place = placed ? payload : NULL, .upper_bytes = upper_bytes, .payload_bytes = payload_bytes};
    memcpy(held->bytes, upper, upper_bytes);
    if (copied > 0)
        memcpy(held->bytes + payload_at(upper_bytes), payload, copied);
    *place = held;
    arq->held_count++;
    counter_add(peer->engine->params.counters, COUNTER_REORDERED, 1);
    return true;
}

/* The packet rx_next if it is held. The caller frees it. */
static link_held_t *take_held(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    if (arq->held == NULL)
        return NULL;
    link_held_t **place = &arq->held[peer->rx_next % LINK_HELD_MAX];
    link_held_t *held = *place;
    *place = NULL;
    if (held != NULL)
        arq->held_count--;
    if (arq->held_count == 0) { /* an idle peer keeps no table */
        free(arq->held);
        arq->held = NULL;
    }
    return held;
}

/* No packet is taken from here on, counted from the next one. */
static uint32_t most_ahead(const vbn_peer_t *peer)
{
    return peer->window < LINK_HELD_MAX ? peer->window : LINK_HELD_MAX;
}

/* ------------------------------------------------------------------------------------------------ acks */

static void owe_ack(vbn_peer_t *peer, bool at_once)
{
    link_arq_t *arq = peer->arq;
    uint32_t owed = peer->rx_next - peer->rx_acked;
    if (at_once || owed >= ACK_EVERY || owed > peer->owed_most) {
        link_send_ack(peer, 0);
    } else if (owed > 0 && arq->ack_due_ns == 0) {
        arq->ack_due_ns = arq->heard_ns + ACK_DELAY_NS;
        link_arq_wake_at(arq, arq->ack_due_ns);
    }
}

/* --------------------------------------------------------------------------------------------- closing */

static void lingered(wheel_timer_t *timer)
{
    link_lane_free(container_of(timer, link_handshake_t, timer)->lane, VBN_CLOSE_NOW);
}

/* The peer is done; its CLOSE may come again because our ack of it may be lost. */
static void linger(link_lane_t *lane)
{
    link_engine_t *engine = lane->engine;
    link_handshake_t *hs = calloc(1, sizeof(*hs));
    vbn_peer_t *peer = lane->peer;
    if (hs == NULL)
        return; /* the peer's time-out ends it */
    link_header_t header = {.version = LINK_VERSION,
                            .type = LINK_ACK,
                            .connection = lane->remote_connection,
                            .sequence = peer->tx_next,
                            .ack = peer->rx_next};
    link_header_encode(&header, hs->control);
    hs->control_bytes = LINK_HEADER_BYTES;
    hs->lane = lane;
    wheel_timer_init(&hs->retry, lingered);
    wheel_timer_init(&hs->timer, lingered);
    link_timer_add(engine, &hs->timer, LINGER_NS);
    link_lane_unlink(lane);
    link_lane_uncount_costly(lane);
    lane->hs = hs;
    lane->state = LANE_LINGERS;
    lane->peer = NULL;
    list_append(&engine->lanes, &lane->link);
}

/* The transport still uses memory of this peer's packets: its lane cannot stay behind without the peer. */
static bool in_use(const vbn_peer_t *peer)
{
    if (!list_empty(&peer->arq->parked))
        return true;
    list_for_each(link, &peer->inflight) {
        if (container_of(link, const link_node_t, link)->resend.busy)
            return true;
    }
    return false;
}

static bool alive(const vbn_peer_t *peer)
{
    return peer->state != PEER_LOST && peer->state != PEER_ENDING;
}

static void take_close(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    peer->rx_next++;
    link_send_ack(peer, 0);
    linger(lane);
    link_peer_end(peer, VBN_ERR_PEER_LOST, "the peer closed the connection", false);
}

/* CLOSE is the peer's last packet, sent when all before it was acknowledged. Over a connection it does not come again. */
static void rx_close(link_lane_t *lane, const link_header_t *header)
{
    vbn_peer_t *peer = lane->peer;
    if (header->sequence != peer->rx_next)
        return;
    if (in_use(peer))
        peer->arq->close_over = lane;
    else
        take_close(lane);
}

void link_kept_let_go(vbn_peer_t *peer)
{
    link_lane_t *lane = peer->arq != NULL ? peer->arq->close_over : NULL;
    if (lane == NULL || !alive(peer) || in_use(peer))
        return;
    peer->arq->close_over = NULL;
    take_close(lane);
}

/* -------------------------------------------------------------------------------------------- receiving */

/* Operations may have ended with a packet, so lanes that are still writing to their memory ask again. */
static void places_may_have_changed(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->placing && link_lane_ops(lane)->resink != NULL)
            link_lane_ops(lane)->resink(lane->ep);
}

/* One packet in order. false: the peer has ended, or will. */
static bool deliver(vbn_peer_t *peer, const void *upper, uint32_t upper_bytes, const void *payload,
                    uint32_t payload_bytes)
{
    const link_upcalls_t *up = &peer->engine->params.upcalls;
    peer->rx_next++;
    peer->seen = true;
    up->rx(up->arg, peer, upper, upper_bytes, payload, payload_bytes);
    if (alive(peer) && peer->arq->placing > 0)
        places_may_have_changed(peer);
    return alive(peer);
}

static bool deliver_held(vbn_peer_t *peer)
{
    bool goes_on = true;
    for (link_held_t *held; goes_on && (held = take_held(peer)) != NULL;) {
        const void *payload = held->place != NULL ? held->place : held->bytes + payload_at(held->upper_bytes);
        goes_on = deliver(peer, held->bytes, held->upper_bytes, payload, held->payload_bytes);
        free(held);
    }
    return goes_on;
}

static void rx_data(link_lane_t *lane, const link_header_t *header, const void *upper, uint32_t upper_bytes,
                    const void *payload, uint32_t payload_bytes, bool placed)
{
    vbn_peer_t *peer = lane->peer;
    uint32_t ahead = header->sequence - peer->rx_next, most = most_ahead(peer);
    peer->arq->bulk = peer->arq->bulk || payload_bytes >= peer->arq->bulk_bytes; /* rails serve both directions */
    if (ahead == 0) {
        bool gap = peer->arq->held_count > 0;
        if (deliver(peer, upper, upper_bytes, payload, payload_bytes) && deliver_held(peer))
            owe_ack(peer, gap || payload_bytes >= ACK_BYTES || (header->flags & LINK_FLAG_ACK_NOW) != 0);
        return;
    }
    if (ahead < most && !hold(peer, header, upper, upper_bytes, payload, payload_bytes, placed) && !lane->datagram) {
        link_lane_broke(lane, VBN_ERR_NO_MEMORY,
                        "no memory for a packet that arrived out of order"); /* so it is sent again */
        return;
    }
    if (ahead >= most && (int32_t)ahead < 0)
        counter_add(peer->engine->params.counters, COUNTER_DUPLICATES, 1);
    owe_ack(peer, true);
}

static void count_bad(const link_lane_t *lane)
{
    counter_add(lane->engine->params.counters, COUNTER_BAD_FRAMES, 1);
}

/* From here on the packet is from the proved peer; the lane may not be ready for sending yet. */
static void rx_proved(link_lane_t *lane, const link_header_t *header, const uint8_t *body, uint32_t body_bytes,
                      const void *payload, uint32_t payload_bytes, bool placed)
{
    vbn_peer_t *peer = lane->peer;
    bool ack_fits = payload_bytes == 0 && body_bytes % 8 == 0 && body_bytes <= LINK_HELD_MAX / 8;
    if ((header->type == LINK_ACK && !ack_fits) || body_bytes > LINK_UPPER_HEADER_MAX ||
        (header->type != LINK_ACK && header->type != LINK_DATA && body_bytes + payload_bytes > 0)) {
        count_bad(lane);
        return;
    }
    bool new_room = lane->welcome != NULL;
    free(lane->welcome);
    lane->welcome = NULL;
    link_life_heard(lane);
    if (header->type == LINK_CLOSE && (header->flags & LINK_FLAG_AT_ONCE) != 0) {
        peer->arq->told = true;
        link_peer_end(peer, VBN_ERR_PEER_LOST, "the peer closed the connection", false);
        return;
    }
    link_arq_acked(peer, header->ack, body, header->type == LINK_ACK ? body_bytes / 8 : 0);
    if (alive(peer) && new_room)
        link_drain(peer);
    if (!alive(peer) || lane->peer != peer)
        return;
    if (header->type == LINK_DATA)
        rx_data(lane, header, body, body_bytes, payload, payload_bytes, placed);
    else if (header->type == LINK_CLOSE)
        rx_close(lane, header);
    else if (header->type == LINK_LANE_DROP)
        link_rails_rx_drop(lane);
    else if ((header->flags & LINK_FLAG_ACK_NOW) != 0)
        link_send_ack(peer, 0);
    if (peer->arq == NULL)
        return;
    link_rails_drop_step(peer);
    if (peer->arq != NULL)
        link_promote_look(peer);
}

/* Lanes without a peer that only repeat their last word. */
static void rx_answered(link_lane_t *lane, const link_header_t *header)
{
    bool mine = header->type >= LINK_HELLO
                    ? lane->state == LANE_REJECTED
                    : lane->state == LANE_LINGERS && header->connection == lane->local_connection;
    tl_packet_t packet = {.header = lane->hs->control, .header_bytes = lane->hs->control_bytes};
    if (mine && !lane->blocked && link_lane_ops(lane)->send(lane->ep, &packet) == VBN_BUSY)
        lane->blocked = true; /* the peer will ask again */
}

static bool is_proved(const link_lane_t *lane)
{
    const vbn_peer_t *peer = lane->peer;
    return peer != NULL && peer->state != PEER_ENDING && lane->state == LANE_PROVED && peer->arq != NULL;
}

void *link_kept_sink(link_lane_t *lane, const link_header_t *header, const void *upper, uint32_t upper_bytes,
                     uint32_t payload_bytes)
{
    vbn_peer_t *peer = lane->peer;
    const link_upcalls_t *up = &lane->engine->params.upcalls;
    (void)link_kept_placed(lane);
    if (!is_proved(lane) || header->connection != lane->local_connection || upper_bytes > LINK_UPPER_HEADER_MAX)
        return NULL;
    uint32_t ahead = header->sequence - peer->rx_next;
    if (ahead >= most_ahead(peer) ||
        (peer->arq->held != NULL && peer->arq->held[header->sequence % LINK_HELD_MAX] != NULL))
        return NULL; /* it has come over another lane */
    void *place = up->sink(up->arg, peer, upper, upper_bytes, payload_bytes, ahead > 0);
    lane->placing = place != NULL;
    peer->arq->placing = (uint8_t)(peer->arq->placing + lane->placing);
    return place;
}

void link_kept_rx(link_lane_t *lane, const void *bytes, uint32_t length, const void *payload, uint32_t payload_bytes)
{
    link_header_t header;
    const uint8_t *body = (const uint8_t *)bytes + LINK_HEADER_BYTES;
    bool placed = link_kept_placed(lane);
    if (!link_header_decode(bytes, length, &header) || (header.type >= LINK_HELLO && payload_bytes > 0)) {
        count_bad(lane);
        return;
    }
    uint32_t body_bytes = length - LINK_HEADER_BYTES;
    if (lane->state == LANE_REJECTED || lane->state == LANE_LINGERS)
        rx_answered(lane, &header);
    else if (header.type >= LINK_HELLO) {
        if (!lane->datagram || !link_wireup_repeated(lane, &header, body, body_bytes))
            link_wireup_rx(lane, &header, body, body_bytes);
    } else if (is_proved(lane) && header.connection == lane->local_connection &&
               (int32_t)(lane->peer->tx_next - header.ack) >= 0) {
        rx_proved(lane, &header, body, body_bytes, payload, payload_bytes, placed);
    }
}
