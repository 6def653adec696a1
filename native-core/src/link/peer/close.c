/* SPDX-License-Identifier: Apache-2.0
 * close.c - dropping references and closing connections.
 *
 * FLUSH: the peer moves to engine->closing; once the upper layer is quiet, the queue is empty and all is acknowledged, it
 * gets CLOSE and the transport delivers that in the background. link.close_timeout bounds all of it.
 *
 *   engine->closing --looked at--> ended, or engine->closing_seen --something has happened--> engine->closing
 *
 * A round looks at each closing peer once, and a new one begins only when something has happened (an event of a transport, a
 * timer, link_quiet), so that an idle worker looks at none. Of those for which nothing can be done it looks at LOOKS in
 * one call: with many closing peers events come one by one, and a whole round for each would be quadratic. */
#include "link/peer/peer.h"

#define LOOKS 32u

/* Lost, the peer sees the end of the connection. */
static void say_close(const vbn_peer_t *peer)
{
    (void)link_send_bare(peer->lane, LINK_CLOSE, 0);
}

void link_close_announced(vbn_peer_t *peer)
{
    bool announced = peer->state == PEER_CLOSING || peer->left;
    if (!announced || peer->arq != NULL || peer->lane == NULL || peer->lane->hs != NULL || peer->lane->blocked ||
        !list_empty(&peer->queue) || !list_empty(&peer->inflight) || peer->uid == peer->engine->uid ||
        link_still_copied(peer))
        return;
    say_close(peer); /* transports that need no arq deliver in order, so all that was sent arrives before it */
    link_lanes_free(peer, VBN_CLOSE_FLUSH);
}

static bool delivered(vbn_peer_t *peer)
{
    const link_upcalls_t *up = &peer->engine->params.upcalls;
    return list_empty(&peer->queue) && list_empty(&peer->inflight) && peer->tx_acked == peer->tx_next &&
           (up->quiet == NULL || up->quiet(up->arg, peer));
}

static bool never_sent(const vbn_peer_t *peer)
{
    return peer->lane->hs != NULL && list_empty(&peer->queue);
}

/* All is delivered: says so. false: there is no room, or CLOSE waits for its ack; then the peer stays. */
static bool take_leave(vbn_peer_t *peer)
{
    if (never_sent(peer))
        return true;
    if (!link_may_send(peer))
        return false;
    if (peer->arq != NULL && !peer->arq->close_sent) {
        link_arq_say_close(peer); /* goes on when that is acknowledged */
        return false;
    }
    if (peer->arq == NULL)
        say_close(peer);
    if (!link_still_copied(peer)) /* else link_peer_end waits */
        link_lanes_free(peer, VBN_CLOSE_FLUSH);
    return true;
}

/* The last acks are asked for, once. */
static void ask_last(vbn_peer_t *peer)
{
    if (!list_empty(&peer->queue) || peer->tx_acked == peer->tx_next || peer->close_asked)
        return;
    peer->close_asked = true;
    peer->ask_ack = true;
    link_drain(peer);
}

/* true: the peer has ended. */
static bool look(vbn_peer_t *peer)
{
    if (peer->lane == NULL) /* resuming */
        return false;
    if (!delivered(peer)) {
        ask_last(peer);
        return false;
    }
    if (!take_leave(peer))
        return false;
    link_peer_end(peer, VBN_ERR_CLOSED, "closed by this side", false);
    return true;
}

/* Callbacks may take any peer out of either list, and add others. */
unsigned link_close_progress(link_engine_t *engine, bool happened)
{
    unsigned events = 0, idle = 0;
    if (happened)
        list_append_all(&engine->closing, &engine->closing_seen);
    for (list_link_t *link; idle < LOOKS && (link = list_pop(&engine->closing)) != NULL;) {
        list_append(&engine->closing_seen, link);
        if (look(container_of(link, vbn_peer_t, work)))
            events++;
        else
            idle++;
    }
    engine->closes = !list_empty(&engine->closing) || !list_empty(&engine->closing_seen);
    return events;
}

static void close_expired(wheel_timer_t *timer)
{
    vbn_peer_t *peer = container_of(timer, link_extra_t, closing)->peer;
    LOG_PEER_LOST(peer->engine->params.log, VBN_LOG_WARN, peer->uid,
                  "peer %016llx: link.close_timeout passed with %u packet%s not delivered",
                  (unsigned long long)peer->uid, peer->queued + peer->tx_next - peer->tx_acked,
                  plural(peer->queued + peer->tx_next - peer->tx_acked));
    (void)err_set(VBN_ERR_CLOSED, "link.close_timeout passed before all was delivered");
    link_peer_end(peer, VBN_ERR_CLOSED, "link.close_timeout passed before all was delivered", false);
}

static vbn_status_t start_timer(vbn_peer_t *peer)
{
    link_extra_t *extra = link_extra(peer);
    if (extra == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory to wait for the end of a peer");
    extra->closing.func = close_expired;
    link_timer_add(peer->engine, &extra->closing, peer->engine->params.settings->link_close_timeout);
    return VBN_OK;
}

static void close_gently(vbn_peer_t *peer)
{
    link_engine_t *engine = peer->engine;
    if (start_timer(peer) < 0) { /* nothing could end the wait */
        link_peer_end_later(peer, VBN_ERR_CLOSED, "closed by this side");
        return;
    }
    list_remove(&peer->work);
    list_append(&engine->closing, &peer->work);
    engine->closes = true;
    peer->state = PEER_CLOSING;
    peer->clear = NULL;
    peer->close_asked = false;
}

void link_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode)
{
    link_engine_t *engine = peer->engine;
    if (link_fork_check(engine) < 0)
        return;
    bool held = peer->refs > 0;
    if (held && --peer->refs > 0)
        return;
    peer->left = held && mode == VBN_CLOSE_FLUSH;
    peer->error_func = NULL;
    peer->seen = false; /* the user knows it again from its next message on */
    link_peer_listen(peer);
    if (peer->state == PEER_LOST) {
        list_remove(&peer->work);
        list_append(&engine->dead, &peer->work);
        if (engine->depth == 0)
            link_peer_reap(engine);
        return;
    }
    if (peer->state == PEER_ENDING || peer->state == PEER_CLOSING)
        return;
    if (mode == VBN_CLOSE_NOW || peer->dormant)
        link_peer_end_later(peer, VBN_ERR_CLOSED, "closed by this side");
    else if (!held || !peer->accepted)
        close_gently(peer);
}
