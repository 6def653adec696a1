/* SPDX-License-Identifier: Apache-2.0
 * peer.c - life and death of a peer object, its queries, imports of its memory. */
#include "link/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One link_import that has no answer yet. Owned by the peer's list until the transport got it, then by the call. */
typedef struct link_import_call {
    list_link_t link; /* in extra->imports until started */
    vbn_peer_t *peer; /* NULL once the peer is gone */
    mem_key_info_t info;
    tl_import_func_t func; /* NULL once answered by the peer's end */
    void *arg;
    bool started;
} link_import_call_t;

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

vbn_status_t link_closing_start(vbn_peer_t *peer)
{
    link_extra_t *extra = link_extra(peer);
    if (extra == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory to wait for the end of a peer");
    extra->closing.func = close_expired;
    link_timer_add(peer->engine, &extra->closing, peer->engine->params.settings->link_close_timeout);
    return VBN_OK;
}

/* ------------------------------------------------------------------------------- made, found, why it is used */

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

static void finish_imports(vbn_peer_t *peer, vbn_status_t status)
{
    for (list_link_t *link; peer->extra != NULL && (link = fifo_pop(&peer->extra->imports)) != NULL;) {
        link_import_call_t *call = container_of(link, link_import_call_t, link);
        tl_import_func_t func = call->func;
        void *arg = call->arg;
        free(call);
        func(arg, status, NULL);
    }
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

/* What is told about a loss: the reason, who it was, how it was reached, how far it got. */
static void loss_text(const vbn_peer_t *peer, const char *text, char *words, size_t capacity)
{
    char why[LINK_EXPLAIN_BYTES];
    link_peer_why(peer, why, sizeof(why));
    why[strcspn(why, ";")] = '\0'; /* what follows is about transports that were not chosen */
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
    finish_imports(peer, status);
    if (engine->params.upcalls.peer_down != NULL)
        engine->params.upcalls.peer_down(engine->params.upcalls.arg, peer, status);
    tell_user(peer, status);
    engine->depth--;
}

void link_peer_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted)
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

/* ----------------------------------------------------------------------------------------------- imports */

static void import_answer(void *arg, vbn_status_t status, mem_import_t *import)
{
    link_import_call_t *call = arg;
    tl_import_func_t func = call->func;
    void *func_arg = call->arg;
    free(call);
    func(func_arg, status, import);
}

static vbn_status_t import_start(link_import_call_t *call)
{
    link_transport_t *transport = &call->peer->engine->transports[call->peer->transport];
    if ((link_caps(call->peer)->flags & TL_CAP_MAP) == 0) /* it was asked for while another transport was likely */
        return err_set(VBN_ERR_UNSUPPORTED, "memory of a peer cannot be mapped over %s", transport->ops->name);
    return transport->ops->import(call->peer->lane->ep, &call->info, import_answer, call);
}

void link_peer_run_imports(vbn_peer_t *peer)
{
    if (peer->extra == NULL)
        return;
    fifo_t waiting = peer->extra->imports;
    peer->extra->imports = (fifo_t){NULL};
    for (list_link_t *link; (link = fifo_pop(&waiting)) != NULL;) {
        link_import_call_t *call = container_of(link, link_import_call_t, link);
        vbn_status_t status = peer->lane != NULL ? import_start(call) : (vbn_status_t)peer->lost_status;
        if (status < 0)
            import_answer(call, status, NULL);
    }
}

vbn_status_t link_import(vbn_peer_t *peer, const mem_key_info_t *info, tl_import_func_t func, void *arg)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return err_set((vbn_status_t)peer->lost_status, "%s", link_lost_text(peer, "peer lost"));
    if ((link_caps(peer)->flags & TL_CAP_MAP) == 0)
        return err_set(VBN_ERR_UNSUPPORTED, "memory of a peer cannot be mapped over %s",
                       peer->engine->transports[peer->transport].name);
    link_import_call_t *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for an import request");
    call->peer = peer;
    call->info = *info;
    call->func = func;
    call->arg = arg;
    if (!link_ready(peer)) {
        link_extra_t *extra = link_extra(peer);
        if (extra == NULL) {
            free(call);
            return err_set(VBN_ERR_NO_MEMORY, "no memory for an import request");
        }
        fifo_append(&extra->imports, &call->link);
        if (peer->dormant)
            link_connect_now(peer);
        return VBN_INPROGRESS;
    }
    vbn_status_t status = import_start(call);
    if (status < 0)
        free(call);
    return status;
}

/* ----------------------------------------------------------------------------------------------- queries */

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
