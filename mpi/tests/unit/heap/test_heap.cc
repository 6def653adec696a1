// SPDX-License-Identifier: Apache-2.0
// test_heap.cc - the blocks of mpi/heap, without malloc: contents, alignment, zeros, pages, threads, fork().
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "heap/heap.h"
#include "rt/heap.h"
rt_heap_share_func_t verbena_heap_share;
}

namespace {

constexpr size_t MIB = size_t{1} << 20;

uint8_t *take(size_t bytes, size_t alignment = 0)
{
    return static_cast<uint8_t *>(heap_take(alignment, bytes));
}

TEST(Heap, small_blocks_are_the_next_allocators)
{
    EXPECT_EQ(take(HEAP_LEAST - 1), nullptr);
    EXPECT_EQ(heap_take_zeros(1), nullptr);
    EXPECT_EQ(take(SIZE_MAX), nullptr);
    EXPECT_EQ(take(SIZE_MAX / 2), nullptr);
    int own = 0;
    EXPECT_EQ(heap_has(&own), 0);
    EXPECT_EQ(heap_has(nullptr), 0);
}

TEST(Heap, a_block_is_aligned_and_has_its_bytes)
{
    for (size_t alignment = 1; alignment <= 2 * MIB; alignment *= 2) {
        uint8_t *block = take(HEAP_LEAST + alignment / 3, alignment);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (alignment < 64 ? 64 : alignment), 0u);
        EXPECT_GE(heap_bytes(block), HEAP_LEAST + alignment / 3);
        EXPECT_EQ(heap_has(block), 1);
        EXPECT_EQ(heap_has(block + HEAP_LEAST - 1), 1);
        memset(block, 1, heap_bytes(block));
        heap_give(block);
    }
}

TEST(Heap, zeros_are_zeros_whatever_lay_there)
{
    for (size_t bytes : {HEAP_LEAST, HEAP_LEAST + 100, MIB - 1, MIB, 2 * MIB + 4097, 40 * MIB + 1}) {
        uint8_t *before = take(64 + HEAP_LEAST), *block = take(bytes);
        memset(block, 0xff, heap_bytes(block));
        heap_give(block);
        auto *again = static_cast<uint8_t *>(heap_take_zeros(bytes));
        EXPECT_TRUE(again[0] == 0 && memcmp(again, again + 1, bytes - 1) == 0) << bytes;
        heap_give(again);
        heap_give(before);
    }
}

TEST(Heap, a_block_shrinks_in_place_to_half)
{
    uint8_t *block = take(4 * MIB);
    EXPECT_EQ(heap_resize(block, 3 * MIB), 1);
    EXPECT_EQ(heap_resize(block, 4 * MIB), 1);
    EXPECT_EQ(heap_resize(block, MIB), 0);
    EXPECT_EQ(heap_resize(block, 100 * MIB), 0);
    heap_give(block);
}

TEST(Heap, blocks_of_threads_keep_their_bytes)
{
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; seed++)
        threads.emplace_back([seed] {
            unsigned random = seed;
            std::vector<std::pair<uint8_t *, size_t>> held(8);
            for (int i = 0; i < 400; i++) {
                random = random * 1103515245u + 12345u;
                auto &[block, bytes] = held[random >> 28 & 7];
                for (size_t at = 0; block != nullptr && at < bytes; at += 1000)
                    ASSERT_EQ(block[at], seed);
                if (block != nullptr)
                    heap_give(block);
                bytes = HEAP_LEAST + (random >> 8 & 0xfffff);
                block = take(bytes);
                memset(block, static_cast<int>(seed), bytes);
            }
            for (auto &[block, bytes] : held)
                if (block != nullptr)
                    heap_give(block);
        });
    for (auto &thread : threads)
        thread.join();
}

TEST(Heap, a_child_has_a_copy_that_nobody_shares)
{
    uint8_t *block = take(MIB);
    rt_heap_share_t share;
    memset(block, 1, MIB);
    ASSERT_EQ(verbena_heap_share(&share), 0);
    EXPECT_TRUE(block >= share.base && block < static_cast<uint8_t *>(share.base) + share.size);
    pid_t child = fork();
    if (child == 0) {
        bool right = block[0] == 1 && block[MIB - 1] == 1 && verbena_heap_share(&share) != 0;
        memset(block, 2, MIB);
        heap_give(block);
        uint8_t *own = take(40 * MIB);
        memset(own, 3, 40 * MIB);
        heap_give(own);
        own = static_cast<uint8_t *>(heap_take_zeros(40 * MIB));
        _exit(right && own[0] == 0 && own[40 * MIB - 1] == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(block[0], 1);
    EXPECT_EQ(block[MIB - 1], 1);
    heap_give(block);
}

int64_t pages_of(int fd)
{
    struct stat found = {};
    return fstat(fd, &found) == 0 ? found.st_blocks : -1;
}

// H6: as a shell does by `exec 3>file`.
TEST(Heap, a_child_has_its_bytes_and_the_programs_file_where_that_took_the_descriptor)
{
    uint8_t *block = take(MIB);
    heap_give(take(256 * MIB)); // no page of it is there, and none is made
    rt_heap_share_t share;
    memset(block, 1, MIB);
    ASSERT_EQ(verbena_heap_share(&share), 0);
    const int64_t pages = pages_of(share.fd);
    const int fd = share.fd, own = dup(fd), file = memfd_create("of the program", 0);
    ASSERT_EQ(dup2(file, fd), fd);
    EXPECT_NE(verbena_heap_share(&share), 0);
    EXPECT_NE(std::string(share.cause).find("has closed its descriptor"), std::string::npos) << share.cause;
    pid_t child = fork();
    if (child == 0)
        _exit(block[0] == 1 && memcmp(block, block + 1, MIB - 1) == 0 && write(fd, "text", 4) == 4 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(lseek(file, 0, SEEK_END), 4);
    EXPECT_EQ(pages_of(own), pages);
    ASSERT_EQ(dup2(own, fd), fd);
    EXPECT_EQ(verbena_heap_share(&share), 0);
    close(own);
    close(file);
    heap_give(block);
}

} // namespace
