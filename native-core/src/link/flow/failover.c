/* SPDX-License-Identifier: Apache-2.0
 * failover.c - a lane is gone: packets that it had taken go over the other lanes, or wait until the peer has resumed. */
#include "link/flow/flow.h"

/* The transport has given the lane's memory back; its packets go over the others. A promotion has to be earned again. */
void link_fail_over(vbn_peer_t *peer, const link_lane_t *lane)
{
    if (lane != NULL && lane->costly) {
        peer->one_sided = false;
        peer->arq->promote_at = peer->tx_next + peer->rx_next +
                                (uint32_t)peer->engine->params.settings->link_promote_after;
    }
    link_arq_lane_gone(peer, lane);
    if (lane != NULL && peer->arq != NULL)
        link_drain(peer);
}
