/* SPDX-License-Identifier: Apache-2.0
 * record.h - records of the room peer. A peer ends in link_peer_end() exactly once and is freed when no reference is left, at the
 * end of a progress call (never while upcalls run).
 *
 * Invariants: P0 peer->clear is NULL unless link_send would send at once (credits and room aside) and no flush waits. P1 a
 * peer in the map is not LOST. P4 tx_acked <= tx_next <= tx_acked + window (mod 2^32). P5 packets that are queued before READY
 * fit every transport: peers that dial show capabilities with the smallest packets. P6 a dormant peer has neither lane nor
 * node, and nothing of it can break: link_connect_now, the peer's own connection (link_lane_bind) and its end are the only
 * ways out. */
#ifndef VBN_LINK_PEER_RECORD_H
#define VBN_LINK_PEER_RECORD_H

#include "base/fifo.h"
#include "base/wheel.h"
#include "link/link.h"

typedef struct link_lane link_lane_t;
typedef struct link_arq link_arq_t;

typedef struct link_blob {
    const uint8_t *bytes;
    size_t length;
} link_blob_t;

typedef enum link_peer_state { PEER_OPENING, PEER_READY, PEER_CLOSING, PEER_ENDING, PEER_LOST } link_peer_state_t;

/* Members that few peers need, or for a short time only; made by link_extra(). */
typedef struct link_extra {
    vbn_peer_t *peer;
    wheel_timer_t closing; /* CLOSING: waits for the last acks */
    fifo_t imports;        /* link_import calls that wait for READY */
    char *lost_text;
} link_extra_t;

struct vbn_peer {
    union {
        link_peer_head_t head;
        struct {
            LINK_PEER_HEAD
        };
    };
    link_engine_t *engine;
    link_lane_t *lane;     /* the first and best; NULL when LOST, and while resuming */
    link_arq_t *arq;       /* on lanes that keep packets until acknowledged, else NULL */
    uint64_t remote_epoch; /* of the HELLO or WELCOME that made the lane */
    list_link_t queue;     /* nodes that wait for ready, credits or room */
    list_link_t inflight;  /* nodes whose payload the transport uses */
    fifo_t flushes;        /* nodes that wait for an ack */
    list_link_t work;      /* in engine->closing, ->ending or ->dead */
    link_extra_t *extra;   /* mostly NULL */
    vbn_peer_error_func_t error_func;
    void *error_arg;
    void *user;
    uint32_t refs; /* link_connect calls not yet disconnected */
    uint32_t queued;
    uint16_t
        why_bytes; /* of the sentence behind upper_state that says why the transport was chosen; 0: there is none */
    int8_t lost_status;
    uint8_t transport;
    uint8_t state; /* link_peer_state_t */
    bool
        dormant : 1; /* OPENING without a lane: dialled by the first packet, or taken by the peer's own connection (P6) */
    bool accepted : 1; /* the lane in use was opened by the other side */
    bool
        seen : 1; /* the upper layer got a packet of it, or its connection became ready and it was the one to open it */
    bool left : 1;        /* the last reference was dropped by VBN_CLOSE_FLUSH */
    bool one_sided : 1;   /* link_promote was called */
    bool ack_due : 1;     /* an ACK found the transport busy */
    bool ask_ack : 1;     /* an ACK_NOW request has to be sent when the queue is empty */
    bool close_asked : 1; /* closing: the last acks have been asked for */
    bool moved : 1; /* over another transport than the sentence says: that one's connection ended before WELCOME */
    bool dials : 1; /* behind the sentence there is the address, to be dialled again: resuming, further lanes */
    _Alignas(16) unsigned char upper_state[];
};

_Static_assert(sizeof(struct vbn_peer) == LINK_PEER_BYTES, "link_peer_upper(); docs/scaling.md");

#endif
