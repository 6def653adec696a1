/* SPDX-License-Identifier: Apache-2.0
 * resume.c - a connection broke while both workers may live: it is opened again within link.resume_timeout, over the
 * same or another transport, and packets that were not acknowledged are sent again.
 *
 *   the side that had dialled                    the other side
 *   lane gone, dials (same transport first,      lane gone, or not noticed yet; waits
 *   then the others in turn)
 *   HELLO ->              <- CHALLENGE
 *   PROOF {session, next expected} ->            finds the peer by uid and session, takes the new lane
 *                         <- WELCOME {next expected}
 *   both drop packets that the other has, send the rest again; the receiver drops doubles: once, in order.
 *
 * The session is the epoch of the first WELCOME; like everything in PROOF and WELCOME it is covered by the mac. While a
 * peer resumes its lane is NULL or has no WELCOME yet, so nothing is sent; operations wait. */
#include "link/lane/lane.h"

#define NS_PER_MS UINT64_C(1000000)
#define REDIAL_NS UINT64_C(50000000)
#define REDIAL_DOUBLINGS 5u
#define TRIES_MIN 8u /* attempts that find time if each of them runs into nothing */

static bool may_resume(const vbn_peer_t *peer)
{
    return peer->arq != NULL && !peer->arq->close_sent && peer->engine->params.settings->link_resume_timeout > 0 &&
           (peer->state == PEER_READY || peer->state == PEER_CLOSING);
}

void link_resume_later(link_arq_t *arq)
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
    peer->engine->events->lane_lost(peer, NULL); /* completes operations: the peer may have ended */
    if (peer->arq != NULL)
        link_resume_later(arq);
    return true;
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
    peer->arq->resume_until_ns = 0;
    link_set_lost_text(peer, NULL);
    LOG_PEER(peer->engine->params.log, VBN_LOG_INFO, peer->uid, "connection to peer %016llx resumed over %s",
             (unsigned long long)peer->uid, peer->engine->transports[peer->transport].name);
}
