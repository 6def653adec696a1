/* SPDX-License-Identifier: Apache-2.0
 * link_auth.h - what the two sides of a wire-up prove: mac = HMAC-SHA256(job key, role, transport name, HELLO offer,
 * CHALLENGE offer[, state]). The role byte differs for each packet, so no mac can be sent back as another; both uids and
 * nonces are in both macs, so none can be replayed. Pure functions. */
#ifndef VBN_LINK_AUTH_H
#define VBN_LINK_AUTH_H

#include "link/link_wire.h"

typedef enum link_role {
    LINK_ROLE_CHALLENGE = 'C', /* the responder proves the key */
    LINK_ROLE_PROOF = 'P',     /* the initiator proves the key */
    LINK_ROLE_WELCOME = 'W'    /* the responder confirms the connection and its state */
} link_role_t;

typedef struct link_transcript {
    const char *transport; /* at most 15 bytes count */
    uint8_t hello[LINK_OFFER_BYTES];
    uint8_t challenge[LINK_OFFER_BYTES];
} link_transcript_t;

/* key NULL (security.auth=none): the mac is all zero. state: LINK_STATE_BYTES of PROOF and
 * WELCOME, NULL for CHALLENGE. */
vbn_status_t link_auth_mac(const uint8_t *key, link_role_t role, const link_transcript_t *transcript,
                           const uint8_t *state, uint8_t mac[HMAC_BYTES]);
/* VBN_ERR_AUTH when it is not the right one. */
vbn_status_t link_auth_check(const uint8_t *key, link_role_t role, const link_transcript_t *transcript,
                             const uint8_t *state, const uint8_t mac[HMAC_BYTES]);

#endif
