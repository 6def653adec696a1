/* SPDX-License-Identifier: Apache-2.0
 * chain.c - the lanes of a peer, in order (R1, R2): counted, taken out, put in. */
#include "link/lane/lane.h"

bool link_lane_others(const vbn_peer_t *peer, const link_lane_t *lane)
{
    for (const link_lane_t *other = peer->lane; other != NULL; other = other->next)
        if (other != lane && other->hs == NULL && other->welcome == NULL)
            return true;
    return false;
}

unsigned link_lane_count(const vbn_peer_t *peer, int transport)
{
    unsigned count = 0;
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        count += transport < 0 || lane->transport == transport;
    return count;
}

static void head_changed(vbn_peer_t *peer)
{
    if (peer->lane != NULL)
        peer->transport = peer->lane->transport;
}

void link_lane_unlink(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_lane_t **at = &peer->lane;
    while (*at != NULL && *at != lane)
        at = &(*at)->next;
    if (*at == lane)
        *at = lane->next;
    lane->next = NULL;
    if (lane->dropping)
        link_lane_stop_dropping(lane);
    (void)link_kept_placed(lane);
    if (peer->arq != NULL && peer->arq->heard_over == lane)
        peer->arq->heard_over = NULL;
    if (peer->arq != NULL && peer->arq->close_over == lane)
        peer->arq->close_over = NULL;
    head_changed(peer);
}

/* Smaller is better: promoted, then connections, then as tl.enable says. */
static unsigned rank(const link_lane_t *lane)
{
    return (lane->hs != NULL ? 4096u : 0) + (lane->costly ? 0 : 1024u) + (lane->datagram ? 512u : 0) + lane->transport;
}

void link_lane_insert(vbn_peer_t *peer, link_lane_t *lane)
{
    link_lane_t **at = &peer->lane;
    while (*at != NULL && rank(*at) <= rank(lane))
        at = &(*at)->next;
    lane->next = *at;
    *at = lane;
    lane->peer = peer;
    head_changed(peer);
}
