/* SPDX-License-Identifier: Apache-2.0
 * lane.c - life of a lane: made, bound to its peer, broken, freed. */
#include "link/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *waiting_for(const link_lane_t *lane)
{
    switch ((link_lane_state_t)lane->state) {
    case LANE_WAIT_HELLO: return "the peer's HELLO";
    case LANE_WAIT_CHALLENGE: return "the peer's answer to HELLO";
    case LANE_WAIT_PROOF: return "the peer's proof of the job key";
    case LANE_WAIT_WELCOME: return "the peer's answer to our proof of the job key";
    case LANE_WAIT_AGAIN: return "the next try";
    case LANE_WAIT_OTHER: return "the connection that the peer opens to this side";
    case LANE_REJECTED: return "room to send a refusal";
    case LANE_LINGERS: return "nothing";
    case LANE_PROVED: break;
    }
    return "the transport to become ready";
}

/* While the program is away it answers no packet of the handshake, so such time says nothing of the peer: once, the time-out
 * begins again. */
static bool extend(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    if (hs->extended || lane->engine->away_ns == hs->away_before)
        return false;
    hs->extended = true;
    link_timer_add(lane->engine, &hs->timer,
                   hs->resumes ? link_resume_part(lane->engine) : lane->engine->params.settings->link_wireup_timeout);
    return true;
}

static void wireup_expired(wheel_timer_t *timer)
{
    link_lane_t *lane = container_of(timer, link_handshake_t, timer)->lane;
    char text[512];
    if (extend(lane))
        return;
    const char *before = lane->hs->redials > 0 && lane->peer != NULL ? link_lost_text(lane->peer, NULL) : NULL;
    snprintf(text, sizeof(text), "no connection over %s within link.wireup_timeout=%llums, waiting for %s%s%s",
             link_lane_name(lane), (unsigned long long)(lane->engine->params.settings->link_wireup_timeout / 1000000u),
             waiting_for(lane), before != NULL ? "; the attempt before: " : "", before != NULL ? before : "");
    link_lane_broke(lane, VBN_ERR_TIMEOUT, text);
}

void link_lane_take_transport(link_lane_t *lane, unsigned transport)
{
    const link_transport_t *t = &lane->engine->transports[transport];
    unsigned flags = t->ops->caps(t->iface)->flags;
    lane->transport = (uint8_t)transport & 15u;
    lane->datagram = (flags & TL_CAP_RELIABLE) == 0;
    lane->costly = (flags & TL_CAP_COSTLY) != 0;
    lane->native = (flags & TL_CAP_NATIVE) != 0;
    lane->kept = lane->datagram;
    lane->hs->transcript.transport = t->name;
}

void link_handshake_free(link_handshake_t *hs)
{
    if (hs != NULL)
        free(hs->address);
    free(hs);
}

vbn_status_t link_lane_new(link_engine_t *engine, unsigned transport, bool initiator, link_lane_t **lane_p)
{
    link_lane_t *lane = calloc(1, sizeof(*lane));
    link_handshake_t *hs = calloc(1, sizeof(*hs));
    if (lane == NULL || hs == NULL) {
        free(lane);
        free(hs);
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a connection");
    }
    lane->engine = engine;
    lane->hs = hs;
    link_lane_take_transport(lane, transport);
    lane->initiator = initiator;
    lane->state = initiator ? LANE_WAIT_CHALLENGE : LANE_WAIT_HELLO;
    os_random(&lane->local_connection, sizeof(lane->local_connection));
    list_init(&lane->link);
    hs->lane = lane;
    wheel_timer_init(&hs->retry, link_control_retry);
    wheel_timer_init(&hs->timer, wireup_expired);
    link_timer_add(engine, &hs->timer, engine->params.settings->link_wireup_timeout);
    hs->away_before = engine->away_ns;
    *lane_p = lane;
    return VBN_OK;
}

void link_lane_drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode)
{
    if (lane->ep != NULL)
        link_lane_ops(lane)->disconnect(lane->ep, mode, lane->engine->params.settings->link_close_timeout);
    lane->ep = NULL;
    if (lane->native && lane->under_way > 0)
        link_transfers_lost(lane);
}

void link_lane_stop_timers(link_lane_t *lane)
{
    wheel_cancel(&lane->engine->wheel, &lane->hs->timer);
    wheel_cancel(&lane->engine->wheel, &lane->hs->retry);
}

void link_lane_stranger_gone(link_lane_t *lane)
{
    lane->engine->strangers -= lane->stranger;
    lane->stranger = false;
}

/* The memory stays until the end of the progress call: a caller up the stack may look at the lane. */
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode)
{
    link_lane_drop_endpoint(lane, mode);
    if (lane->hs != NULL)
        link_lane_stop_timers(lane);
    free(lane->welcome);
    lane->welcome = NULL;
    lane->peer = NULL;
    lane->next = NULL;
    link_lane_stranger_gone(lane);
    link_lane_uncount_costly(lane);
    list_remove(&lane->link);
    list_append(&lane->engine->dead_lanes, &lane->link);
}

void link_lane_drop(link_lane_t *lane, vbn_close_mode_t mode)
{
    link_lane_drop_endpoint(lane, mode);
    if (lane->peer == NULL)
        link_lane_free(lane, VBN_CLOSE_NOW);
}

void link_lane_count_costly(link_lane_t *lane)
{
    if (!lane->costly || lane->counted)
        return;
    lane->counted = true;
    lane->engine->costly_count++;
    list_append(&lane->engine->costly, &lane->link);
}

void link_lane_uncount_costly(link_lane_t *lane)
{
    if (!lane->counted)
        return;
    lane->counted = false;
    lane->engine->costly_count--;
    list_remove(&lane->link);
}

void link_peer_broke(vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    if (!link_resume_begin(peer, text))
        link_peer_end(peer, status, text, true);
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

const tl_caps_t *link_lane_shown_caps(const link_lane_t *lane)
{
    if (lane->initiator && lane->hs != NULL && lane->peer->arq == NULL) /* P5 */
        return &lane->engine->transports[lane->transport].opening;
    if (link_lane_ops(lane)->ep_caps != NULL && lane->ep != NULL)
        return link_lane_ops(lane)->ep_caps(lane->ep);
    return link_lane_caps(lane);
}

void link_lane_bind(link_lane_t *lane, vbn_peer_t *peer, uint64_t epoch)
{
    if (peer->lane != NULL && peer->lane != lane)
        link_lanes_free(peer, VBN_CLOSE_NOW);
    list_remove(&lane->link);
    link_lane_stranger_gone(lane);
    lane->peer = peer;
    peer->lane = lane;
    peer->dormant = false;
    peer->clear = NULL;
    peer->transport = lane->transport;
    peer->head.caps = link_lane_shown_caps(lane);
    peer->accepted = !lane->initiator;
    link_lane_count_costly(lane);
    peer->remote_epoch = epoch;
}

void link_lane_join(link_lane_t *lane, vbn_peer_t *peer)
{
    list_remove(&lane->link);
    link_lane_stranger_gone(lane);
    link_lane_insert(peer, lane);
    link_lane_count_costly(lane);
}

void link_lanes_free(vbn_peer_t *peer, vbn_close_mode_t mode)
{
    while (peer->lane != NULL) {
        link_lane_t *lane = peer->lane;
        link_lane_unlink(lane);
        link_lane_free(lane, mode);
    }
}
