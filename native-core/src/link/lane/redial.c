/* SPDX-License-Identifier: Apache-2.0
 * redial.c - a connection of a new peer that ends before WELCOME is dialled again, over the next transport that reaches
 * the peer or the same one, until link.wireup_timeout has passed since link_connect: the peer may have had too many
 * connections at that moment, or no descriptor left. Transports over which nobody answers are left out, and when none is
 * left the peer is lost; so it is at once when it refuses with a reason.
 *
 * The lane stays (LANE_WAIT_AGAIN) and its timer goes on. Only wire-up packets were sent, so nothing is lost or doubled. */
#include "link/lane/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 5u

vbn_status_t link_redial_keep(link_lane_t *lane, const link_blob_t *address)
{
    link_handshake_t *hs = lane->hs;
    if (lane->state == LANE_PROVED) /* a worker's connection to itself */
        return VBN_OK;
    hs->address = malloc(address->length);
    if (hs->address == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for the address of a peer");
    memcpy(hs->address, address->bytes, address->length);
    hs->address_bytes = (uint16_t)address->length;
    return VBN_OK;
}

/* The next transport in turn without these capabilities that reaches the peer, at last the lane's own; -1: none. */
static int choose(const link_lane_t *lane, const link_address_t *address, unsigned without)
{
    const link_engine_t *engine = lane->engine;
    char reason[LINK_REASON_BYTES];
    for (unsigned i = 1; i <= engine->transport_count; i++) {
        unsigned at = (lane->transport + i) % engine->transport_count;
        const link_transport_t *t = &engine->transports[at];
        const link_section_t *section = link_address_find(address, t->name);
        if (section != NULL && !t->self && (lane->hs->nobody & 1u << at) == 0 &&
            (t->ops->caps(t->iface)->flags & without) == 0 &&
            t->ops->reachable(t->iface, section->bytes, section->length, reason, sizeof(reason)) == VBN_OK)
            return (int)at;
    }
    return -1;
}

/* Nobody is there, or another try may find the peer less busy. Refusals for a reason are final. */
static bool worth(vbn_status_t status)
{
    return status == VBN_ERR_PEER_LOST || status == VBN_ERR_UNREACHABLE || status == VBN_ERR_TIMEOUT ||
           status == VBN_ERR_LIMIT || status == VBN_ERR_SYSTEM || status == VBN_ERR_IN_USE ||
           status == VBN_ERR_NO_MEMORY || status == VBN_ERR_ACCESS;
}

bool link_redial_begin(link_lane_t *lane, vbn_status_t status, const char *text)
{
    link_handshake_t *hs = lane->hs;
    link_address_t address;
    bool waits = lane->state == LANE_WAIT_CHALLENGE || lane->state == LANE_WAIT_WELCOME;
    bool in_time = hs != NULL && !list_empty(&hs->timer.link);
    if (!waits || !in_time || hs->address == NULL || !worth(status) || lane->peer->state >= PEER_ENDING ||
        link_address_decode(hs->address, hs->address_bytes, &address) < 0)
        return false;
    if (status == VBN_ERR_UNREACHABLE || status == VBN_ERR_TIMEOUT || status == VBN_ERR_SYSTEM ||
        status == VBN_ERR_IN_USE || status == VBN_ERR_ACCESS) /* not over this transport */
        hs->nobody = (uint16_t)(hs->nobody | 1u << lane->transport);
    int next = choose(lane, &address, TL_CAP_COSTLY);
    next = next < 0 ? choose(lane, &address, 0) : next;
    if (next < 0)
        return false;
    LOG_PEER(lane->engine->params.log, VBN_LOG_INFO, lane->peer->uid,
             "connection to peer %016llx over %s ended before the peer answered: %s; dialling over %s next",
             (unsigned long long)lane->peer->uid, link_lane_name(lane), text, lane->engine->transports[next].name);
    counter_add(lane->engine->params.counters, COUNTER_REDIALS, 1);
    link_set_lost_text(lane->peer, text);
    link_lane_drop_endpoint(lane, VBN_CLOSE_NOW);
    lane->state = LANE_WAIT_AGAIN;
    lane->blocked = hs->control_waits = false;
    unsigned doublings = hs->redials < REDIAL_DOUBLINGS ? hs->redials : REDIAL_DOUBLINGS;
    bool at_once = hs->redials == 0 && (unsigned)next != lane->transport;
    hs->redials = (uint8_t)(hs->redials + (hs->redials < UINT8_MAX));
    hs->next = (uint8_t)next;
    link_timer_add(lane->engine, &hs->retry, at_once ? 0 : REDIAL_NS << doublings);
    return true;
}

void link_redial(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    vbn_peer_t *peer = lane->peer;
    const link_transport_t *t = &lane->engine->transports[hs->next];
    link_address_t address;
    char text[256];
    vbn_status_t status = link_address_decode(hs->address, hs->address_bytes, &address);
    const link_section_t *section = status < 0 ? NULL : link_address_find(&address, t->name);
    peer->moved = peer->moved || hs->next != lane->transport;
    link_lane_uncount_costly(lane);
    link_lane_take_transport(lane, hs->next);
    link_lane_count_costly(lane);
    peer->transport = hs->next;
    peer->head.caps = link_lane_shown_caps(lane);
    lane->state = LANE_WAIT_CHALLENGE;
    if (section != NULL)
        status = t->ops->connect(t->iface, section->bytes, section->length, lane, &lane->ep);
    if (status >= 0) {
        (void)link_wireup_start(lane, peer->uid);
        return;
    }
    lane->ep = NULL;
    snprintf(text, sizeof(text), "%s", err_text());
    link_lane_broke(lane, status, text);
}
