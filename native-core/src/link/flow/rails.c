/* SPDX-License-Identifier: Apache-2.0
 * rails.c - the choice of a peer's lane for a packet, where there may be several.
 *
 * Only peers that keep packets (peer->arq) have more than one: sequence, window and acks are the peer's, so a packet may
 * take any lane, and packets of a lane that broke are sent again over the others. R1 and R2 of lane/record.h tell their order.
 * R3 a lane on its way to its end (`dropping`) takes nothing new unless no other can; LANE_DROP is the last packet of its
 * sender over it, and is sent when nothing is in flight over it. R4 while a connection stands packets take no datagrams,
 * also when it is full: a program that computes acknowledges nothing, so packets over datagrams would be sent again, and
 * again over the connection. */
#include "link/flow/flow.h"

#define COST_AGAIN (UINT64_C(1) << 56) /* a packet goes where it was lost when no other lane can take it */

static bool has_room(const vbn_peer_t *peer, const link_lane_t *lane)
{
    if (lane->datagram)
        return peer->arq->pipe < peer->arq->cwnd;
    uint32_t most = link_lane_caps(lane)->unread_max;
    return most == 0 || lane->under_way < most;
}

/* A connection is there: packets that it cannot take now wait for it (R4). */
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
    while (lane != NULL && (!link_rails_usable(lane) || lane->drop_sent))
        lane = lane->next;
    return lane;
}

link_lane_t *link_rails_answer(const vbn_peer_t *peer)
{
    link_lane_t *lane = peer->arq->heard_over;
    return lane != NULL && lane->hs == NULL && !lane->blocked && !lane->drop_sent ? lane : link_rails_first(peer);
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
        if (!link_rails_usable(lane) || !has_room(peer, lane) || lane->dropping != dropping ||
            (stands && lane->datagram))
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
