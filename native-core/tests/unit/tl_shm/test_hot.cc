// SPDX-License-Identifier: Apache-2.0
// test_hot.cc - a worker with many peers polls those that are used; the others ring its bell.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "side.h"

namespace {

constexpr unsigned kAlways = 4; // so many may stay hot

// One side with many peers, all of them idle for so long that few are polled. near and far: those that are not.
class ShmHot : public ::testing::Test {
protected:
    static constexpr unsigned kPeers = 40, kCold = kPeers - kAlways;

    void SetUp() override
    {
        const char *small = "tl.shm.ring_slots=8 tl.shm.chunks=4 tl.shm.chunk_bytes=1K";
        hub.reset(side_open("shm", small, 1));
        ASSERT_TRUE(hub) << vbn_error_text();
        uint8_t address[256];
        size_t length = side_address(hub.get(), address);
        for (unsigned i = 0; i < kPeers; i++) {
            peers.emplace_back(side_open("shm", small, i + 2));
            ASSERT_TRUE(peers.back()) << vbn_error_text();
            lane_t *lane = lane_connect(peers.back().get(), address, length, true);
            ASSERT_NE(lane, nullptr) << vbn_error_text();
            ASSERT_TRUE(drive_until(peers.back().get(), hub.get(), &lane->readies, 1));
            all.push_back(lane);
            ASSERT_TRUE(drive_until(peers.back().get(), hub.get(), &side_lane(hub.get(), i)->readies, 1));
        }
        cool();
        for (unsigned i = 0; i < kPeers; i++) {
            if (lane_hot(side_lane(hub.get(), i)) || near.size() == kCold)
                continue;
            near.push_back(all[i]);
            far.push_back(side_lane(hub.get(), i));
            owner.push_back(i);
        }
        ASSERT_EQ(near.size(), kCold);
    }

    // Polls until few rings are hot: none is used, so it must come to that.
    void cool()
    {
        for (unsigned i = 0; i < 50000000 && side_hot_rings(hub.get()) > kAlways; i++)
            (void)side_progress(hub.get());
        ASSERT_LE(side_hot_rings(hub.get()), kAlways);
    }

    Side hub;
    std::vector<Side> peers;
    std::vector<lane_t *> all, near, far;
    std::vector<unsigned> owner; // of near: its index in peers
};

TEST_F(ShmHot, APacketOfAPeerThatIsNotPolledArrivesInTheNextTurn)
{
    for (unsigned i = 0; i < kCold; i++) {
        ASSERT_FALSE(lane_hot(far[i]));
        ASSERT_EQ(lane_send(near[i], 8, 1), VBN_OK) << vbn_error_text();
        (void)side_progress(hub.get());
        EXPECT_EQ(far[i]->next_rx, 1u) << i;
        EXPECT_TRUE(lane_hot(far[i]));
    }
    cool(); // and once more
    for (unsigned i = 0; i < kCold; i++) {
        ASSERT_EQ(lane_send(near[i], 8, 1), VBN_OK);
        (void)side_progress(hub.get());
        EXPECT_EQ(far[i]->next_rx, 2u);
    }
}

TEST_F(ShmHot, AWorkerThatSleepsIsWokenByAPeerItDoesNotPoll)
{
    for (unsigned i = 0; i < kCold; i += 5) {
        for (int turn = 0; side_arm(hub.get()) != VBN_OK; turn++) {
            ASSERT_LT(turn, 100000);
            (void)side_progress(hub.get());
        }
        pollfd fd{side_fd(hub.get()), POLLIN, 0};
        EXPECT_EQ(poll(&fd, 1, 0), 0);
        ASSERT_EQ(lane_send(near[i], 8, 1), VBN_OK);
        ASSERT_EQ(poll(&fd, 1, 20000), 1) << "no wake-up";
        ASSERT_TRUE(drive_rx(hub.get(), nullptr, far[i], 1));
    }
}

TEST_F(ShmHot, PacketsWhoseBitAnotherPeerTookAwayArriveAllTheSame)
{
    for (unsigned i = 0; i < kCold; i++)
        ASSERT_EQ(lane_send(near[i], 8, 1), VBN_OK);
    side_write_bell(hub.get(), 0);
    for (unsigned i = 0; i < kCold; i++)
        ASSERT_TRUE(drive_rx(hub.get(), nullptr, far[i], 1)) << i;
}

TEST_F(ShmHot, BitsThatMeanNothingAreHarmless)
{
    side_write_bell(hub.get(), ~UINT64_C(0));
    unsigned most = 0; // a turn may come so late that rings become cold again
    for (int turn = 0; turn < 10; turn++) {
        (void)side_progress(hub.get());
        most = std::max(most, side_hot_rings(hub.get()));
    }
    EXPECT_EQ(most, kPeers) << "all are looked at";
    ASSERT_EQ(lane_send(near[3], 8, 1), VBN_OK);
    ASSERT_TRUE(drive_rx(hub.get(), nullptr, far[3], 1));
}

TEST_F(ShmHot, PeersThatAreNotPolledMayGoAndOthersCome)
{
    std::mt19937 random(3);
    uint8_t address[256];
    size_t length = side_address(hub.get(), address);
    for (unsigned i = 0; i + 1 < kCold; i += 2) {
        if (random() % 2 == 0)
            lane_disconnect(far[i]);
        peers[owner[i]].reset();
        if (random() % 2 == 0) {
            ASSERT_EQ(lane_send(near[i + 1], 8, 1), VBN_OK);
        } else {
            near[i + 1] = nullptr;
        }
        drive(hub.get(), nullptr, 3);
    }
    Side late(side_open("shm", nullptr, 99));
    lane_t *lane = lane_connect(late.get(), address, length, true);
    ASSERT_NE(lane, nullptr) << vbn_error_text();
    ASSERT_TRUE(drive_until(late.get(), hub.get(), &lane->readies, 1));
    ASSERT_EQ(lane_send(lane, 8, 1), VBN_OK);
    ASSERT_TRUE(drive_rx(late.get(), hub.get(), side_lane(hub.get(), kPeers), 1));
    for (unsigned i = 1; i + 1 < kCold; i += 2)
        if (near[i] != nullptr) {
            EXPECT_TRUE(drive_rx(hub.get(), nullptr, far[i], 1)) << i;
        }
}

TEST_F(ShmHot, APeerThatIsNotPolledIsMissedWhenItEnds)
{
    peers[owner[11]].reset();
    ASSERT_TRUE(drive_until(hub.get(), nullptr, &far[11]->errors, 1));
    EXPECT_EQ(far[11]->status, VBN_ERR_PEER_LOST);
}

TEST_F(ShmHot, AFullRingTowardsAPeerThatIsNotPolledBecomesFreeAgain)
{
    vbn_status_t status = VBN_OK;
    for (int i = 0; i < 100 && status == VBN_OK; i++)
        status = lane_send(far[5], 8, 1); // from the hub
    ASSERT_EQ(status, VBN_BUSY);
    ASSERT_TRUE(drive_until(hub.get(), peers[owner[5]].get(), &far[5]->tx_readies, 1));
}

// ---------------------------------------------------------------------- membarriers, which disturb other processes

// A worker with many peers has their fences for good.
TEST_F(ShmHot, AWorkerWithManyPeersRunsNoMembarrierHoweverOftenItSleepsAndRingsBecomeCold)
{
    uint64_t before = side_counter(hub.get(), "shm.barriers");
    EXPECT_LE(before, 16u) << "the first peers, before there were many";
    for (unsigned round = 1; round <= 5; round++) {
        for (unsigned i = 0; i < kPeers; i++)
            ASSERT_EQ(lane_send(all[i], 8, 1), VBN_OK);
        for (unsigned i = 0; i < kPeers; i++)
            ASSERT_TRUE(drive_rx(hub.get(), nullptr, side_lane(hub.get(), i), round));
        cool();
        for (int turn = 0; side_arm(hub.get()) != VBN_OK; turn++) {
            ASSERT_LT(turn, 100000);
            (void)side_progress(hub.get());
        }
    }
    EXPECT_EQ(side_counter(hub.get(), "shm.barriers"), before);
}

class ShmSleeper : public ::testing::Test {
protected:
    void SetUp() override
    {
        busy.reset(side_open("shm", nullptr, 1));
        sleeper.reset(side_open("shm", nullptr, 2));
        ASSERT_TRUE(busy && sleeper) << vbn_error_text();
        uint8_t address[256];
        size_t length = side_address(sleeper.get(), address);
        near = lane_connect(busy.get(), address, length, true);
        ASSERT_NE(near, nullptr) << vbn_error_text();
        ASSERT_TRUE(drive_until(busy.get(), sleeper.get(), &near->readies, 1));
        far = side_lane(sleeper.get(), 0);
        ASSERT_TRUE(drive_until(busy.get(), sleeper.get(), &far->readies, 1));
        ASSERT_TRUE(lane_grow(near, busy.get(), sleeper.get()));
        ASSERT_TRUE(drive_rx(sleeper.get(), busy.get(), far, near->next_tx));
    }

    void sleep_and_wake()
    {
        for (int turn = 0; side_arm(sleeper.get()) != VBN_OK; turn++) {
            ASSERT_LT(turn, 100000);
            (void)side_progress(sleeper.get());
        }
        ASSERT_EQ(lane_send(near, 8, 1), VBN_OK);
        pollfd fd{side_fd(sleeper.get()), POLLIN, 0};
        ASSERT_EQ(poll(&fd, 1, 20000), 1) << "no wake-up";
        ASSERT_TRUE(drive_rx(sleeper.get(), nullptr, far, near->next_tx));
    }

    uint64_t barriers() { return side_counter(sleeper.get(), "shm.barriers"); }

    Side busy, sleeper;
    lane_t *near = nullptr, *far = nullptr;
};

TEST_F(ShmSleeper, RunsOneMembarrierHoweverOftenItSleeps)
{
    for (int i = 0; i < 1000; i++)
        ASSERT_NO_FATAL_FAILURE(sleep_and_wake()) << i;
    EXPECT_EQ(barriers(), lane_light(far) ? 1u : 0u);
    EXPECT_EQ(lane_fenced(far), lane_light(far));
    EXPECT_EQ(side_counter(busy.get(), "shm.barriers"), 0u);
    EXPECT_GE(side_counter(busy.get(), "shm.tx.wakes"), 1000u);
}

TEST_F(ShmSleeper, TakesTheFenceBackWhenItIsKeptBusy)
{
    if (!lane_light(far))
        GTEST_SKIP() << "no membarrier: run a build without TSan, and allow membarrier() in the container profile";
    ASSERT_NO_FATAL_FAILURE(sleep_and_wake());
    ASSERT_TRUE(lane_fenced(far));
    for (unsigned i = 0; i < 50000000 && lane_fenced(far); i++) {
        (void)lane_send(near, 8, 1);
        drive(sleeper.get(), busy.get(), 1);
    }
    EXPECT_FALSE(lane_fenced(far));
    ASSERT_TRUE(drive_rx(sleeper.get(), busy.get(), far, near->next_tx));
    for (int i = 0; i < 10; i++)
        ASSERT_NO_FATAL_FAILURE(sleep_and_wake());
    EXPECT_EQ(barriers(), 2u);
}

} // namespace
