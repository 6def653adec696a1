/* SPDX-License-Identifier: Apache-2.0
 * link_peer_later.c - a peer is marked: it ends, or its close is looked at, in the next progress. No callback runs here, so any
 * function of the layer may mark a peer. */
#include "link/link_private.h"

void link_peer_to_ending(vbn_peer_t *peer)
{
    if (map_get(&peer->engine->peers, peer->uid) == peer)
        map_remove(&peer->engine->peers, peer->uid);
    link_closing_stop(peer);
    peer->state = PEER_ENDING;
    peer->dormant = false;
    peer->clear = NULL;
    link_peer_listen(peer);
    list_remove(&peer->work);
    list_append(&peer->engine->ending, &peer->work);
}

void link_peer_end_later(vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return;
    peer->lost_status = (int8_t)status;
    if (link_lost_text(peer, NULL) == NULL)
        link_set_lost_text(peer, text);
    link_peer_to_ending(peer);
}

void link_fail(vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return;
    counter_add(peer->engine->params.counters, COUNTER_PEERS_LOST, 1);
    LOG_PEER_LOST(peer->engine->params.log, VBN_LOG_WARN, peer->uid, "peer %016llx dropped: %s",
                  (unsigned long long)peer->uid, text);
    link_peer_end_later(peer, status, text);
}

void link_quiet(vbn_peer_t *peer)
{
    if (peer->state != PEER_CLOSING)
        return;
    list_remove(&peer->work);
    list_append(&peer->engine->closing, &peer->work);
}
