/* SPDX-License-Identifier: Apache-2.0
 * link_address.h - the address blob of a worker: {magic "VBNA", version, sections, bytes in all, worker uid, host id},
 * then per transport {name, 8 bytes padded with 0; length; bytes}. Little endian. Pure functions; blobs come from outside. */
#ifndef VBN_LINK_ADDRESS_H
#define VBN_LINK_ADDRESS_H

#include "base/status.h"

#define LINK_ADDRESS_SECTIONS 16
#define LINK_TRANSPORT_NAME 8
#define LINK_ADDRESS_VERSION 1

typedef struct link_section {
    char name[LINK_TRANSPORT_NAME + 1];
    const uint8_t *bytes; /* points into the decoded blob, or at the encoder's input */
    size_t length;        /* at most TL_ADDRESS_MAX */
} link_section_t;

typedef struct link_address {
    uint64_t uid;
    uint64_t host_id;
    unsigned section_count;
    link_section_t sections[LINK_ADDRESS_SECTIONS];
} link_address_t;

/* length_p: in capacity, out bytes written. VBN_ERR_LIMIT when it does not fit. */
vbn_status_t link_address_encode(const link_address_t *address, void *blob, size_t *length_p);
/* VBN_ERR_PROTOCOL or VBN_ERR_VERSION. */
vbn_status_t link_address_decode(const void *blob, size_t length, link_address_t *address);
/* NULL when the address has no such section. */
const link_section_t *link_address_find(const link_address_t *address, const char *name);

#endif
