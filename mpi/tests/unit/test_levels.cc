// SPDX-License-Identifier: Apache-2.0
// Collectives of two levels: how many messages they have, and between whom.
#include "sim_collectives.h"

using namespace sched_test;

namespace {

int messages_to(const sched_t *sched, int first, int end)
{
    int count = 0;
    for (size_t i = 0; i < sched->count; i++)
        count += sched->steps[i].kind == SCHED_SEND && (sched->steps[i].rank < first || sched->steps[i].rank >= end);
    return count;
}

// 5 nodes of 8 ranks: only the first rank of a node has messages with other nodes.
TEST(Levels, OnlyHeadsSpeakWithOtherNodes)
{
    for (auto kind : {Reduction::ALL, Reduction::ROOT}) {
        Network network(40, 3, "(vector,(0,5,8))");
        Reduction collective(kind, 40, 5, 0);
        open(network, collective, false);
        int between = 0;
        for (int rank = 0; rank < 40; rank++) {
            const int count = messages_to(collective.scheds[(size_t)rank], rank / 8 * 8, rank / 8 * 8 + 8);
            EXPECT_TRUE(rank % 8 == 0 || count == 0) << rank;
            between += count;
        }
        EXPECT_EQ(between, kind == Reduction::ALL ? 4 * 2 + 2 : 4); // four double twice, one is folded; a tree
        collective.refill();
        start_all(network, collective.scheds);
        collective.check();
        for (sched_t *sched : collective.scheds)
            sched_release(sched);
    }
}

// What does not commute goes by levels only where the ranks of a node follow one another.
TEST(Levels, OrderIsKeptWhereRanksGoRoundTheNodes)
{
    Network network(8, 3, "(vector,(0,2,1))");
    for (bool commutes : {false, true}) {
        Reduction collective(Reduction::ROOT, 8, 5, 0, commutes);
        open(network, collective, false);
        int odd = 0;
        for (int rank = 1; rank < 8; rank += 2)
            odd += collective.scheds[(size_t)rank]->steps[0].rank % 2;
        EXPECT_EQ(odd, commutes ? 4 : 0);
        collective.refill();
        start_all(network, collective.scheds);
        collective.check();
        for (sched_t *sched : collective.scheds)
            sched_release(sched);
    }
}

// Builds it for all ranks, runs it, and releases it; the messages that each rank sends to another node (8 ranks each).
std::vector<int> messages_between(Network &network, Collective &collective)
{
    std::vector<int> counts;
    open(network, collective, false);
    for (int rank = 0; rank < network.size(); rank++)
        counts.push_back(messages_to(collective.scheds[(size_t)rank], rank / 8 * 8, rank / 8 * 8 + 8));
    collective.refill();
    start_all(network, collective.scheds);
    collective.check();
    for (sched_t *sched : collective.scheds)
        sched_release(sched);
    return counts;
}

int sum(const std::vector<int> &counts)
{
    int all = 0;
    for (int count : counts)
        all += count;
    return all;
}

// 5 nodes of 8 ranks: a tree of the nodes, of which one rank each speaks; the root for its own.
TEST(Levels, SmallBlocksAreGatheredAndScatteredByATreeOfNodes)
{
    for (auto kind : {Move::GATHER_EACH, Move::SCATTER_EACH})
        for (int root : {0, 13, 39}) {
            Network network(40, 3, "(vector,(0,5,8))");
            Move collective(kind, 40, 100, root);
            const auto counts = messages_between(network, collective);
            EXPECT_EQ(sum(counts), 4);
            for (int rank = 0; rank < 40; rank++)
                EXPECT_TRUE(counts[(size_t)rank] == 0 || rank == root || (rank % 8 == 0 && rank / 8 != root / 8))
                    << rank;
        }
}

// Three rounds of five first ranks.
TEST(Levels, SmallBlocksAreSpreadInRoundsOfFirstRanks)
{
    Network network(40, 3, "(vector,(0,5,8))");
    Move collective(Move::ALLGATHER, 40, 100, 0);
    const auto counts = messages_between(network, collective);
    for (int rank = 0; rank < 40; rank++)
        EXPECT_EQ(counts[(size_t)rank], rank % 8 == 0 ? 3 : 0) << rank;
}

// One message between two nodes, each way; none of the ranks of a node has more than another but for one.
TEST(Levels, SmallBlocksAreExchangedByOneMessageOfTwoNodes)
{
    Network network(40, 3, "(vector,(0,5,8))");
    Move collective(Move::ALLTOALL_EACH, 40, 100, 0);
    const auto counts = messages_between(network, collective);
    EXPECT_EQ(sum(counts), 5 * 4);
    for (int rank = 0; rank < 40; rank++)
        EXPECT_LE(counts[(size_t)rank], 1) << rank;
}

// Large blocks go straight to where they belong.
TEST(Levels, LargeBlocksAreNotCopiedOnTheirWay)
{
    for (auto kind : {Move::GATHER_EACH, Move::SCATTER_EACH, Move::ALLTOALL_EACH}) {
        Network network(40, 3, "(vector,(0,5,8))");
        Move collective(kind, 40, STEPS_TREE_MOST + 1, 0);
        EXPECT_EQ(sum(messages_between(network, collective)), kind == Move::ALLTOALL_EACH ? 40 * 32 : 32);
    }
}

// One level: a rank sends half of the blocks in the last round, and all but its own in the sum.
TEST(Sched, SmallAllgatherTakesLogarithmicallyManyRounds)
{
    for (int size : {3, 8, 13}) {
        Network network(size, 11);
        Move collective(Move::ALLGATHER, size, 10, 0);
        open(network, collective, false);
        for (sched_t *sched : collective.scheds) {
            int sends = 0;
            for (size_t i = 0; i < sched->count; i++)
                sends += sched->steps[i].kind == SCHED_SEND;
            EXPECT_EQ(sends, size == 3 ? 2 : size == 8 ? 3 : 4);
        }
        collective.refill();
        start_all(network, collective.scheds);
        collective.check();
        for (sched_t *sched : collective.scheds)
            sched_release(sched);
    }
}

} // namespace
