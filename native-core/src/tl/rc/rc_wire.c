/* SPDX-License-Identifier: Apache-2.0
 * rc_wire.c - encoders and checking decoders of signals and messages. */
#include "tl/rc/rc_wire.h"

#include <string.h>

#include "base/endian.h"
#include "base/hmac.h"

#define FLAGS (RC_SIGNAL_ASK | RC_SIGNAL_ARMED | RC_SIGNAL_GONE)
#define ADDRESS_AT 40u
#define CALL_LABEL "verbena rdma_cm call 1"
#define CALL_PLAIN 16u /* bytes of a call before the mac */

void rc_signal_encode(const rc_signal_t *signal, uint8_t bytes[RC_SIGNAL_BYTES])
{
    memset(bytes, 0, RC_SIGNAL_BYTES);
    bytes[0] = RC_SIGNAL_VERSION;
    bytes[1] = (uint8_t)signal->flags;
    le_put_u16(bytes + 2, (uint16_t)signal->header_bytes);
    le_put_u16(bytes + 4, (uint16_t)signal->payload_bytes);
    le_put_u16(bytes + 6, (uint16_t)signal->reads);
    le_put_u64(bytes + 8, signal->from);
    le_put_u64(bytes + 16, signal->to);
    le_put_u32(bytes + 24, signal->number);
    le_put_u32(bytes + 28, signal->received);
    le_put_u32(bytes + 32, signal->qpn);
    le_put_u32(bytes + 36, signal->psn);
    verbs_address_encode(&signal->address, bytes + ADDRESS_AT);
}

bool rc_signal_decode(const uint8_t *bytes, uint32_t length, rc_signal_t *signal)
{
    if (length < RC_SIGNAL_BYTES || bytes[0] != RC_SIGNAL_VERSION || (bytes[1] & ~FLAGS) != 0)
        return false;
    *signal = (rc_signal_t){.flags = bytes[1],
                            .header_bytes = le_get_u16(bytes + 2),
                            .payload_bytes = le_get_u16(bytes + 4),
                            .from = le_get_u64(bytes + 8),
                            .to = le_get_u64(bytes + 16),
                            .number = le_get_u32(bytes + 24),
                            .received = le_get_u32(bytes + 28),
                            .qpn = le_get_u32(bytes + 32),
                            .psn = le_get_u32(bytes + 36),
                            .reads = le_get_u16(bytes + 6)};
    bool carries = signal->number != 0;
    return signal->header_bytes + signal->payload_bytes == length - RC_SIGNAL_BYTES &&
           (length > RC_SIGNAL_BYTES) == carries && length <= RC_SIGNAL_BYTES + TL_SIGNAL_MAX &&
           signal->header_bytes <= TL_HEADER_MAX && signal->from != 0 && signal->qpn <= VERBS_QPN_MAX &&
           signal->psn <= VERBS_QPN_MAX && (signal->reads != 0) == (signal->qpn != 0) &&
           signal->reads <= RC_READS_MOST &&
           verbs_address_decode(bytes + ADDRESS_AT, VERBS_ADDRESS_BYTES, &signal->address) == VBN_OK;
}

static vbn_status_t call_mac(const uint8_t *key, const verbs_address_t *called, const uint8_t *bytes,
                             uint8_t mac[HMAC_BYTES])
{
    static const uint8_t nobody[32];
    uint8_t text[sizeof(CALL_LABEL) + CALL_PLAIN + VERBS_ADDRESS_BYTES];
    memcpy(text, CALL_LABEL, sizeof(CALL_LABEL));
    memcpy(text + sizeof(CALL_LABEL), bytes, CALL_PLAIN);
    verbs_address_encode(called, text + sizeof(CALL_LABEL) + CALL_PLAIN);
    return hmac_sha256(key != NULL ? key : nobody, text, sizeof(text), mac);
}

vbn_status_t rc_call_encode(const uint8_t *key, const verbs_address_t *called, uint64_t from,
                            uint8_t bytes[RC_CALL_BYTES])
{
    memset(bytes, 0, RC_CALL_BYTES);
    bytes[0] = RC_CALL_VERSION;
    le_put_u64(bytes + 8, from);
    return call_mac(key, called, bytes, bytes + CALL_PLAIN);
}

uint64_t rc_call_decode(const uint8_t *key, const verbs_address_t *called, const uint8_t *bytes, uint32_t length)
{
    uint8_t mac[HMAC_BYTES];
    if (length < RC_CALL_BYTES || bytes[0] != RC_CALL_VERSION || call_mac(key, called, bytes, mac) < 0 ||
        !hmac_equal(mac, bytes + CALL_PLAIN))
        return 0;
    return le_get_u64(bytes + 8);
}

void rc_message_encode(const rc_message_t *message, uint8_t bytes[RC_PREFIX_BYTES])
{
    le_put_u16(bytes, (uint16_t)message->header_bytes);
    bytes[2] = (uint8_t)message->kind;
    bytes[3] = 0;
    le_put_u32(bytes + 4, message->payload_bytes);
}

bool rc_message_decode(const uint8_t *bytes, uint32_t length, rc_message_t *message)
{
    if (length < RC_PREFIX_BYTES || bytes[3] != 0)
        return false;
    *message = (rc_message_t){
        .header_bytes = le_get_u16(bytes), .payload_bytes = le_get_u32(bytes + 4), .kind = bytes[2]};
    if (message->kind == RC_MESSAGE_NOTHING)
        return length == RC_PREFIX_BYTES && message->header_bytes == 0 && message->payload_bytes == 0;
    uint32_t payload_at = rc_payload_at(message->header_bytes);
    if (message->kind != RC_MESSAGE_PACKET || message->header_bytes > TL_HEADER_MAX)
        return false;
    return message->payload_bytes == 0 ? length == RC_PREFIX_BYTES + message->header_bytes
                                       : length > payload_at && length - payload_at == message->payload_bytes;
}
