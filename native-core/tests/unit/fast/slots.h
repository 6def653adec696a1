/* SPDX-License-Identifier: Apache-2.0
 * slots.h - writes slots into the ring to a peer over shared memory, past everything that an honest sender checks. */
#ifndef VBN_TESTS_FAST_SLOTS_H
#define VBN_TESTS_FAST_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLOTS_DATA 120u
#define SLOTS_LINK_BYTES 16u /* the link's header: word, sequence, ack */

/* The header that the link would write now into a DATA packet to the peer. */
void slots_link_header(const vbn_peer_t *peer, uint8_t bytes[SLOTS_LINK_BYTES]);
/* The next slot gets this word (but for the tag, which is right) and these bytes. The fast
 * lane to the peer must be open. */
void slots_write(vbn_peer_t *peer, uint32_t header_bytes, uint32_t payload_bytes, unsigned kind,
                 const uint8_t bytes[SLOTS_DATA]);
/* The fast lane to the peer is open: a short message would go by it. */
bool slots_open(const vbn_peer_t *peer);

#ifdef __cplusplus
}
#endif

#endif
