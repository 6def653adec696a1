/* SPDX-License-Identifier: Apache-2.0
 * events.c - the table of events that lanes and packets raise. */
#include "link/peer/peer.h"

/* Sends packets that waited for the lane; the peer may end in a callback of one. */
static void lane_ready(link_lane_t *lane, link_ready_t how)
{
    vbn_peer_t *peer = lane->peer;
    if (lane->datagram && lane->initiator) /* shows the responder that WELCOME arrived */
        (void)(how == LINK_READY_ADDED ? link_send_ack_over(peer, lane, 0) : link_send_ack(peer, 0));
    if (how == LINK_READY_RESUMED) {
        link_send_ack(peer, 0);
        link_arq_restart(peer, peer->arq->resume_ack);
        if (peer->arq == NULL) /* it ended in a callback */
            return;
    }
    if (how != LINK_READY_ADDED)
        link_peer_run_imports(peer);
    link_drain(peer);
}

const link_events_t LINK_EVENTS = {.lane_proved = link_arq_open,
                                   .lane_joins = link_rails_accept,
                                   .lane_ready = lane_ready,
                                   .lane_lost = link_fail_over,
                                   .peer_dead = link_peer_take_end};
