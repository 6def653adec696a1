// SPDX-License-Identifier: Apache-2.0
// test_direct.cc - copies between the address spaces of a pair: the trial at wire-up, bad addresses, ends.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "side.h"

namespace {

class ShmDirect : public ::testing::Test {
protected:
    void connect(const char *settings_a = nullptr, const char *settings_b = nullptr)
    {
        uint8_t address[256];
        a.reset(side_open("shm", settings_a, 1));
        b.reset(side_open("shm", settings_b, 2));
        size_t length = side_address(b.get(), address);
        near = lane_connect(a.get(), address, length, true);
        ASSERT_NE(near, nullptr) << vbn_error_text();
        ASSERT_TRUE(drive_until(a.get(), b.get(), &near->readies, 1));
        far = side_lane(b.get(), 0);
        ASSERT_TRUE(drive_until(a.get(), b.get(), &far->readies, 1));
    }

    Side a;
    Side b;
    lane_t *near = nullptr;
    lane_t *far = nullptr;
};

TEST_F(ShmDirect, the_trial_at_wire_up_allows_copies_and_they_move_the_bytes_asked_for)
{
    connect();
    if (!lane_copies(near))
        GTEST_SKIP()
            << "process_vm_readv is forbidden here: run with ptrace rights (no seccomp profile that denies it)";
    EXPECT_TRUE(lane_copies(far));
    for (size_t size : {1u, 7u, 4095u, 4097u, 1000001u}) {
        for (size_t shift : {0u, 1u, 3u}) {
            std::vector<uint8_t> from(size + 8), to(size + 8, 0xEE);
            for (size_t i = 0; i < from.size(); i++)
                from[i] = static_cast<uint8_t>(i * 7 + size);
            ASSERT_EQ(lane_copy(near, false, to.data() + shift, from.data() + 5, size), VBN_OK) << vbn_error_text();
            EXPECT_EQ(std::memcmp(to.data() + shift, from.data() + 5, size), 0);
            EXPECT_EQ(to[shift + size], 0xEE);
            std::fill(to.begin(), to.end(), 0xEE);
            ASSERT_EQ(lane_copy(far, true, from.data() + 5, to.data() + shift, size), VBN_OK) << vbn_error_text();
            EXPECT_EQ(std::memcmp(to.data() + shift, from.data() + 5, size), 0);
            EXPECT_EQ(to[shift + size], 0xEE);
        }
    }
}

/* Bytes whose first one lies `shift` behind the start of a page. */
class Placed {
public:
    Placed(size_t size, size_t from_page) : memory(size + from_page + 4097, 0xEE), shift(from_page) {}
    uint8_t *data()
    {
        auto at = reinterpret_cast<uintptr_t>(memory.data());
        return memory.data() + (4096 - at % 4096) + shift - 1;
    }

private:
    std::vector<uint8_t> memory;
    size_t shift;
};

TEST_F(ShmDirect, places_that_lie_a_few_bytes_behind_each_other_within_a_page_are_copied_whole)
{
    connect();
    if (!lane_copies(near))
        GTEST_SKIP()
            << "process_vm_readv is forbidden here: run with ptrace rights (no seccomp profile that denies it)";
    const size_t size = 200001; // several turns of the buffer between
    for (size_t behind : {1u, 16u, 127u, 128u}) {
        for (size_t shift : {1u, 4090u}) {
            Placed ahead(size, shift), after(size, shift + behind);
            for (size_t i = 0; i < size; i++)
                ahead.data()[i] = static_cast<uint8_t>(i * 11 + i / 251);
            ASSERT_EQ(lane_copy(near, false, after.data(), ahead.data(), size), VBN_OK) << vbn_error_text();
            EXPECT_EQ(std::memcmp(after.data(), ahead.data(), size), 0) << behind;
            EXPECT_EQ(after.data()[size], 0xEE);
            std::memset(after.data(), 0, size);
            ASSERT_EQ(lane_copy(far, true, ahead.data(), after.data(), size), VBN_OK) << vbn_error_text();
            EXPECT_EQ(std::memcmp(after.data(), ahead.data(), size), 0) << behind;
            EXPECT_EQ(after.data()[size], 0xEE);
        }
    }
}

TEST_F(ShmDirect, one_side_may_refuse_what_the_other_one_does)
{
    connect("tl.shm.copy=false", nullptr);
    EXPECT_FALSE(lane_copies(near));
    uint8_t byte = 0;
    EXPECT_LT(lane_copy(near, false, &byte, &byte, 1), 0);
}

TEST_F(ShmDirect, addresses_that_are_not_there_are_an_error)
{
    connect();
    if (!lane_copies(near))
        GTEST_SKIP()
            << "process_vm_readv is forbidden here: run with ptrace rights (no seccomp profile that denies it)";
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto *map = static_cast<uint8_t *>(
        mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(map + 2 * page, page, PROT_NONE), 0);
    std::vector<uint8_t> here(4 * page);
    EXPECT_EQ(lane_copy(near, false, here.data(), map, 2 * page), VBN_OK);
    EXPECT_LT(lane_copy(near, false, here.data(), map + page, 2 * page), 0) << "ends in the middle";
    EXPECT_LT(lane_copy(near, true, here.data(), map + page, 2 * page), 0);
    EXPECT_LT(lane_copy(near, false, here.data(), nullptr, 8), 0);
    EXPECT_LT(lane_copy(near, false, map + 2 * page, here.data(), 8), 0) << "our own memory";
    EXPECT_LT(lane_copy(near, false, here.data(), reinterpret_cast<void *>(~UINT64_C(0) - 4), 8), 0);
    EXPECT_TRUE(lane_present(near));
    munmap(map, 4 * page);
}

TEST_F(ShmDirect, a_peer_that_let_go_is_not_present)
{
    connect();
    EXPECT_TRUE(lane_present(near));
    lane_disconnect(far);
    EXPECT_FALSE(lane_present(near)) << "at once, not only after progress";
    uint8_t from = 1, to = 0;
    EXPECT_EQ(lane_copy(near, true, &from, &to, 1), VBN_ERR_PEER_LOST) << "its process number may be another's";
    EXPECT_EQ(to, 0);
}

TEST_F(ShmDirect, settled_says_whether_a_helper_is_writing_here_and_lets_none_begin)
{
    connect();
    EXPECT_TRUE(lane_settled(near));
    lane_claim_open(near, 3, 77);
    ASSERT_EQ(lane_claim_back(far, 3, 77, 10), 9u);
    EXPECT_FALSE(lane_settled(near));
    EXPECT_EQ(lane_claim_back(far, 3, 77, 10), UINT32_MAX) << "closed";
    lane_claim_release(far, 3, 77);
    EXPECT_TRUE(lane_settled(near));
    lane_claim_open(near, 4, 78);
    ASSERT_EQ(lane_claim_back(far, 4, 78, 10), 9u);
    EXPECT_FALSE(lane_settled(near));
    lane_disconnect(far);
    EXPECT_TRUE(lane_settled(near)) << "who let go writes no more";
}

TEST_F(ShmDirect, settled_says_whether_the_peer_writes_into_mapped_memory_and_lets_it_in_no_more)
{
    connect();
    lane_lend(near);
    ASSERT_TRUE(lane_enter(far));
    EXPECT_FALSE(lane_settled(near));
    EXPECT_TRUE(lane_settled(far)) << "nobody writes there";
    lane_leave(far);
    EXPECT_TRUE(lane_settled(near));
    EXPECT_FALSE(lane_enter(far));
    EXPECT_TRUE(lane_settled(near)) << "who is turned away is not inside";
    EXPECT_TRUE(lane_enter(near)) << "nothing of far's was lent, so nobody has to be kept out";
}

TEST_F(ShmDirect, who_was_lent_nothing_is_not_waited_for_whatever_it_says)
{
    connect();
    ASSERT_TRUE(lane_enter(far));
    EXPECT_TRUE(lane_settled(near));
}

/* Whether it took a second: more it does not wait for a thread that has not had its turn. */
bool disconnect_for_a_second(lane_t *lane)
{
    const auto start = std::chrono::steady_clock::now();
    lane_disconnect(lane);
    return std::chrono::steady_clock::now() - start >= std::chrono::seconds(1);
}

TEST_F(ShmDirect, disconnect_waits_for_a_peer_that_writes_into_mapped_memory)
{
    connect();
    lane_lend(near);
    ASSERT_TRUE(lane_enter(far));
    std::atomic<bool> written{false};
    std::thread writer([&] {
        usleep(50000);
        written = true;
        lane_leave(far);
    });
    EXPECT_TRUE(disconnect_for_a_second(near) || written);
    writer.join();
    EXPECT_FALSE(lane_enter(far));
}

TEST_F(ShmDirect, a_peer_that_never_leaves_is_waited_for_a_second_at_most)
{
    connect();
    lane_lend(near);
    ASSERT_TRUE(lane_enter(far));
    lane_disconnect(near); /* returns */
    EXPECT_FALSE(lane_enter(far));
}

TEST_F(ShmDirect, disconnect_waits_for_a_helper_that_is_writing_here)
{
    connect();
    lane_claim_open(near, 3, 77);
    ASSERT_EQ(lane_claim_back(far, 3, 77, 10), 9u);
    std::atomic<bool> written{false};
    std::thread helper([&] {
        usleep(50000);
        written = true;
        lane_claim_release(far, 3, 77);
    });
    EXPECT_TRUE(disconnect_for_a_second(near) || written);
    helper.join();
    EXPECT_EQ(lane_claim_back(far, 3, 77, 10), UINT32_MAX) << "closed";
}

} // namespace
