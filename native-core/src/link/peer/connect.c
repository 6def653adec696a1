/* SPDX-License-Identifier: Apache-2.0
 * connect.c - from an address to a peer that connects. */
#include "link/peer/peer.h"

#include <stdio.h>
#include <string.h>

static void ask_transports(const link_engine_t *engine, const link_address_t *address, link_candidate_t *candidates)
{
    for (unsigned i = 0; i < engine->transport_count; i++) {
        const link_transport_t *transport = &engine->transports[i];
        link_candidate_t *candidate = &candidates[i];
        memset(candidate, 0, sizeof(*candidate));
        candidate->name = transport->name;
        const link_section_t *section = link_address_find(address, candidate->name);
        if (section == NULL)
            continue;
        candidate->offered = true;
        candidate->status = transport->ops->reachable(transport->iface, section->bytes, section->length,
                                                      candidate->reason, sizeof(candidate->reason));
    }
}

/* Peers start on a transport that is not costly and can be left for a costly one (its packets fit), if there is one. */
static void put_costly_off(const link_engine_t *engine, link_candidate_t *candidates)
{
    bool start = false;
    uint32_t most = UINT32_MAX; /* payload of the smallest costly one's packets */
    const tl_caps_t *caps[LINK_TRANSPORTS];
    for (unsigned i = 0; i < engine->transport_count; i++) {
        const link_transport_t *t = &engine->transports[i];
        caps[i] = t->ops->caps(t->iface);
        if ((caps[i]->flags & TL_CAP_COSTLY) != 0 && caps[i]->packet_max < most)
            most = caps[i]->packet_max;
    }
    for (unsigned i = 0; i < engine->transport_count; i++) {
        bool keeps = (caps[i]->flags & TL_CAP_RELIABLE) == 0 || (caps[i]->flags & TL_CAP_BREAKS) != 0;
        start = start || (keeps && (caps[i]->flags & TL_CAP_COSTLY) == 0 && caps[i]->packet_max <= most &&
                          candidates[i].offered && candidates[i].status == VBN_OK);
    }
    for (unsigned i = 0; i < engine->transport_count; i++)
        candidates[i].later = start && (caps[i]->flags & TL_CAP_COSTLY) != 0;
}

static int choose(link_engine_t *engine, const link_address_t *address, char *text, size_t capacity)
{
    link_candidate_t candidates[LINK_TRANSPORTS];
    unsigned count = engine->transport_count;
    ask_transports(engine, address, candidates);
    bool to_self = address->uid == engine->uid;
    for (unsigned i = 0; i < count; i++) {
        bool is_self = engine->transports[i].self;
        if (is_self == to_self)
            continue;
        candidates[i].status = VBN_ERR_UNREACHABLE;
        snprintf(candidates[i].reason, sizeof(candidates[i].reason),
                 is_self ? "another worker" : "a worker reaches itself by the transport self only");
    }
    put_costly_off(engine, candidates);
    return link_select(candidates, count, text, capacity);
}

/* Undoes a connect that failed: nobody has seen the peer. */
static vbn_status_t give_up(link_engine_t *engine, vbn_peer_t *peer, vbn_status_t status)
{
    link_peer_kill(peer);
    if (engine->depth == 0)
        link_peer_reap(engine);
    return status;
}

static vbn_peer_t *reuse(link_engine_t *engine, uint64_t uid, vbn_peer_error_func_t error_func, void *arg)
{
    vbn_peer_t *peer = map_get(&engine->peers, uid);
    if (peer == NULL)
        return NULL;
    if (peer->state == PEER_CLOSING && peer->arq != NULL && peer->arq->close_sent) {
        link_peer_end_later(peer, VBN_ERR_CLOSED, "closed by this side"); /* nothing is left to deliver */
        return NULL;
    }
    if (peer->state == PEER_CLOSING) { /* its last reference was dropped, nothing was said to the peer yet */
        list_remove(&peer->work);
        link_closing_stop(peer);
        peer->state = peer->arq != NULL || peer->lane->hs == NULL ? PEER_READY : PEER_OPENING;
    }
    peer->refs++;
    peer->left = false;
    if (error_func != NULL) {
        peer->error_func = error_func;
        peer->error_arg = arg;
    }
    return peer;
}

/* A peer of this address that has neither lane nor descriptor; the transport is the one that it will be dialled over. */
static vbn_status_t make_peer(link_engine_t *engine, const link_address_t *address, const link_blob_t *blob, bool keep,
                              vbn_peer_t **peer_p)
{
    char text[LINK_EXPLAIN_BYTES];
    int transport = choose(engine, address, text, sizeof(text));
    if (transport < 0)
        return err_set(VBN_ERR_UNREACHABLE, "no transport reaches the peer (tl.enable=%s): %s",
                       engine->params.settings->tl_enable, text);
    keep = keep || engine->params.settings->link_resume_timeout > 0 || engine->rails > 1 || engine->has_costly;
    vbn_status_t status = link_peer_new(engine, address->uid, text, keep ? blob : NULL, peer_p);
    if (status < 0)
        return status;
    (*peer_p)->refs = 1;
    (*peer_p)->transport = (uint8_t)transport;
    (*peer_p)->head.caps = &engine->transports[transport].opening;
    return VBN_OK;
}

static vbn_status_t dial_peer(vbn_peer_t *peer, const link_address_t *address, const link_blob_t *blob)
{
    vbn_status_t status = link_dial(peer->engine, address, peer->transport, peer);
    if (status >= 0)
        status = link_redial_keep(peer->lane, blob);
    return status < 0 ? give_up(peer->engine, peer, status) : VBN_OK;
}

static vbn_status_t get_peer(link_engine_t *engine, const link_blob_t *blob, bool on_use,
                             vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p)
{
    link_address_t address;
    vbn_status_t status = link_fork_check(engine);
    if (status >= 0)
        status = link_address_decode(blob->bytes, blob->length, &address);
    if (status < 0)
        return status;
    vbn_peer_t *peer = reuse(engine, address.uid, error_func, arg);
    if (peer != NULL) {
        if (peer->dormant && !on_use)
            link_connect_now(peer);
        *peer_p = peer;
        return VBN_OK;
    }
    on_use = on_use && address.uid != engine->uid; /* this worker itself is always there */
    status = make_peer(engine, &address, blob, on_use, &peer);
    if (status < 0)
        return status;
    peer->error_func = error_func;
    peer->error_arg = arg;
    peer->dormant = on_use;
    status = on_use ? VBN_OK : dial_peer(peer, &address, blob);
    if (status >= 0)
        *peer_p = peer;
    return status;
}

vbn_status_t link_connect(link_engine_t *engine, const void *blob, size_t length, vbn_peer_error_func_t error_func,
                          void *arg, vbn_peer_t **peer_p)
{
    return get_peer(engine, &(link_blob_t){blob, length}, false, error_func, arg, peer_p);
}

vbn_status_t link_connect_on_use(link_engine_t *engine, const void *blob, size_t length,
                                 vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p)
{
    return get_peer(engine, &(link_blob_t){blob, length}, true, error_func, arg, peer_p);
}
