/* SPDX-License-Identifier: Apache-2.0
 * open.c - lanes are made: dialled (for a new peer, for one that resumes, as one lane more), or accepted. */
#include "link/lane/lane.h"

#include <stdlib.h>

#define STRANGERS_MAX 4096u /* lanes over datagrams whose peer has not proved the key */

static vbn_status_t make(link_engine_t *engine, unsigned transport, bool initiator, link_lane_t **lane_p)
{
    link_lane_t *lane = calloc(1, sizeof(*lane));
    link_handshake_t *hs = calloc(1, sizeof(*hs));
    if (lane == NULL || hs == NULL) {
        free(lane);
        free(hs);
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a connection");
    }
    lane->engine = engine;
    lane->hs = hs;
    link_lane_take_transport(lane, transport);
    lane->initiator = initiator;
    lane->state = initiator ? LANE_WAIT_CHALLENGE : LANE_WAIT_HELLO;
    os_random(&lane->local_connection, sizeof(lane->local_connection));
    list_init(&lane->link);
    hs->lane = lane;
    wheel_timer_init(&hs->retry, link_control_retry);
    wheel_timer_init(&hs->timer, link_wireup_expired);
    link_timer_add(engine, &hs->timer, engine->params.settings->link_wireup_timeout);
    hs->away_before = engine->away_ns;
    *lane_p = lane;
    return VBN_OK;
}

vbn_status_t link_dial(link_engine_t *engine, const link_address_t *address, unsigned transport, vbn_peer_t *peer)
{
    const link_section_t *section = link_address_find(address, engine->transports[transport].name);
    link_lane_t *lane;
    vbn_status_t status = make(engine, transport, true, &lane);
    if (status < 0)
        return status;
    link_lane_bind(lane, peer, 0);
    status = engine->transports[transport].ops->connect(engine->transports[transport].iface, section->bytes,
                                                        section->length, lane, &lane->ep);
    if (status < 0) {
        lane->ep = NULL;
        return err_add(status, "connecting over %s", engine->transports[transport].name);
    }
    if (peer->uid != engine->uid)
        return link_wireup_start(lane, peer->uid);
    lane->state = LANE_PROVED; /* a worker trusts itself */
    lane->remote_connection = lane->local_connection;
    return engine->transports[transport].ops->trust(lane->ep);
}

vbn_status_t link_dial_more(vbn_peer_t *peer, const link_address_t *address, unsigned transport)
{
    link_engine_t *engine = peer->engine;
    const link_transport_t *t = &engine->transports[transport];
    const link_section_t *section = link_address_find(address, t->name);
    link_lane_t *lane;
    vbn_status_t status = make(engine, transport, true, &lane);
    if (status < 0)
        return status;
    lane->hs->adds = true;
    link_lane_join(lane, peer);
    status = t->ops->connect(t->iface, section->bytes, section->length, lane, &lane->ep);
    if (status >= 0)
        return link_wireup_start(lane, peer->uid);
    lane->ep = NULL;
    link_lane_unlink(lane);
    link_lane_free(lane, VBN_CLOSE_NOW);
    return err_add(status, "one lane more over %s", t->name);
}

void link_connect_now(vbn_peer_t *peer)
{
    link_address_t address;
    link_blob_t blob = link_peer_blob(peer);
    peer->dormant = false;
    vbn_status_t status = link_address_decode(blob.bytes, blob.length, &address);
    if (status >= 0)
        status = link_dial(peer->engine, &address, peer->transport, peer);
    if (status >= 0)
        status = link_redial_keep(peer->lane, &blob);
    if (status < 0)
        link_fail(peer, status, err_text());
}

static void self_accept(link_lane_t *lane)
{
    vbn_peer_t *peer = map_get(&lane->engine->peers, lane->engine->uid);
    if (peer == NULL) {
        link_lane_free(lane, VBN_CLOSE_NOW);
        return;
    }
    wheel_cancel(&lane->engine->wheel, &lane->hs->timer);
    link_handshake_free(lane->hs);
    lane->hs = NULL;
    lane->peer = peer;
    lane->state = LANE_PROVED;
    lane->local_connection = peer->lane->local_connection;
}

void link_lane_accept(void *arg, tl_ep_t *ep)
{
    link_engine_t *engine = arg;
    unsigned transport = 0;
    link_lane_t *lane;
    ep->owner = NULL;
    while (transport < engine->transport_count && engine->transports[transport].iface != ep->iface)
        transport++;
    if (transport == engine->transport_count)
        return;
    if (engine->strangers >= STRANGERS_MAX) { /* datagrams: the peer tries again */
        engine->transports[transport].ops->disconnect(ep, VBN_CLOSE_NOW, 0);
        return;
    }
    if (make(engine, transport, false, &lane) < 0) {
        LOG_PEER_LOST(engine->params.log, VBN_LOG_WARN, 0, "incoming connection dropped: %s", err_text());
        engine->transports[transport].ops->disconnect(ep, VBN_CLOSE_NOW, 0);
        return;
    }
    lane->ep = ep;
    ep->owner = lane;
    lane->stranger = lane->datagram;
    engine->strangers += lane->stranger;
    list_append(&engine->lanes, &lane->link);
    if (engine->transports[transport].self)
        self_accept(lane);
}
