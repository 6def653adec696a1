// SPDX-License-Identifier: Apache-2.0
// test_self.cc - the transport of a worker to itself.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "harness.h"

extern "C" {
vbn_status_t mem_alloc(struct mem_registry *, size_t, vbn_backing_t, const char *, vbn_mem_t **);
vbn_status_t mem_free(vbn_mem_t *);
void *mem_address(const vbn_mem_t *);
vbn_status_t mem_key_export(vbn_mem_t *, size_t, size_t, unsigned, void *, size_t *);
}

namespace {

class SelfTransport : public ::testing::Test {
protected:
    void SetUp() override
    {
        side = side_open("self", nullptr, 7);
        ASSERT_NE(side, nullptr);
        uint8_t address[256];
        size_t length = side_address(side, address);
        near = lane_connect(side, address, length, true);
        ASSERT_NE(near, nullptr);
        EXPECT_EQ(side_lane_count(side), 1u) << "accepted() comes from progress";
        ASSERT_TRUE(drive_until(side, nullptr, &near->readies, 1));
        far = side_lane(side, 1);
        ASSERT_NE(far, nullptr);
        ASSERT_TRUE(drive_until(side, nullptr, &far->readies, 1));
    }

    void TearDown() override { side_close(side); }

    side_t *side = nullptr;
    lane_t *near = nullptr;
    lane_t *far = nullptr;
};

TEST_F(SelfTransport, DeliversInOrderAndNeverInsideSend)
{
    for (uint32_t bytes : {0u, 1u, 100u, 8192u}) {
        uint32_t before = far->next_rx;
        ASSERT_EQ(lane_send(near, bytes, 3), VBN_OK);
        ASSERT_EQ(lane_send(far, bytes, 1), VBN_OK);
        EXPECT_EQ(far->next_rx, before);
        EXPECT_EQ(side_arm(side), VBN_BUSY);
        ASSERT_TRUE(drive_rx(side, nullptr, far, before + 1));
        ASSERT_TRUE(drive_rx(side, nullptr, near, before + 1));
    }
    EXPECT_EQ(far->wrong + near->wrong, 0u);
    EXPECT_EQ(side_arm(side), VBN_OK);
    EXPECT_EQ(lane_send(near, side_packet_max(side), 1), VBN_ERR_INVALID);
}

TEST_F(SelfTransport, AFullQueueIsBusyAndTellsWhenThereIsRoom)
{
    unsigned taken = 0;
    while (lane_send(near, 8, 1) == VBN_OK)
        ASSERT_LT(++taken, 10000u);
    ASSERT_TRUE(drive_until(side, nullptr, &near->tx_readies, 1));
    EXPECT_EQ(lane_send(near, 8, 1), VBN_OK);
    ASSERT_TRUE(drive_rx(side, nullptr, far, taken + 1));
    EXPECT_EQ(far->wrong, 0u);
}

TEST_F(SelfTransport, ClosingOneEndDeliversWhatWasSentAndThenLosesTheOther)
{
    ASSERT_EQ(lane_send(near, 8, 1), VBN_OK);
    ASSERT_EQ(lane_send(far, 8, 1), VBN_OK);
    lane_disconnect(near);
    ASSERT_TRUE(drive_until(side, nullptr, &far->errors, 1));
    EXPECT_EQ(far->next_rx, 1u);
    EXPECT_EQ(near->next_rx, 0u) << "nothing comes to a closed end";
    EXPECT_EQ(far->status, VBN_ERR_PEER_LOST);
}

TEST_F(SelfTransport, AnotherWorkersAddressIsUnreachable)
{
    uint8_t address[256];
    char reason[256];
    size_t length = side_address(side, address);
    EXPECT_EQ(side_reachable(side, address, length, reason), VBN_OK);
    EXPECT_EQ(side_reachable(side, address, length - 1, reason), VBN_ERR_PROTOCOL);
    address[9] ^= 1;
    EXPECT_EQ(side_reachable(side, address, length, reason), VBN_ERR_UNREACHABLE);
}

TEST_F(SelfTransport, ImportsItsOwnMemory)
{
    vbn_mem_t *mem = nullptr;
    uint8_t key[VBN_KEY_MAX];
    size_t length = sizeof(key);
    ASSERT_EQ(mem_alloc(side_memory(side), 5000, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK);
    memset(mem_address(mem), 9, 5000);
    ASSERT_EQ(mem_key_export(mem, 0, 5000, VBN_ACCESS_READ, key, &length), VBN_OK);
    imported_t import = {};
    ASSERT_EQ(lane_import(near, key, length, &import), VBN_OK) << vbn_error_text();
    ASSERT_EQ(import.status, VBN_OK);
    EXPECT_EQ(static_cast<uint8_t *>(import.address)[4999], 9);
    imported_release(&import);
    EXPECT_EQ(mem_free(mem), VBN_OK);
}

} // namespace
