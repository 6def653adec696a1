// SPDX-License-Identifier: Apache-2.0
// test_look.cc - a worker that is about to sleep asks TCP again and again whether something waits: system calls are made now
// and then only, and what waits is found.
#include "node.h"

#include <atomic>

#include <sys/epoll.h>
#include <sys/syscall.h>

namespace {

std::atomic<unsigned> calls;

} // namespace

// In the place of the C library's.
extern "C" int epoll_wait(int fd, epoll_event *events, int most, int timeout_ms)
{
    calls++;
    return static_cast<int>(syscall(SYS_epoll_pwait, fd, events, most, timeout_ms, nullptr, 0));
}

namespace {

constexpr auto GAP = std::chrono::microseconds(20); // without a connection

TEST(Look, asks_the_kernel_now_and_then_only_while_nothing_waits)
{
    Node node;
    ASSERT_EQ(VBN_OK, node.opened);
    for (int i = 0; i < 10; i++)
        harness_progress(node.harness);
    const auto begin = std::chrono::steady_clock::now();
    const unsigned before = calls;
    for (int i = 0; i < 100000; i++)
        ASSERT_FALSE(harness_asks(node.harness));
    const auto gaps = (std::chrono::steady_clock::now() - begin) / GAP;
    EXPECT_GT(calls, before);
    EXPECT_LE(calls - before, static_cast<unsigned>(gaps) + 2);
}

TEST(Look, finds_a_connection_that_comes_meanwhile)
{
    Node node;
    ASSERT_EQ(VBN_OK, node.opened);
    for (int i = 0; i < 10; i++)
        harness_progress(node.harness);
    ASSERT_FALSE(harness_asks(node.harness));
    const int fd = raw_connect(node, INADDR_LOOPBACK);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    bool found = false;
    while (!found && std::chrono::steady_clock::now() < end)
        found = harness_asks(node.harness);
    EXPECT_TRUE(found);
    EXPECT_GT(harness_progress(node.harness), 0u); // and progress looks at once
    close(fd);
}

} // namespace
