// SPDX-License-Identifier: Apache-2.0
// test_grow.cc - rings begin small and take all of their memory when traffic has earned it: how much that is, order and
// content across the change, packets that a small ring takes in parts, no memory, and peers that lie or end in between.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "side.h"

namespace {

constexpr size_t kSmall = 8192, kGrown = 61440;
constexpr uint32_t kLarge = 8192; // payload of the largest packet: more than a small ring has room for

constexpr const char *FULL_RINGS =
    "rings are whole from the start here: run on a host with pages of 4 KiB and Linux 5.14 or later";

class ShmGrow : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (!rings_grow())
            GTEST_SKIP() << FULL_RINGS;
        a.reset(side_open("shm", nullptr, 1));
        b.reset(side_open("shm", nullptr, 2));
        ASSERT_TRUE(a && b) << vbn_error_text();
        near = dial();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
        far = side_lane(b.get(), 0);
        ASSERT_NE(far, nullptr);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &far->readies, 1));
    }

    lane_t *dial()
    {
        uint8_t address[256];
        size_t length = side_address(b.get(), address);
        return lane_connect(a.get(), address, length, true);
    }

    void send(lane_t *from, uint32_t bytes)
    {
        vbn_status_t status;
        while ((status = lane_send(from, bytes, 1 + bytes % 3)) == VBN_BUSY) {
            unsigned before = from->tx_readies;
            ASSERT_TRUE(drive_until(a.get(), b.get(), &from->tx_readies, before + 1));
        }
        ASSERT_EQ(status, VBN_OK) << vbn_error_text();
    }

    void expect_all_right(const lane_t *from, const lane_t *to)
    {
        ASSERT_TRUE(drive_rx(a.get(), b.get(), to, from->next_tx)) << to->next_rx << " of " << from->next_tx;
        drive(a.get(), b.get(), 10);
        EXPECT_EQ(to->next_rx, from->next_tx);
        EXPECT_EQ(to->wrong, 0u);
        EXPECT_EQ(to->errors + from->errors, 0u) << to->text << from->text;
    }

    Side a, b;
    lane_t *near = nullptr, *far = nullptr;
};

TEST_F(ShmGrow, ARingHas8KiBOfMemoryUntilTrafficHasEarnedAllOfIt)
{
    EXPECT_LE(lane_memory(near), kSmall);
    EXPECT_LE(lane_memory(far), kSmall);
    for (int i = 0; i < 100; i++) {
        ASSERT_NO_FATAL_FAILURE(send(near, 8));
        expect_all_right(near, far);
    }
    EXPECT_LE(lane_memory(far), kSmall) << "a hundred messages, one at a time";
    ASSERT_TRUE(lane_grow(near, a.get(), b.get()));
    expect_all_right(near, far);
    EXPECT_EQ(lane_memory(far), kGrown);
    EXPECT_EQ(lane_mapped(far), kGrown);
    EXPECT_LE(lane_memory(near), kSmall) << "the other direction has no traffic";
    EXPECT_EQ(side_counter(b.get(), "shm.rx.rings_grown"), 1u);
    EXPECT_EQ(side_counter(a.get(), "shm.rx.rings_grown"), 0u);
}

TEST_F(ShmGrow, AMessageOf4KiBGoesThroughASmallRing)
{
    ASSERT_NO_FATAL_FAILURE(send(near, 4096));
    expect_all_right(near, far);
    EXPECT_LE(lane_memory(far), kSmall);
    EXPECT_TRUE(lane_small(near));
}

TEST_F(ShmGrow, OrderAndContentHoldWhileBothRingsGrowUnderLoad)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        lane_t *from = dial();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &from->readies, 1));
        lane_t *to = side_lane(b.get(), side_lane_count(b.get()) - 1);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &to->readies, 1));
        std::mt19937 random(seed);
        uint32_t most = seed % 3 == 0 ? 100 : kLarge;
        unsigned turns = 0;
        for (; (lane_small(from) || lane_small(to)) && turns < 100000; turns++) {
            (void)lane_send(from, random() % (most + 1), 1 + random() % 3);
            (void)lane_send(to, random() % (most + 1), 1 + random() % 3);
            if (random() % 4 == 0)
                (void)side_progress(a.get());
            if (random() % 4 == 0)
                (void)side_progress(b.get());
        }
        ASSERT_LT(turns, 100000u) << seed;
        for (int i = 0; i < 50; i++) {
            ASSERT_NO_FATAL_FAILURE(send(from, random() % (most + 1)));
            ASSERT_NO_FATAL_FAILURE(send(to, random() % (most + 1)));
        }
        expect_all_right(from, to);
        expect_all_right(to, from);
        lane_disconnect(from);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &to->errors, 1));
    }
}

TEST_F(ShmGrow, WithoutMemoryEachSizeGoesThroughTheSmallRing)
{
    side_let_grow(b.get(), false);
    std::mt19937 random(5);
    for (uint32_t bytes = 0; bytes <= kLarge; bytes += 1 + random() % 60)
        ASSERT_NO_FATAL_FAILURE(send(near, bytes)) << bytes;
    for (int i = 0; i < 2000; i++)
        ASSERT_NO_FATAL_FAILURE(send(near, random() % 2 == 0 ? 8 : random() % (kLarge + 1)));
    expect_all_right(near, far);
    EXPECT_TRUE(lane_small(near));
    EXPECT_LE(lane_memory(far), kSmall);
    EXPECT_EQ(side_counter(b.get(), "shm.rx.packets"), near->next_tx) << "parts are no packets";
    EXPECT_GE(side_counter(b.get(), "shm.rx.rings_kept_small"), 1u);
    EXPECT_LE(side_counter(b.get(), "shm.rx.rings_kept_small"), 10u) << "asked ever more seldom";
}

// What one worker may hold times 128 is what 128 processes hold that all talk to all, however much they say.
TEST_F(ShmGrow, TheRingsOf128ProcessesThatAllTalkToAllTakeAtMost150MiB)
{
    constexpr unsigned kPeers = 127;
    std::vector<lane_t *> from = {near}, to = {far};
    while (from.size() < kPeers) {
        from.push_back(dial());
        ASSERT_NE(from.back(), nullptr) << vbn_error_text();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &from.back()->readies, 1));
        to.push_back(side_lane(b.get(), static_cast<unsigned>(to.size())));
    }
    auto memory = [&to] {
        size_t bytes = 0;
        for (const lane_t *lane : to)
            bytes += lane_memory(lane);
        return bytes;
    };
    EXPECT_LE(memory(), kPeers * kSmall);
    for (int i = 0; i < 400; i++)
        for (lane_t *lane : from)
            ASSERT_NO_FATAL_FAILURE(send(lane, i % 40 == 0 ? kLarge : 8));
    for (unsigned i = 0; i < kPeers; i++)
        expect_all_right(from[i], to[i]);
    EXPECT_LE(128 * memory(), size_t(150) << 20);
    EXPECT_EQ(side_counter(b.get(), "shm.rx.rings_grown"), 3u);
    EXPECT_GE(side_counter(b.get(), "shm.rx.rings_kept_small"), kPeers - 3);
    while (!lane_small(from.back())) // one that stayed small
        from.pop_back();
    for (unsigned i = 0; i < kPeers; i++)
        if (side_lane(a.get(), i) != from.back())
            lane_disconnect(side_lane(a.get(), i));
    EXPECT_TRUE(lane_grow(from.back(), a.get(), b.get())) << "there is memory again";
}

TEST_F(ShmGrow, AConsumerThatSleepsIsWokenForItAndAProducerByTheAnswer)
{
    while (side_arm(b.get()) != VBN_OK)
        (void)side_progress(b.get());
    lane_ask_growth(near);
    ASSERT_EQ(lane_send(near, 8, 1), VBN_BUSY);
    ASSERT_TRUE(lane_growing(near));
    EXPECT_EQ(lane_send(near, 8, 1), VBN_BUSY) << "nothing may follow GROW";
    EXPECT_EQ(side_counter(a.get(), "shm.tx.wakes"), 1u);
    while (side_arm(a.get()) != VBN_OK)
        (void)side_progress(a.get());
    EXPECT_EQ(near->tx_readies, 0u);
    drive(b.get(), nullptr, 10);
    EXPECT_EQ(side_counter(b.get(), "shm.tx.wakes"), 1u);
    ASSERT_TRUE(drive_until(a.get(), nullptr, &near->tx_readies, 1));
    EXPECT_FALSE(lane_small(near));
    ASSERT_NO_FATAL_FAILURE(send(near, 8));
    expect_all_right(near, far);
}

TEST_F(ShmGrow, TagsMayWrapAroundWhenARingGrowsLate)
{
    side_let_grow(b.get(), false);
    while (near->next_tx < 65500)
        ASSERT_NO_FATAL_FAILURE(send(near, 8));
    expect_all_right(near, far);
    side_let_grow(b.get(), true);
    lane_ask_growth(near);
    while (near->next_tx < 65700) // tag 0 comes in the first lap of the grown ring
        ASSERT_NO_FATAL_FAILURE(send(near, 8));
    EXPECT_FALSE(lane_small(near));
    expect_all_right(near, far);
}

// ------------------------------------------------------------------------------------------ peers that lie

class ShmGrowHostile : public ShmGrow {
protected:
    void expect_refused()
    {
        ASSERT_TRUE(drive_until(b.get(), nullptr, &far->errors, 1));
        EXPECT_EQ(far->status, VBN_ERR_PROTOCOL) << far->text;
        EXPECT_EQ(far->next_rx, near->next_tx) << "what was sent before";
        EXPECT_EQ(far->wrong, 0u);
        side_close(a.release());
        side_close(b.release());
    }

    void refused(unsigned kind, uint32_t header_bytes, uint32_t payload_bytes)
    {
        SCOPED_TRACE(kind);
        SetUp();
        ASSERT_NO_FATAL_FAILURE(send(near, 40));
        lane_put_frame(near, kind, header_bytes, payload_bytes);
        expect_refused();
    }
};

constexpr unsigned kGrow = 3, kPart = 4, kLast = 5;

TEST_F(ShmGrowHostile, FramesThatNoProducerWritesEndTheConnection)
{
    refused(kGrow, 1, 0);
    refused(kGrow, 0, 1);
    refused(kPart, 0, 0);
    refused(kPart, 1, 64);
    refused(kPart, 0, 102 * 64 + 1);
    refused(kPart, 0, 0xffffff);
    refused(kLast, 0, 0);
    refused(kLast, 65, 64); // a header longer than all of it
    refused(kLast, 321, 1000);
    refused(6, 0, 64);
    refused(kPart | 16, 0, 64);
}

TEST_F(ShmGrowHostile, PartsThatMakeMoreThanAPacketEndTheConnection)
{
    for (int i = 0; i < 4; i++)
        lane_put_frame(near, kPart, 0, 34 * 64); // the area three times
    expect_refused();
}

TEST_F(ShmGrowHostile, ARingThatHasGrownTakesNoPartsAndDoesNotGrowAgain)
{
    for (unsigned kind : {kGrow, kPart, kLast}) {
        SetUp();
        ASSERT_TRUE(lane_grow(near, a.get(), b.get()));
        ASSERT_TRUE(drive_rx(a.get(), b.get(), far, near->next_tx));
        lane_put_frame(near, kind, 0, kind == kGrow ? 0 : 64);
        expect_refused();
    }
}

// ---------------------------------------------------------------------------------- peers that end in between

constexpr int kChildSeconds = 60;

struct Address {
    uint8_t bytes[256];
    size_t length;
};

// Both ends of a connection between this process and a child, which is killed at a given step.
class ShmGrowKill : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (!rings_grow())
            GTEST_SKIP() << FULL_RINGS;
    }

    // The child connects, does what `code` says, reports and stops.
    void start(const std::function<bool(side_t *, lane_t *)> &code)
    {
        int address_pipe[2], report_pipe[2];
        ASSERT_EQ(pipe(address_pipe), 0);
        ASSERT_EQ(pipe(report_pipe), 0);
        child = fork();
        if (child == 0) {
            alarm(kChildSeconds);
            Address address;
            if (read(address_pipe[0], &address, sizeof(address)) != sizeof(address))
                _exit(1);
            side_t *own = side_open("shm", nullptr, 99);
            lane_t *up = own != nullptr ? lane_connect(own, address.bytes, address.length, true) : nullptr;
            bool done = up != nullptr && drive_until(own, nullptr, &up->readies, 1) && code(own, up);
            if (write(report_pipe[1], &done, 1) == 1)
                pause();
            _exit(0);
        }
        side.reset(side_open("shm", nullptr, 1));
        ASSERT_TRUE(side) << vbn_error_text();
        Address address = {};
        address.length = side_address(side.get(), address.bytes);
        ASSERT_EQ(write(address_pipe[1], &address, sizeof(address)), static_cast<ssize_t>(sizeof(address)));
        for (int fd : {address_pipe[0], address_pipe[1], report_pipe[1]})
            close(fd);
        report = report_pipe[0];
        ASSERT_TRUE(drive_lanes(side.get(), nullptr, 1));
        lane = side_lane(side.get(), 0);
        ASSERT_TRUE(drive_until(side.get(), nullptr, &lane->readies, 1));
    }

    // Without progress here, once the child says that it has come so far.
    void wait_and_kill()
    {
        bool done = false;
        ASSERT_EQ(read(report, &done, 1), 1);
        EXPECT_TRUE(done) << "the child did not come so far";
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        close(report);
        child = -1;
    }

    void expect_lost(uint32_t packets)
    {
        ASSERT_TRUE(drive_until(side.get(), nullptr, &lane->errors, 1));
        EXPECT_EQ(lane->status, VBN_ERR_PEER_LOST) << lane->text;
        EXPECT_EQ(lane->next_rx, packets);
        EXPECT_EQ(lane->wrong, 0u);
    }

    void TearDown() override
    {
        if (child > 0) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }

    Side side;
    lane_t *lane = nullptr;
    pid_t child = -1;
    int report = -1;
};

bool send_some(lane_t *lane, unsigned packets)
{
    for (unsigned i = 0; i < packets; i++)
        if (lane_send(lane, 8, 1) != VBN_OK)
            return false;
    return true;
}

TEST_F(ShmGrowKill, AProducerThatDiesBeforeItsRingHasGrown)
{
    start([](side_t *, lane_t *to) {
        if (!send_some(to, 3))
            return false;
        lane_ask_growth(to);
        return lane_send(to, 8, 1) == VBN_BUSY && lane_growing(to);
    });
    wait_and_kill();
    expect_lost(3);
}

TEST_F(ShmGrowKill, AProducerThatDiesInTheMiddleOfAPacketInParts)
{
    start([](side_t *, lane_t *to) { return send_some(to, 3) && lane_send(to, kLarge, 1) == VBN_OK; });
    wait_and_kill();
    expect_lost(3);
}

TEST_F(ShmGrowKill, AProducerThatDiesWithPacketsInTheGrownRing)
{
    start([](side_t *own, lane_t *to) {
        if (!send_some(to, 3))
            return false;
        lane_ask_growth(to);
        return lane_send(to, 8, 1) == VBN_BUSY && drive_until(own, nullptr, &to->tx_readies, 1) && !lane_small(to) &&
               send_some(to, 20);
    });
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(60); // the other process may not run for long
    while (lane_memory(lane) != kGrown && std::chrono::steady_clock::now() < end)
        (void)side_progress(side.get());
    ASSERT_EQ(lane_memory(lane), kGrown);
    wait_and_kill();
    expect_lost(23);
}

TEST_F(ShmGrowKill, AConsumerThatDiesBeforeItHasAnswered)
{
    start([](side_t *, lane_t *) { return true; }); // it makes no progress from now on
    ASSERT_TRUE(send_some(lane, 3));
    lane_ask_growth(lane);
    ASSERT_EQ(lane_send(lane, 8, 1), VBN_BUSY);
    ASSERT_TRUE(lane_growing(lane));
    wait_and_kill();
    expect_lost(0);
}

TEST_F(ShmGrowKill, AConsumerThatDiesInTheMiddleOfAPacketInParts)
{
    start([](side_t *, lane_t *) { return true; });
    ASSERT_EQ(lane_send(lane, kLarge, 1), VBN_OK);
    ASSERT_EQ(lane_send(lane, 8, 1), VBN_BUSY);
    wait_and_kill();
    expect_lost(0);
}

// From now on this process gets no memory by madvise; asking whether the kernel knows it (length 0) still works.
bool deny_populate()
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 3), // MADV_POPULATE_WRITE
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Tried by a child, as there is no way back.
bool can_deny_populate()
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(deny_populate() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(ShmGrowKill, AHostWithoutMemoryKeepsTheRingSmallAndLosesNothing)
{
    if (!can_deny_populate())
        GTEST_SKIP() << "no seccomp filters here: allow seccomp() in the container profile";
    constexpr uint32_t kPackets = 200; // each goes in parts, with a change of processes between two of them
    start([](side_t *own, lane_t *from) {
        return deny_populate() && drive_rx(own, nullptr, from, kPackets) && from->wrong == 0 &&
               side_counter(own, "shm.rx.rings_kept_small") > 0 && side_counter(own, "shm.rx.rings_grown") == 0 &&
               lane_memory(from) <= kSmall;
    });
    for (uint32_t i = 0; i < kPackets;) {
        vbn_status_t status = lane_send(lane, i * 37 % (kLarge + 1), 1);
        ASSERT_TRUE(status == VBN_OK || status == VBN_BUSY);
        i += status == VBN_OK;
        (void)side_progress(side.get());
        if (status == VBN_BUSY)
            std::this_thread::yield();
    }
    for (bool waits = true; waits;) // the last parts
        waits = lane_send(lane, 0, 1) == VBN_BUSY, drive(side.get(), nullptr, 1);
    wait_and_kill();
}

} // namespace
