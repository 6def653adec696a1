/* SPDX-License-Identifier: Apache-2.0
 * proto_wire.c - encode and decode of the protocol layer's headers. */
#include "proto/proto_wire.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"

/* Number of 64-bit words that follow the prefix. */
static uint32_t words_of(unsigned type)
{
    static const uint8_t words[PROTO_TYPE_END] = {[PROTO_AM] = 0,     [PROTO_RTS] = 2, [PROTO_PULL] = 2,
                                                  [PROTO_DATA] = 2,   [PROTO_STATUS] = 2, [PROTO_GET] = 4,
                                                  [PROTO_PUT] = 4};
    return words[type];
}

uint32_t proto_header_bytes(const proto_header_t *h)
{
    return PROTO_PREFIX_BYTES + 8 * words_of(h->type) + h->user_bytes;
}

/* The words of each type, in wire order. */
static void fields_of(proto_header_t *h, uint64_t *fields[4])
{
    fields[0] = &h->op;
    fields[1] = &h->length;
    if (h->type == PROTO_PULL)
        fields[1] = &h->target;
    else if (h->type == PROTO_DATA)
        fields[1] = &h->offset;
    else if (h->type == PROTO_GET || h->type == PROTO_PUT)
        fields[1] = &h->key;
    fields[2] = &h->offset;
    fields[3] = &h->length;
}

uint32_t proto_encode(const proto_header_t *header, uint8_t *buffer)
{
    assert(proto_header_bytes(header) <= LINK_UPPER_HEADER_MAX);
    proto_header_t h = *header;
    uint64_t *fields[4];
    fields_of(&h, fields);
    buffer[0] = (uint8_t)h.type;
    buffer[1] = (uint8_t)h.code;
    le_put_u16(buffer + 2, (uint16_t)h.user_bytes);
    le_put_u16(buffer + 4, (uint16_t)h.last);
    le_put_u16(buffer + 6, 0);
    uint8_t *p = buffer + PROTO_PREFIX_BYTES;
    for (uint32_t i = 0; i < words_of(h.type); i++, p += 8)
        le_put_u64(p, *fields[i]);
    if (h.user_bytes > 0)
        memcpy(p, h.user, h.user_bytes);
    return (uint32_t)(p - buffer) + h.user_bytes;
}

static vbn_status_t bad(const char *what)
{
    return err_set(VBN_ERR_PROTOCOL, "malformed protocol header: %s", what);
}

/* What a code, flag or payload may be for each type. */
static vbn_status_t check_meaning(const proto_header_t *h, uint32_t payload_bytes)
{
    bool carries_user = h->type == PROTO_AM || h->type == PROTO_RTS;
    if (h->user_bytes > (carries_user ? (uint32_t)VBN_AM_HEADER_MAX : 0u))
        return bad("user header");
    if (carries_user && h->code >= VBN_AM_IDS)
        return bad("message id");
    if (h->type == PROTO_STATUS && (h->code >= (unsigned)-VBN_STATUS_LAST || h->last > 1))
        return bad("status code");
    if (h->type == PROTO_PUT && h->code > (PROTO_PUT_LAST | PROTO_PUT_PROBE))
        return bad("put flags");
    if ((h->type == PROTO_PULL || h->type == PROTO_DATA || h->type == PROTO_GET) && h->code != 0)
        return bad("reserved code");
    if (h->type != PROTO_STATUS && h->last != 0)
        return bad("reserved field");
    bool probe = h->type == PROTO_PUT && (h->code & PROTO_PUT_PROBE) != 0;
    if (probe && (h->code & PROTO_PUT_LAST) != 0)
        return bad("put flags");
    if (h->type == PROTO_PUT && !probe && payload_bytes != h->length)
        return bad("put length");
    bool carries_data = h->type == PROTO_AM || h->type == PROTO_DATA || (h->type == PROTO_PUT && !probe);
    if (!carries_data && payload_bytes != 0)
        return bad("payload where none belongs");
    return VBN_OK;
}

vbn_status_t proto_decode(const void *bytes, uint32_t count, uint32_t payload_bytes, proto_header_t *header_p)
{
    const uint8_t *p = bytes;
    if (count < PROTO_PREFIX_BYTES || count > LINK_UPPER_HEADER_MAX)
        return bad("length");
    if (p[0] < PROTO_AM || p[0] >= PROTO_TYPE_END)
        return bad("type");
    if (le_get_u16(p + 6) != 0)
        return bad("reserved field");
    proto_header_t h = {.type = (proto_type_t)p[0], .code = p[1], .user_bytes = le_get_u16(p + 2),
                        .last = le_get_u16(p + 4)};
    if (count != proto_header_bytes(&h))
        return bad("length does not match the type");
    uint64_t *fields[4];
    fields_of(&h, fields);
    p += PROTO_PREFIX_BYTES;
    for (uint32_t i = 0; i < words_of(h.type); i++, p += 8)
        *fields[i] = le_get_u64(p);
    h.user = p;
    vbn_status_t status = check_meaning(&h, payload_bytes);
    if (status == VBN_OK)
        *header_p = h;
    return status;
}
