/* SPDX-License-Identifier: Apache-2.0
 * shm_address.c - encodes and decodes the transport's part of a worker address. */
#include "tl/shm/shm_address.h"

#include <stddef.h>
#include <string.h>

#include "base/endian.h"

size_t shm_address_encode(const shm_address_t *address, void *buffer)
{
    uint8_t *out = buffer;
    size_t name_bytes = strlen(address->name);
    out[0] = SHM_ADDRESS_VERSION;
    out[1] = address->is_path ? 1 : 0;
    le_put_u16(out + 2, (uint16_t)name_bytes);
    le_put_u32(out + 4, address->uid);
    le_put_u64(out + 8, address->host_id);
    le_put_u64(out + 16, address->netns_id);
    le_put_u32(out + 24, address->group);
    memcpy(out + SHM_ADDRESS_FIXED, address->name, name_bytes);
    return SHM_ADDRESS_FIXED + name_bytes;
}

vbn_status_t shm_address_decode(const void *bytes, size_t length, shm_address_t *address_p)
{
    const uint8_t *in = bytes;
    if (length < SHM_ADDRESS_FIXED)
        return err_set(VBN_ERR_PROTOCOL, "shm address of %zu bytes, expected at least %u", length, SHM_ADDRESS_FIXED);
    if (in[0] != SHM_ADDRESS_VERSION)
        return err_set(VBN_ERR_VERSION, "shm address has version %u, this build reads version %d", in[0],
                       SHM_ADDRESS_VERSION);
    size_t name_bytes = le_get_u16(in + 2);
    if (in[1] > 1 || name_bytes == 0 || name_bytes > SHM_NAME_MAX || length != SHM_ADDRESS_FIXED + name_bytes ||
        memchr(in + SHM_ADDRESS_FIXED, 0, name_bytes) != NULL)
        return err_set(VBN_ERR_PROTOCOL, "shm address has a broken socket name (%zu bytes)", name_bytes);
    *address_p = (shm_address_t){.is_path = in[1] == 1,
                                 .uid = le_get_u32(in + 4),
                                 .host_id = le_get_u64(in + 8),
                                 .netns_id = le_get_u64(in + 16),
                                 .group = le_get_u32(in + 24)};
    memcpy(address_p->name, in + SHM_ADDRESS_FIXED, name_bytes);
    return VBN_OK;
}

socklen_t shm_address_sockaddr(const shm_address_t *address, struct sockaddr_un *un)
{
    size_t name_bytes = strlen(address->name);
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path + (address->is_path ? 0 : 1), address->name, name_bytes);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_bytes + 1);
}
