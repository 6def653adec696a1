// SPDX-License-Identifier: Apache-2.0
// test_pick.cc - which way a receiver pulls large messages, with made-up times; K1... in proto/pick.h.
#include <gtest/gtest.h>

#include <array>
#include <vector>

extern "C" {
#include "proto/pick.h"
}

namespace {

/* A pair whose ways take so many picoseconds for a byte. */
struct Pair {
    std::array<uint64_t, PICK_WAYS> byte_ps{};
    bool mapped = false; /* the next messages are */
    pick_t pick{};
    uint64_t now = 1000;
    /* A busy time of so many messages, one after the other. */
    pick_way_t busy(uint64_t bytes, unsigned messages = 1, unsigned ways = PICK_WAYS, unsigned slower = 1)
    {
        std::vector<pick_way_t> said;
        for (unsigned i = 0; i < messages; i++)
            said.push_back(pick_begin(&pick, pick_row(bytes, mapped), ways, now));
        for (auto way : said) {
            EXPECT_EQ(way, said.front());
            now += bytes * byte_ps[way] / 1000 * slower;
            pick_end(&pick, bytes, true, now);
        }
        EXPECT_EQ(pick.pending, 0u);
        return said.front();
    }
    void settle(uint64_t bytes, unsigned messages = 1, unsigned ways = PICK_WAYS)
    {
        for (unsigned i = 0; i < 2 * ways; i++)
            busy(bytes, messages, ways);
    }
};

constexpr uint64_t SIZE = 64 << 10;
const unsigned ROW = pick_row(SIZE, false);

TEST(ProtoPick, each_way_is_tried_twice_and_then_the_fastest_one_is_taken)
{
    for (unsigned fastest = 0; fastest < PICK_WAYS; fastest++) {
        Pair pair{{90, 91, 92}};
        pair.byte_ps[fastest] = 30;
        for (unsigned i = 0; i < 2 * PICK_WAYS; i++)
            EXPECT_EQ(pair.busy(SIZE), static_cast<pick_way_t>(i / 2));
        for (unsigned i = 2 * PICK_WAYS; i < PICK_AGAIN - 1; i++)
            EXPECT_EQ(pair.busy(SIZE), static_cast<pick_way_t>(fastest));
    }
}

TEST(ProtoPick, each_class_of_sizes_has_its_own_choice)
{
    Pair pair{{30, 60, 90}};
    pair.settle(PICK_LEAST);
    pair.byte_ps = {90, 60, 30};
    pair.settle(1 << 20);
    EXPECT_EQ(pair.busy(PICK_LEAST), PICK_PACKETS);
    EXPECT_EQ(pair.busy(1 << 20), PICK_BOTH);
    EXPECT_EQ(pick_row(0, false), 0u);
    EXPECT_EQ(pick_row(2 * PICK_LEAST - 1, false), 0u);
    EXPECT_EQ(pick_row(2 * PICK_LEAST, false), 1u);
    EXPECT_EQ(pick_row(UINT64_MAX, false), PICK_CLASSES - 1);
}

TEST(ProtoPick, memory_that_is_mapped_has_its_own_choice)
{
    Pair pair{{90, 60, 30}};
    pair.settle(SIZE);
    pair.mapped = true;
    pair.byte_ps = {30, 60, 90};
    for (unsigned i = 0; i < 2 * PICK_WAYS; i++)
        EXPECT_EQ(pair.busy(SIZE), static_cast<pick_way_t>(i / 2)) << "nothing is known of it";
    EXPECT_EQ(pair.busy(SIZE), PICK_PACKETS);
    pair.mapped = false;
    EXPECT_EQ(pair.busy(SIZE), PICK_BOTH);
    EXPECT_EQ(pick_row(UINT64_MAX, true), PICK_ROWS - 1);
}

TEST(ProtoPick, a_way_that_is_not_possible_is_never_taken)
{
    Pair pair{{90, 60, 1}};
    for (unsigned i = 0; i < 10 * PICK_AGAIN; i++)
        EXPECT_LT(pair.busy(PICK_LEAST, 1, PICK_READ + 1), PICK_BOTH);
    Pair only{{90, 1, 1}};
    for (unsigned i = 0; i < 10 * PICK_AGAIN; i++)
        EXPECT_EQ(only.busy(PICK_LEAST, 1, 1), PICK_PACKETS);
}

TEST(ProtoPick, one_of_64_busy_times_tries_another_way_so_a_change_is_found)
{
    Pair pair{{30, 60, 90}};
    pair.settle(SIZE);
    std::array<unsigned, PICK_WAYS> taken{};
    for (unsigned i = 2 * PICK_WAYS; i < 4 * PICK_AGAIN; i++)
        taken[pair.busy(SIZE)]++;
    EXPECT_EQ(taken[PICK_READ] + taken[PICK_BOTH], 4u);
    EXPECT_GT(taken[PICK_READ], 0u);
    EXPECT_GT(taken[PICK_BOTH], 0u);
    pair.byte_ps = {90, 60, 30};
    for (unsigned i = 0; i < 2 * PICK_AGAIN; i++)
        pair.busy(SIZE);
    EXPECT_EQ(pick_fastest(&pair.pick, ROW, PICK_WAYS), PICK_BOTH);
}

TEST(ProtoPick, one_slow_busy_time_does_not_change_the_choice)
{
    Pair pair{{30, 50, 60}};
    pair.settle(SIZE);
    EXPECT_EQ(pair.busy(SIZE, 1, PICK_WAYS, 1000), PICK_PACKETS);
    EXPECT_EQ(pair.busy(SIZE), PICK_PACKETS);
}

TEST(ProtoPick, messages_that_follow_one_another_count_with_their_rate)
{
    Pair pair{{50, 60, 40}};
    pair.settle(SIZE, PICK_LONG);
    EXPECT_EQ(pair.busy(SIZE, 3 * PICK_LONG), PICK_BOTH);
    EXPECT_NEAR(pair.pick.classes[ROW].byte_ps[PICK_BOTH], 40, 1);
}

TEST(ProtoPick, busy_times_of_several_classes_or_with_a_failure_count_for_nothing)
{
    Pair pair{{30, 60, 90}};
    pair.settle(SIZE);
    const pick_t before = pair.pick;
    const pick_way_t first = pick_begin(&pair.pick, ROW, PICK_WAYS, pair.now);
    EXPECT_EQ(pick_begin(&pair.pick, pick_row(1 << 20, false), PICK_WAYS, pair.now),
              PICK_PACKETS); /* nothing is known of them */
    pick_end(&pair.pick, SIZE, true, pair.now + 1);
    pick_end(&pair.pick, 1 << 20, true, pair.now + 2);
    EXPECT_EQ(pair.pick.classes[ROW].byte_ps[first], before.classes[ROW].byte_ps[first]);
    (void)pick_begin(&pair.pick, ROW, PICK_WAYS, pair.now);
    pick_end(&pair.pick, SIZE, false, pair.now + 1);
    EXPECT_EQ(pair.pick.classes[ROW].byte_ps[first], before.classes[ROW].byte_ps[first]);
}

} // namespace
