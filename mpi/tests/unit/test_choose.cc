// SPDX-License-Identifier: Apache-2.0
// The choice between two ways of an allreduce (grp/choose.h), with times that the test makes up.
#include <gtest/gtest.h>

extern "C" {
#include "grp/choose.h"
}

namespace {

constexpr size_t BYTES = 64 << 10;

struct Host {
    choose_t choose;
    uint64_t ns[CHOOSE_WAYS];

    Host(const char *way, uint64_t pieces, uint64_t messages) : ns{pieces, messages} { choose_open(&choose, way); }
    choose_way_t call(size_t bytes = BYTES)
    {
        const choose_way_t way = choose_next(&choose, bytes);
        choose_learn(&choose, choose_class(bytes), way, ns[way]);
        return way;
    }
    // Of so many calls, those by messages.
    int messages(int calls, size_t bytes = BYTES)
    {
        int count = 0;
        for (int i = 0; i < calls; i++)
            count += call(bytes) == CHOOSE_MESSAGES;
        return count;
    }
};

TEST(Choose, C1EachWayIsTriedTwiceThenTheFasterOneIsTaken)
{
    Host near("auto", 3000, 5000), far("auto", 20000, 6000);
    for (Host *host : {&near, &far})
        EXPECT_EQ(host->messages(4), 2);
    EXPECT_EQ(near.messages(640), 10);
    EXPECT_EQ(far.messages(640), 630);
}

TEST(Choose, C1AChangeIsSeenInBothDirections)
{
    Host host("auto", 3000, 5000);
    host.messages(100);
    host.ns[CHOOSE_PIECES] = 30000;
    host.messages(10);
    EXPECT_GE(host.messages(64), 62);
    host.ns[CHOOSE_PIECES] = 3000;
    host.messages(64);
    EXPECT_LE(host.messages(64), 2);
}

TEST(Choose, C2OneSlowCallDoesNotChangeTheChoice)
{
    Host host("auto", 3000, 5000);
    host.messages(20);
    choose_learn(&host.choose, choose_class(BYTES), CHOOSE_PIECES, 100000000);
    EXPECT_EQ(host.call(), CHOOSE_PIECES);
}

TEST(Choose, ClassesOfBytesAreChosenApart)
{
    Host host("auto", 3000, 5000);
    host.messages(20);
    host.ns[CHOOSE_PIECES] = 900000;
    EXPECT_EQ(host.messages(20, 1 << 20), 18);
    EXPECT_EQ(choose_next(&host.choose, BYTES), CHOOSE_PIECES);
    EXPECT_EQ(choose_class(0), 0u);
    EXPECT_EQ(choose_class((64u << 10) - 1), 0u);
    EXPECT_EQ(choose_class(64u << 10), 1u);
    EXPECT_EQ(choose_class(SIZE_MAX), CHOOSE_CLASSES - 1);
}

TEST(Choose, ATimeThatIsNeverHeardLeavesThePieces)
{
    choose_t choose;
    choose_open(&choose, "auto");
    for (int i = 0; i < 4; i++)
        choose_next(&choose, BYTES);
    EXPECT_EQ(choose_next(&choose, BYTES), CHOOSE_PIECES);
}

TEST(Choose, ASettingForcesAWay)
{
    Host pieces("pieces", 9000, 1000), messages("messages", 1000, 9000);
    EXPECT_EQ(pieces.messages(200), 0);
    EXPECT_EQ(messages.messages(200), 200);
}

TEST(Choose, ItKnowsAWayWhenEachHasATimeOrOneIsForced)
{
    Host host("auto", 5, 9);
    EXPECT_FALSE(choose_knows(&host.choose, BYTES));
    for (int i = 0; i < 3; i++)
        host.call();
    EXPECT_TRUE(choose_knows(&host.choose, BYTES));
    EXPECT_FALSE(choose_knows(&host.choose, 8 * BYTES));
    Host forced("messages", 5, 9);
    EXPECT_TRUE(choose_knows(&forced.choose, BYTES));
}

} // namespace
