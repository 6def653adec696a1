// SPDX-License-Identifier: Apache-2.0
// test_huge.cc - pages of shareable memory and of pools: huge where the host has some, locked within ulimit -l.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "mem_harness.h"

namespace {

constexpr size_t MIB = size_t(1) << 20;

// A field of a /proc file in KiB, e.g. "VmLck:"; of /proc/self/smaps: of the mapping that holds the address.
uint64_t kib(const char *file, const std::string &field, const void *address = nullptr)
{
    std::ifstream in(file);
    std::string line;
    bool inside = address == nullptr;
    while (std::getline(in, line)) {
        unsigned long start, end;
        if (address != nullptr && sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2 && line.find('-') < 17)
            inside = start <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
        if (inside && line.compare(0, field.size(), field) == 0)
            return std::stoull(line.substr(field.size()));
    }
    return 0;
}

bool has(bench_t *bench, const char *text)
{
    return std::strstr(bench_log(bench), text) != nullptr;
}

// The sanitizers replace mlock by nothing, and a limit may forbid it.
bool mlock_works()
{
    alignas(4096) static uint8_t page[4096];
    uint64_t before = kib("/proc/self/status", "VmLck:");
    bool works = mlock(page, sizeof(page)) == 0 && kib("/proc/self/status", "VmLck:") > before;
    munlock(page, sizeof(page));
    return works;
}

class Pages : public ::testing::Test {
protected:
    void SetUp() override { bench = bench_open(); }
    void TearDown() override { EXPECT_EQ(bench_close(bench), VBN_OK) << vbn_error_text(); }

    vbn_mem_t *make(size_t bytes)
    {
        vbn_mem_t *mem = nullptr;
        EXPECT_EQ(bench_alloc(bench, bytes, VBN_BACKING_MEMFD, nullptr, &mem), VBN_OK) << vbn_error_text();
        std::memset(mem_address(mem), 7, mem_size(mem));
        return mem;
    }

    bench_t *bench = nullptr;
};

TEST_F(Pages, LargeMemorySaysOnceWhichPagesItGot)
{
    vbn_mem_t *small = make(MIB);
    EXPECT_STREQ(bench_log(bench), "");
    vbn_mem_t *a = make(4 * MIB);
    vbn_mem_t *b = make(4 * MIB + 4096); // not whole huge pages: never reserved ones
    std::string log = bench_log(bench);
    EXPECT_NE(log.find("4194304 bytes is in "), std::string::npos) << log;
    EXPECT_EQ(log.find("bytes is in", log.find("bytes is in") + 1), std::string::npos) << "once: " << log;
    bool huge = kib("/proc/self/smaps", "KernelPageSize:", mem_address(a)) > 4;
    EXPECT_EQ(huge, has(bench, "reserved huge pages")) << log;
    EXPECT_EQ(kib("/proc/self/smaps", "KernelPageSize:", mem_address(b)), 4u);
    if (has(bench, "normal pages")) {
        EXPECT_TRUE(has(bench, "vm.nr_hugepages") && has(bench, "shmem_enabled")) << log;
    }
    std::cout << log << "\n";
    for (vbn_mem_t *mem : {small, a, b})
        mem_free(mem);
}

TEST_F(Pages, HugeMemoryIsSharedLikeAnyOther)
{
    vbn_mem_t *mem = make(4 * MIB);
    uint8_t blob[VBN_KEY_MAX];
    size_t length = sizeof(blob);
    uint64_t handle = 0;
    int fd = -1;
    void *import = nullptr;
    ASSERT_EQ(mem_key_export(mem, 0, 4 * MIB, VBN_ACCESS_READ, blob, &length), VBN_OK);
    ASSERT_EQ(bench_decode(blob, length, &handle), VBN_OK);
    ASSERT_EQ(bench_descriptor(bench, handle, &fd), VBN_OK) << vbn_error_text();
    ASSERT_EQ(bench_import(bench, blob, length, fd, &import), VBN_OK) << vbn_error_text();
    static_cast<uint8_t *>(mem_address(mem))[4 * MIB - 1] = 9;
    EXPECT_EQ(static_cast<uint8_t *>(bench_import_address(import))[4 * MIB - 1], 9);
    bench_import_release(import);
    mem_free(mem);
}

TEST_F(Pages, HugePagesAreNotTakenWhenTheSettingSaysSo)
{
    bench_configure(bench, "mem.huge_pages", "false");
    vbn_mem_t *mem = make(4 * MIB);
    EXPECT_EQ(kib("/proc/self/smaps", "KernelPageSize:", mem_address(mem)), 4u);
    EXPECT_STREQ(bench_log(bench), "");
    mem_free(mem);
}

TEST_F(Pages, BlocksOfPoolsExistAndAreLocked)
{
    void *block = bench_slab_get(bench, 100000);
    ASSERT_NE(block, nullptr);
    unsigned char resident[25];
    ASSERT_EQ(mincore(block, 25 * 4096, resident), 0);
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, since Linux 5.14: before it what is locked exists
    if (madvise(nullptr, 0, populate_write) == 0) {
        for (unsigned char page : resident)
            EXPECT_EQ(page & 1, 1);
    }
    uint64_t locked = kib("/proc/self/smaps", "Locked:", block);
    EXPECT_TRUE(locked >= 100 || has(bench, "RLIMIT_MEMLOCK") || !mlock_works()) << locked << bench_log(bench);
    std::memset(block, 1, 100000);
    EXPECT_EQ(bench_counter(bench, "mem.pool.bytes"), 25u * 4096);
    bench_slab_put(bench, block, 100000);
    EXPECT_EQ(bench_counter(bench, "mem.pool.bytes"), 0u);
    void *large = bench_slab_get(bench, 3 * MIB);
    ASSERT_NE(large, nullptr);
    std::memset(large, 1, 3 * MIB);
    bench_slab_put(bench, large, 3 * MIB);
}

// Four blocks: 1 MiB, or as much as the host allows at most.
rlim_t limit_of_four_blocks()
{
    rlimit now = {};
    getrlimit(RLIMIT_MEMLOCK, &now);
    const rlim_t blocks = 4 * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    return std::min<rlim_t>(now.rlim_max, MIB) / blocks * blocks;
}

// The limit is not for who has CAP_IPC_LOCK; to give capabilities back, no right is needed.
bool without_capabilities()
{
    __user_cap_header_struct own = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return syscall(SYS_capset, &own, none) == 0;
}

// Exit codes: 0 as it should be, else the check that failed.
int grow_beyond(rlim_t bytes)
{
    const rlimit limit = {bytes, bytes};
    const std::string said = "(RLIMIT_MEMLOCK) of " + std::to_string(bytes >> 10) + " KiB";
    bench_t *bench = bench_open();
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || !without_capabilities())
        return 1;
    std::vector<void *> blocks;
    for (int i = 0; i < 16; i++) {
        blocks.push_back(bench_slab_get(bench, bytes / 4));
        if (blocks.back() == nullptr)
            return 2;
        std::memset(blocks.back(), i, bytes / 4);
        bool beyond = i >= 4;
        if (has(bench, "ulimit -l") != beyond || (beyond && !has(bench, said.c_str())))
            return 3;
    }
    uint64_t locked = kib("/proc/self/status", "VmLck:");
    if (locked != bytes >> 10)
        return 4;
    std::string log = bench_log(bench);
    if (log.find("RLIMIT_MEMLOCK") != log.rfind("RLIMIT_MEMLOCK"))
        return 5; // said once
    for (void *block : blocks)
        bench_slab_put(bench, block, bytes / 4);
    if (kib("/proc/self/status", "VmLck:") != 0)
        return 6;
    return bench_close(bench) == VBN_OK ? 0 : 7;
}

TEST_F(Pages, PoolsGrowToTheLimitOfLockedMemoryAndGoOnUnlockedWithOneLine)
{
    if (!mlock_works())
        GTEST_SKIP() << "mlock does nothing here: run the release build, with a larger ulimit -l";
    const rlim_t limit = limit_of_four_blocks();
    if (limit == 0)
        GTEST_SKIP() << "four pages cannot be locked here: raise ulimit -Hl";
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        _exit(grow_beyond(limit));
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status) << " is the check that failed";
}

} // namespace
