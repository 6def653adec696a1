// SPDX-License-Identifier: Apache-2.0
// test_wait.cc - when a worker looks on before it sleeps.
#include <gtest/gtest.h>

extern "C" {
#include "link/link_wait.h"
}

namespace {

constexpr uint64_t kLook = 50000, kSoon = 20000, kLate = 5000000;

struct Worker {
    link_wait_t wait = {};
    uint64_t now = 1;
    unsigned looks = 0, sleeps = 0;
    /* One wait of a worker whose message comes after so long; it is seen by looking on when helps. */
    void message_after(uint64_t ns, bool helps)
    {
        if (link_wait_pays(&wait, now, kLook)) {
            looks++;
            if (helps && ns < kLook) {
                link_wait_found(&wait);
                now += ns;
                return;
            }
            link_wait_in_vain(&wait);
            now += kLook;
        }
        sleeps++;
        wait.slept_ns = now;
        now += ns;
    }
};

TEST(LinkWait, a_worker_that_is_answered_soon_stops_sleeping)
{
    Worker worker;
    for (int i = 0; i < 1000; i++)
        worker.message_after(kSoon, true);
    EXPECT_LE(worker.sleeps, unsigned{WAIT_START});
    EXPECT_GE(worker.looks, 1000u - WAIT_START);
}

TEST(LinkWait, a_worker_with_rare_messages_does_not_look_on)
{
    Worker worker;
    for (int i = 0; i < 1000; i++)
        worker.message_after(kLate, true);
    EXPECT_EQ(worker.looks, 0u);
}

TEST(LinkWait, it_stops_soon_when_messages_become_rare)
{
    Worker worker;
    for (int i = 0; i < 100; i++)
        worker.message_after(kSoon, true);
    unsigned before = worker.looks;
    for (int i = 0; i < 1000; i++)
        worker.message_after(kLate, true);
    EXPECT_LE(worker.looks - before, unsigned{WAIT_MAX / WAIT_PRICE});
}

TEST(LinkWait, where_the_processor_does_not_come_back_soon_it_is_given_up_for_long)
{
    Worker worker;
    for (int i = 0; i < 100; i++)
        worker.message_after(kSoon, true);
    link_wait_lost(&worker.wait);
    unsigned before = worker.looks;
    for (int i = 0; i < WAIT_LOST - 2; i++)
        worker.message_after(kSoon, true);
    EXPECT_EQ(worker.looks, before);
    for (int i = 0; i < 10; i++)
        worker.message_after(kSoon, true);
    EXPECT_GT(worker.looks, before) << "but not for ever";
}

TEST(LinkWait, where_looking_on_never_helps_it_is_tried_once_in_a_few_sleeps)
{
    Worker worker;
    for (int i = 0; i < 1000; i++)
        worker.message_after(kSoon, false);
    EXPECT_GT(worker.looks, 0u) << "it may help again";
    EXPECT_LE(worker.looks, 1000u / WAIT_PRICE + WAIT_START);
}

} // namespace
