// SPDX-License-Identifier: Apache-2.0
// test_arm.cc - what vbn_arm does before a worker sleeps: with progress.spin=0 it neither polls nor yields the processor. The
// yields of this process are counted, because a yield is what an event loop of another library would notice.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>

#include "pair.h"

namespace {

std::atomic<unsigned> yields;

}

/* In place of libc's, in this program. */
extern "C" int sched_yield()
{
    yields++;
    return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

using multi::Pair;
using multi::Shared;

class Arm : public ::testing::TestWithParam<const char *> {};

/* Sleeps that end at once are what tells a worker that polling would pay: arms a connected worker again and again. */
void arm(Pair &pair)
{
    while (vbn_arm(pair.a.worker) == VBN_BUSY)
        pair.turn();
    (void)vbn_progress(pair.a.worker);
}

void connect(Pair &pair)
{
    MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
    while (vbn_progress(pair.a.worker) + vbn_progress(pair.b.worker) > 0)
        ;
    yields = 0;
}

TEST_P(Arm, with_progress_spin_0_never_polls_nor_yields)
{
    auto codes = multi::launch(1, [](int, Shared &) {
        setenv("VBN_PROGRESS_SPIN", "0", 1);
        Pair pair(GetParam());
        connect(pair);
        for (int i = 0; i < 20000; i++)
            arm(pair);
        MUST(yields == 0);
        pair.close();
    });
    EXPECT_EQ(codes[0], 0);
}

TEST_P(Arm, polls_and_yields_before_it_sleeps_where_sleeps_are_short)
{
    auto codes = multi::launch(1, [](int, Shared &) {
        Pair pair(GetParam());
        connect(pair);
        while (yields == 0) /* ended by the launcher's time limit */
            arm(pair);
        pair.close();
    });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Over, Arm, ::testing::Values("shm", "tcp"),
                         [](const auto &each) { return std::string(each.param); });

} // namespace
