// SPDX-License-Identifier: Apache-2.0
// test_hostile.cc - two interfaces in one process (pair.h), one of which lies: slots, indices, socket messages, memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "pair.h"

using pair_test::ShmPair;

namespace {

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
    const std::vector<std::vector<uint8_t>> messages = {note(0),
                                                        note(99),
                                                        {1},
                                                        {2},
                                                        {3, 0, 0},
                                                        std::vector<uint8_t>(23, 1),
                                                        note(1, 0, 0, 1),
                                                        note(1, 0, 0, 65535),
                                                        note(2, 10),
                                                        note(2, 0xffffffffu),
                                                        note(3, 0, 4096),
                                                        note(4),
                                                        note(6),
                                                        std::vector<uint8_t>(500, 2),
                                                        std::vector<uint8_t>(2000, 1),
                                                        std::vector<uint8_t>(25, 7)};
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
