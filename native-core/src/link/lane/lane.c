/* SPDX-License-Identifier: Apache-2.0
 * lane.c - a lane's record: its transport and endpoint, the peer that it is bound to, its end. */
#include "link/lane/lane.h"

#include <stdlib.h>

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

static void stranger_gone(link_lane_t *lane)
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
    stranger_gone(lane);
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
    stranger_gone(lane);
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
    stranger_gone(lane);
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

void link_self_end(vbn_peer_t *peer)
{
    list_link_t *head = &peer->engine->lanes;
    for (list_link_t *link = head->next, *next; link != head; link = next) {
        link_lane_t *lane = container_of(link, link_lane_t, link);
        next = link->next;
        if (lane->peer == peer)
            link_lane_free(lane, VBN_CLOSE_NOW);
    }
}
