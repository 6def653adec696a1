/* SPDX-License-Identifier: Apache-2.0
 * flow.h - functions of the room flow. None of them calls `peer`: a peer ends by an event (link_peer_end). */
#ifndef VBN_LINK_FLOW_H
#define VBN_LINK_FLOW_H

#include "link/lane/lane.h"

/* -------------------------------------------------------------------------------------------- rails.c */

/* The lane for a packet; NULL: none can take it now. The peer has at least one. */
link_lane_t *link_rails_choose(const vbn_peer_t *peer, const link_node_t *node);
link_lane_t *link_rails_first(const vbn_peer_t *peer);  /* the best one that can send, else NULL */
link_lane_t *link_rails_answer(const vbn_peer_t *peer); /* that by which the peer was heard, if it can send */
/* An accepted lane over datagrams counts once the peer has used it: WELCOME may be lost. */
static inline bool link_rails_usable(const link_lane_t *lane)
{
    return lane->hs == NULL && !lane->blocked && lane->welcome == NULL;
}

/* --------------------------------------------------------------------------------------------- held.c */

void link_kept_drop_held(link_arq_t *arq);
/* Writes the bits that tell the peer of held packets; returns the bytes. */
uint32_t link_kept_sack(const vbn_peer_t *peer, uint8_t *bytes);

/* --------------------------------------------------------------------------------------------- bare.c */

/* Sends a packet of this type (LINK_CLOSE, LINK_LANE_DROP) over the lane of a peer, out of sequence and not kept: it may get
 * lost. The status is that of tl_ops_t.send. */
vbn_status_t link_send_bare(const link_lane_t *lane, unsigned type, unsigned flags);

/* ------------------------------------------------------------------------------------------- credit.c */

vbn_status_t link_send_ack(vbn_peer_t *peer, unsigned flags);
vbn_status_t link_send_ack_over(vbn_peer_t *peer, link_lane_t *lane, unsigned flags); /* lane NULL: VBN_BUSY */
void link_rails_ask(vbn_peer_t *peer); /* asks for an ACK over every lane */
void link_credit_apply(vbn_peer_t *peer, uint32_t ack);
void link_flush_complete(vbn_peer_t *peer);

/* --------------------------------------------------------------------------------------------- send.c */

/* A transport took a packet neither now nor for later: too large for it, the peer ends; else ep_error follows. */
void link_refused(vbn_peer_t *peer, vbn_status_t status);
void link_node_fill(link_node_t *node, vbn_peer_t *peer, const link_packet_t *packet);
/* tl_ops_t.send inside the packet's lease; when that is lost, so is the peer, and the packet is not taken. */
vbn_status_t link_send_leased(vbn_peer_t *peer, const link_lane_t *lane, const tl_packet_t *packet);
bool link_may_send(const vbn_peer_t *peer); /* the lane is ready and has room */
void link_drain(vbn_peer_t *peer);          /* sends queued packets, as many as it can; only within progress */

/* ---------------------------------------------------------------------------------------------- arq.c */

vbn_status_t link_arq_open(vbn_peer_t *peer, uint64_t session);
/* The lane is gone (NULL: all are): memory that it used is free again, packets under way over it are lost. Completes
 * acknowledged packets, so the peer may have ended afterwards. */
void link_arq_lane_gone(vbn_peer_t *peer, const link_lane_t *lane);
/* A new lane is ready and the peer expects `ack`: sends the rest again. */
void link_arq_restart(vbn_peer_t *peer, uint32_t ack);
/* The peer ends: one best-effort word to the other side unless it knows. Acknowledged nodes that the transport still uses
 * go to `parked`; the caller completes them when the lane is gone. */
void link_arq_close(vbn_peer_t *peer, list_link_t *parked);
vbn_status_t link_arq_send(vbn_peer_t *peer, const link_packet_t *packet);
/* Sends as many packets as window and congestion allow, lost ones first. */
void link_arq_push(vbn_peer_t *peer);
/* At arq->heard_ns. sack: `words` 64-bit words, bit i of them says that sequence ack + 1 + i has arrived. */
void link_arq_acked(vbn_peer_t *peer, uint32_t ack, const uint8_t *sack, uint32_t words);
/* All before is acknowledged: sends CLOSE as the last sequence. */
void link_arq_say_close(vbn_peer_t *peer);
/* The transport lets go of a node. */
void link_arq_tx_done(link_node_t *node);

/* --------------------------------------------------------------------------------------------- life.c */

void link_life_start(link_arq_t *arq);   /* as if the peer had just been heard */
void link_life_heard(link_lane_t *lane); /* a packet of the proved peer has come */
void link_life_alive(link_lane_t *lane); /* its process says that it lives */
bool link_life_naps(const link_arq_t *arq);
/* When the next question is due if nothing comes. */
uint64_t link_life_next(const link_arq_t *arq);
/* One is: counts it, asks process or device. false: the program need not be asked. */
bool link_life_count(link_arq_t *arq, uint64_t now);
void link_life_ask(vbn_peer_t *peer); /* asks the program for an ACK */
/* true: the peer is dead; it has ended, or resumes. */
bool link_life_lost(vbn_peer_t *peer, uint64_t now);
/* Whether a packet, sent over a connection and not acknowledged, is one that the peer would have if that worked: its program
 * has been answering for link.peer_timeout since. */
bool link_life_missed(const link_arq_t *arq, uint32_t sent_us);

/* ----------------------------------------------------------------------------------------- failover.c */

/* link_events_t.lane_lost */
void link_fail_over(vbn_peer_t *peer, const link_lane_t *lane);

/* --------------------------------------------------------------------------------------------- drop.c */

/* An orderly end, when another lane is ready; else nothing happens. */
void link_rails_drop(link_lane_t *lane);
void link_rails_drop_step(vbn_peer_t *peer);
void link_rails_rx_drop(link_lane_t *lane);

/* ------------------------------------------------------------------------------------------ promote.c */

void link_promote_look(vbn_peer_t *peer); /* opens a lane if the peer is worth it; only within progress */
/* link_events_t.lane_joins */
vbn_peer_t *link_rails_accept(link_lane_t *lane, uint64_t session);

/* ------------------------------------------------------------------------------------------- native.c */

void link_native_done(tl_ep_t *ep, void *cookie);

/* ------------------------------------------------------------------------------------------ kept_rx.c */

void link_kept_rx(link_lane_t *lane, const void *header, uint32_t header_bytes, const void *payload,
                  uint32_t payload_bytes);
/* The transport has let go of a packet: CLOSE may have waited for it. The peer may have ended afterwards. */
void link_kept_let_go(vbn_peer_t *peer);
/* Where the payload of a packet that is about to come should be written; NULL: nowhere special. */
void *link_kept_sink(link_lane_t *lane, const link_header_t *header, const void *upper, uint32_t upper_bytes,
                     uint32_t payload_bytes);

/* ----------------------------------------------------------------------------------------------- rx.c */

void link_fill_upcalls(tl_upcalls_t *upcalls, link_engine_t *engine);

#endif
