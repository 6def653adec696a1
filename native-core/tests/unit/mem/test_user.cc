// SPDX-License-Identifier: Apache-2.0
// test_user.cc - memory of the user's own: registering, keys, its end, the child after fork.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "mem_harness.h"
#include "pages.h"

namespace {

constexpr unsigned R = VBN_ACCESS_READ, RW = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

class UserMemory : public ::testing::Test {
protected:
    void SetUp() override { bench = bench_open(); }
    void TearDown() override { EXPECT_EQ(bench_close(bench), VBN_OK) << vbn_error_text(); }

    vbn_mem_t *make(void *address, size_t length, unsigned access)
    {
        vbn_mem_t *mem = nullptr;
        EXPECT_EQ(bench_register(bench, address, length, access, &mem), VBN_OK) << vbn_error_text();
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

    vbn_status_t resolve(uint64_t handle, size_t length, unsigned access, void **address_p)
    {
        return bench_resolve(bench, handle, 0, length, access, address_p);
    }

    bench_t *bench = nullptr;
};

TEST_F(UserMemory, IsReachedByKeysWithinItsRangeAndRights)
{
    std::vector<uint8_t> buffer(10000);
    vbn_mem_t *mem = make(buffer.data() + 3, 9000, R);
    EXPECT_EQ(mem_address(mem), buffer.data() + 3);
    EXPECT_EQ(mem_size(mem), 9000u);
    EXPECT_EQ(bench_counter(bench, "mem.registered.bytes"), 9000u);
    EXPECT_EQ(bench_counter(bench, "mem.bytes"), 0u);
    uint64_t handle = key(mem, 7, 100, R);
    void *address = nullptr;
    EXPECT_EQ(resolve(handle, 100, R, &address), VBN_OK);
    EXPECT_EQ(address, buffer.data() + 10);
    EXPECT_EQ(resolve(handle, 101, R, &address), VBN_ERR_RANGE);
    EXPECT_EQ(resolve(handle, 1, VBN_ACCESS_WRITE, &address), VBN_ERR_ACCESS);
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    EXPECT_EQ(mem_key_export(mem, 0, 1, RW, blob, &bytes), VBN_ERR_ACCESS) << "registered for reading only";
    int fd = -1;
    EXPECT_EQ(bench_descriptor(bench, handle, &fd), VBN_ERR_UNSUPPORTED);
    EXPECT_EQ(bench_find(bench, buffer.data() + 3, 1), nullptr) << "peers cannot map it";
    EXPECT_EQ(mem_free(mem), VBN_OK);
    EXPECT_EQ(resolve(handle, 1, R, &address), VBN_ERR_STALE);
    EXPECT_EQ(bench_counter(bench, "mem.registered.bytes"), 0u);
    buffer[5000] = 1; // still ours
}

TEST_F(UserMemory, RegisteringAgainFindsTheSamePagesReady)
{
    std::vector<uint8_t> buffer(100000);
    for (int i = 0; i < 10; i++)
        mem_free(make(buffer.data(), buffer.size(), RW));
    EXPECT_EQ(bench_counter(bench, "mem.cache.misses") + bench_counter(bench, "mem.cache.hits"), 10u);
    if (bench_counter(bench, "mem.cache.hits") == 0)
        GTEST_SKIP() << "userfaultfd is refused here: sysctl vm.unprivileged_userfaultfd=1, or run as root";
    EXPECT_EQ(bench_counter(bench, "mem.cache.misses"), 1u);
}

TEST_F(UserMemory, KeysOfUnmappedMemoryAreStale)
{
    uint8_t *map = map_pages(16);
    vbn_mem_t *mem = make(map, 65536, RW);
    uint64_t handle = key(mem, 0, 65536, RW);
    void *address = nullptr;
    EXPECT_EQ(resolve(handle, 65536, RW, &address), VBN_OK);
    mem_free(make(map, 65536, RW));
    bool watched = bench_counter(bench, "mem.cache.hits") > 0;
    munmap(map + 32768, PAGE);
    if (watched)
        EXPECT_EQ(resolve(handle, 1, R, &address), VBN_ERR_STALE);
    else
        std::cout << "mappings cannot be watched here: the caller has to call vbn_mem_invalidate\n";
    munmap(map, 65536);
    mem_free(mem);
}

TEST_F(UserMemory, InvalidatedMemoryIsStaleAndCanBeRegisteredAnew)
{
    std::vector<uint8_t> buffer(100000);
    EXPECT_EQ(bench_invalidate(bench, buffer.data(), 10), VBN_OK) << "nothing is registered yet";
    vbn_mem_t *mem = make(buffer.data(), buffer.size(), R);
    uint64_t handle = key(mem, 0, 100, R);
    void *address = nullptr;
    EXPECT_EQ(bench_invalidate(bench, buffer.data() + 50000, 1), VBN_OK);
    EXPECT_EQ(resolve(handle, 1, R, &address), VBN_ERR_STALE);
    vbn_mem_t *again = make(buffer.data(), buffer.size(), R);
    EXPECT_EQ(resolve(key(again, 0, 100, R), 1, R, &address), VBN_OK);
    mem_free(mem);
    mem_free(again);
}

TEST_F(UserMemory, WrongRequestsAreRefused)
{
    vbn_mem_t *mem = nullptr;
    uint8_t byte = 0;
    EXPECT_EQ(bench_register(bench, &byte, 1, 0, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_register(bench, &byte, 1, 4, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_register(bench, &byte, 0, R, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_register(bench, nullptr, 10, R, &mem), VBN_ERR_INVALID);
    EXPECT_EQ(bench_register(bench, reinterpret_cast<void *>(64), 10, R, &mem), VBN_ERR_RANGE);
    static const char constant[] = "not writable";
    EXPECT_EQ(bench_register(bench, const_cast<char *>(constant), sizeof(constant), RW, &mem), VBN_ERR_ACCESS);
    EXPECT_EQ(mem, nullptr);
}

// Exit codes: the number of the call that was not refused.
int child_of(bench_t *bench, vbn_mem_t *mem, vbn_mem_t *user)
{
    static uint8_t buffer[100];
    vbn_mem_t *made = nullptr;
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    vbn_status_t results[] = {
        bench_alloc(bench, 100, VBN_BACKING_MEMFD, nullptr, &made),
        bench_register(bench, buffer, sizeof(buffer), R, &made),
        bench_open_file(bench, "/tmp/x", &made),
        bench_invalidate(bench, buffer, 1),
        mem_key_export(mem, 0, 1, R, blob, &bytes),
        mem_revoke(mem),
        mem_free(mem),
        mem_free(user),
    };
    int number = 0;
    for (vbn_status_t result : results) {
        number++;
        if (result != VBN_ERR_FORKED)
            return number;
    }
    return 0;
}

TEST_F(UserMemory, AChildAfterForkIsRefusedAndLeavesTheParentsFileAlone)
{
    char directory[] = "/tmp/vbn-user-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    std::string path = std::string(directory) + "/memory";
    std::vector<uint8_t> buffer(5000);
    vbn_mem_t *mem = nullptr;
    ASSERT_EQ(bench_alloc(bench, 100, VBN_BACKING_FILE, path.c_str(), &mem), VBN_OK) << vbn_error_text();
    vbn_mem_t *user = make(buffer.data(), buffer.size(), RW);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        _exit(child_of(bench, mem, user));
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status) << " is the call that was not refused";
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
    EXPECT_EQ(mem_free(user), VBN_OK);
    EXPECT_EQ(mem_free(mem), VBN_OK);
    rmdir(directory);
}

} // namespace
