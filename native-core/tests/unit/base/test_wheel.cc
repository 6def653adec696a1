// SPDX-License-Identifier: Apache-2.0
// Tests of the timing wheel, with a clock that the tests turn.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

extern "C" {
#include "base/wheel.h"
}

namespace {

constexpr uint64_t kMs = 1000000;

struct Timer {
    wheel_timer_t base; /* first: the wheel's pointer is ours */
    class Wheel *test;
    int id;
};

class Wheel : public ::testing::Test {
protected:
    void SetUp() override { start(5 * kMs); }

    void start(uint64_t now_ns) { wheel_init(&wheel, now_ns); }

    static void on_due(wheel_timer_t *timer)
    {
        Timer *self = (Timer *)(void *)timer;
        self->test->ran.push_back(self->id);
    }

    Timer make(int id)
    {
        Timer timer = {};
        timer.test = this;
        timer.id = id;
        return timer;
    }

    void arm(Timer *timer, uint64_t delay_ms) { wheel_add(&wheel, &timer->base, delay_ms); }

public:
    wheel_t wheel;
    std::vector<int> ran;
    Timer *other = nullptr;
};

#define TIMER(name, id)                                                                                                \
    Timer name = make(id);                                                                                             \
    wheel_timer_init(&name.base, on_due)

TEST_F(Wheel, RunsATimerWhenItsTimeHasComeAndOnce)
{
    TIMER(a, 1);
    arm(&a, 10);
    EXPECT_EQ(wheel_next_ms(&wheel), 10);
    EXPECT_EQ(wheel_advance(&wheel, 14 * kMs), 0u);
    EXPECT_EQ(wheel_next_ms(&wheel), 1);
    EXPECT_EQ(wheel_advance(&wheel, 15 * kMs), 1u);
    EXPECT_EQ(wheel_advance(&wheel, 5000 * kMs), 0u);
    EXPECT_EQ(ran, std::vector<int>({1}));
    EXPECT_EQ(wheel_next_ms(&wheel), -1);
}

TEST_F(Wheel, ZeroDelayRunsAtTheNextAdvanceEvenWithoutClockMovement)
{
    TIMER(a, 1);
    arm(&a, 0);
    EXPECT_EQ(wheel_next_ms(&wheel), 0);
    EXPECT_EQ(wheel_advance(&wheel, 5 * kMs), 1u);
}

TEST_F(Wheel, DelaysLongerThanALapWait)
{
    TIMER(a, 1);
    TIMER(b, 2);
    arm(&a, 5000);
    arm(&b, 5000 % WHEEL_SLOTS); /* same slot, an earlier lap */
    EXPECT_EQ(wheel_next_ms(&wheel), (int)(5000 % WHEEL_SLOTS));
    EXPECT_EQ(wheel_advance(&wheel, 5004 * kMs), 1u);
    EXPECT_EQ(ran, std::vector<int>({2}));
    EXPECT_EQ(wheel_next_ms(&wheel), 1);
    EXPECT_EQ(wheel_advance(&wheel, 5005 * kMs), 1u);
}

TEST_F(Wheel, CancelAndReArmAreHarmlessInAnyState)
{
    TIMER(a, 1);
    wheel_cancel(&wheel, &a.base);
    arm(&a, 5);
    arm(&a, 50);
    EXPECT_EQ(wheel.count, 1u);
    EXPECT_EQ(wheel_advance(&wheel, 20 * kMs), 0u);
    wheel_cancel(&wheel, &a.base);
    wheel_cancel(&wheel, &a.base);
    EXPECT_EQ(wheel.count, 0u);
    EXPECT_EQ(wheel_advance(&wheel, 100 * kMs), 0u);
}

TEST_F(Wheel, ABackwardClockStandsStill)
{
    TIMER(a, 1);
    arm(&a, 10);
    EXPECT_EQ(wheel_advance(&wheel, 1 * kMs), 0u);
    EXPECT_EQ(wheel.now_ms, 5u);
    EXPECT_EQ(wheel_advance(&wheel, 15 * kMs), 1u);
}

TEST_F(Wheel, ATimerMayCancelAnotherThatIsDueAtTheSameTime)
{
    TIMER(victim, 2);
    TIMER(killer, 1);
    killer.base.func = [](wheel_timer_t *timer) {
        Timer *self = (Timer *)(void *)timer;
        wheel_cancel(&self->test->wheel, &self->test->other->base);
        self->test->ran.push_back(self->id);
    };
    other = &victim;
    arm(&killer, 3);
    arm(&victim, 4);
    EXPECT_EQ(wheel_advance(&wheel, 100 * kMs), 1u);
    EXPECT_EQ(ran, std::vector<int>({1}));
    EXPECT_EQ(wheel.count, 0u);
}

TEST_F(Wheel, ATimerThatReArmsItselfRunsOncePerAdvance)
{
    TIMER(a, 1);
    a.base.func = [](wheel_timer_t *timer) {
        Timer *self = (Timer *)(void *)timer;
        self->test->ran.push_back(self->id);
        wheel_add(&self->test->wheel, timer, 0);
    };
    arm(&a, 1);
    EXPECT_EQ(wheel_advance(&wheel, 50 * kMs), 1u);
    EXPECT_EQ(wheel_advance(&wheel, 50 * kMs), 1u);
    EXPECT_EQ(wheel.count, 1u);
}

TEST_F(Wheel, HugeDelaysDoNotOverflow)
{
    TIMER(a, 1);
    arm(&a, UINT64_MAX);
    EXPECT_EQ(wheel_next_ms(&wheel), INT32_MAX);
    EXPECT_EQ(wheel_advance(&wheel, 1000000 * kMs), 0u);
    wheel_cancel(&wheel, &a.base);
}

TEST_F(Wheel, RunsEveryTimerExactlyWhenAReferenceWould)
{
    const unsigned seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Timer> timers(300);
    std::multimap<uint64_t, int> reference;
    for (int i = 0; i < 300; i++) {
        timers[(size_t)i] = make(i);
        wheel_timer_init(&timers[(size_t)i].base, on_due);
        uint64_t delay = random() % 6000;
        arm(&timers[(size_t)i], delay);
        reference.emplace(5 + delay, i);
    }
    for (uint64_t now = 5; !reference.empty(); now += random() % 1500) {
        size_t due = (size_t)std::distance(reference.begin(), reference.upper_bound(now));
        ASSERT_EQ(wheel_advance(&wheel, now * kMs), due) << now;
        reference.erase(reference.begin(), reference.upper_bound(now));
        ASSERT_EQ(wheel.count, reference.size());
        int expected = reference.empty() ? -1 : (int)(reference.begin()->first - now);
        ASSERT_EQ(wheel_next_ms(&wheel), expected) << now;
    }
}

} // namespace
