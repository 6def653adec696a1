// SPDX-License-Identifier: Apache-2.0
// test_frame.cc - the prefix decoder against valid, damaged and random bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

extern "C" {
#include "tl/tcp/tcp_frame.h"
}

TEST(TcpFrame, what_is_encoded_is_decoded)
{
    const uint32_t headers[] = {1, 16, TCP_HEADER_MAX};
    const uint32_t payloads[] = {0, 1, 255, 256, 65536, TCP_CHUNK_MAX};
    for (uint32_t header : headers) {
        for (uint32_t payload : payloads) {
            uint8_t prefix[TCP_PREFIX_BYTES];
            tcp_frame_encode(prefix, header, payload);
            tcp_frame_t frame;
            ASSERT_EQ(TCP_FRAME_OK, tcp_frame_decode(prefix, sizeof(prefix), TCP_BODY_MAX, &frame));
            EXPECT_EQ(header, frame.header_bytes);
            EXPECT_EQ(payload, frame.payload_bytes);
            EXPECT_EQ(header + payload, frame.body_bytes);
        }
    }
}

TEST(TcpFrame, bytes_on_the_wire_are_fixed)
{
    uint8_t prefix[TCP_PREFIX_BYTES];
    tcp_frame_encode(prefix, 0x0102, 0x00030405);
    const uint8_t golden[TCP_PREFIX_BYTES] = {0x07, 0x05, 0x03, 0x00, 0x02, 0x01, 0x01, 0xB5};
    EXPECT_EQ(0, memcmp(golden, prefix, sizeof(golden)));
}

TEST(TcpFrame, a_short_prefix_asks_for_more)
{
    uint8_t prefix[TCP_PREFIX_BYTES];
    tcp_frame_encode(prefix, 16, 0);
    tcp_frame_t frame;
    for (size_t available = 0; available < TCP_PREFIX_BYTES; available++)
        EXPECT_EQ(TCP_FRAME_MORE, tcp_frame_decode(prefix, available, 512, &frame));
}

TEST(TcpFrame, each_broken_field_is_named)
{
    uint8_t prefix[TCP_PREFIX_BYTES];
    tcp_frame_t frame;
    tcp_frame_encode(prefix, 16, 496);
    EXPECT_EQ(TCP_FRAME_OK, tcp_frame_decode(prefix, 8, 512, &frame));
    EXPECT_EQ(TCP_FRAME_BAD_LENGTH, tcp_frame_decode(prefix, 8, 511, &frame));
    tcp_frame_encode(prefix, 0, 10);
    EXPECT_EQ(TCP_FRAME_BAD_HEADER, tcp_frame_decode(prefix, 8, 512, &frame));
    tcp_frame_encode(prefix, TCP_HEADER_MAX + 1, 10);
    EXPECT_EQ(TCP_FRAME_BAD_HEADER, tcp_frame_decode(prefix, 8, 512, &frame));
    tcp_frame_encode(prefix, 16, 0);
    prefix[0] = 15; // body shorter than header
    EXPECT_EQ(TCP_FRAME_BAD_LENGTH, tcp_frame_decode(prefix, 8, 512, &frame));
    tcp_frame_encode(prefix, 16, 0);
    prefix[6]++;
    EXPECT_EQ(TCP_FRAME_BAD_VERSION, tcp_frame_decode(prefix, 8, 512, &frame));
    prefix[7]++;
    EXPECT_EQ(TCP_FRAME_BAD_MAGIC, tcp_frame_decode(prefix, 8, 512, &frame));
}

TEST(TcpFrame, random_prefixes_never_break_the_bounds)
{
    std::mt19937_64 random(20240917);
    unsigned accepted = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random();
        uint8_t prefix[TCP_PREFIX_BYTES];
        memcpy(prefix, &bits, sizeof(prefix));
        prefix[6] = 0x01; // else nearly all fail at the magic
        prefix[7] = 0xB5;
        if (i & 1)
            prefix[3] = prefix[2] = 0;
        if (i & 2)
            prefix[5] = 0;
        uint32_t limit = i & 4 ? 512u : TCP_BODY_MAX;
        tcp_frame_t frame;
        if (tcp_frame_decode(prefix, sizeof(prefix), limit, &frame) != TCP_FRAME_OK)
            continue;
        accepted++;
        ASSERT_LE(frame.body_bytes, limit);
        ASSERT_GE(frame.header_bytes, 1u);
        ASSERT_LE(frame.header_bytes, TCP_HEADER_MAX);
        ASSERT_EQ(frame.body_bytes, frame.header_bytes + frame.payload_bytes);
    }
    EXPECT_GT(accepted, 1000u);
}
