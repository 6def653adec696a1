/* SPDX-License-Identifier: Apache-2.0
 * record.h - records of the room flow: a packet that waits or is in flight (node), and the state of a peer whose packets are
 * kept until acknowledged (`peer->arq`). ARQ is automatic repeat request, for transports without TL_CAP_RELIABLE and for
 * connections that are to survive their transport's (link.resume_timeout). A kept packet is sent again when it seems lost, and
 * delivered once and in order.
 *
 *   link_send --> peer->queue --> peer->inflight (in order of sequence) --ack--> done
 *                    window, cwnd     lost ones first
 *
 * Buffers: a payload that fits into the node beside its header is copied and link_send says VBN_OK; a larger one stays
 * the caller's until the ack (VBN_INPROGRESS, then done), because it may have to be sent again.
 *
 * Invariants: A1 peer->inflight holds exactly the sequences tx_acked .. tx_next-1. A2 a node of it is sacked, lost, or
 * under way over node->lane, which counts it; pipe = those under way over datagram lanes. A3 lost = nodes that are lost.
 * A4 held packets have sequences rx_next+1 .. rx_next+LINK_HELD_MAX-1, and no sender goes beyond. P3 a node is in exactly one
 * of: the pool, peer->queue, peer->inflight, peer->flushes. */
#ifndef VBN_LINK_FLOW_RECORD_H
#define VBN_LINK_FLOW_RECORD_H

#include "base/wheel.h"
#include "link/link.h"

#define LINK_HELD_MAX 512u          /* packets that may wait for an earlier one; no sender is further ahead */
#define LINK_BULK_BYTES (64u << 10) /* or half a packet: payloads from here on are spread over a peer's lanes */
#define LINK_NEVER UINT64_MAX       /* a time */

typedef struct link_lane link_lane_t;

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
    uint32_t resume_ack; /* packets before it have arrived, as the peer's PROOF or WELCOME said */
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

/* A packet that waits or is in use, a flush. */
typedef struct link_node {
    list_link_t link;
    vbn_peer_t *peer;
    link_done_func_t done;
    void *arg;
    const struct iovec *iov;
    mem_lease_t *lease; /* of link_packet_t */
    uint32_t iov_count;
    uint32_t payload_bytes;
    uint32_t header_bytes; /* upper header, from header[16] on */
    uint32_t sequence;     /* flush: done when acked up to here */
    uint8_t header[TL_HEADER_MAX];
    link_resend_t resend; /* while unacknowledged and peer->arq */
} link_node_t;

#endif
