// SPDX-License-Identifier: Apache-2.0
// test_cache.cc - the registration cache: hits, merging, limits, and what happens when memory changes under it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache_harness.h"
#include "full.h"
#include "pages.h"

namespace {

constexpr unsigned R = VBN_ACCESS_READ, RW = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

class Cache : public ::testing::Test {
protected:
    void open(cache_options_t options)
    {
        rig = cache_rig_open(&options);
        if (options.watch && !cache_rig_watches(rig))
            GTEST_SKIP() << cache_rig_log(rig);
    }

    void SetUp() override { open({64, 1 << 30, true, false, false, false}); }

    void TearDown() override
    {
        cache_rig_close(rig); // aborts when a registration is left
    }

    void reopen(cache_options_t options)
    {
        cache_rig_close(rig);
        open(options);
    }

    void *get(const void *address, size_t length, unsigned access = R)
    {
        void *region = nullptr;
        EXPECT_EQ(cache_rig_get(rig, address, length, access, &region), VBN_OK) << vbn_error_text();
        return region;
    }

    // The number of the registration that serves this range, not kept in use.
    uint64_t look(const void *address, size_t length, unsigned access = R)
    {
        void *region = get(address, length, access);
        uint64_t handle = cache_rig_handle(region);
        cache_rig_put(region);
        return handle;
    }

    uint64_t counter(const char *name) { return cache_rig_counter(rig, name); }

    cache_rig_t *rig = nullptr;
};

TEST_F(Cache, ARangeIsRegisteredOnceInWholePages)
{
    uint8_t *p = map_pages(4);
    EXPECT_EQ(look(p + 100, PAGE), 1u);
    EXPECT_EQ(cache_rig_last_start(rig), reinterpret_cast<uintptr_t>(p));
    EXPECT_EQ(cache_rig_last_bytes(rig), 2 * PAGE);
    EXPECT_EQ(look(p + 100, PAGE), 1u);
    EXPECT_EQ(look(p, 2 * PAGE), 1u) << "what whole pages cover anyway";
    EXPECT_EQ(counter("mem.cache.hits"), 2u);
    EXPECT_EQ(counter("mem.cache.misses"), 1u);
    munmap(p, 4 * PAGE);
}

TEST_F(Cache, OverlappingRangesAreMergedAndTouchingOnesAreNot)
{
    uint8_t *p = map_pages(16);
    look(p, 2 * PAGE);
    look(p + 2 * PAGE, 2 * PAGE);
    EXPECT_EQ(cache_rig_registered_count(rig), 2u);
    look(p + PAGE, 2 * PAGE); // overlaps both
    EXPECT_EQ(cache_rig_last_start(rig), reinterpret_cast<uintptr_t>(p));
    EXPECT_EQ(cache_rig_last_bytes(rig), 4 * PAGE);
    EXPECT_EQ(cache_rig_registered_count(rig), 1u) << "the smaller ones are given up";
    EXPECT_EQ(cache_rig_adds(rig), 3u);
    EXPECT_EQ(look(p, 4 * PAGE), 3u);
    munmap(p, 16 * PAGE);
}

TEST_F(Cache, ARegionInUseOutlivesItsMerging)
{
    uint8_t *p = map_pages(4);
    void *small = get(p, PAGE);
    void *large = get(p, 4 * PAGE);
    EXPECT_EQ(cache_rig_registered_count(rig), 2u);
    EXPECT_TRUE(cache_rig_alive(small));
    cache_rig_put(small);
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    cache_rig_put(large);
    EXPECT_EQ(look(p, PAGE), 2u);
    munmap(p, 4 * PAGE);
}

TEST_F(Cache, MoreRightsNeedAnotherRegistration)
{
    uint8_t *p = map_pages(2);
    EXPECT_EQ(look(p, PAGE, R), 1u);
    EXPECT_EQ(look(p, PAGE, RW), 2u);
    EXPECT_EQ(look(p, PAGE, R), 2u);
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    munmap(p, 2 * PAGE);
}

TEST_F(Cache, AMergeThatCannotBeRegisteredGivesWayToTheExactRange)
{
    reopen({64, 1 << 30, true, false, true, false}); // resident pages: rights are really checked
    uint8_t *p = map_pages(3);
    cache_rig_put(get(p, 2 * PAGE, R));
    ASSERT_EQ(mprotect(p, PAGE, PROT_READ), 0);
    cache_rig_put(get(p + PAGE, 2 * PAGE, RW)); // together with the first page it could not be written
    EXPECT_EQ(counter("mem.cache.misses"), 2u);
    cache_rig_put(get(p + 2 * PAGE, PAGE, RW));
    EXPECT_EQ(counter("mem.cache.hits"), 1u);
    munmap(p, 3 * PAGE);
}

TEST_F(Cache, TheLeastRecentlyUsedGoesFirstAndLimitsHold)
{
    reopen({3, 6 * PAGE, true, false, false, false});
    uint8_t *p = map_pages(32);
    for (int i = 0; i < 3; i++)
        look(p + 2 * i * PAGE, PAGE);
    look(p, PAGE); // the first is the most recent now
    look(p + 10 * PAGE, PAGE);
    EXPECT_EQ(cache_rig_registered_count(rig), 3u);
    EXPECT_EQ(counter("mem.cache.evicted"), 1u);
    EXPECT_EQ(look(p, PAGE), 1u) << "was used last";
    EXPECT_EQ(look(p + 2 * PAGE, PAGE), 5u) << "was the oldest";
    look(p + 16 * PAGE, 5 * PAGE);
    EXPECT_EQ(cache_rig_registered_bytes(rig), 6 * PAGE) << "bytes are limited too";
    look(p + 20 * PAGE, 7 * PAGE);
    EXPECT_EQ(cache_rig_registered_bytes(rig), 0u) << "larger than the limit: served, not kept";
    munmap(p, 32 * PAGE);
}

TEST_F(Cache, RegionsInUseMayExceedTheLimitUntilTheyAreGivenBack)
{
    reopen({2, 1 << 30, true, false, false, false});
    uint8_t *p = map_pages(16);
    std::vector<void *> regions;
    for (int i = 0; i < 4; i++)
        regions.push_back(get(p + 2 * i * PAGE, PAGE));
    EXPECT_EQ(cache_rig_registered_count(rig), 4u);
    for (void *region : regions)
        cache_rig_put(region);
    EXPECT_EQ(cache_rig_registered_count(rig), 2u);
    munmap(p, 16 * PAGE);
}

TEST_F(Cache, WhatIsIdleIsGivenUpWhenTheRegistrarIsFull)
{
    uint8_t *p = map_pages(16);
    cache_rig_limit(rig, 4 * PAGE);
    look(p, 3 * PAGE);
    void *held = get(p + 8 * PAGE, 2 * PAGE);
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    void *region = nullptr;
    EXPECT_EQ(cache_rig_get(rig, p + 12 * PAGE, 3 * PAGE, R, &region), VBN_ERR_LIMIT) << "the rest is in use";
    EXPECT_EQ(region, nullptr);
    cache_rig_put(held);
    munmap(p, 16 * PAGE);
}

TEST_F(Cache, DefaultLimitIsHalfOfTheLockedMemoryLimitWhenTheRegistrarLocks)
{
    rlimit limit;
    ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    reopen({64, 0, true, true, false, false});
    uint64_t locking = cache_rig_max_bytes(rig);
    reopen({64, 0, true, false, false, false});
    uint64_t ram = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * PAGE;
    EXPECT_GT(cache_rig_max_bytes(rig), 0u);
    EXPECT_LE(cache_rig_max_bytes(rig), ram / 2);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 2 < cache_rig_max_bytes(rig))
        EXPECT_EQ(locking, limit.rlim_cur / 2);
    else
        EXPECT_EQ(locking, cache_rig_max_bytes(rig));
}

TEST_F(Cache, UnmappedMemoryIsNotFoundAgain)
{
    uint8_t *p = map_pages(8);
    EXPECT_EQ(look(p, 8 * PAGE), 1u);
    ASSERT_EQ(munmap(p + 4 * PAGE, PAGE), 0); // a part is enough
    EXPECT_EQ(map_pages(1, p + 4 * PAGE), p + 4 * PAGE);
    EXPECT_EQ(look(p, 8 * PAGE), 2u);
    EXPECT_EQ(counter("mem.cache.dead"), 1u);
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    munmap(p, 8 * PAGE);
    uint8_t *other = map_pages(1, p);
    look(other, PAGE); // takes the lock under which the news is read, and reaps
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    munmap(other, PAGE);
}

TEST_F(Cache, EveryWayToChangeAMappingIsSeen)
{
    struct Change {
        const char *name;
        void (*run)(uint8_t *p);
    } changes[] = {
        {"munmap", [](uint8_t *p) { munmap(p, PAGE); }},
        {"mapping over it", [](uint8_t *p) { map_pages(1, p); }},
        {"DONTNEED", [](uint8_t *p) { madvise(p, PAGE, MADV_DONTNEED); }},
        {"mremap", [](uint8_t *p) { mremap(p, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map_pages(8)); }},
        {"shrinking", [](uint8_t *p) { mremap(p, 2 * PAGE, PAGE, 0); }},
    };
    for (const Change &change : changes) {
        uint8_t *p = map_pages(2);
        void *region = get(p, 2 * PAGE);
        EXPECT_TRUE(cache_rig_alive(region)) << change.name;
        uint64_t adds = cache_rig_adds(rig);
        change.run(p);
        EXPECT_FALSE(cache_rig_alive(region)) << change.name;
        cache_rig_put(region);
        map_pages(2, p);
        look(p, 2 * PAGE);
        EXPECT_EQ(cache_rig_adds(rig), adds + 1) << change.name;
        munmap(p, 2 * PAGE);
    }
}

TEST_F(Cache, SharedMemoryAndAShrinkingHeapAreWatchedToo)
{
    int fd = memfd_create("cache-test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 4 * PAGE), 0);
    void *shared = mmap(nullptr, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t first = look(shared, 4 * PAGE);
    EXPECT_EQ(look(shared, 4 * PAGE), first);
    void *region = get(shared, PAGE);
    ASSERT_EQ(madvise(shared, PAGE, MADV_REMOVE), 0);
    EXPECT_FALSE(cache_rig_alive(region));
    cache_rig_put(region);
    munmap(shared, 4 * PAGE);
    close(fd);
    uint8_t *top = static_cast<uint8_t *>(sbrk(64 * PAGE));
    if (top != reinterpret_cast<uint8_t *>(-1)) {
        void *heap = get(top + PAGE, 32 * PAGE);
        sbrk(-static_cast<intptr_t>(64 * PAGE));
        EXPECT_FALSE(cache_rig_alive(heap));
        cache_rig_put(heap);
    }
}

TEST_F(Cache, MemoryThatCannotBeWatchedIsRegisteredEachTime)
{
    char name[] = "/var/tmp/vbn-cache-XXXXXX";
    int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    unlink(name);
    ASSERT_EQ(ftruncate(fd, 2 * PAGE), 0);
    void *file = mmap(nullptr, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(file, MAP_FAILED);
    uint64_t first = look(file, PAGE);
    if (look(file, PAGE) == first)
        std::cout << "/var/tmp is a tmpfs here: it can be watched\n";
    else
        EXPECT_EQ(cache_rig_registered_count(rig), 0u);
    munmap(file, 2 * PAGE);
    close(fd);
}

TEST_F(Cache, InvalidateDropsWhatOverlaps)
{
    uint8_t *p = map_pages(8);
    EXPECT_EQ(look(p, 2 * PAGE), 1u);
    EXPECT_EQ(look(p + 4 * PAGE, 2 * PAGE), 2u);
    void *used = get(p, PAGE);
    cache_rig_invalidate(rig, p + PAGE, 1);
    EXPECT_FALSE(cache_rig_alive(used));
    EXPECT_EQ(look(p, PAGE), 3u);
    EXPECT_EQ(look(p + 4 * PAGE, PAGE), 2u);
    cache_rig_put(used);
    cache_rig_invalidate(rig, nullptr, SIZE_MAX);
    EXPECT_EQ(cache_rig_registered_count(rig), 0u);
    munmap(p, 8 * PAGE);
}

TEST_F(Cache, MemoryThatGoesWhileItIsBeingRegisteredIsRegisteredAgainOrRefused)
{
    static uint8_t *p;
    p = map_pages(2);
    cache_rig_during_add(rig, [](void *) { madvise(p, PAGE, MADV_DONTNEED); }, nullptr);
    EXPECT_EQ(look(p, PAGE), 2u) << "the first registration was of pages that are gone";
    EXPECT_EQ(cache_rig_registered_count(rig), 1u);
    munmap(p, 2 * PAGE);
}

TEST_F(Cache, WrongRangesAreRefused)
{
    void *region = nullptr;
    EXPECT_EQ(cache_rig_get(rig, nullptr, 10, R, &region), VBN_ERR_INVALID);
    EXPECT_EQ(cache_rig_get(rig, APART, 0, R, &region), VBN_ERR_INVALID);
    EXPECT_EQ(cache_rig_get(rig, APART, SIZE_MAX, R, &region), VBN_ERR_INVALID);
    EXPECT_EQ(cache_rig_get(rig, APART, 1, R, &region), VBN_ERR_RANGE) << "nothing is mapped there";
    reopen({64, 1 << 30, true, false, true, false});
    uint8_t *p = map_pages(3, APART);
    ASSERT_EQ(mprotect(p + PAGE, PAGE, PROT_READ), 0);
    EXPECT_EQ(cache_rig_get(rig, p, 3 * PAGE, RW, &region), VBN_ERR_ACCESS);
    ASSERT_EQ(munmap(p + PAGE, PAGE), 0);
    EXPECT_EQ(cache_rig_get(rig, p, 3 * PAGE, R, &region), VBN_ERR_ACCESS);
    EXPECT_EQ(region, nullptr);
    munmap(p, 3 * PAGE);
}

TEST_F(Cache, ResidentPagesExistAfterwards)
{
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE
    if (madvise(nullptr, 0, populate_write) != 0)
        GTEST_SKIP() << "this kernel makes no pages on demand: run on Linux 5.14 or later";
    reopen({64, 1 << 30, true, false, true, false});
    uint8_t *p = map_pages(64);
    cache_rig_put(get(p, 64 * PAGE, RW));
    unsigned char resident[64];
    ASSERT_EQ(mincore(p, 64 * PAGE, resident), 0);
    for (unsigned char page : resident)
        EXPECT_EQ(page & 1, 1);
    munmap(p, 64 * PAGE);
}

// Four threads map, register and unmap; the kernel gives the addresses of one to the other at once, often before the
// first one's munmap is known. A registration remembers the first word of its memory, so a stale hit shows.
TEST_F(Cache, AHitIsNeverOfMemoryThatWasThereBefore)
{
    reopen({64, 1 << 30, true, false, false, true});
    std::atomic<uint64_t> stamp{1}, stale{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; i++) {
                void *p = mmap(nullptr, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                uint64_t mine = stamp++;
                std::memcpy(p, &mine, sizeof(mine));
                for (int again = 0; again < 2; again++) {
                    void *region = nullptr;
                    if (cache_rig_get(rig, p, 4 * PAGE, R, &region) != VBN_OK) {
                        stale += 1000000; // nothing may refuse here
                        continue;
                    }
                    stale += cache_rig_handle(region) != mine;
                    cache_rig_put(region);
                }
                munmap(p, 4 * PAGE);
            }
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(stale, 0u);
    EXPECT_GT(counter("mem.cache.hits"), 1000u);
    EXPECT_GT(counter("mem.cache.dead"), 1000u);
}

TEST_F(Cache, FreedAndReusedHeapBlocksAreSafe)
{
    reopen({64, 1 << 30, true, false, true, false});
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (unsigned i = 0, blocks = usual_or_full(200, 1000); i < blocks; i++) {
                size_t bytes = 1 + random() % (300 << 10); // below and above the threshold of mmap
                void *block = std::malloc(bytes);
                void *region = nullptr;
                if (cache_rig_get(rig, block, bytes, RW, &region) != VBN_OK)
                    failures++;
                else
                    cache_rig_put(region);
                std::free(block);
            }
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(failures, 0);
}

// Random histories against a model that knows when each page last changed (invariant C1) and what must be found.
TEST_F(Cache, RandomHistoriesGiveNoStaleHit)
{
    constexpr size_t PAGES = 24;
    uint64_t hits = 0;
    const unsigned seeds = usual_or_full(30, 100);
    for (unsigned seed = 1; seed <= seeds; seed++) {
        std::mt19937 random(seed);
        reopen({1 + random() % 12, (1 + random() % 30) * PAGE, true, false, false, false});
        uint8_t *p = map_pages(PAGES);
        std::vector<uint64_t> changed(PAGES, 0); // number of registrations made before the last change
        std::vector<void *> used;
        for (int step = 0; step < 150; step++) {
            size_t first = random() % PAGES, pages = 1 + random() % std::min<size_t>(6, PAGES - first);
            uint8_t *at = p + first * PAGE;
            switch (random() % 16) {
            case 0:
                munmap(at, pages * PAGE);
                map_pages(pages, at);
                break;
            case 1: map_pages(pages, at); break;
            case 2: madvise(at, pages * PAGE, MADV_DONTNEED); break;
            case 3:
                if (!used.empty()) {
                    cache_rig_put(used.back());
                    used.pop_back();
                }
                continue;
            default: {
                uint64_t before = cache_rig_adds(rig);
                void *region = get(at, pages * PAGE - random() % PAGE, random() % 2 ? R : RW);
                ASSERT_NE(region, nullptr) << "seed " << seed << " step " << step;
                for (size_t i = first; i < first + pages; i++)
                    ASSERT_GT(cache_rig_handle(region), changed[i]) << "seed " << seed << " step " << step;
                hits += cache_rig_adds(rig) == before;
                if (random() % 3 == 0)
                    used.push_back(region);
                else
                    cache_rig_put(region);
                continue;
            }
            }
            for (size_t i = first; i < first + pages; i++)
                changed[i] = cache_rig_adds(rig);
        }
        for (void *region : used)
            cache_rig_put(region);
        cache_rig_reap(rig);
        munmap(p, PAGES * PAGE);
    }
    EXPECT_GT(hits, 5u * seeds);
}

// A child that lives on must not keep the parent's watches alive: munmap would wait for a reader for ever.
TEST_F(Cache, AChildAfterForkDoesNotStopTheParent)
{
    uint8_t *p = map_pages(4);
    look(p, 4 * PAGE);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        alarm(120);
        close(pipes[1]);
        munmap(p, PAGE); // of the child's own: nobody is told
        _exit(read(pipes[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipes[0]);
    EXPECT_EQ(look(p, 4 * PAGE), 1u) << "the child's munmap is not ours";
    reopen({64, 1 << 30, true, false, false, false});
    munmap(p, 4 * PAGE); // hangs when the child holds the closed cache's descriptor
    close(pipes[1]);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

bool refuse_userfaultfd()
{
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program = {4, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Exit codes: 0 as it should be, 77 no seccomp here, else the check that failed.
int without_userfaultfd()
{
    if (!refuse_userfaultfd())
        return 77;
    cache_options_t options = {64, 1 << 30, true, false, false, false};
    cache_rig_t *rig = cache_rig_open(&options);
    std::string log = cache_rig_log(rig);
    if (cache_rig_watches(rig) || log.find("seccomp") == std::string::npos ||
        log.find("not cached") == std::string::npos)
        return 1;
    uint8_t *p = map_pages(2);
    void *a = nullptr, *b = nullptr;
    if (cache_rig_get(rig, p, PAGE, R, &a) != VBN_OK || cache_rig_get(rig, p, PAGE, R, &b) != VBN_OK || a == b)
        return 2;
    cache_rig_put(a);
    cache_rig_put(b);
    if (cache_rig_adds(rig) != 2 || cache_rig_registered_count(rig) != 0)
        return 3;
    cache_rig_close(rig);
    return 0;
}

TEST_F(Cache, WithoutUserfaultfdEachGetRegistersAnewAndTheLogSaysWhy)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        _exit(without_userfaultfd());
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "no seccomp filters here: allow seccomp() in the container profile";
    EXPECT_EQ(status, 0);
    reopen({64, 1 << 30, false, false, false, false}); // the same by choice
    uint8_t *p = map_pages(1);
    EXPECT_EQ(look(p, PAGE), 1u);
    EXPECT_EQ(look(p, PAGE), 2u);
    EXPECT_STREQ(cache_rig_log(rig), "");
    munmap(p, PAGE);
}

} // namespace
