// SPDX-License-Identifier: Apache-2.0
// test_pair.cc - two interfaces in one process: wire-up, order, sizes, room, closing, and peers that lie.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness.h"

namespace {

struct Closer {
    void operator()(side_t *side) const { side_close(side); }
};
using Side = std::unique_ptr<side_t, Closer>;

class ShmPair : public ::testing::Test {
protected:
    void open(const char *settings_a = nullptr, const char *settings_b = nullptr)
    {
        a.reset(side_open("shm", settings_a, 1));
        b.reset(side_open("shm", settings_b != nullptr ? settings_b : settings_a, 2));
        ASSERT_TRUE(a && b) << vbn_error_text();
    }

    lane_t *dial(bool trust = true)
    {
        uint8_t address[256];
        size_t length = side_address(b.get(), address);
        return lane_connect(a.get(), address, length, trust);
    }

    void connect()
    {
        near = dial();
        ASSERT_NE(near, nullptr) << vbn_error_text();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
        far = side_lane(b.get(), 0);
        ASSERT_NE(far, nullptr);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &far->readies, 1));
    }

    // Connects, and both rings have all of their memory.
    void connect_grown()
    {
        connect();
        ASSERT_TRUE(lane_grow(near, a.get(), b.get()));
        ASSERT_TRUE(lane_grow(far, a.get(), b.get()));
        expect_all_right(near, far);
        expect_all_right(far, near);
    }

    // Drives the pair while the ring is full.
    void send_one(lane_t *from, uint32_t bytes, uint32_t parts)
    {
        vbn_status_t status;
        while ((status = lane_send(from, bytes, parts)) == VBN_BUSY) {
            unsigned before = from->tx_readies;
            ASSERT_TRUE(drive_until(a.get(), b.get(), &from->tx_readies, before + 1));
        }
        ASSERT_EQ(status, VBN_OK) << vbn_error_text();
    }

    // The same with packets of all sizes.
    void send_all(lane_t *from, uint32_t packets, uint32_t payload_max, unsigned seed)
    {
        std::mt19937 random(seed);
        for (uint32_t i = 0; i < packets; i++) {
            uint32_t bytes = i % 2 == 0 ? random() % 120 : random() % (payload_max + 1);
            ASSERT_NO_FATAL_FAILURE(send_one(from, bytes, 1 + random() % 3)) << i;
        }
    }

    void expect_all_right(const lane_t *from, const lane_t *to)
    {
        ASSERT_TRUE(drive_rx(a.get(), b.get(), to, from->next_tx));
        drive(a.get(), b.get(), 10);
        EXPECT_EQ(to->next_rx, from->next_tx);
        EXPECT_EQ(to->wrong, 0u);
    }

    Side a;
    Side b;
    lane_t *near = nullptr;
    lane_t *far = nullptr;
};

TEST_F(ShmPair, AnActivePeerTakesAtMost64KiBOfEachSidesMemory)
{
    open();
    connect_grown();
    EXPECT_GT(lane_memory(near), 8192u);
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

TEST_F(ShmPair, AMalformedSlotBreaksOnlyThatConnection)
{
    open();
    connect();
    lane_t *other = dial();
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &other->readies, 1));
    lane_corrupt_tx_slot(near, UINT64_C(0x000fffff00ff0000));
    ASSERT_TRUE(drive_until(a.get(), b.get(), &far->errors, 1));
    EXPECT_EQ(far->status, VBN_ERR_PROTOCOL);
    EXPECT_EQ(side_counter(b.get(), "rx.bad_frames"), 1u);
    ASSERT_TRUE(drive_until(a.get(), b.get(), &near->errors, 1));
    ASSERT_EQ(lane_send(other, 100, 1), VBN_OK);
    ASSERT_TRUE(drive_rx(a.get(), b.get(), side_lane(b.get(), 1), 1));
    EXPECT_EQ(side_lane(b.get(), 1)->wrong, 0u);
}

TEST_F(ShmPair, AnImpossibleConsumerIndexIsAProtocolError)
{
    open("tl.shm.ring_slots=8");
    connect();
    while (lane_send(near, 8, 1) == VBN_OK) {
    }
    lane_corrupt_consumed(far, 0x7fffffff);
    ASSERT_TRUE(drive_until(a.get(), nullptr, &near->errors, 1));
    EXPECT_EQ(near->status, VBN_ERR_PROTOCOL);
}

TEST_F(ShmPair, RandomRingContentsNeverDoMoreThanEndTheConnection)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        open("tl.shm.ring_slots=16 tl.shm.chunks=4");
        connect();
        for (unsigned i = 0; i < seed % 16; i++)
            ASSERT_EQ(lane_send(i % 2 == 0 ? near : far, i % 3 == 0 ? 400 : 20, 1), VBN_OK) << seed;
        lane_corrupt_all_rings(near, seed);
        for (int i = 0; i < 50; i++) {
            drive(a.get(), b.get(), 1);
            (void)lane_send(far, 3000, 1);
            (void)lane_send(near, 30, 1);
        }
        EXPECT_LE(far->errors, 1u);
        EXPECT_LE(near->errors, 1u);
        EXPECT_TRUE(far->errors == 0 || far->status == VBN_ERR_PROTOCOL || far->status == VBN_ERR_PEER_LOST);
        a.reset();
        b.reset();
    }
}

// What a hostile program of the same user may write to a socket before and after the proof.
class ShmHostileSocket : public ShmPair, public ::testing::WithParamInterface<bool> {
protected:
    void inject(const void *bytes, size_t length, int fd = -1)
    {
        iovec iov = {const_cast<void *>(bytes), length};
        alignas(8) char control[CMSG_SPACE(2 * sizeof(int))] = {0};
        msghdr msg = {};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        if (fd >= 0) {
            msg.msg_control = control;
            msg.msg_controllen = CMSG_SPACE(sizeof(int));
            cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
            cmsg->cmsg_level = SOL_SOCKET;
            cmsg->cmsg_type = SCM_RIGHTS;
            cmsg->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
        }
        ASSERT_EQ(sendmsg(lane_socket(near), &msg, MSG_NOSIGNAL), static_cast<ssize_t>(length));
    }

    void expect_refused()
    {
        far = side_lane(b.get(), side_lane_count(b.get()) - 1);
        ASSERT_TRUE(drive_until(b.get(), nullptr, &far->errors, 1));
        EXPECT_EQ(far->status, VBN_ERR_PROTOCOL) << far->text;
        EXPECT_GE(side_counter(b.get(), "rx.bad_frames"), 1u);
    }

    void prepare()
    {
        open();
        if (GetParam()) {
            connect();
        } else {
            near = dial(false);
            ASSERT_NE(near, nullptr);
            ASSERT_TRUE(drive_lanes(b.get(), nullptr, 1));
        }
    }
};

int open_null()
{
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Open descriptors of this process that lead to that file.
long descriptors_of(const std::string &file)
{
    namespace fs = std::filesystem;
    long count = 0;
    std::error_code gone; // the iterator's own descriptor
    for (const auto &entry : fs::directory_iterator("/proc/self/fd"))
        count += fs::read_symlink(entry.path(), gone) == file;
    return count;
}

std::vector<uint8_t> note(uint8_t type, uint32_t packet_max = 0, uint64_t value = 0, uint16_t header_bytes = 0)
{
    std::vector<uint8_t> bytes(24, 0);
    bytes[0] = type;
    memcpy(&bytes[2], &header_bytes, 2);
    memcpy(&bytes[12], &packet_max, 4);
    memcpy(&bytes[16], &value, 8);
    return bytes;
}

TEST_P(ShmHostileSocket, UnknownShortAndMistimedMessagesEndTheConnection)
{
    const std::vector<std::vector<uint8_t>> messages = {
        note(0), note(99), {1}, {2}, {3, 0, 0}, std::vector<uint8_t>(23, 1), note(1, 0, 0, 1), note(1, 0, 0, 65535),
        note(2, 10), note(2, 0xffffffffu), note(3, 0, 4096), note(4), note(6), std::vector<uint8_t>(500, 2),
        std::vector<uint8_t>(2000, 1), std::vector<uint8_t>(25, 7)};
    for (const auto &message : messages) {
        SCOPED_TRACE(static_cast<int>(message[0]));
        prepare();
        inject(message.data(), message.size());
        expect_refused();
        a.reset();
        b.reset();
    }
}

TEST_P(ShmHostileSocket, RandomMessagesWithDescriptorsNeverCrashOrLeak)
{
    std::mt19937 random(77);
    int null = open_null();
    int before = open_null();
    close(before);
    for (int round = 0; round < 200; round++) {
        prepare();
        std::vector<uint8_t> message(random() % 600 + 1);
        for (auto &byte : message)
            byte = static_cast<uint8_t>(random());
        message[0] = static_cast<uint8_t>(random() % 8);
        if (round % 2 == 0)
            message.resize(24, 0);
        inject(message.data(), message.size(), round % 3 == 0 ? null : -1);
        drive(b.get(), a.get(), 5);
        a.reset();
        b.reset();
    }
    int after = open_null();
    EXPECT_EQ(after, before) << "descriptors leaked";
    close(after);
    close(null);
}

// recvmsg says 0, as for the end of the stream, and hands out the descriptor all the same.
TEST_P(ShmHostileSocket, AnEmptyMessageWithADescriptorEndsTheConnectionAndLeavesNoDescriptor)
{
    prepare();
    int fd = open_null();
    long before = descriptors_of("/dev/null");
    inject(&fd, 0, fd);
    expect_refused();
    EXPECT_EQ(descriptors_of("/dev/null"), before);
    close(fd);
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAfterReady, ShmHostileSocket, ::testing::Bool());

class ShmHostileMemory : public ShmHostileSocket {};

TEST_P(ShmHostileMemory, MemoryThatCouldShrinkIsRefused)
{
    open();
    near = dial(false);
    ASSERT_NE(near, nullptr);
    auto want = note(2, 8512);
    inject(want.data(), want.size());
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
    if (GetParam()) { // sealed, but smaller than it says
        ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    }
    auto ring = note(3, 0, GetParam() ? 2 << 20 : 1 << 20);
    ASSERT_TRUE(drive_lanes(b.get(), nullptr, 1));
    inject(ring.data(), ring.size(), fd);
    close(fd);
    expect_refused();
}

INSTANTIATE_TEST_SUITE_P(UnsealedOrShort, ShmHostileMemory, ::testing::Bool());

} // namespace
