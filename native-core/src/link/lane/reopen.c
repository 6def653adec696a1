/* SPDX-License-Identifier: Apache-2.0
 * reopen.c - the side that dialled a connection which broke dials it again, within link.resume_timeout (resume.c). */
#include "link/lane/lane.h"

#include <stdio.h>

#define NS_PER_MS UINT64_C(1000000)

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
    link_resume_later(arq);
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
