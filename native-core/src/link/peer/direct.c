/* SPDX-License-Identifier: Apache-2.0
 * direct.c - bulk data past the packets, where the peer's transport offers it. */
#include "link/peer/peer.h"

bool link_direct(const vbn_peer_t *peer, tl_direct_t *direct_p)
{
    const link_lane_t *lane = peer->lane;
    return link_ready(peer) && link_lane_ops(lane)->direct != NULL && link_lane_ops(lane)->direct(lane->ep, direct_p);
}

vbn_status_t link_copy(vbn_peer_t *peer, bool write, void *local, uint64_t remote, size_t length)
{
    const link_lane_t *lane = peer->lane;
    if (!link_ready(peer) || link_lane_ops(lane)->copy == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the peer's memory cannot be reached any more");
    return link_lane_ops(lane)->copy(lane->ep, write, local, remote, length);
}

bool link_present(const vbn_peer_t *peer)
{
    const link_lane_t *lane = peer->lane;
    return link_ready(peer) && link_lane_ops(lane)->present != NULL && link_lane_ops(lane)->present(lane->ep);
}
