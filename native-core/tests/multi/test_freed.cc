// SPDX-License-Identifier: Apache-2.0
// test_freed.cc - nothing touches memory after vbn_mem_free or vbn_mem_revoke has returned (freed.h).
#include <gtest/gtest.h>

#include <cstring>

#include "freed.h"
#include "full.h"

using multi::End;
using multi::Freed;
using multi::Then;

namespace {

/* A device that the kernel emulates takes a second and more for each. */
unsigned rounds(const char *transports)
{
    return strstr(transports, "rc") != nullptr || strstr(transports, "ud") != nullptr ? 21 : usual_or_full(20, 60);
}

class FreedMemory : public ::testing::TestWithParam<const char *> {};

TEST_P(FreedMemory, is_not_touched_any_more_wherever_a_put_or_get_of_it_is)
{
    std::vector<int> codes = multi::launch(1, [](int, multi::Shared &) {
        Freed f(GetParam());
        f.all();
        f.close();
    });
    EXPECT_EQ(codes[0], 0);
}

TEST_P(FreedMemory, may_be_given_up_by_any_thread_while_the_worker_serves_it)
{
    std::vector<int> codes = multi::launch(
        1, [](int, multi::Shared &) { multi::freed_by_another_thread(GetParam(), rounds(GetParam())); });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, FreedMemory, ::testing::ValuesIn(multi::ways({"self", "shm", "tcp"})),
                         [](const auto &test) { return multi::way_name(test.param); });

/* With so small buffers no packet comes at once: tcp receives it in place, a little at a time, and queues answers. */
TEST(FreedMemoryTcp, is_given_up_in_the_middle_of_a_packet_of_a_put_and_with_answers_queued)
{
    std::vector<int> codes = multi::launch(1, [](int, multi::Shared &) {
        setenv("VBN_TL_TCP_SOCKET_BUFFER", "8K", 1);
        Freed f("tcp");
        for (End end : {End::FREE, End::REVOKE})
            for (Then then : {Then::UNMAP, Then::REFILL}) {
                MUST(f.put(end, then, multi::BEGUN));
                f.get(end, then, 100);
            }
        f.close();
    });
    EXPECT_EQ(codes[0], 0);
}

/* Packets are kept and may be sent again, and leave in batches: a worker that finds one memory shut is inside no other. */
TEST(FreedMemoryTcp, may_be_given_up_by_any_thread_while_packets_are_kept)
{
    std::vector<int> codes = multi::launch(1, [](int, multi::Shared &) {
        setenv("VBN_LINK_RESUME_TIMEOUT", "10s", 1);
        setenv("VBN_TL_TCP_SOCKET_BUFFER", "16K", 1);
        multi::freed_by_another_thread("tcp", usual_or_full(20, 60));
    });
    EXPECT_EQ(codes[0], 0);
}

} // namespace
