/* SPDX-License-Identifier: Apache-2.0
 * broke.c - a lane breaks or must not go on. The first of these that is possible follows:
 *
 *   link_lane_lose       the peer's other lanes go on without it; event lane_lost
 *   link_redial_begin    before WELCOME, when only the wire-up is lost: the connection is dialled again (redial.c)
 *   link_resume_begin    the peer waits without a lane for a new one (resume.c, reopen.c); event lane_lost
 *   link_peer_end        event peer_dead
 *
 * link_lane_fail leaves redialling and resuming out. */
#include "link/lane/lane.h"

#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 6u

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
    engine->events->lane_lost(peer, lane);
}

void link_lane_broke(link_lane_t *lane, vbn_status_t status, const char *text)
{
    if (lane->peer != NULL && link_lane_others(lane->peer, lane))
        link_lane_lose(lane, text);
    else if (link_redial_begin(lane, status, text))
        return;
    else if (lane->peer == NULL || lane->peer->lane != lane || !link_resume_begin(lane->peer, text))
        link_lane_fail(lane, status, text);
}

void link_lane_fail(link_lane_t *lane, vbn_status_t status, const char *text)
{
    vbn_peer_t *peer = lane->peer;
    if (peer == NULL) {
        LOG_PEER_LOST(lane->engine->params.log, VBN_LOG_DEBUG, 0, "incoming connection over %s dropped: %s",
                      link_lane_name(lane), text);
        link_lane_free(lane, VBN_CLOSE_NOW);
        return;
    }
    if (link_lane_others(peer, lane))
        link_lane_lose(lane, text);
    else
        link_peer_end(peer, status, text, true);
}

void link_peer_broke(vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    if (!link_resume_begin(peer, text))
        link_peer_end(peer, status, text, true);
}
