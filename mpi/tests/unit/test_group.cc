// SPDX-License-Identifier: Apache-2.0
// Groups of ranks: regular ones without a table, others with one; both ways of looking.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

extern "C" {
#include "rt/rt.h"
}

static void check(const std::vector<int> &ranks, bool regular)
{
    rt_group_t *group = rt_group_create(ranks.data(), (int)ranks.size());
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->table == nullptr, regular);
    EXPECT_EQ(group->size, (int)ranks.size());
    for (size_t i = 0; i < ranks.size(); i++)
        ASSERT_EQ(rt_group_world(group, (int)i), ranks[i]);
    for (int world = 0; world < 200; world++) {
        const auto at = std::find(ranks.begin(), ranks.end(), world);
        ASSERT_EQ(rt_group_find(group, world), at == ranks.end() ? -1 : (int)(at - ranks.begin())) << world;
    }
    rt_group_release(group);
}

TEST(Group, RegularOnesTakeNoTable)
{
    check({}, true);
    check({7}, true);
    check({0, 1, 2, 3}, true);
    check({5, 9, 13, 17}, true);
    check({30, 20, 10, 0}, true);
    check({9, 3}, true);
}

TEST(Group, IrregularOnesFindEveryRank)
{
    check({0, 1, 3}, false);
    check({4, 2, 9, 1, 150}, false);
    std::mt19937 random(7);
    for (int round = 0; round < 50; round++) {
        std::vector<int> ranks(190);
        for (int i = 0; i < 190; i++)
            ranks[(size_t)i] = i;
        std::shuffle(ranks.begin(), ranks.end(), random);
        ranks.resize(3 + random() % 180);
        check(ranks, false);
    }
}
