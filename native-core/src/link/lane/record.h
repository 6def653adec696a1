/* SPDX-License-Identifier: Apache-2.0
 * record.h - records of the room lane: a connection, and its wire-up state.
 *
 * Invariants: P2 lane->hs exists until the lane is ready. R1 peer->lane --next--> lane --next--> ...: best first, lanes in wire-up
 * behind the ready ones. R2 peer->lane is ready if any lane of the peer is. */
#ifndef VBN_LINK_LANE_RECORD_H
#define VBN_LINK_LANE_RECORD_H

#include "base/wheel.h"
#include "link/link.h"
#include "link/link_auth.h"

#define LINK_LANES_MAX 8u /* of one peer */

typedef enum link_lane_state {
    LANE_WAIT_HELLO,     /* accepted */
    LANE_WAIT_CHALLENGE, /* initiator */
    LANE_WAIT_PROOF,     /* accepted */
    LANE_WAIT_WELCOME,   /* initiator */
    LANE_WAIT_OTHER,     /* initiator: refused because the peer's own connection is used; no endpoint */
    LANE_WAIT_AGAIN,     /* initiator: the connection ended before WELCOME, it is dialled again soon; no endpoint */
    LANE_REJECTED,       /* accepted: REJECT waits for room, or is repeated to a peer that may not have got it */
    LANE_LINGERS,        /* datagrams: closed by the peer; repeats the ack of its CLOSE for a while */
    LANE_PROVED          /* both proved the key; ready once the transport is */
} link_lane_state_t;

typedef struct link_lane link_lane_t;

/* Wire-up state, freed when the lane is ready. */
typedef struct link_handshake {
    link_lane_t *lane;
    wheel_timer_t timer;
    wheel_timer_t retry; /* initiator: over datagrams sends `control` again; in WAIT_AGAIN dials */
    uint8_t *address;    /* initiator, for a new peer: where to dial again; owned */
    uint16_t address_bytes;
    uint16_t nobody;       /* transports over which nobody answered, by index */
    uint8_t redials, next; /* so many; the transport of the next one */
    link_transcript_t transcript;
    link_offer_t remote;
    uint16_t control_bytes; /* the last packet sent */
    uint8_t tries;
    bool control_waits;   /* it found the transport busy */
    bool adds;            /* the lane joins those of a peer */
    bool extended;        /* the time-out began again, as the program was away */
    bool resumes;         /* an attempt to resume: the time-out is its part of link.resume_timeout */
    uint64_t away_before; /* the engine's away_ns when the timer was added */
    uint8_t control[16 + LINK_CHALLENGE_BYTES];
    uint64_t session; /* the epoch of this lane's WELCOME */
} link_handshake_t;

struct link_lane {
    union {
        link_lane_head_t head;
        struct {
            LINK_LANE_HEAD
        };
    };
    link_engine_t *engine;
    tl_ep_t *ep; /* NULL in LANE_WAIT_OTHER */
    link_handshake_t *hs;
    link_handshake_t *welcome; /* datagrams, accepted: repeats WELCOME until the peer has shown that it got it */
    list_link_t link;          /* in engine->lanes while without a peer, in engine->costly if it is that */
    link_lane_t *next;         /* of the same peer, see flow/rails.c */
    uint32_t remote_connection;
    uint32_t under_way, under_way_bytes; /* kept packets: sent over it, neither arrived nor lost; their payload. And
                                            transfers of devices */
    uint32_t order, top;                 /* packets it took; the last of them known to have arrived */
    uint8_t silent;                      /* time-outs since something sent over it arrived */
    uint8_t transport : 4;
    uint8_t state : 4; /* link_lane_state_t */
    bool initiator : 1;
    bool datagram : 1; /* the transport may lose, double and swap packets */
    bool kept : 1;     /* packets are kept until acknowledged: datagrams, or both sides want to resume */
    bool stranger : 1; /* datagrams: counted in engine->strangers */
    bool costly : 1;   /* its transport has TL_CAP_COSTLY */
    bool native : 1;   /* and TL_CAP_NATIVE */
    bool counted : 1;  /* in engine->costly */
    bool tl_ready : 1;
    bool dropping : 1, drop_sent : 1, drop_heard : 1; /* on its way to an orderly end, LANE_DROP sent and received */
    bool placing : 1; /* kept packets: the one that is coming goes straight to its place; counted in arq->placing */
    bool blocked : 1; /* transport said VBN_BUSY, tx_ready will come */
};

_Static_assert(LANE_PROVED < 16, "a state fits into four bits of a lane");
_Static_assert(sizeof(struct link_lane) <= 104, "docs/scaling.md: every peer has at least one");

#endif
