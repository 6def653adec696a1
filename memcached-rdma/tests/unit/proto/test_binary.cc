// SPDX-License-Identifier: Apache-2.0
// test_binary.cc - packets of the binary protocol: what of them a request gets, and what an answer has.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "proto/binary.h"
}

namespace {

std::string number(uint64_t value, unsigned bytes)
{
    std::string text;
    for (unsigned i = bytes; i > 0; i--)
        text += static_cast<char>(value >> (8 * (i - 1)));
    return text;
}

struct Packet {
    std::string bytes;
    request_t request;
    size_t parsed;
    Packet(unsigned opcode, const std::string &extras, const std::string &key, const std::string &value,
           uint64_t cas = 0)
        : bytes("\x80" + number(opcode, 1) + number(key.size(), 2) + number(extras.size(), 1) + number(0, 3) +
                number(extras.size() + key.size() + value.size(), 4) + number(0x01020304, 4) + number(cas, 8) + extras +
                key + value)
    {
        parsed = binary_parse(bytes.data(), bytes.size(), &request);
    }
    std::string key() const { return {request.key.at, request.key.length}; }
};

TEST(BinaryTest, APutHasItsValueBehindWhatIsParsed)
{
    Packet set(0x01, number(7, 4) + number(100, 4), "key", "value");
    EXPECT_EQ(set.parsed, 24u + 8 + 3);
    EXPECT_EQ(set.request.kind, REQUEST_PUT);
    EXPECT_EQ(set.request.mode, PUT_SET);
    EXPECT_EQ(set.key(), "key");
    EXPECT_EQ(set.request.client_flags, 7u);
    EXPECT_EQ(set.request.exptime, 100);
    EXPECT_EQ(set.request.value_bytes, 5u);
    EXPECT_FALSE(set.request.packet.quiet);
    Packet add(0x12, number(0, 8), "key", "", 9);
    EXPECT_EQ(add.request.mode, PUT_CAS);
    EXPECT_EQ(add.request.number, 9u);
    EXPECT_TRUE(add.request.packet.quiet);
    EXPECT_EQ(Packet(0x0e, "", "key", "v", 9).request.mode, PUT_APPEND);
}

TEST(BinaryTest, ATimeAboveASignedNumberIsLateAndNotPast)
{
    EXPECT_EQ(Packet(0x01, number(0, 4) + number(0xffffffff, 4), "k", "").request.exptime, INT32_MAX);
    Packet never(0x05, number(1, 8) + number(2, 8) + number(0xffffffff, 4), "k", "");
    EXPECT_FALSE(never.request.meta.vivify.given);
    Packet later(0x06, number(1, 8) + number(2, 8) + number(0xfffffffe, 4), "k", "", 3);
    EXPECT_TRUE(later.request.meta.vivify.given);
    EXPECT_EQ(later.request.meta.vivify.value, INT32_MAX);
    EXPECT_EQ(later.request.meta.initial.value, 2u);
    EXPECT_EQ(later.request.meta.compare.value, 3u);
    EXPECT_TRUE(later.request.decrement);
}

TEST(BinaryTest, WrongPartsEndTheConnectionAndAnUnknownCommandDoesNot)
{
    for (const Packet &packet :
         {Packet(0x00, "", "", ""), Packet(0x00, "1234", "k", ""), Packet(0x01, "1234", "k", "v"),
          Packet(0x04, "", "k", "v"), Packet(0x0a, "", "", "v"), Packet(0x00, "", std::string(251, 'k'), "")}) {
        EXPECT_EQ(packet.request.kind, REQUEST_ERROR);
        EXPECT_EQ(packet.request.packet.status, BINARY_INVALID);
        EXPECT_TRUE(packet.request.packet.ends);
    }
    Packet unknown(0x50, "12", "key", "value");
    EXPECT_EQ(unknown.request.packet.status, BINARY_UNKNOWN);
    EXPECT_FALSE(unknown.request.packet.ends);
    EXPECT_TRUE(unknown.request.swallow);
    EXPECT_EQ(unknown.parsed + unknown.request.value_bytes, unknown.bytes.size());
}

TEST(BinaryTest, APacketThatIsCutOffWaits)
{
    Packet get(0x00, "", "key", "");
    for (size_t length = 1; length < get.bytes.size(); length++)
        EXPECT_EQ(binary_parse(get.bytes.data(), length, &get.request), 0u);
    request_t request;
    EXPECT_EQ(binary_parse("get a\r\n", 7, &request), 1u);
    EXPECT_EQ(request.kind, REQUEST_QUIT);
    EXPECT_TRUE(request.packet.quiet);
}

TEST(BinaryTest, AnAnswerRepeatsOpcodeAndOpaque)
{
    reply_t reply = {};
    Packet get(0x0d, "", "key", "");
    binary_answer_t answer = {5, {"fl", 2}, get.request.key, 10};
    binary_answer(&reply, &get.request.packet, &answer);
    EXPECT_EQ(std::string(reply.bytes, reply.length), "\x81\x0d" + number(3, 2) + "\x02" + number(0, 3) +
                                                          number(15, 4) + number(0x01020304, 4) + number(5, 8) +
                                                          "flkey");
    reply_free(&reply);
}

} // namespace
