/* SPDX-License-Identifier: Apache-2.0
 * ud_wire.c - encoder and checking decoder of a datagram's prefix. */
#include "tl/ud/ud_wire.h"

#include <string.h>

#include "base/endian.h"

#define FLAG_FIRST 1u
#define FLAG_GROUP 2u
#define FLAG_ASKS 4u
#define FLAG_ANSWERS 8u

uint32_t ud_prefix_encode(const ud_prefix_t *prefix, uint8_t *bytes)
{
    uint32_t length = prefix->first ? UD_FIRST_BYTES : UD_PREFIX_BYTES;
    memset(bytes, 0, length);
    bytes[0] = UD_VERSION;
    bytes[1] = prefix->first ? FLAG_FIRST : 0;
    le_put_u16(bytes + 2, (uint16_t)prefix->header_bytes);
    le_put_u64(bytes + 8, prefix->from);
    le_put_u64(bytes + 16, prefix->to);
    if (prefix->first)
        verbs_address_encode(&prefix->address, bytes + UD_PREFIX_BYTES);
    return length;
}

bool ud_prefix_decode(const uint8_t *bytes, uint32_t length, ud_prefix_t *prefix, uint32_t *header_at,
                      uint32_t *payload_at)
{
    if (length < UD_PREFIX_BYTES || bytes[0] != UD_VERSION || bytes[1] > FLAG_FIRST || le_get_u32(bytes + 4) != 0)
        return false;
    *prefix = (ud_prefix_t){.first = bytes[1] == FLAG_FIRST,
                            .header_bytes = le_get_u16(bytes + 2),
                            .from = le_get_u64(bytes + 8),
                            .to = le_get_u64(bytes + 16)};
    *header_at = prefix->first ? UD_FIRST_BYTES : UD_PREFIX_BYTES;
    *payload_at = ud_payload_at(*header_at, prefix->header_bytes);
    if (length < *header_at + prefix->header_bytes)
        return false;
    if (*payload_at > length) /* no payload, no padding */
        *payload_at = length;
    if (prefix->header_bytes > TL_HEADER_MAX || prefix->from == 0 || prefix->first != (prefix->to == 0))
        return false;
    return !prefix->first ||
           verbs_address_decode(bytes + UD_PREFIX_BYTES, VERBS_ADDRESS_BYTES, &prefix->address) == VBN_OK;
}

void ud_life_encode(const ud_life_word_t *word, uint8_t bytes[UD_LIFE_BYTES])
{
    memset(bytes, 0, 8);
    bytes[0] = UD_VERSION;
    bytes[1] = word->answer ? FLAG_ANSWERS : FLAG_ASKS;
    le_put_u64(bytes + 8, word->from);
    le_put_u64(bytes + 16, word->to);
}

bool ud_life_decode(const uint8_t *bytes, uint32_t length, ud_life_word_t *word)
{
    static const uint8_t zero[6];
    if (length != UD_LIFE_BYTES || bytes[0] != UD_VERSION || (bytes[1] != FLAG_ASKS && bytes[1] != FLAG_ANSWERS) ||
        memcmp(bytes + 2, zero, sizeof(zero)) != 0)
        return false;
    *word = (ud_life_word_t){
        .answer = bytes[1] == FLAG_ANSWERS, .from = le_get_u64(bytes + 8), .to = le_get_u64(bytes + 16)};
    return word->from != 0 && word->to != 0;
}

void ud_group_prefix_encode(const ud_group_prefix_t *prefix, uint8_t bytes[UD_GROUP_BYTES])
{
    memset(bytes, 0, 8);
    bytes[0] = UD_VERSION;
    bytes[1] = FLAG_GROUP;
    le_put_u64(bytes + 8, prefix->source);
    memcpy(bytes + 16, prefix->group, sizeof(prefix->group));
}

bool ud_group_prefix_decode(const uint8_t *bytes, uint32_t length, ud_group_prefix_t *prefix)
{
    static const uint8_t start[8] = {UD_VERSION, FLAG_GROUP};
    if (length < UD_GROUP_BYTES || memcmp(bytes, start, sizeof(start)) != 0)
        return false;
    prefix->source = le_get_u64(bytes + 8);
    memcpy(prefix->group, bytes + 16, sizeof(prefix->group));
    return prefix->source != 0 && verbs_gid_is_group(prefix->group);
}
