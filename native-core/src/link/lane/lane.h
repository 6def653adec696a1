/* SPDX-License-Identifier: Apache-2.0
 * lane.h - functions of the room lane. None of them calls `flow` or `peer`: they raise the events of link_events_t. */
#ifndef VBN_LINK_LANE_H
#define VBN_LINK_LANE_H

#include "link/link_private.h"

/* -------------------------------------------------------------------------------------------- chain.c */

bool link_lane_others(const vbn_peer_t *peer, const link_lane_t *lane); /* a ready lane besides this one? */
unsigned link_lane_count(const vbn_peer_t *peer, int transport);        /* -1: all */
void link_lane_insert(vbn_peer_t *peer, link_lane_t *lane);             /* at its place in the peer's chain */
void link_lane_unlink(link_lane_t *lane);
/* It is used again. */
static inline void link_lane_stop_dropping(link_lane_t *lane)
{
    link_arq_t *arq = lane->peer->arq;
    lane->dropping = lane->drop_sent = false;
    if (arq != NULL) /* else the peer ends */
        arq->dropping--;
}
/* The lane's packet has come, or will not. true: it was written to its place. */
static inline bool link_kept_placed(link_lane_t *lane)
{
    bool placed = lane->placing;
    lane->placing = false;
    if (placed && lane->peer != NULL && lane->peer->arq != NULL)
        lane->peer->arq->placing--;
    return placed;
}

/* --------------------------------------------------------------------------------------------- lane.c */

void link_lane_take_transport(link_lane_t *lane, unsigned transport);
void link_handshake_free(link_handshake_t *hs); /* NULL: nothing */
void link_lane_drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode);
void link_lane_stop_timers(link_lane_t *lane);
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode);
/* Without its endpoint; the lane itself goes too unless a peer has it. */
void link_lane_drop(link_lane_t *lane, vbn_close_mode_t mode);
/* Bound to its peer it counts for link.promoted_max. */
void link_lane_count_costly(link_lane_t *lane);
void link_lane_uncount_costly(link_lane_t *lane);
/* The capabilities that the layer above sees for its peer while this lane carries it. */
const tl_caps_t *link_lane_shown_caps(const link_lane_t *lane);
void link_lane_bind(link_lane_t *lane, vbn_peer_t *peer, uint64_t epoch); /* as the peer's only one */
void link_lane_join(link_lane_t *lane, vbn_peer_t *peer);                 /* a lane in wire-up joins the peer's */
void link_lanes_free(vbn_peer_t *peer, vbn_close_mode_t mode);            /* all lanes */
void link_self_end(vbn_peer_t *peer);                                     /* this worker's second lane to itself */

/* ---------------------------------------------------------------------------------------- transfers.c */

void link_transfer_end(link_node_t *node, vbn_status_t status);
void link_transfers_lost(const link_lane_t *lane); /* its endpoint is gone */

/* --------------------------------------------------------------------------------------------- open.c */

/* Binds a new lane to the peer and dials. */
vbn_status_t link_dial(link_engine_t *engine, const link_address_t *address, unsigned transport, vbn_peer_t *peer);
/* One lane more to a peer that is ready. */
vbn_status_t link_dial_more(vbn_peer_t *peer, const link_address_t *address, unsigned transport);
/* Dials a dormant peer. A failure ends it, not before the next progress. */
void link_connect_now(vbn_peer_t *peer);
/* tl_upcalls_t.accepted; arg: the engine. */
void link_lane_accept(void *arg, tl_ep_t *ep);

/* ------------------------------------------------------------------------------------------- wireup.c */

vbn_status_t link_wireup_start(link_lane_t *lane, uint64_t target_uid);
void link_wireup_rx(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);
void link_lane_check_ready(link_lane_t *lane);

/* ------------------------------------------------------------------------------------------ control.c */

void link_control_send(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes);
void link_control_retry(wheel_timer_t *timer);
/* Tells the peer why and closes; the lane's own peer, if any, is handled by the caller. */
void link_control_reject(link_lane_t *lane, link_reason_t reason);
void link_control_count(link_lane_t *lane, vbn_status_t status, const char *text);
/* This side finds the other's packet wrong (err_text() says why): counts, tells, ends. */
void link_control_refuse(link_lane_t *lane, vbn_status_t status, link_reason_t reason);
void link_wireup_resume(link_lane_t *lane); /* the transport has room again */
/* Datagrams: a wire-up packet that repeats an earlier one is answered as that was, one that fits nothing is ignored. */
bool link_wireup_repeated(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);

/* ------------------------------------------------------------------------------------------ timeout.c */

void link_wireup_expired(wheel_timer_t *timer);

/* -------------------------------------------------------------------------------------------- broke.c */

/* A lane broke: its peer resumes over another one if it may, else it is lost. */
void link_lane_broke(link_lane_t *lane, vbn_status_t status, const char *text);
/* Ends a lane that cannot go on; its peer, if it has one, is lost. */
void link_lane_fail(link_lane_t *lane, vbn_status_t status, const char *text);
/* The lane goes, others are there (link_lane_others). The peer may have ended afterwards. */
void link_lane_lose(link_lane_t *lane, const char *text);
void link_lane_later(vbn_peer_t *peer); /* the next attempt to open one lane more waits */
/* No lane works: the peer resumes, or is lost. */
void link_peer_broke(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* ------------------------------------------------------------------------------------------- redial.c */

/* The address of a new peer, in case its connection has to be dialled again. */
vbn_status_t link_redial_keep(link_lane_t *lane, const link_blob_t *address);
/* The lane's connection has ended. false: it is not dialled again. */
bool link_redial_begin(link_lane_t *lane, vbn_status_t status, const char *text);
void link_redial(link_lane_t *lane); /* the timer; the peer may have ended afterwards */

/* ------------------------------------------------------------------------------------------- resume.c */

/* The lane is gone. false: the peer cannot resume. Operations may complete, so it may have ended afterwards. */
bool link_resume_begin(vbn_peer_t *peer, const char *text);
/* The time of one attempt. */
uint64_t link_resume_part(const link_engine_t *engine);
uint64_t link_resume_next(const link_arq_t *arq);
void link_resume_later(link_arq_t *arq); /* the next attempt waits */
/* The answer to a proved PROOF that names a session: the peer; NULL: refused. */
vbn_peer_t *link_resume_accept(link_lane_t *lane, uint64_t session, uint32_t ack);
void link_resume_done(vbn_peer_t *peer); /* the new lane is ready */

/* ------------------------------------------------------------------------------------------- reopen.c */

void link_resume_look(vbn_peer_t *peer, uint64_t now); /* the timer, while resuming */

#endif
