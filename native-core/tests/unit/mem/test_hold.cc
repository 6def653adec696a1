// SPDX-License-Identifier: Apache-2.0
// test_hold.cc - memory that is held on behalf of a peer while its owner frees it.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "mem_harness.h"

namespace {

class Hold : public ::testing::Test {
protected:
    void SetUp() override
    {
        owner = bench_open();
    }

    void TearDown() override
    {
        EXPECT_EQ(bench_close(owner), VBN_OK) << vbn_error_text();
    }

    vbn_mem_t *make()
    {
        vbn_mem_t *mem = nullptr;
        EXPECT_EQ(bench_alloc(owner, 8192, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK) << vbn_error_text();
        return mem;
    }

    uint64_t key(vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t bytes = sizeof(blob);
        uint64_t handle = 0;
        EXPECT_EQ(mem_key_export(mem, offset, length, access, blob, &bytes), VBN_OK) << vbn_error_text();
        EXPECT_EQ(bench_decode(blob, bytes, &handle), VBN_OK);
        return handle;
    }

    /* Whether the page is mapped, without touching it. */
    static bool mapped(void *address)
    {
        auto page = reinterpret_cast<uintptr_t>(address) & ~static_cast<uintptr_t>(4095);
        return msync(reinterpret_cast<void *>(page), 1, MS_ASYNC) == 0 || errno != ENOMEM;
    }

    bench_t *owner = nullptr;
};

TEST_F(Hold, ItGivesTheAddressThatResolveGivesAndChecksTheSame)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 100, 1000, VBN_ACCESS_READ);
    void *resolved = nullptr;
    void *held = nullptr;
    vbn_mem_t *of = nullptr;
    ASSERT_EQ(bench_resolve(owner, handle, 10, 20, VBN_ACCESS_READ, &resolved), VBN_OK);
    ASSERT_EQ(bench_hold(owner, handle, 10, 20, VBN_ACCESS_READ, &held, &of), VBN_OK);
    EXPECT_EQ(held, resolved);
    EXPECT_EQ(of, mem);
    mem_unhold(of);
    EXPECT_EQ(bench_hold(owner, handle, 990, 11, VBN_ACCESS_READ, &held, &of), VBN_ERR_RANGE);
    EXPECT_EQ(bench_hold(owner, handle, 0, UINT64_MAX, VBN_ACCESS_READ, &held, &of), VBN_ERR_RANGE);
    EXPECT_EQ(bench_hold(owner, handle, 0, 1, VBN_ACCESS_WRITE, &held, &of), VBN_ERR_ACCESS);
    EXPECT_EQ(bench_hold(owner, handle + 1, 0, 1, VBN_ACCESS_READ, &held, &of), VBN_ERR_STALE);
    EXPECT_EQ(bench_counter(owner, "key.refused"), 4u);
    mem_free(mem);
}

TEST_F(Hold, FreedMemoryStaysMappedUntilTheLastHoldEndsAndItsKeysAreStaleAtOnce)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 0, 8192, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
    void *first = nullptr;
    void *second = nullptr;
    vbn_mem_t *of = nullptr;
    ASSERT_EQ(bench_hold(owner, handle, 0, 8192, VBN_ACCESS_WRITE, &first, &of), VBN_OK);
    ASSERT_EQ(bench_hold(owner, handle, 4096, 1, VBN_ACCESS_READ, &second, &of), VBN_OK);
    mem_free(mem);
    EXPECT_EQ(bench_hold(owner, handle, 0, 1, VBN_ACCESS_READ, &second, &of), VBN_ERR_STALE);
    memset(first, 7, 8192);
    mem_unhold(of);
    ASSERT_TRUE(mapped(first)) << "one hold is left";
    memset(first, 8, 8192);
    mem_unhold(of);
    EXPECT_FALSE(mapped(first)) << "nobody holds it";
}

TEST_F(Hold, ARegistryClosesWhileFreedMemoryIsNotHeldAnyMore)
{
    vbn_mem_t *mem = make();
    uint64_t handle = key(mem, 0, 1, VBN_ACCESS_READ);
    void *address = nullptr;
    vbn_mem_t *of = nullptr;
    ASSERT_EQ(bench_hold(owner, handle, 0, 1, VBN_ACCESS_READ, &address, &of), VBN_OK);
    mem_unhold(of);
    EXPECT_TRUE(mapped(address)) << "the owner still has it";
    mem_free(mem);
    EXPECT_FALSE(mapped(address));
}

TEST_F(Hold, OneThreadMayFreeWhileOthersHold)
{
    for (int round = 0; round < 200; round++) {
        vbn_mem_t *mem = make();
        uint64_t handle = key(mem, 0, 8192, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        std::atomic<bool> started{false};
        std::thread holder([&] {
            void *address = nullptr;
            vbn_mem_t *of = nullptr;
            vbn_status_t status;
            while ((status = bench_hold(owner, handle, 0, 8192, VBN_ACCESS_WRITE, &address, &of)) == VBN_OK) {
                memset(address, round, 8192);
                mem_unhold(of);
                started = true;
            }
            EXPECT_EQ(status, VBN_ERR_STALE);
            started = true;
        });
        while (!started)
            std::this_thread::yield();
        mem_free(mem);
        holder.join();
    }
}

} // namespace
