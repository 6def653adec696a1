/* SPDX-License-Identifier: Apache-2.0
 * failover.c - a lane is gone, or one more is ready: packets that a lane had taken go over the others. */
#include "link/flow/flow.h"

#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 6u

/* The transport has given the lane's memory back; its packets go over the others. A promotion has to be earned again. */
void link_fail_over(vbn_peer_t *peer, const link_lane_t *lane)
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

void link_lane_later(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    unsigned doublings = arq->attempts < REDIAL_DOUBLINGS ? arq->attempts : REDIAL_DOUBLINGS;
    arq->redial_ns = link_now_ns(peer->engine) + (REDIAL_NS << doublings);
    arq->attempts = (uint8_t)(arq->attempts + (arq->attempts < UINT8_MAX));
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
    link_fail_over(peer, lane);
}

void link_rails_ready(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_lane_unlink(lane);
    link_lane_insert(peer, lane);
    peer->arq->attempts = 0;
    counter_add(peer->engine->params.counters, COUNTER_LANES_ADDED, 1);
    LOG_PEER(peer->engine->params.log, VBN_LOG_INFO, peer->uid, "peer %016llx has one lane more, over %s (%u now)",
             (unsigned long long)peer->uid, link_lane_name(lane), link_lane_count(peer, -1));
    if (lane->datagram && lane->initiator)
        link_send_ack_over(peer, lane, 0); /* shows the responder that WELCOME arrived */
    link_drain(peer);
}
