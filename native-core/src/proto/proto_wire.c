/* SPDX-License-Identifier: Apache-2.0
 * proto_wire.c - encode and decode of the protocol layer's headers. */
#include "proto/proto_wire.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/endian.h"
#include "tl/claim.h"

/* The 64-bit words that follow the prefix, in wire order, as offsets in proto_header_t. */
typedef struct layout {
    uint8_t words;
    uint8_t at[9];
} layout_t;

#define AT(field) ((uint8_t)offsetof(proto_header_t, field))
#define PLACE_IN_MEMORY AT(place.key), AT(place.offset), AT(place.owner), AT(place.memory), AT(place.memory_bytes)
#define PLACE AT(place.address), PLACE_IN_MEMORY
#define PLACE_AT_DEVICES                                                                                               \
    AT(place.address), AT(place.devices[0]), AT(place.devices[1]), AT(place.devices[2]), AT(place.devices[3])
_Static_assert(LINK_DEVICES == 4, "PLACE_AT_DEVICES");
static const layout_t LAYOUTS[PROTO_TYPE_END] = {
    [PROTO_AM] = {0, {0}},
    [PROTO_RTS] = {2, {AT(op), AT(length)}},
    [PROTO_PULL] = {2, {AT(op), AT(target)}},
    [PROTO_TAG_MORE] = {2, {AT(op), AT(offset)}},
    [PROTO_PULL_REST] = {3, {AT(op), AT(target), AT(offset)}},
    [PROTO_DATA] = {2, {AT(op), AT(offset)}},
    [PROTO_STATUS] = {2, {AT(op), AT(length)}},
    [PROTO_GET] = {4, {AT(op), AT(key), AT(offset), AT(length)}},
    [PROTO_PUT] = {4, {AT(op), AT(key), AT(offset), AT(length)}},
    [PROTO_ATOMIC] = {5, {AT(op), AT(key), AT(offset), AT(operand), AT(compare)}},
    [PROTO_PUT_SIGNAL] = {7,
                          {AT(op), AT(key), AT(offset), AT(length), AT(signal_key), AT(signal_offset),
                           AT(signal_value)}},
    [PROTO_PUT_BLOCKS] = {6, {AT(op), AT(key), AT(offset), AT(length), AT(block), AT(stride)}},
    [PROTO_GET_BLOCKS] = {6, {AT(op), AT(key), AT(offset), AT(length), AT(block), AT(stride)}},
    [PROTO_TAG] = {1, {AT(tag)}},
    [PROTO_TAG_SYNC] = {2, {AT(op), AT(tag)}},
    [PROTO_TAG_WITHDRAW] = {1, {AT(op)}},
    [PROTO_TAG_RTS] = {3, {AT(op), AT(length), AT(tag)}},
    [PROTO_TAG_CREDIT_BACK] = {1, {AT(length)}},
    [PROTO_DATA_STAGED] = {4, {AT(op), AT(offset), AT(length), AT(check)}},
    [PROTO_RTS_AT] = {8, {AT(op), AT(length), PLACE}},
    [PROTO_TAG_RTS_AT] = {9, {AT(op), AT(length), AT(tag), PLACE}},
    [PROTO_PULL_AT] = {4, {AT(op), AT(target), AT(place.address), AT(claim)}},
    [PROTO_HELPED] = {2, {AT(op), AT(length)}},
    [PROTO_PULL_PUT] = {7, {AT(op), AT(target), PLACE_IN_MEMORY}},
    [PROTO_KEY_ASK] = {3, {AT(op), AT(target), AT(key)}},
    [PROTO_KEY_TELL] = {3, {AT(op), AT(key), AT(offset)}},
    [PROTO_LANE_END] = {2, {AT(op), AT(target)}},
    [PROTO_RTS_DEVICE] = {7, {AT(op), AT(length), PLACE_AT_DEVICES}},
    [PROTO_TAG_RTS_DEVICE] = {8, {AT(op), AT(length), AT(tag), PLACE_AT_DEVICES}},
};
_Static_assert(sizeof(proto_header_t) < 256, "offsets fit one byte");
_Static_assert(PROTO_PREFIX_BYTES + 9 * 8 == PROTO_HEADER_MAX, "the longest layout");

/* Bytes that proto_encode will write. */
static uint32_t bytes_of(const proto_header_t *h)
{
    return PROTO_PREFIX_BYTES + 8u * LAYOUTS[h->type].words + h->user_bytes;
}

uint32_t proto_encode(const proto_header_t *header, uint8_t *buffer)
{
    assert(bytes_of(header) <= LINK_UPPER_HEADER_MAX);
    const layout_t *layout = &LAYOUTS[header->type];
    buffer[0] = (uint8_t)header->type;
    buffer[1] = (uint8_t)header->code;
    le_put_u16(buffer + 2, (uint16_t)header->user_bytes);
    le_put_u16(buffer + 4, (uint16_t)header->last);
    le_put_u16(buffer + 6, (uint16_t)header->stages);
    uint8_t *p = buffer + PROTO_PREFIX_BYTES;
    for (unsigned i = 0; i < layout->words; i++, p += 8)
        le_put_u64(p, *(const uint64_t *)((const char *)header + layout->at[i]));
    if (header->user_bytes > 0)
        memcpy(p, header->user, header->user_bytes);
    return (uint32_t)(p - buffer) + header->user_bytes;
}

static vbn_status_t bad(const char *what)
{
    return err_set(VBN_ERR_PROTOCOL, "malformed protocol header: %s", what);
}

static vbn_status_t check_atomic(const proto_header_t *h)
{
    bool wide = (h->code & PROTO_ATOMIC_WIDE) != 0;
    if (h->code > (PROTO_ATOMIC_KIND | PROTO_ATOMIC_WIDE | PROTO_ATOMIC_FETCH) ||
        (h->code & PROTO_ATOMIC_KIND) > VBN_ATOMIC_CAS)
        return bad("atomic operation");
    if (!wide && (h->operand > UINT32_MAX || h->compare > UINT32_MAX))
        return bad("operand of a 32-bit atomic");
    return VBN_OK;
}

/* At least one whole block, and a span that can be computed. */
static vbn_status_t check_blocks(const proto_header_t *h, uint32_t payload_bytes)
{
    if (h->block == 0 || h->length == 0 || h->length % h->block != 0 || h->stride < h->block ||
        h->stride > UINT64_MAX / 2 / (h->length / h->block))
        return bad("blocks");
    if (h->type == PROTO_PUT_BLOCKS && (payload_bytes != h->length || h->code > PROTO_PUT_LAST))
        return bad("put length or flags");
    return VBN_OK;
}

/* A plain chunk has its own length, another one is shorter and bounded. */
static vbn_status_t check_staged(const proto_header_t *h, uint32_t payload_bytes)
{
    if (h->code >= STAGE_FORMS || h->check > UINT32_MAX || payload_bytes == 0)
        return bad("form of a chunk");
    if (h->code == STAGE_PLAIN ? payload_bytes != h->length : payload_bytes >= h->length || h->length > STAGE_CHUNK)
        return bad("length of a chunk");
    return VBN_OK;
}

static vbn_status_t check_stages(const proto_header_t *h)
{
    bool negotiates = h->type == PROTO_RTS || h->type == PROTO_TAG_RTS || h->type == PROTO_PULL;
    return stage_valid(h->stages) && (negotiates || h->stages == 0) ? VBN_OK : bad("stages");
}

/* A range that can be computed with, of a memory that a key could describe. */
static vbn_status_t check_place(const proto_header_t *h)
{
    const proto_place_t *place = &h->place;
    if (h->length > UINT64_MAX / 2 || place->address > UINT64_MAX / 2)
        return bad("place of a message");
    if (place->key == 0)
        return (place->offset | place->owner | place->memory | place->memory_bytes) == 0 ? VBN_OK
                                                                                         : bad("place without a key");
    if (place->owner == 0 || place->memory == 0 || place->memory_bytes > SIZE_MAX / 2 ||
        place->offset > place->memory_bytes || h->length > place->memory_bytes - place->offset)
        return bad("place of a message");
    return VBN_OK;
}

static vbn_status_t check_device(const proto_header_t *h)
{
    const proto_place_t *place = &h->place;
    bool good = h->length <= UINT64_MAX / 2 && place->address <= UINT64_MAX - h->length &&
                (place->devices[0] != 0 || place->address == 0);
    for (unsigned i = 0; i < LINK_DEVICES; i++)
        good = good &&
               (place->devices[i] == 0 || ((uint32_t)place->devices[i] != 0 && (i == 0 || place->devices[i - 1] != 0)));
    return good ? VBN_OK : bad("place of a message at a device");
}

static bool is_claim(uint64_t claim)
{
    return (claim & PROTO_CLAIM_SLOT) < TL_CLAIMS && claim >> PROTO_CLAIM_TAG <= CLAIM_TAG_MASK;
}

static vbn_status_t check_direct(const proto_header_t *h)
{
    if (h->type == PROTO_RTS_AT || h->type == PROTO_TAG_RTS_AT)
        return check_place(h);
    if (h->type == PROTO_RTS_DEVICE || h->type == PROTO_TAG_RTS_DEVICE)
        return check_device(h);
    if (h->type == PROTO_PULL_AT && (!is_claim(h->claim) || h->place.address == 0 || h->place.address > UINT64_MAX / 2))
        return bad("claim or address");
    if ((h->type == PROTO_KEY_ASK || h->type == PROTO_LANE_END) && (h->target == 0 || h->target > UINT32_MAX))
        return bad("connection");
    if (h->type == PROTO_KEY_TELL && h->key > UINT32_MAX)
        return bad("key of a device");
    if (h->type == PROTO_PULL_PUT)
        return h->place.key == 0 ? bad("place without a key") : check_place(h);
    if (h->type == PROTO_HELPED && h->code >= (unsigned)-VBN_STATUS_LAST)
        return bad("status code");
    if (h->type == PROTO_PULL_REST && h->offset == 0)
        return bad("offset");
    if ((h->type == PROTO_TAG_SYNC || h->type == PROTO_TAG_WITHDRAW) && h->op == 0)
        return bad("operation");
    return VBN_OK;
}

/* What a code, flag or payload may be for each type. */
static bool is_probe(const proto_header_t *h)
{
    return h->type == PROTO_PUT && (h->code & PROTO_PUT_PROBE) != 0;
}

/* PUT and PUT_SIGNAL. */
static vbn_status_t check_put(const proto_header_t *h, uint32_t payload_bytes)
{
    if (h->type == PROTO_PUT && h->code > PROTO_PUT_LAST && h->code != PROTO_PUT_PROBE)
        return bad("put flags");
    if (!is_probe(h) && payload_bytes != h->length)
        return bad("put length");
    if (h->type == PROTO_PUT_SIGNAL && h->code != VBN_ATOMIC_ADD && h->code != VBN_ATOMIC_SWAP)
        return bad("signal operation");
    return VBN_OK;
}

/* TAG_RTS and TAG_RTS_AT, with the first bytes of the data. */
static bool is_head(const proto_header_t *h, uint32_t payload_bytes)
{
    return (h->type == PROTO_TAG_RTS || h->type == PROTO_TAG_RTS_AT) && h->stages == 0 && payload_bytes < h->length;
}

static vbn_status_t check_meaning(const proto_header_t *h, uint32_t payload_bytes)
{
    bool carries_user = h->type == PROTO_AM || h->type == PROTO_RTS || h->type == PROTO_RTS_AT ||
                        h->type == PROTO_RTS_DEVICE;
    if (h->user_bytes > (carries_user ? (uint32_t)VBN_AM_HEADER_MAX : 0u))
        return bad("user header");
    if (carries_user && h->code >= VBN_AM_IDS)
        return bad("message id");
    if (h->type == PROTO_STATUS && (h->code >= (unsigned)-VBN_STATUS_LAST || h->last > 1))
        return bad("status code");
    bool no_code = h->type == PROTO_PULL || h->type == PROTO_DATA || h->type == PROTO_GET ||
                   (h->type >= PROTO_TAG && h->type != PROTO_PUT_BLOCKS && h->type != PROTO_DATA_STAGED &&
                    h->type != PROTO_RTS_AT && h->type != PROTO_HELPED && h->type != PROTO_RTS_DEVICE);
    bool announces_tag = h->type == PROTO_TAG_RTS || h->type == PROTO_TAG_RTS_AT || h->type == PROTO_TAG_RTS_DEVICE;
    if (no_code && h->code > (announces_tag ? PROTO_TAG_STARVED : 0u))
        return bad("reserved code");
    if (h->type != PROTO_STATUS && h->last != 0)
        return bad("reserved field");
    if ((h->type == PROTO_PUT || h->type == PROTO_PUT_SIGNAL) && check_put(h, payload_bytes) != VBN_OK)
        return VBN_ERR_PROTOCOL;
    if ((h->type == PROTO_PUT_BLOCKS || h->type == PROTO_GET_BLOCKS) && check_blocks(h, payload_bytes) != VBN_OK)
        return VBN_ERR_PROTOCOL;
    if (h->type == PROTO_ATOMIC && check_atomic(h) != VBN_OK)
        return VBN_ERR_PROTOCOL;
    if (check_stages(h) != VBN_OK || (h->type == PROTO_DATA_STAGED && check_staged(h, payload_bytes) != VBN_OK))
        return VBN_ERR_PROTOCOL;
    if (h->type >= PROTO_RTS_AT && check_direct(h) != VBN_OK)
        return VBN_ERR_PROTOCOL;
    bool carries_data = h->type == PROTO_AM || h->type == PROTO_DATA || h->type == PROTO_PUT_SIGNAL ||
                        h->type == PROTO_TAG || h->type == PROTO_TAG_SYNC || h->type == PROTO_PUT_BLOCKS ||
                        h->type == PROTO_DATA_STAGED || h->type == PROTO_TAG_MORE ||
                        (h->type == PROTO_PUT && !is_probe(h)) || is_head(h, payload_bytes);
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
    proto_header_t h = {.type = (proto_type_t)p[0],
                        .code = p[1],
                        .user_bytes = le_get_u16(p + 2),
                        .last = le_get_u16(p + 4),
                        .stages = le_get_u16(p + 6)};
    if (count != bytes_of(&h))
        return bad("length does not match the type");
    const layout_t *layout = &LAYOUTS[h.type];
    p += PROTO_PREFIX_BYTES;
    for (unsigned i = 0; i < layout->words; i++, p += 8)
        *(uint64_t *)((char *)&h + layout->at[i]) = le_get_u64(p);
    h.user = p;
    vbn_status_t status = check_meaning(&h, payload_bytes);
    if (status == VBN_OK)
        *header_p = h;
    return status;
}
