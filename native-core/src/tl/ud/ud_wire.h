/* SPDX-License-Identifier: Apache-2.0
 * ud_wire.h - the prefix of a datagram. Pure functions; any thread.
 *
 *   0 u8 version (1)  1 u8 flags (1: first words, the sender's address follows)  2 u16 bytes of the packet's header
 *   4 u32 0           8 u64 sender's endpoint   16 u64 receiver's endpoint, 0: not known yet   24 [address, padded to 32]
 *   then the header, padding to a multiple of 16 from the start, payload. Little endian.
 *
 * About life, 24 bytes: 0 u8 version  1 u8 4: asks, 8: answers  2 6 bytes 0  8 u64 sender's endpoint  16 u64 receiver's
 *
 * A datagram to a group: 0 u8 version  1 u8 2  2 6 bytes 0  8 u64 sender's worker  16 16 bytes: the group  32 payload */
#ifndef VBN_TL_UD_WIRE_H
#define VBN_TL_UD_WIRE_H

#include "tl/tl.h"
#include "tl/verbs/verbs_address.h"

#define UD_VERSION 1
#define UD_PREFIX_BYTES 24u
#define UD_FIRST_BYTES 56u /* with an address */
#define UD_GROUP_BYTES 32u
#define UD_LIFE_BYTES 24u
#define UD_OVERHEAD 40u /* most that a packet of a READY endpoint is larger than header and payload */

typedef struct ud_prefix {
    bool first;
    uint32_t header_bytes;
    uint64_t from, to;
    verbs_address_t address; /* with first */
} ud_prefix_t;

/* Returns the bytes written: where the header goes. */
uint32_t ud_prefix_encode(const ud_prefix_t *prefix, uint8_t *bytes);
/* Checks a datagram from outside; *header_at and *payload_at lie within it. */
bool ud_prefix_decode(const uint8_t *bytes, uint32_t length, ud_prefix_t *prefix, uint32_t *header_at,
                      uint32_t *payload_at);

/* Whether an endpoint's process lives: the question, or the answer. */
typedef struct ud_life_word {
    bool answer;
    uint64_t from, to;
} ud_life_word_t;

void ud_life_encode(const ud_life_word_t *word, uint8_t bytes[UD_LIFE_BYTES]);
/* Checks a datagram from outside. */
bool ud_life_decode(const uint8_t *bytes, uint32_t length, ud_life_word_t *word);

typedef struct ud_group_prefix {
    uint64_t source;
    uint8_t group[16];
} ud_group_prefix_t;

void ud_group_prefix_encode(const ud_group_prefix_t *prefix, uint8_t bytes[UD_GROUP_BYTES]);
/* Checks a datagram from outside; the payload follows the prefix. */
bool ud_group_prefix_decode(const uint8_t *bytes, uint32_t length, ud_group_prefix_t *prefix);

static inline uint32_t ud_payload_at(uint32_t header_at, uint32_t header_bytes)
{
    return (header_at + header_bytes + 15u) & ~15u;
}

#endif
