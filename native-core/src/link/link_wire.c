/* SPDX-License-Identifier: Apache-2.0
 * link_wire.c - encodes and decodes the link layer's bytes. */
#include "link/link_wire.h"

#include <string.h>

#define OFFER_MAGIC 0x4c4e4256u /* "VBNL" */
#define WINDOW_MIN 8u
#define WINDOW_MAX 65536u

void link_put_u16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

void link_put_u32(uint8_t *bytes, uint32_t value)
{
    link_put_u16(bytes, (uint16_t)value);
    link_put_u16(bytes + 2, (uint16_t)(value >> 16));
}

void link_put_u64(uint8_t *bytes, uint64_t value)
{
    link_put_u32(bytes, (uint32_t)value);
    link_put_u32(bytes + 4, (uint32_t)(value >> 32));
}

uint16_t link_get_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t link_get_u32(const uint8_t *bytes)
{
    return (uint32_t)link_get_u16(bytes) | (uint32_t)link_get_u16(bytes + 2) << 16;
}

uint64_t link_get_u64(const uint8_t *bytes)
{
    return (uint64_t)link_get_u32(bytes) | (uint64_t)link_get_u32(bytes + 4) << 32;
}

void link_header_encode(const link_header_t *header, uint8_t bytes[16])
{
    bytes[0] = (uint8_t)(header->version << 4 | header->type);
    bytes[1] = header->flags;
    link_put_u16(bytes + 2, 0);
    link_put_u32(bytes + 4, header->connection);
    link_put_u32(bytes + 8, header->sequence);
    link_put_u32(bytes + 12, header->ack);
}

static bool type_known(const link_header_t *header)
{
    if (header->version != LINK_VERSION)
        return header->type == LINK_HELLO || header->type == LINK_REJECT;
    return (header->type >= LINK_DATA && header->type <= LINK_CLOSE) ||
           (header->type >= LINK_HELLO && header->type <= LINK_REJECT);
}

bool link_header_decode(const void *bytes, size_t length, link_header_t *header)
{
    const uint8_t *in = bytes;
    if (length < 16)
        return false;
    header->version = (uint8_t)(in[0] >> 4);
    header->type = in[0] & 15u;
    header->flags = in[1];
    header->connection = link_get_u32(in + 4);
    header->sequence = link_get_u32(in + 8);
    header->ack = link_get_u32(in + 12);
    if (link_get_u16(in + 2) != 0 || !type_known(header))
        return false;
    if (header->type >= LINK_HELLO)
        return header->flags == 0 && header->connection == 0 && header->sequence == 0 && header->ack == 0;
    return header->type == LINK_ACK ? header->flags <= LINK_FLAG_ACK_NOW : header->flags == 0;
}

void link_offer_encode(const link_offer_t *offer, uint8_t bytes[LINK_OFFER_BYTES])
{
    link_put_u32(bytes, OFFER_MAGIC);
    link_put_u16(bytes + 4, offer->version);
    link_put_u16(bytes + 6, offer->auth);
    link_put_u64(bytes + 8, offer->uid);
    link_put_u64(bytes + 16, offer->target_uid);
    link_put_u32(bytes + 24, offer->connection);
    link_put_u32(bytes + 28, offer->window);
    link_put_u64(bytes + 32, offer->epoch);
    memcpy(bytes + 40, offer->nonce, LINK_NONCE_BYTES);
}

vbn_status_t link_offer_decode(const void *bytes, size_t length, link_offer_t *offer)
{
    const uint8_t *in = bytes;
    if (length < 6 || link_get_u32(in) != OFFER_MAGIC)
        return err_set(VBN_ERR_PROTOCOL, "wire-up packet of %zu bytes is not one of Verbena", length);
    offer->version = link_get_u16(in + 4);
    if (offer->version != LINK_VERSION)
        return err_set(VBN_ERR_VERSION, "the peer speaks link version %u, this side %u", (unsigned)offer->version,
                       (unsigned)LINK_VERSION);
    if (length < LINK_OFFER_BYTES)
        return err_set(VBN_ERR_PROTOCOL, "wire-up offer of %zu bytes is truncated", length);
    offer->auth = link_get_u16(in + 6);
    offer->uid = link_get_u64(in + 8);
    offer->target_uid = link_get_u64(in + 16);
    offer->connection = link_get_u32(in + 24);
    offer->window = link_get_u32(in + 28);
    offer->epoch = link_get_u64(in + 32);
    memcpy(offer->nonce, in + 40, LINK_NONCE_BYTES);
    if (offer->auth > 1 || offer->uid == 0 || offer->window < WINDOW_MIN || offer->window > WINDOW_MAX)
        return err_set(VBN_ERR_PROTOCOL, "wire-up offer has bad values (auth %u, window %u)", (unsigned)offer->auth,
                       (unsigned)offer->window);
    return VBN_OK;
}
