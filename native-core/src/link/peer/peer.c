/* SPDX-License-Identifier: Apache-2.0
 * peer.c - the end of a peer: pending operations complete, the layer above and the user are told, its memory is freed. */
#include "link/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget(vbn_peer_t *peer)
{
    if (map_get(&peer->engine->peers, peer->uid) == peer)
        map_remove(&peer->engine->peers, peer->uid);
    link_closing_stop(peer);
    list_remove(&peer->work);
    peer->state = PEER_LOST;
    peer->dormant = false;
    peer->clear = NULL;
}

void link_peer_kill(vbn_peer_t *peer)
{
    forget(peer);
    if (peer->uid == peer->engine->uid)
        link_self_end(peer);
    link_lanes_free(peer, VBN_CLOSE_NOW);
    list_append(&peer->engine->dead, &peer->work);
}

static void finish(vbn_peer_t *peer, list_link_t *link, vbn_status_t status)
{
    link_node_t *node = container_of(link, link_node_t, link);
    link_done_func_t done = node->done;
    void *arg = node->arg;
    mpool_put(&peer->engine->nodes, node);
    if (done != NULL)
        done(arg, status);
}

static void finish_list(vbn_peer_t *peer, list_link_t *list, vbn_status_t status)
{
    for (list_link_t *link; (link = list_pop(list)) != NULL;)
        finish(peer, link, status);
}

static void tell_user(vbn_peer_t *peer, vbn_status_t status)
{
    link_engine_t *engine = peer->engine;
    if (peer->refs > 0) {
        vbn_peer_error_func_t func = peer->error_func;
        peer->error_func = NULL;
        list_append(&engine->kept, &peer->work);
        if (func != NULL)
            func(peer->error_arg, peer, status, link_lost_text(peer, ""));
        return;
    }
    if (peer->seen && engine->lost_func != NULL)
        engine->lost_func(engine->lost_arg, peer, status, link_lost_text(peer, ""));
    list_append(&engine->dead, &peer->work);
}

/* The text about a loss: the reason, the peer, its transport, and how many packets it has acknowledged. */
static void loss_text(const vbn_peer_t *peer, const char *text, char *words, size_t capacity)
{
    char why[LINK_EXPLAIN_BYTES];
    link_peer_why(peer, why, sizeof(why));
    why[strcspn(why, ";")] = '\0'; /* the rest is about transports that were not chosen */
    (void)snprintf(words, capacity, "%s; peer %016llx (%s) has acknowledged %u of %u packet%s", text,
                   (unsigned long long)peer->uid, why, peer->tx_acked, peer->tx_next, plural(peer->tx_next));
}

bool link_still_copied(const vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->ep != NULL && link_lane_ops(lane)->settled != NULL && !link_lane_ops(lane)->settled(lane->ep))
            return true;
    return false;
}

/* Keeps why the peer ends, the first reason; a loss is counted and logged. */
static void note_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted)
{
    link_engine_t *engine = peer->engine;
    char words[LINK_EXPLAIN_BYTES + 512];
    if (peer->state == PEER_ENDING)
        return;
    if (counted && peer->tx_next > 0) {
        loss_text(peer, text, words, sizeof(words));
        text = words;
    }
    if (text != NULL) /* one may be there: why the connection broke that could not be resumed */
        link_set_lost_text(peer, text);
    if (peer->state == PEER_CLOSING)
        peer->seen = false; /* the user has let go of it */
    peer->lost_status = (int8_t)status;
    if (counted) {
        counter_add(engine->params.counters, COUNTER_PEERS_LOST, 1);
        LOG_PEER_LOST(engine->params.log, VBN_LOG_WARN, peer->uid, "peer %016llx lost: %s",
                      (unsigned long long)peer->uid, text);
    }
}

/* Everything pending completes with status, then upper layer and user are told. */
static void take_down(vbn_peer_t *peer, vbn_status_t status)
{
    link_engine_t *engine = peer->engine;
    list_link_t parked;
    /* A connection still carries the CLOSE packet. */
    bool flush = peer->arq != NULL && peer->lane != NULL && !peer->lane->datagram;
    list_init(&parked);
    engine->depth++;
    forget(peer);
    if (status != VBN_ERR_CLOSED) /* for all that completes below */
        (void)err_set(status, "%s", link_lost_text(peer, status_meaning(status)));
    if (peer->uid == engine->uid)
        link_self_end(peer);
    if (peer->arq != NULL)
        link_arq_close(peer, &parked);
    link_lanes_free(peer, flush ? VBN_CLOSE_FLUSH : VBN_CLOSE_NOW);
    finish_list(peer, &parked, VBN_OK);
    finish_list(peer, &peer->inflight, status);
    finish_list(peer, &peer->queue, status);
    peer->queued = 0;
    for (list_link_t *link; (link = fifo_pop(&peer->flushes)) != NULL;)
        finish(peer, link, status);
    link_peer_finish_imports(peer, status);
    if (engine->params.upcalls.peer_down != NULL)
        engine->params.upcalls.peer_down(engine->params.upcalls.arg, peer, status);
    tell_user(peer, status);
    engine->depth--;
}

void link_peer_take_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted)
{
    if (peer->state == PEER_LOST)
        return;
    note_end(peer, status, text, counted);
    if (!peer->engine->shut && link_still_copied(peer))
        link_peer_to_ending(peer);
    else
        take_down(peer, (vbn_status_t)peer->lost_status);
}

void link_peer_reap(link_engine_t *engine)
{
    for (list_link_t *link; (link = list_pop(&engine->dead_lanes)) != NULL;) {
        link_lane_t *lane = container_of(link, link_lane_t, link);
        link_handshake_free(lane->hs);
        free(lane);
    }
    for (list_link_t *link; (link = list_pop(&engine->dead)) != NULL;) {
        vbn_peer_t *peer = container_of(link, vbn_peer_t, work);
        link_set_lost_text(peer, NULL);
        free(peer->extra);
        free(peer);
    }
}
