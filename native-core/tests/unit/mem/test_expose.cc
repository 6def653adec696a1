// SPDX-License-Identifier: Apache-2.0
// test_expose.cc - memory that devices serve to peers: once per memory, device and rights, and no longer than its keys.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "mem_harness.h"

namespace {

constexpr unsigned BOTH = VBN_ACCESS_READ | VBN_ACCESS_WRITE;
constexpr size_t SIZE = 65536;

class Expose : public ::testing::Test {
protected:
    bench_t *owner = bench_open();
    bench_device_t *device = bench_device_open(owner);
    uint32_t device_key = 0;
    uint64_t address = 0;
    unsigned access = 0;

    void TearDown() override
    {
        if (device != nullptr)
            bench_device_end(device);
        EXPECT_EQ(bench_close(owner), VBN_OK) << vbn_error_text();
    }
    vbn_mem_t *make()
    {
        vbn_mem_t *mem = nullptr;
        EXPECT_EQ(bench_alloc(owner, SIZE, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK) << vbn_error_text();
        return mem;
    }
    uint64_t key(vbn_mem_t *mem, size_t offset, size_t length, unsigned rights)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t bytes = sizeof(blob);
        uint64_t handle = 0;
        EXPECT_EQ(mem_key_export(mem, offset, length, rights, blob, &bytes), VBN_OK) << vbn_error_text();
        EXPECT_EQ(bench_decode(blob, bytes, &handle), VBN_OK);
        return handle;
    }
    vbn_status_t expose(uint64_t handle) { return bench_expose(device, handle, &device_key, &address, &access); }
};

TEST_F(Expose, keys_of_the_same_rights_share_a_registration_and_no_right_is_added)
{
    vbn_mem_t *mem = make();
    uint64_t base = reinterpret_cast<uintptr_t>(mem_address(mem));
    ASSERT_EQ(expose(key(mem, 100, 50, VBN_ACCESS_READ)), VBN_OK);
    EXPECT_EQ(address, base + 100);
    EXPECT_EQ(access, VBN_ACCESS_READ);
    uint32_t first = device_key;
    ASSERT_EQ(expose(key(mem, 3000, 8, VBN_ACCESS_READ)), VBN_OK);
    EXPECT_EQ(device_key, first);
    EXPECT_EQ(address, base + 3000);
    EXPECT_EQ(bench_device_serves(device), 1u);
    ASSERT_EQ(expose(key(mem, 0, SIZE, BOTH)), VBN_OK);
    EXPECT_NE(device_key, first);
    EXPECT_EQ(access, BOTH);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), 2 * SIZE);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), 0u);
}

TEST_F(Expose, of_reserved_memory_a_device_serves_the_ranges_of_keys)
{
    vbn_mem_t *mem = nullptr;
    ASSERT_EQ(bench_reserve(owner, size_t{1} << 40, &mem), VBN_OK) << vbn_error_text();
    uint64_t base = reinterpret_cast<uintptr_t>(mem_address(mem));
    ASSERT_EQ(expose(key(mem, SIZE, SIZE, BOTH)), VBN_OK);
    uint32_t first = device_key;
    EXPECT_EQ(address, base + SIZE);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), SIZE);
    ASSERT_EQ(expose(key(mem, SIZE + 100, 50, BOTH)), VBN_OK); /* inside */
    EXPECT_EQ(device_key, first);
    EXPECT_EQ(address, base + SIZE + 100);
    ASSERT_EQ(expose(key(mem, SIZE + 100, SIZE, BOTH)), VBN_OK); /* beyond its end */
    EXPECT_NE(device_key, first);
    EXPECT_EQ(bench_device_serves(device), 2u);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), 2 * SIZE);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), 0u);
}

TEST_F(Expose, no_device_gets_memory_that_its_user_has_adopted)
{
    int fd = memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, SIZE), 0);
    ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    void *own = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    vbn_mem_t *mem = nullptr, *held = nullptr;
    ASSERT_EQ(bench_adopt(owner, fd, own, SIZE, &mem), VBN_OK) << vbn_error_text();
    EXPECT_EQ(expose(key(mem, 0, SIZE, BOTH)), VBN_ERR_UNSUPPORTED);
    EXPECT_EQ(bench_device_serves(device), 0u);
    EXPECT_FALSE(bench_hold(owner, own, SIZE, &held)); /* which would be registered as a whole */
    EXPECT_EQ(bench_find(owner, own, SIZE), mem);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(munmap(own, SIZE), 0);
    close(fd);
}

TEST_F(Expose, pages_that_are_given_back_end_the_keys_inside_them)
{
    vbn_mem_t *mem = nullptr;
    ASSERT_EQ(bench_reserve(owner, 8 * SIZE, &mem), VBN_OK) << vbn_error_text();
    uint64_t inside = key(mem, SIZE + 64, 100, BOTH), whole = key(mem, 0, 8 * SIZE, VBN_ACCESS_READ);
    uint64_t beside = key(mem, 2 * SIZE, SIZE, BOTH);
    ASSERT_EQ(expose(inside), VBN_OK);
    ASSERT_EQ(expose(beside), VBN_OK);
    EXPECT_EQ(mem_uncommit(mem, SIZE + 65, 99), VBN_OK); /* it begins before that */
    EXPECT_EQ(expose(inside), VBN_OK);
    EXPECT_EQ(mem_uncommit(mem, SIZE, SIZE), VBN_OK);
    EXPECT_EQ(expose(inside), VBN_ERR_STALE);
    EXPECT_EQ(bench_device_serves(device), 1u);
    EXPECT_EQ(expose(beside), VBN_OK);
    EXPECT_EQ(expose(whole), VBN_OK); /* messages from that memory name it */
    uint64_t again = key(mem, SIZE + 64, 100, BOTH);
    EXPECT_NE(again, inside);
    EXPECT_EQ(expose(again), VBN_OK);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_counter(owner, "mem.exposed.bytes"), 0u);
}

TEST_F(Expose, nothing_is_served_after_a_revoke_or_without_a_key)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 0, SIZE, BOTH);
    EXPECT_EQ(expose(handle + 1), VBN_ERR_STALE);
    ASSERT_EQ(expose(handle), VBN_OK);
    ASSERT_EQ(mem_revoke(mem), VBN_OK);
    EXPECT_EQ(bench_device_serves(device), 0u);
    EXPECT_EQ(expose(handle), VBN_ERR_STALE);
    EXPECT_EQ(mem_free(mem), VBN_OK);
}

TEST_F(Expose, memory_of_the_users_own_is_left_to_packets)
{
    std::vector<uint8_t> own(SIZE);
    vbn_mem_t *mem = nullptr;
    ASSERT_EQ(bench_register(owner, own.data(), SIZE, BOTH, &mem), VBN_OK);
    EXPECT_EQ(expose(key(mem, 0, SIZE, BOTH)), VBN_ERR_UNSUPPORTED);
    EXPECT_EQ(mem_free(mem), VBN_OK);
}

TEST_F(Expose, what_the_device_refuses_is_an_error_and_may_be_asked_for_again)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 0, SIZE, BOTH);
    bench_device_refuse(device, true);
    EXPECT_EQ(expose(handle), VBN_ERR_LIMIT);
    bench_device_refuse(device, false);
    EXPECT_EQ(expose(handle), VBN_OK);
    EXPECT_EQ(mem_free(mem), VBN_OK);
}

TEST_F(Expose, a_device_that_ends_leaves_the_memory_and_the_other_devices_alone)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 0, SIZE, BOTH);
    bench_device_t *other = bench_device_open(owner);
    ASSERT_EQ(expose(handle), VBN_OK);
    ASSERT_EQ(bench_expose(other, handle, &device_key, &address, &access), VBN_OK);
    bench_device_end(device);
    device = nullptr;
    EXPECT_EQ(bench_device_serves(other), 1u);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(bench_device_serves(other), 0u);
    bench_device_end(other);
}

TEST_F(Expose, revoking_in_a_thread_while_another_exposes_leaves_nothing_behind)
{
    for (unsigned round = 0; round < 12; round++) {
        vbn_mem_t *mem = make();
        uint64_t handle = key(mem, 0, SIZE, VBN_ACCESS_READ);
        std::thread revoker([&] { EXPECT_EQ(mem_revoke(mem), VBN_OK); });
        vbn_status_t status = expose(handle);
        EXPECT_TRUE(status == VBN_OK || status == VBN_ERR_STALE);
        revoker.join();
        EXPECT_EQ(bench_device_serves(device), 0u);
        EXPECT_EQ(mem_free(mem), VBN_OK);
    }
}

} // namespace
