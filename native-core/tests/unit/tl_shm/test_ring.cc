// SPDX-License-Identifier: Apache-2.0
// test_ring.cc - the ring alone: order, wrap-around, and contents that lie.
#include <gtest/gtest.h>

#include <random>

#include "harness.h"

namespace {

constexpr uint32_t kMagic = 0x474e5256u;

TEST(ShmRing, TwoThreadsPassPacketsInOrderThroughASmallRing)
{
    EXPECT_EQ(ring_two_threads(8, 4, 5000, 3000), 0); // a hand-over each few packets: slow on a busy machine
}

TEST(ShmRing, CountersOfTheDataAreaMayWrapAroundWhateverItsSize)
{
    for (uint32_t chunks = 4; chunks <= 8; chunks++)
        EXPECT_EQ(ring_two_threads(64, chunks, 5000, 3000), 0) << chunks;
}

TEST(ShmRing, TagsMayWrapAroundSixteenBits)
{
    EXPECT_EQ(ring_two_threads(64, 32, 200000, 100), 0);
}

TEST(ShmRing, APacketTakesNoMoreRoomThanItNeeds)
{
    const uint32_t kPacketMax = 8192 + 320; // the default settings: 64 slots, 6 chunks
    EXPECT_GE(ring_room(64, 6, kPacketMax, 1024), 48u);
    EXPECT_GE(ring_room(64, 6, kPacketMax, 4096), 12u);
    EXPECT_GE(ring_room(64, 6, kPacketMax, 8192), 6u);
    EXPECT_EQ(ring_room(64, 6, kPacketMax, 64), 64u);
}

TEST(ShmRing, ALargeRingKeepsOrderToo)
{
    EXPECT_EQ(ring_two_threads(4096, 8, 20000, 9000), 0);
}

TEST(ShmRing, AConsumerThatOnlyLooksAtItsBellMissesNoPacket)
{
    EXPECT_EQ(ring_two_threads_bell(20000, false, false), 0);
}

class ShmRingLight : public ::testing::TestWithParam<bool> {};

TEST_P(ShmRingLight, AConsumerThatOnlyLooksAtItsBellMissesNoPacket)
{
    long wrong = ring_two_threads_bell(20000, true, GetParam());
    if (wrong == -2)
        GTEST_SKIP() << "no membarrier: run a build without TSan, and allow membarrier() in the container profile";
    EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(ByFences, ShmRingLight, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(ByMembarriers, ShmRingLight, ::testing::Values(true));

TEST(ShmRing, ConstantsThatDoNotFitTheMemoryAreRefused)
{
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 32, 8576, 640 + 64 * 128 + 32 * 8576), VBN_OK);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 32, 8576, 640 + 64 * 128 + 32 * 8576 - 1), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic + 1, 64, 32, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 63, 32, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 0, 32, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 0x80000000u, 32, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 0, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 0xffffffffu, 8576, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 32, 960, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 32, 8577, 1u << 30), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_attach_constants(kMagic, 64, 32, 8576, 100), VBN_ERR_PROTOCOL);
}

TEST(ShmRing, NoSlotWordLeadsOutsideOfTheRing)
{
    std::mt19937_64 random(20240607);
    unsigned accepted = 0;
    unsigned refused = 0;
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t word = random();
        if (i % 2 == 0) // also words that are nearly right
            word &= UINT64_C(0x0030003fffff0000);
        bool inside = false;
        int found = ring_peek_word((word & ~UINT64_C(0xffff)) | 1, &inside);
        ASSERT_TRUE(inside) << std::hex << word;
        accepted += found == 1;
        refused += found == -1;
    }
    EXPECT_GT(accepted, 0u);
    EXPECT_GT(refused, 0u);
    bool inside = false;
    EXPECT_EQ(ring_peek_word(2, &inside), 0) << "another tag is an empty slot";
}

TEST(ShmRing, AConsumerCannotHaveReadMoreThanWasSent)
{
    uint64_t sent = (UINT64_C(5) << 32) | 10;
    EXPECT_EQ(ring_refresh_consumed(sent, (UINT64_C(5) << 32) | 10), VBN_OK);
    EXPECT_EQ(ring_refresh_consumed(sent, 0), VBN_OK);
    EXPECT_EQ(ring_refresh_consumed(sent, (UINT64_C(5) << 32) | 11), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_refresh_consumed(sent, (UINT64_C(6) << 32) | 10), VBN_ERR_PROTOCOL);
    EXPECT_EQ(ring_refresh_consumed(sent, UINT64_MAX), VBN_ERR_PROTOCOL);
}

} // namespace
