/* SPDX-License-Identifier: Apache-2.0
 * drop.c - the orderly end of a lane while others go on: LANE_DROP in both directions, when nothing is in flight over it (R3). */
#include "link/flow/flow.h"

static void send_drop(link_lane_t *lane)
{
    vbn_status_t status = link_send_bare(lane, LINK_LANE_DROP, 0);
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
    link_fail_over(peer, lane);
}

/* One step of the first lane that can make one; true when it went. */
static bool drop_step(vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next) {
        if (!lane->dropping || lane->under_way > 0)
            continue;
        if (!lane->drop_sent && !lane->blocked)
            send_drop(lane);
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
