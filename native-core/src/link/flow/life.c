/* SPDX-License-Identifier: Apache-2.0
 * life.c - silent peers over lanes that keep packets: keep-alive probes to process and program, and death.
 *
 * A program may compute for as long as it likes, so its silence is no evidence. Over a connection the kernel or the device
 * answers for the host and fails the connection when nobody does (tl_ops_t.probe makes it look): here nobody is given up for
 * silence while a connection stands. Over datagrams the peer's process answers without its program (probe, alive): only when
 * that is silent as well, for link.peer_timeout and QUESTIONS_MIN questions, the peer is lost.
 * A peer naps when its process answers and its program does not: then packets are not sent again, and questions get rare. */
#include "link/flow/flow.h"

#include <stdio.h>

#include "link/flow/pace.h"

#define NS_PER_MS UINT64_C(1000000)
/* without any answer, before a peer may count as lost; its process is asked from the second on */
#define QUESTIONS_MIN 4u
#define CONNECTION_ASKS 2u            /* over a connection a question arrives: once by the best, once by all of them */
#define AWAKE_PART 8u                 /* a program that is heard once in this part of link.peer_timeout, */
#define AWAKE_NS UINT64_C(2000000000) /* and the time of two questions, is awake */
#define NAP_MIN_NS UINT64_C(1000000000) /* between two questions to a napping peer */
#define NAP_PART 8u                     /* or this part of how long it has been napping, up to link.keepalive */

/* ------------------------------------------------------------------------------------------ signs of life */

void link_life_start(link_arq_t *arq)
{
    arq->heard_ns = arq->alive_ns = arq->awake_ns = link_now_ns(arq->peer->engine);
    arq->probes = arq->questions = 0;
    arq->naps = false;
}

void link_life_heard(link_lane_t *lane)
{
    link_arq_t *arq = lane->peer->arq;
    uint64_t now = link_now_ns(lane->engine);
    if (UNLIKELY(now - arq->heard_ns > lane->engine->params.settings->link_peer_timeout / AWAKE_PART + AWAKE_NS))
        arq->awake_ns = now;
    bool asked = arq->probes > 0; /* a nap's next look may be far away */
    arq->heard_ns = now;
    arq->heard_over = lane;
    arq->probes = arq->questions = 0;
    arq->naps = false;
    if (UNLIKELY(asked)) {
        arq->rto_from_ns = now;
        link_arq_wake_at(arq, link_life_next(arq));
    }
}

void link_life_alive(link_lane_t *lane)
{
    link_arq_t *arq = lane->peer->arq;
    lane->silent = 0;
    arq->alive_ns = link_now_ns(lane->engine);
    arq->naps = true;
    arq->questions = 0;
}

/* ----------------------------------------------------------------------------------------------- asking */

static bool connected(const vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs == NULL && !lane->datagram)
            return true;
    return false;
}

static bool can_probe(const vbn_peer_t *peer)
{
    for (const link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs == NULL && link_lane_ops(lane)->probe != NULL)
            return true;
    return false;
}

bool link_life_naps(const link_arq_t *arq)
{
    return arq->naps && arq->questions == 0;
}

static uint64_t nap_ns(const link_arq_t *arq)
{
    uint64_t most = arq->peer->engine->params.settings->link_keepalive;
    uint64_t part = (arq->rto_from_ns - arq->heard_ns) / NAP_PART;
    part = part < NAP_MIN_NS ? NAP_MIN_NS : part;
    return part < most ? part : most;
}

uint64_t link_life_next(const link_arq_t *arq)
{
    const vbn_peer_t *peer = arq->peer;
    bool waits = peer->tx_acked != peer->tx_next;
    uint64_t asked = arq->rto_from_ns > arq->heard_ns ? arq->rto_from_ns : arq->heard_ns;
    if (link_life_naps(arq))
        return arq->rto_from_ns + nap_ns(arq);
    if (connected(peer) && (!waits || (arq->probes >= CONNECTION_ASKS && arq->pipe == 0)))
        return waits || can_probe(peer) ? asked + peer->engine->params.settings->link_keepalive : LINK_NEVER;
    if (waits || arq->questions > 0)
        return arq->rto_from_ns + link_pace_rto_us(arq) * UINT64_C(1000);
    return arq->heard_ns + peer->engine->params.settings->link_keepalive;
}

static void probe(const vbn_peer_t *peer)
{
    for (link_lane_t *lane = peer->lane; lane != NULL; lane = lane->next)
        if (lane->hs == NULL && link_lane_ops(lane)->probe != NULL)
            link_lane_ops(lane)->probe(lane->ep);
}

bool link_life_count(link_arq_t *arq, uint64_t now)
{
    const vbn_peer_t *peer = arq->peer;
    arq->rto_from_ns = now;
    bool stands = connected(peer);
    if (stands) { /* so somebody answers for the host */
        arq->alive_ns = now;
        arq->questions = 0;
    }
    if (stands && peer->tx_acked == peer->tx_next) {
        probe(peer);
        return false;
    }
    arq->probes = (uint16_t)(arq->probes + (arq->probes < UINT16_MAX));
    arq->questions = (uint16_t)(arq->questions + (arq->questions < UINT16_MAX));
    if (arq->probes > 1)
        probe(peer);
    return true;
}

void link_life_ask(vbn_peer_t *peer)
{
    const link_arq_t *arq = peer->arq;
    if (arq->probes > CONNECTION_ASKS && connected(peer) && arq->pipe == 0)
        return;
    if (arq->probes > 1 && peer->lane->next != NULL)
        link_rails_ask(peer);
    else
        link_send_ack(peer, LINK_FLAG_ACK_NOW);
}

/* ------------------------------------------------------------------------------------------------- death */

bool link_life_lost(vbn_peer_t *peer, uint64_t now)
{
    const link_arq_t *arq = peer->arq;
    uint64_t limit = peer->engine->params.settings->link_peer_timeout;
    uint64_t since = arq->heard_ns > arq->alive_ns ? arq->heard_ns : arq->alive_ns;
    char text[256];
    if (arq->questions < QUESTIONS_MIN || now - since < limit || connected(peer))
        return false;
    snprintf(text, sizeof(text),
             "no answer over %s for %llu ms (link.peer_timeout=%llu ms), %u packet%s not acknowledged",
             peer->engine->transports[peer->transport].name, (unsigned long long)((now - since) / NS_PER_MS),
             (unsigned long long)(limit / NS_PER_MS), peer->tx_next - peer->tx_acked,
             plural(peer->tx_next - peer->tx_acked));
    link_peer_broke(peer, VBN_ERR_PEER_LOST, text);
    return true;
}

bool link_life_missed(const link_arq_t *arq, uint32_t sent_us)
{
    uint64_t limit_us = arq->peer->engine->params.settings->link_peer_timeout / 1000;
    int32_t after = (int32_t)((uint32_t)(arq->heard_ns / 1000) - sent_us);
    return after > 0 && (uint32_t)after > limit_us && (arq->heard_ns - arq->awake_ns) / 1000 > limit_us;
}
