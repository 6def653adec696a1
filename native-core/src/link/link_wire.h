/* SPDX-License-Identifier: Apache-2.0
 * link_wire.h - bytes of the link layer: packet header and the bodies of the wire-up packets. Pure functions.
 *
 * Every packet starts with 16 bytes, little endian:
 *    0        1       2          4               8          12        16
 *    | v | t  | flags | reserved | connection id | sequence | ack     |
 * DATA is followed by the upper layer's header; CLOSE and LANE_DROP by nothing; ACK by nothing, over datagrams by up to 8
 * words of 64 bits: bit i of them says that the packet with sequence ack + 1 + i has arrived. The wire-up packets have one body:
 *   HELLO     offer                     initiator -> responder
 *   CHALLENGE offer, mac                responder -> initiator
 *   PROOF     state, mac                initiator -> responder
 *   WELCOME   state, mac                responder -> initiator; the connection counts from here on
 *   REJECT    reason, version           either way
 * In wire-up packets flags, connection id, sequence and ack are 0. The first 6 bytes of an offer (magic, version) and
 * REJECT keep their layout in all versions. */
#ifndef VBN_LINK_WIRE_H
#define VBN_LINK_WIRE_H

#include <stdbool.h>

#include "base/endian.h"
#include "base/hmac.h"
#include "base/status.h"

#define LINK_VERSION 1
#define LINK_OFFER_BYTES 72
#define LINK_CHALLENGE_BYTES (LINK_OFFER_BYTES + HMAC_BYTES)
#define LINK_STATE_BYTES 16
#define LINK_PROOF_BYTES (LINK_STATE_BYTES + HMAC_BYTES)
#define LINK_WELCOME_BYTES LINK_PROOF_BYTES
#define LINK_REJECT_BYTES 4
#define LINK_NONCE_BYTES 32
#define LINK_FLAG_ACK_NOW 1u /* answer with an ACK at once; on ACK, over datagrams also on DATA and CLOSE */
#define LINK_FLAG_AT_ONCE 2u /* on CLOSE over datagrams: has no sequence of its own and gets no answer */

typedef enum link_type {
    LINK_DATA = 1,
    LINK_ACK = 2,
    LINK_CLOSE = 3,
    LINK_LANE_DROP = 4, /* the sender sends no more DATA over this lane; answered by the same */
    LINK_HELLO = 8,
    LINK_CHALLENGE = 9,
    LINK_PROOF = 10,
    LINK_WELCOME = 11,
    LINK_REJECT = 12
} link_type_t;

typedef enum link_reason {
    LINK_REASON_AUTH = 1,          /* the proof is wrong */
    LINK_REASON_VERSION = 2,       /* another protocol version */
    LINK_REASON_AUTH_REQUIRED = 3, /* the sender of REJECT needs a proof, the receiver gives none */
    LINK_REASON_AUTH_NONE = 4,     /* the sender of REJECT has no key, the receiver needs a proof */
    LINK_REASON_DUPLICATE = 5,     /* another connection between the two is used */
    LINK_REASON_TARGET = 6,        /* this is not the worker that is looked for */
    LINK_REASON_LIMIT = 7,         /* link.max_peers reached; no room for one lane more */
    LINK_REASON_GONE = 8           /* the session that PROOF names is not known (any more) */
} link_reason_t;

typedef struct link_header {
    uint8_t version;
    uint8_t type;
    uint8_t flags;
    uint32_t connection;
    uint32_t sequence;
    uint32_t ack;
} link_header_t;

typedef struct link_offer {
    uint16_t version;
    uint16_t auth; /* 1: job key, 0: none */
    bool keeps;    /* the sender keeps packets until they are acknowledged, so the connection may be resumed */
    uint64_t uid;
    uint64_t target_uid;
    uint32_t connection; /* id that packets to the sender must carry */
    uint32_t window;     /* packets the sender of the offer can have unacknowledged, 8 .. 65536 */
    uint64_t epoch;      /* grows with each offer and welcome of a worker */
    uint8_t nonce[LINK_NONCE_BYTES];
} link_offer_t;

/* Bytes 0 to 7 of a DATA packet, as a little-endian number. */
#define LINK_DATA_WORD(connection) ((uint64_t)(LINK_VERSION << 4 | LINK_DATA) | (uint64_t)(connection) << 32)

/* A DATA packet's header, as link_header_encode writes it. */
static inline void link_data_encode(uint32_t connection, uint32_t sequence, uint32_t ack, uint8_t bytes[16])
{
    le_put_u64(bytes, LINK_DATA_WORD(connection));
    le_put_u64(bytes + 8, (uint64_t)sequence | (uint64_t)ack << 32);
}
/* Purpose of the connection, as the sender of PROOF or WELCOME sees it. */
typedef enum link_mode {
    LINK_MODE_NEW = 0,     /* a session begins */
    LINK_MODE_RESUMES = 1, /* the lane takes the place of all that the session had */
    LINK_MODE_ADDS = 2     /* the lane joins those of the session */
} link_mode_t;

typedef struct link_state {
    uint64_t session;  /* WELCOME: its epoch. PROOF: the session that goes on, 0: none */
    uint32_t expected; /* when a session goes on: the next sequence that the sender expects */
    link_mode_t mode;  /* PROOF: asked for. WELCOME: done, the same */
} link_state_t;

void link_state_encode(const link_state_t *state, uint8_t bytes[LINK_STATE_BYTES]);
bool link_state_decode(const uint8_t bytes[LINK_STATE_BYTES], link_state_t *state);

void link_header_encode(const link_header_t *header, uint8_t bytes[16]);
/* false: too short, reserved bits set, unknown type (other versions: only HELLO and REJECT are known). */
bool link_header_decode(const void *bytes, size_t length, link_header_t *header);

void link_offer_encode(const link_offer_t *offer, uint8_t bytes[LINK_OFFER_BYTES]);
/* VBN_ERR_PROTOCOL, or VBN_ERR_VERSION with only offer->version set. length may be larger than an offer. */
vbn_status_t link_offer_decode(const void *bytes, size_t length, link_offer_t *offer);

#endif
