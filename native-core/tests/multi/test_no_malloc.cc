// SPDX-License-Identifier: Apache-2.0
// test_no_malloc.cc - counts heap allocations of a process that sends and receives over shm once it is warm.
#include <gtest/gtest.h>

#include <cerrno>

#include "launch.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if !defined(SANITIZED) && defined(__GLIBC__)
static std::atomic<uint64_t> allocations;

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
}

namespace {

using multi::Node;
using multi::Shared;

struct Echo {
    vbn_op_t op{};
    uint64_t received = 0;
    bool answer = false;
    static void handle(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Echo *>(arg);
        self->received++;
        if (!self->answer)
            return;
        iovec iov{nullptr, 0};
        MUST(vbn_am_send(m->peer, 1, m->header, m->header_length, &iov, 1, 0, &self->op) >= 0);
    }
};

void play(int rank, Shared &shared)
{
    Node node(shared, rank, 2, "shm");
    static uint8_t data[4096];
    Echo echo;
    echo.answer = rank == 1;
    MUST(vbn_am_handler(node.worker, 1, Echo::handle, &echo) == VBN_OK);
    node.connect(shared, 1 - rank);
    uint64_t before = 0;
    const uint64_t WARM = 2000, ROUNDS = 8000;
    auto end = multi::Clock::now() +
               std::chrono::seconds(200); /* each round is two changes of process, on a busy machine too */
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (i == WARM)
            before = allocations;
        iovec iov{data, i % 2 == 0 ? 8u : 4096u};
        if (rank == 0)
            MUST(vbn_am_send(node.peers[1], 1, "header", 6, &iov, 1, 0, &echo.op) >= 0);
        while (echo.received <= i) {
            node.step(100);
            MUST(multi::Clock::now() < end);
        }
    }
    if (allocations != before)
        std::fprintf(stderr, "%llu allocations in %llu rounds\n", static_cast<unsigned long long>(allocations - before),
                     static_cast<unsigned long long>(ROUNDS - WARM));
    MUST(allocations == before);
    node.barrier(shared, 1);
    node.close();
}

TEST(NoMalloc, warm_sends_and_receives_over_shm_do_not_touch_the_heap)
{
    uint64_t before = allocations;
    void *volatile block = std::malloc(100); /* the counter counts; volatile keeps the call */
    std::free(block);
    ASSERT_GT(allocations, before);
    auto codes = multi::launch(2, play);
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 0);
}

} // namespace
#else
TEST(NoMalloc, warm_sends_and_receives_over_shm_do_not_touch_the_heap)
{
    GTEST_SKIP() << "a sanitizer owns malloc in this build, or the C library is not glibc";
}
#endif
