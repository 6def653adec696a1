/* SPDX-License-Identifier: Apache-2.0
 * verbs_address.h - where a datagram queue pair is: the address of the transports rc and ud. Pure functions; any thread.
 *
 *   offset 0  u8 version (2)   1 u8 0: InfiniBand, 1: Ethernet, 2: rdma_cm   2 u16 LID   4 u32 queue pair number, or port
 *          8  u32 bytes of a datagram                                       12 16 bytes of GID, or IPv6
 *         28  u32 queue pair that answers for the process (ud), else 0      32 end
 * Little endian, the GID as on the wire. */
#ifndef VBN_TL_VERBS_ADDRESS_H
#define VBN_TL_VERBS_ADDRESS_H

#include <stdbool.h>

#include "base/status.h"

#define VERBS_ADDRESS_VERSION 2
#define VERBS_ADDRESS_BYTES 32u
#define VERBS_QPN_MAX 0xFFFFFFu
#define VERBS_LID_GROUP 0xC000u /* LIDs from here on are of multicast groups */

typedef struct verbs_address {
    bool ethernet;
    bool cm;       /* where rdma_cm listens: gid is an IP address (IPv4 as ::ffff:a.b.c.d), qpn a port */
    uint16_t lid;  /* InfiniBand only */
    uint32_t qpn;  /* 24 bits */
    uint32_t mtu;  /* 256, 512, ... 4096 */
    uint32_t life; /* 24 bits; 0: none */
    uint8_t gid[16];
} verbs_address_t;

/* What a GID is good for: better ones have smaller numbers. */
typedef enum verbs_gid_kind { VERBS_GID_IPV4, VERBS_GID_GLOBAL, VERBS_GID_LINK_LOCAL, VERBS_GID_NONE } verbs_gid_kind_t;

verbs_gid_kind_t verbs_gid_kind(const uint8_t gid[16]);
bool verbs_gid_is_group(const uint8_t gid[16]); /* an IP multicast address */
void verbs_gid_text(const uint8_t gid[16], char *text, size_t capacity);
void verbs_address_text(const verbs_address_t *address, char *text,
                        size_t capacity); /* "queue pair 17 at GID fe80::1" */
void verbs_address_encode(const verbs_address_t *address, uint8_t bytes[VERBS_ADDRESS_BYTES]);
/* Checks bytes from outside: VBN_ERR_PROTOCOL. */
vbn_status_t verbs_address_decode(const void *bytes, size_t length, verbs_address_t *address_p);
/* VBN_OK, or VBN_ERR_UNREACHABLE; reason gets one clause. */
vbn_status_t verbs_address_reachable(const verbs_address_t *from, const verbs_address_t *to, char *reason,
                                     size_t capacity);

#endif
