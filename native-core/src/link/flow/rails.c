/* SPDX-License-Identifier: Apache-2.0
 * rails.c - a peer's lanes where there may be several: which of them takes a packet, one lost, one dropped.
 *
 *   peer->lane --next--> lane --next--> ...   best first; lanes in wire-up stand behind the ready ones (R1)
 *
 * Only peers that keep packets (peer->arq) have more than one: sequence, window and acks are the peer's, so a packet may
 * take any lane, and what a lane that broke had taken is sent again over the others. R2 peer->lane is ready if any lane is.
 * R3 while a lane is under way to its end (`dropping`) it takes nothing new unless no other can; LANE_DROP is the last
 * packet of its sender over it, and is sent when nothing is under way over it. R4 while a connection stands packets take no
 * datagrams, also when it is full: a program that computes acknowledges nothing, so what went by datagrams would be sent
 * again, and again over the connection. */
#include "link/peer/peer.h"

#include <stdlib.h>
#include <string.h>

#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 6u
#define COST_AGAIN (UINT64_C(1) << 56) /* a packet goes where it was lost when no other lane can take it */

/* ----------------------------------------------------------------------------------------------- choice */

/* An accepted lane over datagrams counts once the peer has used it: WELCOME may be lost. */
static bool usable(const link_lane_t *lane)
{
    return lane->hs == NULL && !lane->blocked && lane->welcome == NULL;
}

static bool has_room(const vbn_peer_t *peer, const link_lane_t *lane)
{
    if (lane->datagram)
        return peer->arq->pipe < peer->arq->cwnd;
    uint32_t most = link_lane_caps(lane)->unread_max;
    return most == 0 || lane->under_way < most;
}

/* A connection is there: what it cannot take now waits for it (R4). */
static bool connected(const vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs == NULL && !lane->datagram && !lane->dropping)
            return true;
    return false;
}

link_lane_t *link_rails_first(const vbn_peer_t *peer)
{
    link_lane_t *lane = peer->lane;
    if (lane != NULL && lane->next == NULL)
        return lane->hs == NULL && !lane->blocked && lane->ep != NULL ? lane : NULL;
    while (lane != NULL && (!usable(lane) || lane->drop_sent))
        lane = lane->next;
    return lane;
}

link_lane_t *link_rails_answer(const vbn_peer_t *peer)
{
    link_lane_t *lane = peer->arq->heard_over;
    return lane != NULL && lane->hs == NULL && !lane->blocked && !lane->drop_sent ? lane : link_rails_first(peer);
}

void link_rails_ask(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (usable(lane) && !lane->drop_sent)
            link_send_ack_over(peer, lane, LINK_FLAG_ACK_NOW);
}

static uint64_t bulk_cost(const link_lane_t *lane, const link_node_t *node)
{
    const tl_caps_t *caps = link_lane_caps(lane);
    return ((uint64_t)lane->under_way_bytes + node->payload_bytes) * 1000 / (caps->mbytes_per_s + 1);
}

static link_lane_t *cheapest(const vbn_peer_t *peer, const link_node_t *node, bool dropping)
{
    link_lane_t *best = NULL;
    uint64_t best_cost = UINT64_MAX, place = 0;
    bool stands = connected(peer);
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next, place++) {
        if (!usable(lane) || !has_room(peer, lane) || lane->dropping != dropping || (stands && lane->datagram))
            continue;
        uint64_t cost = node->payload_bytes >= peer->arq->bulk_bytes ? bulk_cost(lane, node) : place;
        cost += node->resend.lost && node->resend.lane == lane ? COST_AGAIN : 0;
        if (cost < best_cost) {
            best_cost = cost;
            best = lane;
        }
    }
    return best;
}

link_lane_t *link_rails_choose(const vbn_peer_t *peer, const link_node_t *node)
{
    link_lane_t *lane = peer->lane;
    if (lane->next == NULL) {
        if (lane->hs != NULL || lane->blocked || !has_room(peer, lane))
            return NULL;
        if (lane->dropping) /* the others broke meanwhile */
            link_lane_stop_dropping(lane);
        return lane;
    }
    lane = cheapest(peer, node, false);
    if (lane != NULL || peer->arq->dropping == 0)
        return lane;
    for (const link_lane_t *other = peer->lane; other != NULL; other = other->next)
        if (other->hs == NULL && !other->dropping)
            return NULL; /* waits for that one */
    lane = cheapest(peer, node, true);
    if (lane != NULL)
        link_lane_stop_dropping(lane);
    return lane;
}

/* ------------------------------------------------------------------------------------------------ chain */

bool link_lane_others(const vbn_peer_t *peer, const link_lane_t *lane)
{
    for (const link_lane_t *other = peer->lane; other != NULL; other = other->next)
        if (other != lane && other->hs == NULL && other->welcome == NULL)
            return true;
    return false;
}

unsigned link_lane_count(const vbn_peer_t *peer, int transport)
{
    unsigned count = 0;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        count += transport < 0 || lane->transport == transport;
    return count;
}

static void head_changed(vbn_peer_t *peer)
{
    if (peer->lane != NULL)
        peer->transport = peer->lane->transport;
}

void link_lane_unlink(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_lane_t **at = &peer->lane;
    while (*at != NULL && *at != lane)
        at = &(*at)->next;
    if (*at == lane)
        *at = lane->next;
    lane->next = NULL;
    if (lane->dropping)
        link_lane_stop_dropping(lane);
    (void)link_kept_placed(lane);
    if (peer->arq != NULL && peer->arq->heard_over == lane)
        peer->arq->heard_over = NULL;
    if (peer->arq != NULL && peer->arq->close_over == lane)
        peer->arq->close_over = NULL;
    head_changed(peer);
}

/* Smaller is better: promoted, then connections, then as tl.enable says. */
static unsigned rank(const link_lane_t *lane)
{
    return (lane->hs != NULL ? 4096u : 0) + (lane->costly ? 0 : 1024u) + (lane->datagram ? 512u : 0) + lane->transport;
}

static void insert(vbn_peer_t *peer, link_lane_t *lane)
{
    link_lane_t **at = &peer->lane;
    while (*at != NULL && rank(*at) <= rank(lane))
        at = &(*at)->next;
    lane->next = *at;
    *at = lane;
    lane->peer = peer;
    head_changed(peer);
}

void link_lane_join(link_lane_t *lane, vbn_peer_t *peer)
{
    list_remove(&lane->link);
    link_lane_stranger_gone(lane);
    insert(peer, lane);
    link_lane_count_costly(lane);
}

void link_rails_ready(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_lane_unlink(lane);
    insert(peer, lane);
    peer->arq->attempts = 0;
    counter_add(peer->engine->params.counters, COUNTER_LANES_ADDED, 1);
    LOG_PEER(peer->engine->params.log, VBN_LOG_INFO, peer->uid, "peer %016llx has one lane more, over %s (%u now)",
             (unsigned long long)peer->uid, link_lane_name(lane), link_lane_count(peer, -1));
    if (lane->datagram && lane->initiator)
        link_send_ack_over(peer, lane, 0); /* shows the responder that WELCOME arrived */
    link_drain(peer);
}

void link_lane_later(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    unsigned doublings = arq->attempts < REDIAL_DOUBLINGS ? arq->attempts : REDIAL_DOUBLINGS;
    arq->redial_ns = link_now_ns(peer->engine) + (REDIAL_NS << doublings);
    arq->attempts = (uint8_t)(arq->attempts + (arq->attempts < UINT8_MAX));
}

/* The transport has given the lane's memory back; its packets go over the others. A promotion has to be earned again. */
static void go_on_without(vbn_peer_t *peer, const link_lane_t *lane)
{
    if (lane->costly) {
        peer->one_sided = false;
        peer->arq->promote_at = peer->tx_next + peer->rx_next +
                                (uint32_t)peer->engine->params.settings->link_promote_after;
    }
    link_arq_lane_gone(peer, lane);
    if (peer->arq != NULL)
        link_drain(peer);
}

void link_lane_lose(link_lane_t *lane, const char *text)
{
    vbn_peer_t *peer = lane->peer;
    link_engine_t *engine = lane->engine;
    bool expected = lane->dropping || lane->hs != NULL;
    if (expected)
        LOG_PEER(engine->params.log, VBN_LOG_DEBUG, peer->uid, "peer %016llx: lane over %s is gone: %s",
                 (unsigned long long)peer->uid, link_lane_name(lane), text);
    else
        LOG_PEER(engine->params.log, VBN_LOG_WARN, peer->uid,
                 "a lane to peer %016llx over %s broke: %s; packets fail over to the other lanes",
                 (unsigned long long)peer->uid, link_lane_name(lane), text);
    if (!expected)
        counter_add(engine->params.counters, COUNTER_LANES_LOST, 1);
    link_lane_later(peer);
    link_lane_unlink(lane);
    link_lane_free(lane, VBN_CLOSE_NOW);
    go_on_without(peer, lane);
}

void link_lanes_free(vbn_peer_t *peer, vbn_close_mode_t mode)
{
    while (peer->lane != NULL) {
        link_lane_t *lane = peer->lane;
        link_lane_unlink(lane);
        link_lane_free(lane, mode);
    }
}

/* --------------------------------------------------------------------------------------------- dropping */

static void send_drop(vbn_peer_t *peer, link_lane_t *lane)
{
    uint8_t bytes[LINK_HEADER_BYTES];
    link_header_t header = {.version = LINK_VERSION,
                            .type = LINK_LANE_DROP,
                            .connection = lane->remote_connection,
                            .sequence = peer->tx_next,
                            .ack = peer->rx_next};
    link_header_encode(&header, bytes);
    tl_packet_t packet = {.header = bytes, .header_bytes = sizeof(bytes)};
    vbn_status_t status = link_lane_ops(lane)->send(lane->ep, &packet);
    lane->blocked = lane->blocked || status == VBN_BUSY;
    lane->drop_sent = status == VBN_OK || status == VBN_INPROGRESS;
}

static void end_drop(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    if (!link_lane_others(peer, lane)) { /* the other one broke meanwhile */
        link_lane_broke(lane, VBN_ERR_PEER_LOST, "the last lane broke while the one before it was being dropped");
        return;
    }
    counter_add(peer->engine->params.counters, COUNTER_LANES_DROPPED, 1);
    link_lane_unlink(lane);
    link_lane_free(lane, VBN_CLOSE_FLUSH);
    go_on_without(peer, lane);
}

/* One step of the first lane that can make one; true when it went. */
static bool drop_step(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        if (!lane->dropping || lane->under_way > 0)
            continue;
        if (!lane->drop_sent && !lane->blocked)
            send_drop(peer, lane);
        if (!lane->drop_sent || !lane->drop_heard)
            continue;
        end_drop(lane);
        return true;
    }
    return false;
}

void link_rails_drop_step(vbn_peer_t *peer)
{
    while (peer->arq != NULL && peer->arq->dropping > 0 && drop_step(peer)) {
    }
}

void link_rails_drop(link_lane_t *lane)
{
    if (lane->dropping || !link_lane_others(lane->peer, lane))
        return;
    lane->dropping = true;
    lane->peer->arq->dropping++;
    link_rails_drop_step(lane->peer);
}

void link_rails_rx_drop(link_lane_t *lane)
{
    if (!link_lane_others(lane->peer, lane))
        return; /* this side has no other: the peer uses it again when it notices */
    lane->drop_heard = true;
    if (lane->dropping)
        link_rails_drop_step(lane->peer);
    else
        link_rails_drop(lane);
}
