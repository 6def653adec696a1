/* SPDX-License-Identifier: Apache-2.0
 * link_wire.c - encodes and decodes the link layer's bytes. */
#include "link/link_wire.h"

#include <string.h>

#include "base/endian.h"

#define OFFER_MAGIC 0x4c4e4256u /* "VBNL" */
#define FLAG_KEEPS 2u           /* beside auth */
#define WINDOW_MIN 8u
#define WINDOW_MAX 65536u

void link_header_encode(const link_header_t *header, uint8_t bytes[16])
{
    bytes[0] = (uint8_t)(header->version << 4 | header->type);
    bytes[1] = header->flags;
    le_put_u16(bytes + 2, 0);
    le_put_u32(bytes + 4, header->connection);
    le_put_u32(bytes + 8, header->sequence);
    le_put_u32(bytes + 12, header->ack);
}

static bool type_known(const link_header_t *header)
{
    if (header->version != LINK_VERSION)
        return header->type == LINK_HELLO || header->type == LINK_REJECT;
    return (header->type >= LINK_DATA && header->type <= LINK_LANE_DROP) ||
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
    header->connection = le_get_u32(in + 4);
    header->sequence = le_get_u32(in + 8);
    header->ack = le_get_u32(in + 12);
    if (le_get_u16(in + 2) != 0 || !type_known(header))
        return false;
    if (header->type >= LINK_HELLO)
        return header->flags == 0 && header->connection == 0 && header->sequence == 0 && header->ack == 0;
    return header->flags <= (header->type == LINK_CLOSE ? LINK_FLAG_ACK_NOW | LINK_FLAG_AT_ONCE : LINK_FLAG_ACK_NOW);
}

void link_state_encode(const link_state_t *state, uint8_t bytes[LINK_STATE_BYTES])
{
    le_put_u64(bytes, state->session);
    le_put_u32(bytes + 8, state->expected);
    le_put_u32(bytes + 12, (uint32_t)state->mode);
}

bool link_state_decode(const uint8_t bytes[LINK_STATE_BYTES], link_state_t *state)
{
    uint32_t mode = le_get_u32(bytes + 12);
    *state = (link_state_t){.session = le_get_u64(bytes), .expected = le_get_u32(bytes + 8), .mode = (link_mode_t)mode};
    return mode <= LINK_MODE_ADDS;
}

void link_offer_encode(const link_offer_t *offer, uint8_t bytes[LINK_OFFER_BYTES])
{
    le_put_u32(bytes, OFFER_MAGIC);
    le_put_u16(bytes + 4, offer->version);
    le_put_u16(bytes + 6, (uint16_t)(offer->auth | (offer->keeps ? FLAG_KEEPS : 0)));
    le_put_u64(bytes + 8, offer->uid);
    le_put_u64(bytes + 16, offer->target_uid);
    le_put_u32(bytes + 24, offer->connection);
    le_put_u32(bytes + 28, offer->window);
    le_put_u64(bytes + 32, offer->epoch);
    memcpy(bytes + 40, offer->nonce, LINK_NONCE_BYTES);
}

vbn_status_t link_offer_decode(const void *bytes, size_t length, link_offer_t *offer)
{
    const uint8_t *in = bytes;
    if (length < 6 || le_get_u32(in) != OFFER_MAGIC)
        return err_set(VBN_ERR_PROTOCOL, "wire-up packet of %zu bytes is not one of Verbena", length);
    offer->version = le_get_u16(in + 4);
    if (offer->version != LINK_VERSION)
        return err_set(VBN_ERR_VERSION, "the peer speaks link version %u, this side %u", (unsigned)offer->version,
                       (unsigned)LINK_VERSION);
    if (length < LINK_OFFER_BYTES)
        return err_set(VBN_ERR_PROTOCOL, "wire-up offer of %zu bytes is truncated", length);
    uint16_t flags = le_get_u16(in + 6);
    offer->keeps = (flags & FLAG_KEEPS) != 0;
    offer->auth = (uint16_t)(flags & ~FLAG_KEEPS);
    offer->uid = le_get_u64(in + 8);
    offer->target_uid = le_get_u64(in + 16);
    offer->connection = le_get_u32(in + 24);
    offer->window = le_get_u32(in + 28);
    offer->epoch = le_get_u64(in + 32);
    memcpy(offer->nonce, in + 40, LINK_NONCE_BYTES);
    if (offer->auth > 1 || offer->uid == 0 || offer->window < WINDOW_MIN || offer->window > WINDOW_MAX)
        return err_set(VBN_ERR_PROTOCOL, "wire-up offer has bad values (auth %u, window %u)", (unsigned)offer->auth,
                       (unsigned)offer->window);
    return VBN_OK;
}
