// SPDX-License-Identifier: Apache-2.0
// Memory for the program, without node memory: pages, alignment, exhaustion, what is given back, what outlives the runtime, a
// limit of a control group, poison. mpi/tests/run/alloc_mem.c shows it in node memory.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
#include "rt/host.h"
#include "rt/memory.h"
#include "rt/node.h"
#include "rt/rt.h"
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace {

constexpr size_t MIB = size_t{1} << 20;

/* A runtime of one rank, as far as memory needs it. */
class Memory : public ::testing::Test {
protected:
    void SetUp() override { open(); }
    void TearDown() override { close(); }
    static void open()
    {
        vbn_config_t *config = nullptr;
        const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        ASSERT_EQ(vbn_config_create(&config), VBN_OK);
        ASSERT_EQ(vbn_config_set_job_key(config, key), VBN_OK);
        ASSERT_EQ(vbn_open(config, &rt.context), VBN_OK) << vbn_error_text();
        vbn_config_destroy(config);
        rt_node.state = RT_NODE_NONE;
    }
    /* Returns what stays. */
    static int close()
    {
        if (rt.context == nullptr)
            return 0;
        const int stays = rt_memory_close();
        if (stays == 0) {
            EXPECT_EQ(vbn_close(rt.context), VBN_OK) << vbn_error_text();
        }
        rt.context = nullptr;
        return stays;
    }
    static unsigned char *take(size_t size, size_t alignment = 1)
    {
        void *address = nullptr;
        EXPECT_EQ(rt_memory_alloc(size, alignment, &address), 0) << rt.error;
        return static_cast<unsigned char *>(address);
    }
    static uint64_t bytes_of_pages()
    {
        vbn_counter_t all[256];
        const size_t count = vbn_counters(rt.context, all, 256);
        for (size_t i = 0; i < count && i < 256; i++)
            if (std::strcmp(all[i].name, "mem.bytes") == 0)
                return all[i].value;
        return UINT64_MAX;
    }
};

TEST_F(Memory, blocks_are_aligned_and_keep_their_bytes)
{
    std::vector<unsigned char *> all;
    for (size_t i = 0; i < 300; i++) {
        const size_t alignment = size_t{1} << i % 22, size = i * 37 % 5000;
        all.push_back(take(size, alignment));
        ASSERT_EQ(reinterpret_cast<uintptr_t>(all[i]) % alignment, 0u);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(all[i]) % RT_MEMORY_LINE, 0u);
        std::memset(all[i], static_cast<int>(i), size);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t at = 0; at < i * 37 % 5000; at++)
            ASSERT_EQ(all[i][at], static_cast<unsigned char>(i)) << i;
        ASSERT_EQ(rt_memory_free(all[i]), 0) << rt.error;
    }
}

TEST_F(Memory, what_was_not_handed_out_or_was_freed_is_refused)
{
    unsigned char *block = take(1000);
    EXPECT_EQ(rt_memory_free(block + 64), -1);
    EXPECT_EQ(rt_memory_free(&block), -1);
    EXPECT_EQ(rt_memory_free(block), 0);
    EXPECT_EQ(rt_memory_free(block), -1);
    EXPECT_NE(std::strstr(rt.error, "freed before"), nullptr) << rt.error;
}

TEST_F(Memory, more_than_the_host_has_is_an_error_that_leaves_nothing_behind)
{
    void *address = nullptr;
    unsigned char *small = take(100);
    const uint64_t before = bytes_of_pages();
    for (uint64_t size : {rt_host_bytes() * 64, uint64_t{SIZE_MAX}, uint64_t{SIZE_MAX} / 2, rt_host_bytes()}) {
        EXPECT_EQ(rt_memory_alloc(size, 1, &address), -1) << size;
        EXPECT_LE(bytes_of_pages(), before) << size;
    }
    small[99] = 1;
    EXPECT_EQ(rt_memory_free(small), 0);
}

TEST_F(Memory, the_host_gets_back_what_is_free_beyond_a_limit)
{
    std::vector<unsigned char *> all;
    for (int i = 0; i < 12; i++) {
        all.push_back(take(8 * MIB));
        std::memset(all.back(), i, 8 * MIB);
    }
    EXPECT_GE(bytes_of_pages(), 96 * MIB);
    for (size_t i = 0; i < all.size(); i += 2) /* with blocks in use in between */
        EXPECT_EQ(rt_memory_free(all[i]), 0);
    EXPECT_LE(bytes_of_pages(), 48 * MIB + RT_MEMORY_KEPT + MIB);
    for (size_t i = 1; i < all.size(); i += 2) {
        EXPECT_EQ(all[i][0], i);
        EXPECT_EQ(all[i][8 * MIB - 1], i);
        EXPECT_EQ(rt_memory_free(all[i]), 0);
    }
    EXPECT_LE(bytes_of_pages(), RT_MEMORY_KEPT + MIB);
    unsigned char *again = take(96 * MIB);
    std::memset(again, 1, 96 * MIB);
    EXPECT_EQ(rt_memory_free(again), 0);
}

TEST_F(Memory, pages_stay_where_the_program_allocates_again_what_it_has_freed)
{
    const size_t size = 40 * MIB; /* above what is kept at first */
    unsigned char *block = take(size);
    EXPECT_EQ(rt_memory_free(block), 0);
    EXPECT_LE(bytes_of_pages(), MIB);
    block = take(size);
    EXPECT_EQ(rt_memory_free(block), 0);
    EXPECT_GE(bytes_of_pages(), size);
    EXPECT_LE(bytes_of_pages(), size + MIB);
}

TEST_F(Memory, ranks_keep_a_part_of_the_host_at_most)
{
    const size_t most = rt_host_bytes() / RT_MEMORY_SHARE;
    rt.size = 1 + static_cast<int>(most / (48 * MIB)); /* so each one may keep less than 48 MiB */
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(rt_memory_free(take(64 * MIB)), 0);
        EXPECT_LE(bytes_of_pages(), MIB);
    }
    rt.size = 1;
}

TEST_F(Memory, blocks_outlive_the_runtime_and_may_be_freed_in_the_next_one)
{
    unsigned char *block = take(5000), *other = take(70);
    std::memset(block, 7, 5000);
    vbn_context_t *first = rt.context;
    EXPECT_EQ(close(), RT_MEMORY_CONTEXT);
    EXPECT_EQ(block[4999], 7);
    block[0] = 8;
    open();
    EXPECT_NE(rt.context, first);
    unsigned char *fresh = take(5000);
    EXPECT_NE(fresh, block);
    EXPECT_EQ(rt_memory_free(block), 0);
    EXPECT_EQ(rt_memory_free(fresh), 0);
    EXPECT_EQ(rt_memory_free(other), 0); /* the last one closes the first context; leaks would show under ASan */
    EXPECT_EQ(rt_memory_free(other), -1);
    EXPECT_EQ(close(), 0);
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(Memory, bytes_beyond_a_block_and_freed_ones_are_poisoned)
{
    char *block = reinterpret_cast<char *>(take(100));
    EXPECT_EQ(__asan_region_is_poisoned(block, 100), nullptr);
    for (size_t i = 100; i < 164; i++)
        EXPECT_TRUE(__asan_address_is_poisoned(block + i)) << i;
    EXPECT_EQ(rt_memory_free(block), 0);
    EXPECT_TRUE(__asan_address_is_poisoned(block));
    char *all = reinterpret_cast<char *>(take(MIB));
    EXPECT_EQ(__asan_region_is_poisoned(all, MIB), nullptr);
    EXPECT_EQ(rt_memory_free(all), 0);
    close();
    EXPECT_FALSE(__asan_address_is_poisoned(block)) << "the addresses are others' now";
}
#else
TEST_F(Memory, with_few_addresses_ordinary_memory_takes_over) /* ASan needs 16 TiB of them */
{
    const rlimit few = {600 * MIB, 600 * MIB}; /* so an arena has 128 */
    const pid_t child = fork();
    if (child == 0) {
        rt.context = nullptr; /* the parent's */
        if (setrlimit(RLIMIT_AS, &few) != 0)
            _exit(1);
        open();
        void *block = nullptr, *small = nullptr;
        if (rt_memory_alloc(200 * MIB, 4096, &block) != 0 || rt_memory_alloc(100, 64, &small) != 0)
            _exit(2);
        std::memset(block, 1, 200 * MIB);
        if (rt_memory_free(block) != 0 || rt_memory_free(small) != 0 || rt_memory_free(block) != -1)
            _exit(3);
        _exit(rt_memory_alloc(900 * MIB, 64, &block) == -1 ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
#endif

bool write_to(const std::string &path, const std::string &text)
{
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

/* A control group of 200 MiB, of either version; "" where none may be made. */
std::string make_group()
{
    const bool separate = access("/sys/fs/cgroup/memory/cgroup.procs", F_OK) == 0;
    const std::string path = std::string(separate ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + "/vbn-test-" +
                             std::to_string(getpid());
    const std::string limit = path + (separate ? "/memory.limit_in_bytes" : "/memory.max");
    if (mkdir(path.c_str(), 0700) == 0 && write_to(limit, std::to_string(200 * MIB)))
        return path;
    rmdir(path.c_str());
    return "";
}

/* Exit code of a process in the group. */
int within_the_limit(const std::string &group, int (*ask)())
{
    const pid_t child = fork();
    if (child == 0)
        _exit(write_to(group + "/cgroup.procs", std::to_string(getpid())) ? ask() : 9);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class Limited : public Memory {
public:
    void SetUp() override {}
    static int ask()
    {
        void *block = nullptr, *other = nullptr;
        open();
        if (rt_memory_alloc(1024 * MIB, 64, &block) == 0 || std::strstr(rt.error, "control group") == nullptr)
            return 1;
        if (rt_memory_alloc(100 * MIB, 64, &block) != 0)
            return 2;
        std::memset(block, 1, 100 * MIB); /* it is there */
        if (rt_memory_alloc(100 * MIB, 64, &other) == 0 || std::strstr(rt.error, "control group") == nullptr)
            return 3;
        if (rt_memory_free(block) != 0)
            return 4;
        for (int i = 0; i < 8; i++) { /* fragments of free pages do not count against it */
            if (rt_memory_alloc((90 + static_cast<size_t>(i)) * MIB, 64, &block) != 0)
                return 5;
            std::memset(block, 1, 90 * MIB);
            if (rt_memory_free(block) != 0)
                return 6;
        }
        return close();
    }
};

TEST_F(Limited, what_a_control_group_does_not_allow_is_an_error_with_its_name_and_nobody_is_killed)
{
    const std::string group = make_group();
    if (group.empty())
        GTEST_SKIP() << "no control group may be made here";
    EXPECT_EQ(within_the_limit(group, Limited::ask), 0);
    for (int i = 0; i < 600 && rmdir(group.c_str()) != 0; i++)
        usleep(100000); /* its process is still being ended */
}

} // namespace
