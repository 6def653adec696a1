/* SPDX-License-Identifier: Apache-2.0
 * fuzz_verbs.c - what the verbs transports read from strangers: addresses, prefixes of datagrams, signals, prefixes of
 * messages. The first input byte chooses; what is accepted must encode to the same bytes and lie within the input. */
#include "balance.h"
#include "tl/rc/rc_wire.h"
#include "tl/ud/ud_wire.h"

static void decode_address(const uint8_t *data, size_t size)
{
    verbs_address_t address;
    uint8_t again[VERBS_ADDRESS_BYTES];
    char reason[128];
    if (verbs_address_decode(data, size, &address) != VBN_OK)
        return;
    verbs_address_encode(&address, again);
    require(size == sizeof(again) && memcmp(again, data, size) == 0);
    require(verbs_address_reachable(&address, &address, reason, sizeof(reason)) == VBN_OK);
}

static void decode_datagram(const uint8_t *data, size_t size)
{
    ud_prefix_t prefix;
    uint32_t header_at, payload_at;
    uint8_t again[UD_FIRST_BYTES];
    if (!ud_prefix_decode(data, (uint32_t)size, &prefix, &header_at, &payload_at))
        return;
    require(header_at + prefix.header_bytes <= payload_at && payload_at <= size);
    require(prefix.header_bytes <= TL_HEADER_MAX && prefix.from != 0);
    require(ud_prefix_encode(&prefix, again) == header_at);
    size_t known = prefix.first ? UD_PREFIX_BYTES + VERBS_ADDRESS_BYTES : UD_PREFIX_BYTES;
    require(memcmp(again, data, known) == 0);
}

static void decode_group(const uint8_t *data, size_t size)
{
    ud_group_prefix_t prefix;
    uint8_t again[UD_GROUP_BYTES];
    if (!ud_group_prefix_decode(data, (uint32_t)size, &prefix))
        return;
    require(prefix.source != 0 && verbs_gid_is_group(prefix.group));
    ud_group_prefix_encode(&prefix, again);
    require(size >= sizeof(again) && memcmp(again, data, sizeof(again)) == 0);
}

static void decode_life(const uint8_t *data, size_t size)
{
    ud_life_word_t word;
    uint8_t again[UD_LIFE_BYTES];
    if (!ud_life_decode(data, (uint32_t)size, &word))
        return;
    ud_life_encode(&word, again);
    require(size == sizeof(again) && memcmp(again, data, size) == 0);
}

static void decode_signal(const uint8_t *data, size_t size)
{
    rc_signal_t signal;
    uint8_t again[RC_SIGNAL_BYTES];
    if (!rc_signal_decode(data, (uint32_t)size, &signal))
        return;
    require(RC_SIGNAL_BYTES + signal.header_bytes + signal.payload_bytes == size);
    require(signal.header_bytes <= TL_HEADER_MAX && signal.header_bytes + signal.payload_bytes <= TL_SIGNAL_MAX);
    rc_signal_encode(&signal, again);
    require(memcmp(again, data, 40 + VERBS_ADDRESS_BYTES) == 0);
}

static void decode_message(const uint8_t *data, size_t size)
{
    rc_message_t message;
    uint8_t again[RC_PREFIX_BYTES];
    if (!rc_message_decode(data, (uint32_t)size, &message))
        return;
    require(RC_PREFIX_BYTES + message.header_bytes <= size && message.header_bytes <= TL_HEADER_MAX);
    require(message.payload_bytes == 0 || rc_payload_at(message.header_bytes) + message.payload_bytes == size);
    rc_message_encode(&message, again);
    require(memcmp(again, data, sizeof(again)) == 0);
}

static void run(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(const uint8_t *, size_t) = {decode_address, decode_datagram, decode_signal,
                                                                decode_message, decode_group,    decode_life};
    if (size > 0 && size < 16384)
        decoders[data[0] % 6](data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
