/* SPDX-License-Identifier: Apache-2.0
 * promote.c - when a peer gets one lane more: rails for bulk data (link.rails), and a lane over a costly transport
 * once it has earned one (link.promote_after messages, or one-sided operations; with no other lane beside it, a second),
 * within link.promoted_max for the worker.
 * When all are given away, the least recently used one that is idle is dropped; its peer goes on over its other lanes.
 * The side that dialled the peer opens lanes; either side drops them. */
#include "link/flow/flow.h"

#define IDLE_NS UINT64_C(1000000000) /* a promoted peer that was heard since is in use */

/* ----------------------------------------------------------------------------------------------- budget */

static link_lane_t *least_used(link_engine_t *engine)
{
    link_lane_t *oldest = NULL;
    uint64_t now = link_now_ns(engine);
    list_for_each(link, &engine->costly) {
        link_lane_t *lane = container_of(link, link_lane_t, link);
        if (lane->dropping || lane->hs != NULL || !link_lane_others(lane->peer, lane) ||
            now - lane->peer->arq->heard_ns < IDLE_NS)
            continue;
        if (oldest == NULL || lane->peer->arq->heard_ns < oldest->peer->arq->heard_ns)
            oldest = lane;
    }
    return oldest;
}

static bool has_room(const link_engine_t *engine)
{
    return engine->costly_count < (uint64_t)engine->params.settings->link_promoted_max;
}

/* Room for one costly lane more. false: not now; if one could be spared it is being dropped. */
static bool make_room(link_engine_t *engine)
{
    if (has_room(engine))
        return true;
    link_lane_t *lane = least_used(engine);
    if (lane != NULL) {
        counter_add(engine->params.counters, COUNTER_DEMOTIONS, 1);
        link_rails_drop(lane);
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------- adding */

static bool fits(const vbn_peer_t *peer, const link_address_t *address, unsigned transport)
{
    char reason[LINK_REASON_BYTES];
    const link_transport_t *t = &peer->engine->transports[transport];
    const link_section_t *section = link_address_find(address, t->name);
    const tl_caps_t *caps = t->ops->caps(t->iface);
    bool keeps = (caps->flags & TL_CAP_RELIABLE) == 0 || link_keeps_wanted(peer->engine, transport);
    return section != NULL && keeps && caps->packet_max >= peer->arq->packet_max &&
           t->ops->reachable(t->iface, section->bytes, section->length, reason, sizeof(reason)) == VBN_OK;
}

static bool is_datagram(const link_engine_t *engine, unsigned transport)
{
    const link_transport_t *t = &engine->transports[transport];
    return (t->ops->caps(t->iface)->flags & TL_CAP_RELIABLE) == 0;
}

/* The transport for the next rail: the one with the fewest lanes, of those that are costly for a promoted peer; datagrams
 * need one only. -1: none. */
static int choose_rail(const vbn_peer_t *peer, const link_address_t *address)
{
    int best = -1;
    if (peer->lane->costly && !has_room(peer->engine))
        return -1;
    for (unsigned i = 0; i < peer->engine->transport_count; i++) {
        unsigned count = link_lane_count(peer, (int)i);
        if (link_is_costly(peer->engine, i) != peer->lane->costly || (is_datagram(peer->engine, i) && count > 0) ||
            !fits(peer, address, i))
            continue;
        if (best < 0 || count < link_lane_count(peer, best))
            best = (int)i;
    }
    return best;
}

static int choose_costly(const vbn_peer_t *peer, const link_address_t *address)
{
    int best = -1;
    for (unsigned i = 0; i < peer->engine->transport_count; i++)
        if (link_is_costly(peer->engine, i) && fits(peer, address, i) &&
            (best < 0 || link_lane_count(peer, (int)i) < link_lane_count(peer, best)))
            best = (int)i;
    return best;
}

static bool promotion_due(const vbn_peer_t *peer)
{
    return peer->engine->has_costly && !peer->lane->costly &&
           (peer->one_sided || (int32_t)(peer->tx_next + peer->rx_next - peer->arq->promote_at) >= 0);
}

/* Devices carry out operations only where the connection that they may break is not the peer's last lane (flow/native.c):
 * with nothing else beside it, the peer gets another one. */
static bool spare_due(const vbn_peer_t *peer)
{
    return peer->one_sided && peer->lane->native && peer->lane->next == NULL &&
           peer->engine->params.settings->link_resume_timeout == 0;
}

/* Lanes of a promoted peer that are not costly are no rails: they wait for its demotion. */
static bool rail_due(const vbn_peer_t *peer)
{
    unsigned wanted = peer->engine->rails, rails = 0, all = 0;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next, all++)
        rails += lane->costly == peer->lane->costly;
    return wanted > 1 && peer->arq->bulk && rails < wanted && all < LINK_LANES_MAX;
}

static void open_lane(vbn_peer_t *peer, const link_address_t *address, int transport)
{
    if (transport < 0 || link_dial_more(peer, address, (unsigned)transport) < 0)
        link_lane_later(peer);
}

void link_promote_look(vbn_peer_t *peer)
{
    const link_arq_t *arq = peer->arq;
    link_address_t address;
    if (peer->accepted || !peer->dials || peer->state != PEER_READY || arq->resume_until_ns != 0 ||
        peer->lane == NULL || peer->lane->hs != NULL)
        return;
    bool promotion = promotion_due(peer) || spare_due(peer);
    if ((!promotion && !rail_due(peer)) || link_now_ns(peer->engine) < arq->redial_ns)
        return;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs != NULL)
            return; /* one at a time */
    if (link_peer_address(peer, &address) < 0)
        return;
    int costly = promotion ? choose_costly(peer, &address) : -1;
    if (costly >= 0 && make_room(peer->engine))
        open_lane(peer, &address, costly);
    else if (rail_due(peer))
        open_lane(peer, &address, choose_rail(peer, &address));
    else
        link_lane_later(peer);
}

void link_promote(vbn_peer_t *peer)
{
    peer->one_sided = true;
}

/* -------------------------------------------------------------------------------------------- accepting */

/* A lane over datagrams that the other side has given up without a word. */
static void replace_datagram(vbn_peer_t *peer, unsigned transport)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        if (lane->transport != transport || !lane->datagram || !link_lane_others(peer, lane))
            continue;
        link_lane_lose(lane, "the peer opened another lane instead");
        return;
    }
}

static bool session_goes_on(const link_lane_t *lane, const vbn_peer_t *peer, uint64_t session)
{
    return peer != NULL && peer->arq != NULL && peer->arq->session == session && !peer->arq->close_sent &&
           peer->arq->resume_until_ns == 0 && (peer->state == PEER_READY || peer->state == PEER_CLOSING) &&
           peer->lane != NULL && peer->lane->hs == NULL && lane->kept &&
           link_lane_caps(lane)->packet_max >= peer->arq->packet_max;
}

vbn_peer_t *link_rails_accept(link_lane_t *lane, uint64_t session)
{
    link_engine_t *engine = lane->engine;
    vbn_peer_t *peer = map_get(&engine->peers, lane->hs->remote.uid);
    if (session_goes_on(lane, peer, session) && lane->datagram)
        replace_datagram(peer, lane->transport); /* operations may complete */
    if (!session_goes_on(lane, peer, session)) {
        link_control_reject(lane, LINK_REASON_GONE);
        return NULL;
    }
    if (link_lane_count(peer, -1) >= LINK_LANES_MAX ||
        (link_is_costly(engine, lane->transport) && !make_room(engine))) {
        link_control_reject(lane, LINK_REASON_LIMIT);
        return NULL;
    }
    link_lane_join(lane, peer);
    return peer;
}
