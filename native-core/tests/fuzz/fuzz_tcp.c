/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tcp.c - libFuzzer target for what TCP reads from strangers: frame prefixes and addresses. The first input byte
 * chooses; results must keep the invariants of tcp_frame.h and tcp_address.h, else it aborts. */
#include "balance.h"
#include "tl/tcp/tcp_address.h"
#include "tl/tcp/tcp_frame.h"
#include "tl/tcp/tcp_targets.h"

/* Walks a byte stream as the receiver does. */
static void walk_frames(const uint8_t *data, size_t size, uint32_t limit)
{
    size_t at = 0;
    while (at < size) {
        tcp_frame_t frame;
        if (tcp_frame_decode(data + at, size - at, limit, &frame) != TCP_FRAME_OK)
            return;
        require(frame.header_bytes >= 1 && frame.header_bytes <= TCP_HEADER_MAX);
        require(frame.body_bytes <= limit && frame.body_bytes == frame.header_bytes + frame.payload_bytes);
        uint8_t again[TCP_PREFIX_BYTES];
        tcp_frame_encode(again, frame.header_bytes, frame.payload_bytes);
        require(memcmp(again, data + at, sizeof(again)) == 0);
        at += TCP_PREFIX_BYTES + (size_t)frame.body_bytes;
    }
}

/* What is tried of it, by a host with an address of each kind. */
static void sort_targets(const tcp_address_t *address, bool same_stack)
{
    static const tcp_nets_t OWN = {
        .count = 5,
        .net = {{.ip = {.family = 4, .bytes = {10, 0, 0, 1}}, .prefix = 20, .kind = TCP_NET_ROUTE},
                {.ip = {.family = 6, .bytes = {0xFD, 0, 0, 1}}, .prefix = 61, .kind = TCP_NET_CABLE},
                {.ip = {.family = 4, .bytes = {172, 17, 0, 1}}, .prefix = 16, .kind = TCP_NET_BRIDGE},
                {.ip = {.family = 6, .bytes = {0xFE, 0x80, 1}, .scope = 2}, .prefix = 64, .kind = TCP_NET_LINK_LOCAL},
                {.ip = {.family = 6, .bytes = {0xFE, 0x80, 2}, .scope = 3}, .prefix = 64, .kind = TCP_NET_LINK_LOCAL}},
    };
    tcp_address_t targets = *address;
    vbn_status_t status = tcp_targets_sort(&OWN, same_stack, &targets);
    require(targets.count > 0 && targets.count <= TCP_ADDRESS_IPS);
    for (unsigned i = 0; i < targets.count && status == VBN_OK; i++) {
        bool named = false;
        for (unsigned j = 0; j < address->count; j++)
            named |= tcp_ip_equal(&targets.ips[i], &address->ips[j]);
        require(named && tcp_ip_is_link_local(&targets.ips[i]) == (targets.ips[i].scope != 0));
        require(same_stack || !tcp_ip_is_loopback(&targets.ips[i]));
    }
}

static void decode_address(const uint8_t *data, size_t size)
{
    tcp_address_t address;
    if (tcp_address_decode(data, size, &address) != VBN_OK)
        return;
    require(address.count >= 1 && address.count <= TCP_ADDRESS_IPS && address.port != 0);
    uint8_t again[TCP_ADDRESS_BYTES_MAX];
    require(tcp_address_encode(&address, again) == size);
    require(memcmp(again, data, size) == 0);
    for (unsigned i = 0; i < address.count; i++) {
        char text[TCP_ENDPOINT_TEXT];
        tcp_ip_text(&address.ips[i], address.port, text);
        require(memchr(text, 0, sizeof(text)) != NULL);
    }
    sort_targets(&address, false);
    sort_targets(&address, true);
}

static void run(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    if (data[0] == 0)
        walk_frames(data + 1, size - 1, 512);
    else if (data[0] == 1)
        walk_frames(data + 1, size - 1, TCP_BODY_MAX);
    else
        decode_address(data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
