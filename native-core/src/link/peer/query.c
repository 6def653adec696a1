/* SPDX-License-Identifier: Apache-2.0
 * query.c - queries of the layer above about a peer. */
#include "link/peer/peer.h"

#include <stdio.h>

bool link_ready(const vbn_peer_t *peer)
{
    return (peer->state == PEER_READY || peer->state == PEER_CLOSING) && peer->lane != NULL && peer->lane->hs == NULL;
}

void link_peer_set_user(vbn_peer_t *peer, void *user)
{
    peer->user = user;
}

void *link_peer_user(const vbn_peer_t *peer)
{
    return peer->user;
}

const char *link_peer_transport(const vbn_peer_t *peer)
{
    return peer->lane == NULL ? NULL : link_lane_ops(peer->lane)->name;
}

vbn_status_t link_peer_host_user(const vbn_peer_t *peer, uint32_t *user_p)
{
    const link_lane_t *lane = peer->lane;
    if (lane == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the peer has no connection, so its user is not known");
    if (link_lane_ops(lane)->host_user == NULL)
        return err_set(VBN_ERR_UNSUPPORTED,
                       "the user of a peer over %s is not known here; enable shm (tl.enable) at both sides",
                       link_lane_ops(lane)->name);
    return link_lane_ops(lane)->host_user(lane->ep, user_p);
}

size_t link_explain(const vbn_peer_t *peer, char *text, size_t capacity)
{
    static const char *const names[] = {"connecting", "ready", "closing", "closing", "lost"};
    char why[512];
    link_peer_why(peer, why, sizeof(why));
    unsigned lanes = link_lane_count(peer, -1);
    const char *tls = peer->lane != NULL && (link_lane_caps(peer->lane)->flags & TL_CAP_TLS) != 0 ? ", TLS 1.3" : "";
    int length;
    if (peer->dormant)
        length = snprintf(text, capacity, "%s (not connected: the first operation dials, or the peer does)", why);
    else if (peer->state == PEER_LOST && link_lost_text(peer, NULL) != NULL)
        length = snprintf(text, capacity, "%s (lost: %s)", why, link_lost_text(peer, NULL));
    else if (lanes > 1)
        length = snprintf(text, capacity, "%s (%s%s, %u lanes, the first over %s)", why, names[peer->state], tls, lanes,
                          link_lane_name(peer->lane));
    else
        length = snprintf(text, capacity, "%s (%s%s)", why, names[peer->state], tls);
    return length > 0 ? (size_t)length : 0;
}
