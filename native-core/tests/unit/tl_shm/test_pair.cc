// SPDX-License-Identifier: Apache-2.0
// test_pair.cc - two interfaces in one process: wire-up, order, sizes, full rings, closing (pair.h).
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "pair.h"

using pair_test::ShmPair;

namespace {

TEST_F(ShmPair, AnActivePeerTakesAtMost64KiBOfEachSidesMemory)
{
    open();
    connect_grown();
    if (rings_grow()) {
        EXPECT_GT(lane_memory(near), 8192u);
    }
    EXPECT_LE(lane_memory(near), 65536u);
    EXPECT_LE(lane_memory(far), 65536u);
}

TEST_F(ShmPair, BecomesReadyOnceOnBothSides)
{
    open();
    connect();
    drive(a.get(), b.get(), 300);
    EXPECT_EQ(near->readies, 1u);
    EXPECT_EQ(far->readies, 1u);
    EXPECT_EQ(near->errors + far->errors, 0u);
}

TEST_F(ShmPair, PacketsSentWhileOpeningComeBeforeThoseOfTheRing)
{
    open();
    near = dial();
    ASSERT_NE(near, nullptr);
    for (int step = 0; step < 60 || (side_lane_count(b.get()) == 0 && step < 1000000); step++) {
        for (int i = 0; i < 3; i++)
            (void)lane_send(near, 100 + step % 300, 2);
        lane_t *accepted = side_lane(b.get(), 0);
        if (accepted != nullptr)
            (void)lane_send(accepted, 60, 1);
        drive(a.get(), b.get(), 1);
    }
    far = side_lane(b.get(), 0);
    ASSERT_NE(far, nullptr);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
    ASSERT_TRUE(drive_until(a.get(), b.get(), &far->readies, 1));
    for (int i = 0; i < 20; i++)
        (void)lane_send(near, i * 300, 2);
    EXPECT_GT(near->next_tx, 100u);
    expect_all_right(near, far);
    expect_all_right(far, near);
}

TEST_F(ShmPair, BeforeReadyOnlySmallPacketsAreTaken)
{
    open();
    near = dial(false);
    ASSERT_NE(near, nullptr);
    EXPECT_EQ(lane_send(near, 512 - HARNESS_HEADER, 1), VBN_OK);
    EXPECT_EQ(lane_send(near, 513 - HARNESS_HEADER, 1), VBN_ERR_INVALID);
    ASSERT_TRUE(drive_lanes(b.get(), a.get(), 1));
    drive(a.get(), b.get(), 20);
    far = side_lane(b.get(), 0);
    ASSERT_NE(far, nullptr);
    expect_all_right(near, far);
    EXPECT_FALSE(near->ready) << "nobody trusted here";
    EXPECT_EQ(lane_trust(near), VBN_OK);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
}

TEST_F(ShmPair, AFullSignallingSocketIsBusyAndDrains)
{
    open();
    side_set_trust(b.get(), false);
    near = dial(false);
    ASSERT_NE(near, nullptr);
    ASSERT_TRUE(drive_lanes(b.get(), nullptr, 1));
    unsigned sent = 0;
    while (lane_send(near, 400, 1) == VBN_OK)
        ASSERT_LT(++sent, 100000u);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &near->tx_readies, 1));
    EXPECT_EQ(lane_send(near, 400, 1), VBN_OK);
    far = side_lane(b.get(), 0);
    expect_all_right(near, far);
}

TEST_F(ShmPair, EverySizeAroundEveryBoundaryArrivesWhole)
{
    open();
    connect();
    uint32_t most = side_packet_max(a.get()) - HARNESS_HEADER;
    for (uint32_t edge : {0u, 40u, 56u, 64u, 104u, 120u, 128u, 4096u, 8192u, most}) {
        for (uint32_t bytes = edge < 3 ? 0 : edge - 3; bytes <= edge + 3 && bytes <= most; bytes++) {
            ASSERT_NO_FATAL_FAILURE(send_one(near, bytes, 1 + bytes % 4)) << bytes;
            ASSERT_TRUE(drive_rx(a.get(), b.get(), far, near->next_tx));
        }
    }
    EXPECT_EQ(far->wrong, 0u);
    EXPECT_EQ(lane_send(near, most + 1, 1), VBN_ERR_INVALID);
    EXPECT_EQ(far->errors + near->errors, 0u);
}

TEST_F(ShmPair, AFullRingIsBusyAndTellsWhenThereIsRoom)
{
    open("tl.shm.ring_slots=8 tl.shm.chunks=4 tl.shm.chunk_bytes=1K");
    connect();
    unsigned taken = 0;
    while (lane_send(near, 8, 1) == VBN_OK)
        ASSERT_LT(++taken, 100u);
    EXPECT_EQ(taken, 8u);
    EXPECT_EQ(side_counter(a.get(), "shm.tx.ring_full"), 1u);
    drive(a.get(), nullptr, 10);
    EXPECT_EQ(near->tx_readies, 0u) << "the peer has not read yet";
    ASSERT_TRUE(drive_until(a.get(), b.get(), &near->tx_readies, 1));
    expect_all_right(near, far);
    taken = 0;
    while (lane_send(near, side_packet_max(a.get()) - HARNESS_HEADER, 1) == VBN_OK)
        ASSERT_LT(++taken, 100u);
    EXPECT_EQ(taken, 4u);
    EXPECT_EQ(lane_send(near, 8, 1), VBN_OK) << "small packets need nothing but their slot";
    expect_all_right(near, far);
}

TEST_F(ShmPair, OrderHoldsOverManyLapsInBothDirections)
{
    open("tl.shm.ring_slots=16 tl.shm.chunks=5");
    connect();
    for (unsigned round = 0; round < 20; round++) {
        send_all(near, 500, 8000, round);
        send_all(far, 500, 3000, 1000 + round);
    }
    expect_all_right(near, far);
    expect_all_right(far, near);
}

TEST_F(ShmPair, PeersWithDifferentChunkSizesFitEachOther)
{
    open("tl.shm.chunk_bytes=1K tl.shm.chunks=7", "tl.shm.chunk_bytes=64K tl.shm.ring_slots=32");
    connect();
    send_all(near, 300, side_packet_max(a.get()) - HARNESS_HEADER, 1);
    send_all(far, 300, side_packet_max(b.get()) - HARNESS_HEADER, 2);
    expect_all_right(near, far);
    expect_all_right(far, near);
}

TEST_F(ShmPair, LargePayloadsGoWhereTheSinkSays)
{
    open();
    connect();
    std::vector<uint8_t> place(16384);
    side_set_sink(b.get(), place.data());
    ASSERT_NO_FATAL_FAILURE(send_one(near, 8192, 3)); // in parts
    ASSERT_NO_FATAL_FAILURE(send_one(near, 20, 1));
    expect_all_right(near, far);
    EXPECT_EQ(far->sunk, 1u);
    side_set_sink(b.get(), nullptr);
    ASSERT_TRUE(lane_grow(near, a.get(), b.get()));
    side_set_sink(b.get(), place.data());
    ASSERT_NO_FATAL_FAILURE(send_one(near, 8192, 3));
    expect_all_right(near, far);
    EXPECT_EQ(far->sunk, 2u);
}

TEST_F(ShmPair, DisconnectLetsThePeerReadWhatWasSent)
{
    open();
    connect_grown();
    for (int i = 0; i < 20; i++)
        ASSERT_EQ(lane_send(near, i % 4 == 0 ? 4000 : 40, 1), VBN_OK); /* in chunks, and in their slots */
    uint32_t sent = near->next_tx;
    lane_disconnect(near);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &far->errors, 1));
    EXPECT_EQ(far->next_rx, sent);
    EXPECT_EQ(far->wrong, 0u);
    EXPECT_EQ(far->status, VBN_ERR_PEER_LOST);
    EXPECT_NE(std::string(far->text).find("closed"), std::string::npos);
}

TEST_F(ShmPair, DisconnectWhileOpeningDeliversTheSignals)
{
    open();
    side_set_trust(b.get(), false);
    near = dial(false);
    ASSERT_NE(near, nullptr);
    for (int i = 0; i < 5; i++)
        ASSERT_EQ(lane_send(near, 50, 1), VBN_OK);
    ASSERT_TRUE(drive_lanes(b.get(), a.get(), 1));
    far = side_lane(b.get(), 0);
    ASSERT_NE(far, nullptr);
    ASSERT_EQ(lane_send(far, 50, 1), VBN_OK); // unread by a: the kernel then resets the connection
    ASSERT_EQ(lane_send(near, 70, 1), VBN_OK);
    lane_disconnect(near);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &far->errors, 1));
    EXPECT_EQ(far->next_rx, 6u);
    EXPECT_EQ(far->wrong, 0u);
}

TEST_F(ShmPair, ManyPeersOfOneInterfaceAllWork)
{
    open();
    std::vector<lane_t *> lanes;
    for (int i = 0; i < 40; i++) {
        lanes.push_back(dial());
        ASSERT_NE(lanes.back(), nullptr);
    }
    for (lane_t *lane : lanes)
        ASSERT_TRUE(drive_until(a.get(), b.get(), &lane->readies, 1));
    for (int round = 0; round < 30; round++)
        for (lane_t *lane : lanes)
            ASSERT_NO_FATAL_FAILURE(send_one(lane, 10 + round, 1));
    drive(a.get(), b.get(), 50);
    ASSERT_EQ(side_lane_count(b.get()), 40u);
    for (unsigned i = 0; i < 40; i++) {
        EXPECT_EQ(side_lane(b.get(), i)->next_rx, 30u);
        EXPECT_EQ(side_lane(b.get(), i)->wrong, 0u);
    }
    for (size_t i = 0; i < lanes.size(); i += 2)
        lane_disconnect(lanes[i]);
    for (unsigned i = 0; i < 40; i += 2)
        ASSERT_TRUE(drive_until(a.get(), b.get(), &side_lane(b.get(), i)->errors, 1));
    for (size_t i = 1; i < lanes.size(); i += 2)
        ASSERT_EQ(lane_send(lanes[i], 10, 1), VBN_OK);
    drive(a.get(), b.get(), 20);
    for (unsigned i = 1; i < 40; i += 2)
        EXPECT_EQ(side_lane(b.get(), i)->next_rx, 31u);
}

TEST_F(ShmPair, AnArmedSideIsWokenByAPacketAndByRoom)
{
    open("tl.shm.ring_slots=8");
    connect();
    drive(a.get(), b.get(), 5);
    ASSERT_EQ(side_arm(b.get()), VBN_OK);
    pollfd waiting = {side_fd(b.get()), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 0), 0);
    ASSERT_EQ(lane_send(near, 8, 1), VBN_OK);
    EXPECT_EQ(poll(&waiting, 1, 10000), 1);
    EXPECT_EQ(side_arm(b.get()), VBN_BUSY) << "a packet waits";
    EXPECT_EQ(side_counter(a.get(), "shm.tx.wakes"), 1u);
    ASSERT_EQ(lane_send(near, 8, 1), VBN_OK);
    EXPECT_EQ(side_counter(a.get(), "shm.tx.wakes"), 1u) << "one wake-up per sleep";
    while (lane_send(near, 8, 1) == VBN_OK) {
    }
    while (side_arm(a.get()) == VBN_BUSY)
        side_progress(a.get());
    pollfd full = {side_fd(a.get()), POLLIN, 0};
    EXPECT_EQ(poll(&full, 1, 0), 0);
    for (int i = 0; i < 5; i++)
        side_progress(b.get());
    EXPECT_EQ(poll(&full, 1, 10000), 1) << "the consumer wakes who waits for room";
    ASSERT_TRUE(drive_until(a.get(), nullptr, &near->tx_readies, 1));
    expect_all_right(near, far);
}

TEST_F(ShmPair, ADirectoryOfSocketsWorksLikeAbstractNames)
{
    char directory[] = "/tmp/vbn-shm-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    std::string setting = std::string("tl.shm.socket_dir=") + directory;
    open(setting.c_str());
    connect();
    send_all(near, 50, 100, 3);
    expect_all_right(near, far);
    uint8_t address[256];
    char reason[256];
    size_t length = side_address(b.get(), address);
    std::string path(reinterpret_cast<char *>(address) + 28, length - 28);
    struct stat st;
    ASSERT_EQ(stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777u, 0600u);
    b.reset();
    EXPECT_NE(stat(path.c_str(), &st), 0) << "closing removes the socket";
    EXPECT_EQ(side_reachable(a.get(), address, length, reason), VBN_ERR_UNREACHABLE);
    EXPECT_EQ(rmdir(directory), -1);
    a.reset();
    EXPECT_EQ(rmdir(directory), 0);
}

TEST_F(ShmPair, AddressesOfOtherHostsUsersAndNamespacesAreUnreachable)
{
    open();
    uint8_t good[256];
    size_t length = side_address(b.get(), good);
    char reason[256];
    EXPECT_EQ(side_reachable(a.get(), good, length, reason), VBN_OK);
    EXPECT_EQ(std::string(reason).find("same host"), 0u);
    for (size_t at : {size_t(4), size_t(8), size_t(16)}) { // user, host, namespace
        uint8_t bad[256];
        memcpy(bad, good, length);
        bad[at] ^= 1;
        EXPECT_EQ(side_reachable(a.get(), bad, length, reason), VBN_ERR_UNREACHABLE) << at;
        EXPECT_EQ(lane_connect(a.get(), bad, length, true), nullptr);
    }
    for (size_t cut = 0; cut < length; cut++)
        EXPECT_NE(side_reachable(a.get(), good, cut, reason), VBN_OK) << cut;
    b.reset();
    EXPECT_EQ(lane_connect(a.get(), good, length, true), nullptr);
    EXPECT_NE(std::string(vbn_error_text()).find("ended"), std::string::npos);
}

TEST_F(ShmPair, AnotherGroupOfTheSameHostIsUnreachable)
{
    char directory[] = "/tmp/vbn-shm-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    std::string shared = std::string("tl.shm.socket_dir=") + directory;
    const std::vector<std::vector<std::string>> pairs = {{"tl.shm.group=1", "tl.shm.group=2"},
                                                         {"tl.shm.group=4294967295", "tl.shm.group=0"},
                                                         {shared, shared + " tl.shm.group=3"}};
    for (const std::vector<std::string> &pair : pairs) {
        uint8_t address[256];
        char reason[256];
        open(pair[0].c_str(), pair[1].c_str());
        size_t length = side_address(b.get(), address);
        EXPECT_EQ(side_reachable(a.get(), address, length, reason), VBN_ERR_UNREACHABLE) << pair[1];
        EXPECT_NE(std::string(reason).find("tl.shm.group"), std::string::npos) << reason;
        EXPECT_EQ(lane_connect(a.get(), address, length, true), nullptr);
        length = side_address(a.get(), address);
        EXPECT_EQ(side_reachable(b.get(), address, length, reason), VBN_ERR_UNREACHABLE) << pair[0];
        a.reset();
        b.reset();
    }
    open("tl.shm.group=7", "tl.shm.group=7");
    connect();
    send_all(near, 50, 100, 3);
    expect_all_right(near, far);
    a.reset();
    b.reset();
    EXPECT_EQ(rmdir(directory), 0);
}

} // namespace
