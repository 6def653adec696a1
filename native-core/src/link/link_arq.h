/* SPDX-License-Identifier: Apache-2.0
 * link_arq.h - functions for packets that are kept until acknowledged; flow/record.h has the records and the invariants. */
#ifndef VBN_LINK_ARQ_H
#define VBN_LINK_ARQ_H

#include "link/flow/record.h"
#include "link/lane/record.h"

/* flow/arq.c: the sender's side. */

vbn_status_t link_arq_open(vbn_peer_t *peer, uint64_t session);
/* The lane is gone (NULL: all are): what it used is free again, what was under way over it is lost. Completes
 * acknowledged packets, so the peer may have ended afterwards. */
void link_arq_lane_gone(vbn_peer_t *peer, const link_lane_t *lane);
/* A new lane is ready and the peer expects `ack`: sends the rest again. */
void link_arq_restart(vbn_peer_t *peer, uint32_t ack);
bool link_arq_ack_valid(const vbn_peer_t *peer, uint32_t ack);
/* The peer ends: one best-effort word to the other side unless it knows. Acknowledged nodes that the transport still uses
 * go to `parked`; the caller completes them when the lane is gone. */
void link_arq_close(vbn_peer_t *peer, list_link_t *parked);
vbn_status_t link_arq_send(vbn_peer_t *peer, const link_packet_t *packet);
/* Sends what window and congestion allow: lost packets first. */
void link_arq_push(vbn_peer_t *peer);
/* At arq->heard_ns. sack: `words` 64-bit words, bit i of them says that sequence ack + 1 + i has arrived. */
void link_arq_acked(vbn_peer_t *peer, uint32_t ack, const uint8_t *sack, uint32_t words);
/* All before is acknowledged: sends CLOSE as the last sequence. */
void link_arq_say_close(vbn_peer_t *peer);
/* The transport lets go of a node; true when that completed it. */
void link_arq_tx_done(link_node_t *node);

/* flow/life.c: what silence means. */

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

/* flow/kept_rx.c: the receiver's side. */

void link_kept_rx(link_lane_t *lane, const void *header, uint32_t header_bytes, const void *payload,
                  uint32_t payload_bytes);
/* The transport has let go of a packet: CLOSE may have waited for it. The peer may have ended afterwards. */
void link_kept_let_go(vbn_peer_t *peer);
/* Writes what the peer must know of held packets; returns the bytes. */
uint32_t link_kept_sack(const vbn_peer_t *peer, uint8_t *bytes);
void link_kept_drop_held(link_arq_t *arq);
/* Where the payload of a packet that is about to come should be written; NULL: nowhere special. */
void *link_kept_sink(link_lane_t *lane, const link_header_t *header, const void *upper, uint32_t upper_bytes,
                     uint32_t payload_bytes);
/* The lane's packet has come, or will not. true: it was written to its place. */
bool link_kept_placed(link_lane_t *lane);

#endif
