/* SPDX-License-Identifier: Apache-2.0
 * shm_address.h - the transport's part of a worker address. Pure functions.
 *
 *   0 u8 version (2) | 1 u8 flags (bit 0: the name is a path) | 2 u16 name bytes | 4 u32 user id | 8 u64 host id |
 *   16 u64 network namespace | 24 u32 group (tl.shm.group) | 28 name (without the leading zero of an abstract name, and
 *   without an end mark)
 * All little endian. */
#ifndef VBN_TL_SHM_ADDRESS_H
#define VBN_TL_SHM_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/status.h"

#define SHM_ADDRESS_VERSION 2
#define SHM_ADDRESS_FIXED 28u
#define SHM_NAME_MAX 107u /* sun_path with its end mark or leading zero */

typedef struct shm_address {
    bool is_path;
    uint32_t uid;
    uint64_t host_id;
    uint64_t netns_id;
    uint32_t group;
    char name[SHM_NAME_MAX + 1]; /* terminated */
} shm_address_t;

/* buffer has at least SHM_ADDRESS_FIXED + SHM_NAME_MAX bytes; returns the length. */
size_t shm_address_encode(const shm_address_t *address, void *buffer);
/* VBN_ERR_PROTOCOL, VBN_ERR_VERSION. */
vbn_status_t shm_address_decode(const void *bytes, size_t length, shm_address_t *address_p);
/* Fills the kernel's form and returns its length. */
socklen_t shm_address_sockaddr(const shm_address_t *address, struct sockaddr_un *un);

#endif
