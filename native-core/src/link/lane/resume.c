/* SPDX-License-Identifier: Apache-2.0
 * resume.c - a connection broke while both workers may live: it is opened again within link.resume_timeout, over the
 * same or another transport, and what was not acknowledged is sent again.
 *
 *   the side that had dialled                    the other side
 *   lane gone, dials (same transport first,      lane gone, or not noticed yet; waits
 *   then the others in turn)
 *   HELLO ->              <- CHALLENGE
 *   PROOF {session, next expected} ->            finds the peer by uid and session, takes the new lane
 *                         <- WELCOME {next expected}
 *   both drop what the other has, send the rest again; the receiver drops doubles: once, in order.
 *
 * The session is the epoch of the first WELCOME; like everything in PROOF and WELCOME it is covered by the mac. While a
 * peer resumes its lane is NULL or has no WELCOME yet, so nothing is sent; operations wait. */
#include "link/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 5u
#define TRIES_MIN 8u /* attempts that find time if each of them runs into nothing */

static bool may_resume(const vbn_peer_t *peer)
{
    return peer->arq != NULL && !peer->arq->close_sent && peer->engine->params.settings->link_resume_timeout > 0 &&
           (peer->state == PEER_READY || peer->state == PEER_CLOSING);
}

static void redial_later(link_arq_t *arq)
{
    unsigned doublings = arq->attempts < REDIAL_DOUBLINGS ? arq->attempts : REDIAL_DOUBLINGS;
    arq->redial_ns = link_now_ns(arq->peer->engine) + (arq->attempts == 0 ? 0 : REDIAL_NS << doublings);
    link_arq_wake_at(arq, link_resume_next(arq));
}

uint64_t link_resume_part(const link_engine_t *engine)
{
    return engine->params.settings->link_resume_timeout / TRIES_MIN;
}

uint64_t link_resume_next(const link_arq_t *arq)
{
    const vbn_peer_t *peer = arq->peer;
    bool dials = peer->dials && peer->lane == NULL && !peer->accepted;
    return dials && arq->redial_ns < arq->resume_until_ns ? arq->redial_ns : arq->resume_until_ns;
}

bool link_resume_begin(vbn_peer_t *peer, const char *text)
{
    link_arq_t *arq = peer->arq;
    if (!may_resume(peer))
        return false;
    uint64_t now = link_now_ns(peer->engine);
    uint64_t limit = peer->engine->params.settings->link_resume_timeout;
    if (arq->resume_until_ns == 0) {
        /* Over datagrams the side that dials may need link.peer_timeout to find out that this one waits. */
        bool unseen = peer->accepted && peer->lane != NULL && peer->lane->datagram;
        arq->resume_until_ns = now + limit + (unseen ? peer->engine->params.settings->link_peer_timeout : 0);
        arq->attempts = 0;
        arq->first_transport = peer->transport;
        link_set_lost_text(peer, text);
        counter_add(peer->engine->params.counters, COUNTER_RESUMES, 1);
        LOG_PEER(peer->engine->params.log, VBN_LOG_WARN, peer->uid,
                 "connection to peer %016llx over %s broke: %s; reconnecting for at most "
                 "%llu ms (link.resume_timeout)",
                 (unsigned long long)peer->uid, peer->engine->transports[peer->transport].name, text,
                 (unsigned long long)(limit / NS_PER_MS));
    }
    link_lanes_free(peer, VBN_CLOSE_NOW);
    link_arq_lane_gone(peer, NULL); /* completes operations: the peer may have ended */
    if (peer->arq != NULL)
        redial_later(arq);
    return true;
}

static void give_up(vbn_peer_t *peer)
{
    char text[384];
    snprintf(text, sizeof(text), "the connection broke (%s) and was not opened again within link.resume_timeout=%llums",
             link_lost_text(peer, "unknown reason"),
             (unsigned long long)(peer->engine->params.settings->link_resume_timeout / NS_PER_MS));
    link_peer_end(peer, VBN_ERR_PEER_LOST, text, true);
}

/* The next transport in turn that keeps packets, takes them whole and reaches the peer; -1: none. */
static int choose(const vbn_peer_t *peer, const link_address_t *address, unsigned without)
{
    const link_engine_t *engine = peer->engine;
    char reason[LINK_REASON_BYTES];
    for (unsigned i = 0; i < engine->transport_count; i++) {
        unsigned at = (peer->arq->first_transport + peer->arq->attempts + i) % engine->transport_count;
        const link_transport_t *transport = &engine->transports[at];
        const link_section_t *section = link_address_find(address, transport->name);
        const tl_caps_t *caps = transport->ops->caps(transport->iface);
        bool keeps = (caps->flags & TL_CAP_RELIABLE) == 0 || link_keeps_wanted(engine, at);
        if (section != NULL && keeps && (caps->flags & without) == 0 && caps->packet_max >= peer->arq->packet_max &&
            transport->ops->reachable(transport->iface, section->bytes, section->length, reason, sizeof(reason)) ==
                VBN_OK)
            return (int)at;
    }
    return -1;
}

static void redial(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    link_address_t address;
    vbn_status_t status = link_peer_address(peer, &address);
    int transport = status < 0 ? -1 : choose(peer, &address, TL_CAP_COSTLY);
    if (status >= 0 && transport < 0)
        transport = choose(peer, &address, 0);
    arq->attempts = (uint8_t)(arq->attempts + (arq->attempts < UINT8_MAX));
    if (transport >= 0 && link_dial(peer->engine, &address, (unsigned)transport, peer) < 0) {
        LOG_PEER(peer->engine->params.log, VBN_LOG_DEBUG, peer->uid, "resuming over %s: %s",
                 peer->engine->transports[transport].name, err_text());
        link_lanes_free(peer, VBN_CLOSE_NOW);
    }
    /* An attempt leaves time for the others. */
    if (peer->lane != NULL) {
        peer->lane->hs->resumes = true;
        link_timer_add(peer->engine, &peer->lane->hs->timer, link_resume_part(peer->engine));
    }
    redial_later(arq);
}

void link_resume_look(vbn_peer_t *peer, uint64_t now)
{
    link_arq_t *arq = peer->arq;
    if (now >= arq->resume_until_ns) {
        give_up(peer);
        return;
    }
    if (peer->lane == NULL && peer->dials && !peer->accepted && now >= arq->redial_ns)
        redial(peer);
}

/* The answer to a proved PROOF that names a session. NULL: refused. */
vbn_peer_t *link_resume_accept(link_lane_t *lane, uint64_t session, uint32_t ack)
{
    link_engine_t *engine = lane->engine;
    vbn_peer_t *peer = map_get(&engine->peers, lane->hs->remote.uid);
    const link_transport_t *transport = &engine->transports[lane->transport];
    if (peer == NULL || !may_resume(peer) || peer->arq->session != session || !lane->kept ||
        !link_credit_ack_valid(peer, ack) || transport->ops->caps(transport->iface)->packet_max < peer->arq->packet_max)
        return NULL;
    if (!link_resume_begin(peer, "the peer opened the connection again"))
        return NULL;
    if (peer->arq == NULL) /* it ended in a callback */
        return NULL;
    peer->arq->resume_ack = ack;
    return peer;
}

void link_resume_done(vbn_peer_t *peer)
{
    link_arq_t *arq = peer->arq;
    arq->resume_until_ns = 0;
    link_set_lost_text(peer, NULL);
    LOG_PEER(peer->engine->params.log, VBN_LOG_INFO, peer->uid, "connection to peer %016llx resumed over %s",
             (unsigned long long)peer->uid, peer->engine->transports[peer->transport].name);
    link_send_ack(peer, 0);
    link_arq_restart(peer, arq->resume_ack);
    if (peer->arq == NULL) /* it ended in a callback */
        return;
    link_peer_run_imports(peer);
    link_drain(peer);
}
