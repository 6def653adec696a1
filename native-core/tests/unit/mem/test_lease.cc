// SPDX-License-Identifier: Apache-2.0
// test_lease.cc - memory that is touched for a peer while its owner gives it up: looked up, entered, leased, held.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "full.h"
#include "mem_harness.h"

namespace {

class Lease : public ::testing::Test {
protected:
    void SetUp() override { owner = bench_open(); }

    void TearDown() override { EXPECT_EQ(bench_close(owner), VBN_OK) << vbn_error_text(); }

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

    /* Whether memory of ours is mapped there. Threads of the sanitizers may map something of theirs where it was. */
    static bool mapped(void *address)
    {
        const auto at = reinterpret_cast<uintptr_t>(address);
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            uintptr_t start = 0, end = 0;
            if (sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 && start <= at && at < end)
                return line.find("memfd:vbn-mem") != std::string::npos;
        }
        return false;
    }

    /* Reached once with all rights, and left. */
    uint8_t *reached(uint64_t handle)
    {
        void *address = nullptr;
        EXPECT_EQ(bench_resolve(owner, handle, 0, 8192, VBN_ACCESS_READ | VBN_ACCESS_WRITE, &address), VBN_OK);
        return static_cast<uint8_t *>(address);
    }

    bench_t *owner = nullptr;
};

constexpr unsigned RW = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

TEST_F(Lease, ItGivesTheAddressOfTheKeysRangeAndRefusesWhatTheKeyDoesNotAllow)
{
    vbn_mem_t *mem = make(), *of = nullptr;
    uint64_t handle = key(mem, 100, 1000, VBN_ACCESS_READ);
    void *address = nullptr;
    for (int known = 0; known < 2; known++) { /* looked up, and remembered */
        ASSERT_EQ(bench_reach(owner, handle, 10, 20, VBN_ACCESS_READ, &address, &of), VBN_OK);
        EXPECT_EQ(address, static_cast<uint8_t *>(mem_address(mem)) + 110);
        EXPECT_EQ(of, mem);
        mem_leave(of);
    }
    EXPECT_EQ(bench_reach(owner, handle, 990, 11, VBN_ACCESS_READ, &address, &of), VBN_ERR_RANGE);
    EXPECT_EQ(bench_reach(owner, handle, 0, UINT64_MAX, VBN_ACCESS_READ, &address, &of), VBN_ERR_RANGE);
    EXPECT_EQ(bench_reach(owner, handle, UINT64_MAX, 2, VBN_ACCESS_READ, &address, &of), VBN_ERR_RANGE);
    EXPECT_EQ(bench_reach(owner, handle, 0, 1, VBN_ACCESS_WRITE, &address, &of), VBN_ERR_ACCESS);
    EXPECT_EQ(bench_reach(owner, handle + (UINT64_C(1) << 32), 0, 1, VBN_ACCESS_READ, &address, &of), VBN_ERR_STALE);
    EXPECT_EQ(bench_reach(owner, 0, 0, 0, VBN_ACCESS_READ, &address, &of), VBN_ERR_STALE);
    EXPECT_EQ(bench_counter(owner, "key.refused"), 6u);
    mem_free(mem);
}

TEST_F(Lease, FreedMemoryIsUnmappedAtOnceThoughWorkersRememberItsKeys)
{
    vbn_mem_t *mem = make(), *of = nullptr;
    uint64_t handle = key(mem, 0, 8192, RW);
    void *address = reached(handle);
    mem_free(mem);
    EXPECT_FALSE(mapped(address));
    EXPECT_EQ(bench_reach(owner, handle, 0, 1, VBN_ACCESS_READ, &address, &of), VBN_ERR_STALE);
    EXPECT_EQ(bench_counter(owner, "key.refused"), 1u);
}

TEST_F(Lease, RevokedMemoryIsReachedNoMore)
{
    vbn_mem_t *mem = make(), *of = nullptr;
    uint64_t handle = key(mem, 0, 8192, RW);
    void *address = reached(handle);
    EXPECT_EQ(mem_revoke(mem), VBN_OK);
    EXPECT_TRUE(mapped(address));
    EXPECT_FALSE(mem_enter(mem));
    EXPECT_EQ(bench_reach(owner, handle, 0, 1, VBN_ACCESS_READ, &address, &of), VBN_ERR_STALE);
    mem_free(mem);
}

TEST_F(Lease, MoreKeysThanAWorkerRemembersAreAllFound)
{
    vbn_mem_t *mem = make();
    std::vector<uint64_t> handles;
    for (size_t i = 0; i < 100; i++)
        handles.push_back(key(mem, i, 8, VBN_ACCESS_READ));
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < handles.size(); i++) {
            void *address = nullptr;
            ASSERT_EQ(bench_resolve(owner, handles[i], 0, 8, VBN_ACCESS_READ, &address), VBN_OK);
            EXPECT_EQ(address, static_cast<uint8_t *>(mem_address(mem)) + i);
        }
    mem_free(mem);
}

TEST_F(Lease, WhatIsLeasedKeepsItsBytesWhenTheMemoryIsFreedOrRevokedAndWrittenToAgain)
{
    for (bool frees : {true, false}) {
        vbn_mem_t *mem = make();
        auto *bytes = static_cast<uint8_t *>(mem_address(mem));
        memset(bytes, 5, 8192);
        void *where[3];
        bench_lease_t *leases[3];
        for (size_t i = 0; i < 3; i++) {
            ASSERT_TRUE(mem_enter(mem));
            where[i] = bytes + i * 1000;
            leases[i] = bench_lease_keep(mem, where[i], 1000);
        }
        EXPECT_EQ(bench_lease_enter(leases[0]), where[0]) << "nothing is copied before it has to be";
        bench_lease_leave(leases[0]);
        bench_lease_end(leases[2]);
        if (frees) {
            mem_free(mem);
            EXPECT_FALSE(mapped(bytes));
        } else {
            EXPECT_EQ(mem_revoke(mem), VBN_OK);
            memset(bytes, 6, 8192);
        }
        for (int again = 0; again < 2; again++) {
            const auto *leased = static_cast<const uint8_t *>(bench_lease_enter(leases[1]));
            ASSERT_NE(leased, nullptr);
            EXPECT_EQ(std::vector<uint8_t>(leased, leased + 1000), std::vector<uint8_t>(1000, 5));
            bench_lease_leave(leases[1]);
        }
        bench_lease_end(leases[1]);
        bench_lease_end(leases[0]); /* not looked at since */
        if (!frees)
            mem_free(mem);
    }
}

TEST_F(Lease, InvalidatedMemoryKeepsItsBytesForWhatIsLeased)
{
    std::vector<uint8_t> bytes(65536, 7);
    vbn_mem_t *mem = nullptr;
    ASSERT_EQ(bench_register(owner, bytes.data(), bytes.size(), RW, &mem), VBN_OK) << vbn_error_text();
    uint64_t handle = key(mem, 0, 8192, RW);
    (void)reached(handle);
    ASSERT_TRUE(mem_enter(mem));
    bench_lease_t *lease = bench_lease_keep(mem, bytes.data() + 100, 200);
    ASSERT_EQ(bench_invalidate(owner, bytes.data() + 60000, 1), VBN_OK);
    std::fill(bytes.begin(), bytes.end(), 8);
    const auto *leased = static_cast<const uint8_t *>(bench_lease_enter(lease));
    ASSERT_NE(leased, nullptr);
    EXPECT_EQ(std::vector<uint8_t>(leased, leased + 200), std::vector<uint8_t>(200, 7));
    bench_lease_leave(lease);
    bench_lease_end(lease);
    void *address = nullptr;
    EXPECT_EQ(bench_resolve(owner, handle, 0, 1, VBN_ACCESS_READ, &address), VBN_ERR_STALE);
    EXPECT_EQ(bench_invalidate(owner, bytes.data(), bytes.size()), VBN_OK);
    mem_free(mem);
}

TEST_F(Lease, HeldMemoryStaysMappedAfterItIsFreedUntilTheLastHoldEnds)
{
    vbn_mem_t *mem = make(), *of = nullptr;
    void *bytes = mem_address(mem);
    ASSERT_TRUE(bench_hold(owner, bytes, 8192, &of));
    ASSERT_TRUE(bench_hold(owner, static_cast<uint8_t *>(bytes) + 4096, 1, &of));
    EXPECT_FALSE(bench_hold(owner, bytes, 8193, &of));
    mem_free(mem);
    mem_unhold(mem);
    ASSERT_TRUE(mapped(bytes)) << "one hold is left";
    mem_unhold(mem);
    EXPECT_FALSE(mapped(bytes)) << "nobody holds it";
}

TEST_F(Lease, OneThreadMayFreeWhileAnotherWrites)
{
    for (unsigned round = 0, rounds = usual_or_full(50, 200); round < rounds; round++) {
        vbn_mem_t *mem = make();
        uint64_t handle = key(mem, 0, 8192, RW);
        std::atomic<bool> started{false};
        std::thread worker([&] {
            void *address = nullptr;
            vbn_mem_t *of = nullptr;
            vbn_status_t status;
            while ((status = bench_reach(owner, handle, 0, 8192, VBN_ACCESS_WRITE, &address, &of)) == VBN_OK) {
                memset(address, static_cast<int>(round), 8192);
                mem_leave(of);
                started = true;
            }
            EXPECT_EQ(status, VBN_ERR_STALE);
            started = true;
        });
        while (!started)
            std::this_thread::yield();
        mem_free(mem); /* unmaps: a write after it would end this process */
        worker.join();
    }
}

TEST_F(Lease, TwoThreadsMayGiveUpWhatAThirdOneSends)
{
    for (unsigned round = 0, rounds = usual_or_full(50, 200); round < rounds; round++) {
        vbn_mem_t *mem = make();
        auto *bytes = static_cast<uint8_t *>(mem_address(mem));
        memset(bytes, 9, 8192);
        std::atomic<unsigned> looks{0};
        std::atomic<bool> revoked{false};
        std::thread worker([&] {
            ASSERT_TRUE(mem_enter(mem));
            bench_lease_t *lease = bench_lease_keep(mem, bytes + 64, 4096);
            for (unsigned after = 0; after < 3; after += revoked ? 1 : 0) {
                const auto *leased = static_cast<const uint8_t *>(bench_lease_enter(lease));
                ASSERT_NE(leased, nullptr);
                for (size_t i = 0; i < 4096; i++)
                    ASSERT_EQ(leased[i], 9);
                bench_lease_leave(lease);
                looks++;
            }
            bench_lease_end(lease);
        });
        while (looks == 0)
            std::this_thread::yield();
        std::thread other([&] { EXPECT_EQ(mem_revoke(mem), VBN_OK); });
        EXPECT_EQ(mem_revoke(mem), VBN_OK);
        memset(bytes, 1, 8192);
        revoked = true;
        other.join();
        worker.join();
        mem_free(mem);
    }
}

} // namespace
