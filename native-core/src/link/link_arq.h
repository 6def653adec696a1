/* SPDX-License-Identifier: Apache-2.0
 * link_arq.h - reliability in software (ARQ, automatic repeat request) for transports without TL_CAP_RELIABLE, and for
 * connections that are to survive their transport's (link.resume_timeout): every packet is kept until the peer has
 * acknowledged it, sent again when it seems lost, delivered once and in order.
 *
 *   link_send --> peer->queue --> peer->inflight (in order of sequence) --ack--> done
 *                    window, cwnd     lost ones first
 *
 * Buffers: a payload that fits into the node beside its header is copied and link_send says VBN_OK; a larger one stays
 * the caller's until the ack (VBN_INPROGRESS, then done), because it may have to be sent again.
 *
 * Invariants: A1 peer->inflight holds exactly the sequences tx_acked .. tx_next-1. A2 a node of it is sacked, lost, or
 * under way over node->lane, which counts it; pipe = those under way over datagram lanes. A3 lost = nodes that are lost.
 * A4 held packets have sequences rx_next+1 .. rx_next+LINK_HELD_MAX-1, and no sender goes beyond. */
#ifndef VBN_LINK_ARQ_H
#define VBN_LINK_ARQ_H

#include "link/link.h"
#include "link/link_wire.h"

#define LINK_HELD_MAX 512u /* packets that may wait for an earlier one; no sender is further ahead */

typedef struct link_lane link_lane_t;
typedef struct link_node link_node_t;

/* Part of a node, from its first transmission to its ack. */
typedef struct link_resend {
    struct iovec own;  /* payload copied into the node */
    link_lane_t *lane; /* of the last transmission; NULL: gone */
    uint32_t order;    /* of that transmission among those of its lane */
    uint32_t sent_us;
    uint8_t type;  /* LINK_DATA or LINK_CLOSE */
    uint8_t times; /* transmissions after the first, saturating */
    bool sacked;   /* the peer holds it */
    bool lost;     /* to be sent again */
    bool busy;     /* the transport uses header and payload */
    bool acked;    /* waits in arq->parked for the transport to let go */
} link_resend_t;

typedef struct link_held {
    const void *place; /* the payload is there already; NULL: in bytes */
    uint32_t upper_bytes;
    uint32_t payload_bytes;
    _Alignas(16) uint8_t bytes[]; /* upper header, padding to 16, payload */
} link_held_t;

typedef struct link_arq {
    vbn_peer_t *peer;
    wheel_timer_t timer;
    link_held_t **held; /* [LINK_HELD_MAX] by sequence; NULL while nothing waits */
    list_link_t parked;
    uint64_t timer_ns;       /* when the timer fires; 0: not armed */
    uint64_t rto_from_ns;    /* the retransmission timer runs from here */
    uint64_t ack_due_ns;     /* 0: no ack is owed */
    uint64_t heard_ns;       /* last packet from the peer */
    uint64_t alive_ns;       /* last answer to a keep-alive probe, given without the peer's program */
    uint64_t awake_ns;       /* since then it has been heard again and again */
    link_lane_t *heard_over; /* NULL: that lane is gone */
    link_lane_t *close_over; /* CLOSE came over it, while the transport used memory of this peer's packets; else NULL */
    uint64_t session;        /* the first WELCOME's epoch: tells this connection from earlier and later ones */
    uint64_t resume_until_ns; /* 0: not resuming */
    uint64_t redial_ns;
    uint32_t held_count;
    uint32_t srtt_us, rttvar_us;     /* 0: no sample yet */
    uint32_t cwnd, ssthresh, growth; /* packets */
    uint32_t pipe, lost;
    uint32_t overtaking; /* largest reordering distance seen, in packets */
    uint32_t recover;    /* one loss event until this is acknowledged */
    uint16_t probes;     /* time-outs and keep-alives since the peer was heard */
    uint16_t questions;  /* of them, those since its last answer to a probe */
    uint32_t resume_ack; /* what the peer has, as its PROOF or WELCOME said */
    uint32_t packet_max; /* of the first lane's transport */
    uint32_t bulk_bytes; /* payloads from here on are spread over the peer's lanes */
    uint32_t promote_at; /* packets sent and received from which on a better lane pays */
    uint8_t first_transport;
    uint8_t dropping; /* lanes that are being dropped */
    uint8_t attempts;
    uint8_t placing; /* lanes over which a packet is coming straight to its place */
    bool bulk;       /* large packets were sent or received: rails pay */
    bool recovering;
    bool close_sent;
    bool told; /* the other side has ended the peer itself */
    bool naps; /* the process answers, the program was not heard since */
} link_arq_t;

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

#define LINK_NEVER UINT64_MAX /* a time */

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
