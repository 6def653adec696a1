/* SPDX-License-Identifier: Apache-2.0
 * verbs_address.c - encoder, checking decoder and texts of verbs addresses. */
#include "tl/verbs/verbs_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"

#define KIND_CM 2u

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool verbs_gid_is_group(const uint8_t gid[16])
{
    return gid[0] == 0xFF || (memcmp(gid, mapped, sizeof(mapped)) == 0 && (gid[12] & 0xF0) == 0xE0);
}

verbs_gid_kind_t verbs_gid_kind(const uint8_t gid[16])
{
    static const uint8_t zero[16];
    if (memcmp(gid, zero, 16) == 0 || memcmp(gid + 8, zero, 8) == 0 || gid[0] == 0xFF)
        return VERBS_GID_NONE;
    if (memcmp(gid, mapped, sizeof(mapped)) == 0)
        return gid[12] > 0 && gid[12] < 224 ? VERBS_GID_IPV4 : VERBS_GID_NONE;
    return gid[0] == 0xFE && (gid[1] & 0xC0) == 0x80 ? VERBS_GID_LINK_LOCAL : VERBS_GID_GLOBAL;
}

void verbs_gid_text(const uint8_t gid[16], char *text, size_t capacity)
{
    char buffer[INET6_ADDRSTRLEN] = "";
    (void)inet_ntop(AF_INET6, gid, buffer, sizeof(buffer));
    snprintf(text, capacity, "%s", buffer);
}

void verbs_address_text(const verbs_address_t *address, char *text, size_t capacity)
{
    char gid[INET6_ADDRSTRLEN];
    verbs_gid_text(address->gid, gid, sizeof(gid));
    if (address->cm)
        snprintf(text, capacity, "%s port %u", gid, address->qpn);
    else if (address->ethernet)
        snprintf(text, capacity, "queue pair %u at GID %s", address->qpn, gid);
    else
        snprintf(text, capacity, "queue pair %u at LID %u", address->qpn, address->lid);
}

void verbs_address_encode(const verbs_address_t *address, uint8_t bytes[VERBS_ADDRESS_BYTES])
{
    bytes[0] = VERBS_ADDRESS_VERSION;
    bytes[1] = address->cm ? KIND_CM : address->ethernet;
    le_put_u16(bytes + 2, address->lid);
    le_put_u32(bytes + 4, address->qpn);
    le_put_u32(bytes + 8, address->mtu);
    memcpy(bytes + 12, address->gid, sizeof(address->gid));
    le_put_u32(bytes + 28, address->life);
}

static bool mtu_is_one(uint32_t mtu)
{
    return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

vbn_status_t verbs_address_decode(const void *bytes, size_t length, verbs_address_t *address_p)
{
    uint8_t in[VERBS_ADDRESS_BYTES];
    if (bytes == NULL || length != VERBS_ADDRESS_BYTES)
        return err_set(VBN_ERR_PROTOCOL, "verbs address has %zu bytes, expected %u", length, VERBS_ADDRESS_BYTES);
    memcpy(in, bytes, sizeof(in));
    verbs_address_t address = {.ethernet = in[1] != 0,
                               .cm = in[1] == KIND_CM,
                               .lid = le_get_u16(in + 2),
                               .qpn = le_get_u32(in + 4),
                               .mtu = le_get_u32(in + 8),
                               .life = le_get_u32(in + 28)};
    memcpy(address.gid, in + 12, sizeof(address.gid));
    if (in[0] != VERBS_ADDRESS_VERSION)
        return err_set(VBN_ERR_VERSION, "verbs address has version %u, this release reads %d", in[0],
                       VERBS_ADDRESS_VERSION);
    if (in[1] > KIND_CM || address.qpn < 2 || address.qpn > (address.cm ? UINT16_MAX : VERBS_QPN_MAX) ||
        !mtu_is_one(address.mtu) || address.life > VERBS_QPN_MAX)
        return err_set(VBN_ERR_PROTOCOL, "verbs address names queue pair %u with datagrams of %u bytes", address.qpn,
                       address.mtu);
    bool valid = address.ethernet ? address.lid == 0 && verbs_gid_kind(address.gid) != VERBS_GID_NONE
                                  : address.lid > 0 && address.lid < VERBS_LID_GROUP;
    if (!valid)
        return err_set(VBN_ERR_PROTOCOL, "verbs address has LID %u and an invalid GID", address.lid);
    *address_p = address;
    return VBN_OK;
}

vbn_status_t verbs_address_reachable(const verbs_address_t *from, const verbs_address_t *to, char *reason,
                                     size_t capacity)
{
    char text[INET6_ADDRSTRLEN];
    bool local[2] = {verbs_gid_kind(from->gid) == VERBS_GID_LINK_LOCAL,
                     verbs_gid_kind(to->gid) == VERBS_GID_LINK_LOCAL};
    bool v4[2] = {verbs_gid_kind(from->gid) == VERBS_GID_IPV4, verbs_gid_kind(to->gid) == VERBS_GID_IPV4};
    verbs_gid_text(to->gid, text, sizeof(text));
    if (from->cm != to->cm)
        snprintf(reason, capacity,
                 "one side connects by rdma_cm, the other does not: give both the same tl.verbs.connect");
    else if (from->ethernet != to->ethernet)
        snprintf(reason, capacity, "one port is Ethernet, the other InfiniBand");
    else if (from->mtu != to->mtu && !from->cm)
        snprintf(reason, capacity, "datagrams of %u bytes here, %u at the peer: give both interfaces the same MTU",
                 from->mtu, to->mtu);
    else if (!from->ethernet && memcmp(from->gid, to->gid, 8) != 0)
        snprintf(reason, capacity, "another InfiniBand subnet");
    else if (from->ethernet && (local[0] != local[1] || v4[0] != v4[1]))
        snprintf(reason, capacity,
                 "GID %s is of another kind than this port's: give both interfaces addresses of one "
                 "kind, or name a GID in tl.verbs.device",
                 text);
    else {
        verbs_address_text(to, reason, capacity);
        return VBN_OK;
    }
    return err_set(VBN_ERR_UNREACHABLE, "%s", reason);
}
