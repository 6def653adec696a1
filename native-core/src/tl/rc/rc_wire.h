/* SPDX-License-Identifier: Apache-2.0
 * rc_wire.h - what goes over the wire besides packets' own bytes. Pure functions; any thread.
 *
 * Signal: a datagram by which two endpoints find each other; 72 bytes, then header and payload of the packet it carries.
 *    0 u8 version (2)  1 u8 flags  2 u16 header bytes  4 u16 payload bytes
 *    6 u16 reads that the sender serves at a time; 0 only without a queue pair
 *    8 u64 sender's endpoint       16 u64 receiver's endpoint, 0: not known yet
 *   24 u32 number of the packet, 0: none   28 u32 last packet received   32 u32 queue pair, 0: none yet   36 u32 first PSN
 *   40 address of the sender's datagram queue pair, padded to 32
 *
 * Call: the private data of a request for a connection by rdma_cm, 48 bytes.
 *    0 u8 version (1)  1 7 bytes 0   8 u64 caller's endpoint   16 HMAC-SHA256 with the job key over a label, those 16 bytes
 *    and the address that is called: nobody else is given a queue pair
 *
 * Message over the connection: 8 bytes, header, padding to a multiple of 16 from the start, payload.
 *    0 u16 header bytes   2 u8 kind   3 u8 0   4 u32 payload bytes
 * All little endian. */
#ifndef VBN_TL_RC_WIRE_H
#define VBN_TL_RC_WIRE_H

#include "tl/tl.h"
#include "tl/verbs/verbs_address.h"

#define RC_CALL_VERSION 1
#define RC_CALL_BYTES 48u
#define RC_SIGNAL_VERSION 2
#define RC_SIGNAL_BYTES 72u
#define RC_READS_MOST 16u
#define RC_SIGNAL_ASK 1u   /* answer, also if there is nothing new */
#define RC_SIGNAL_ARMED 2u /* the sender's queue pair takes what comes */
#define RC_SIGNAL_GONE 4u  /* the sender's endpoint has ended; the packet that was waiting comes along */

typedef struct rc_signal {
    unsigned flags;
    uint32_t header_bytes, payload_bytes;
    uint64_t from, to;
    uint32_t number, received;
    uint32_t qpn, psn, reads;
    verbs_address_t address;
} rc_signal_t;

void rc_signal_encode(const rc_signal_t *signal, uint8_t bytes[RC_SIGNAL_BYTES]);
/* Checks a datagram from outside; header and payload lie within it, one after the other. */
bool rc_signal_decode(const uint8_t *bytes, uint32_t length, rc_signal_t *signal);

/* key: the job key, NULL without one. */
vbn_status_t rc_call_encode(const uint8_t *key, const verbs_address_t *called, uint64_t from,
                            uint8_t bytes[RC_CALL_BYTES]);
/* The caller's endpoint; 0: not a call by somebody with this job key to this address. */
uint64_t rc_call_decode(const uint8_t *key, const verbs_address_t *called, const uint8_t *bytes, uint32_t length);

#define RC_PREFIX_BYTES 8u
#define RC_MESSAGE_PACKET 1u
#define RC_MESSAGE_NOTHING 2u /* only its arrival counts */

typedef struct rc_message {
    uint32_t header_bytes, payload_bytes;
    unsigned kind;
} rc_message_t;

static inline uint32_t rc_payload_at(uint32_t header_bytes)
{
    return (RC_PREFIX_BYTES + header_bytes + 15u) & ~15u;
}

void rc_message_encode(const rc_message_t *message, uint8_t bytes[RC_PREFIX_BYTES]);
bool rc_message_decode(const uint8_t *bytes, uint32_t length, rc_message_t *message);

#endif
