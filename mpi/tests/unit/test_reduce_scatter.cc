// SPDX-License-Identifier: Apache-2.0
// reduce_scatter on a simulated network: both algorithms have the bits of a reduce, and no rank sends more than stated.
#include <algorithm>

#include "sim_collectives.h"

extern "C" {
#include "grp/table.h"
}

using namespace sched_test;

namespace {

class Scatters : public testing::Test {
protected:
    void TearDown() override { set(""); }
    static void set(const std::string &text)
    {
        char error[256] = "";
        ASSERT_EQ(table_set(text.c_str(), error, sizeof(error)), 0) << error;
    }
};

void run(Network &network, std::vector<sched_t *> &scheds)
{
    start_all(network, scheds);
    for (sched_t *sched : scheds) {
        EXPECT_EQ(sched->status, 0) << sched->error;
        sched_release(sched);
    }
    scheds.clear();
}

// The reduce first; then the schedules of the collective itself, which are started twice.
void compare(Network &network, ReduceScatter &collective)
{
    collective.refill();
    for (int rank = 0; rank < network.size(); rank++) {
        sched_t *sched = sched_open(network.set(rank));
        sched->net = &simulated;
        collective.build_expected(sched, rank);
        collective.scheds.push_back(sched);
    }
    run(network, collective.scheds);
    const auto expected = collective.expected;
    collective.is_known = true;
    open(network, collective, true);
    for (int start = 0; start < 2; start++) {
        collective.refill();
        collective.expected = expected;
        start_all(network, collective.scheds);
        collective.check();
    }
    for (sched_t *sched : collective.scheds)
        sched_release(sched);
}

struct Layout {
    int size;
    const char *nodes;
};

// One node; equal nodes, a last one of fewer, unequal ones, ranks that go round the nodes.
const Layout layouts[] = {{1, ""},
                          {2, ""},
                          {3, ""},
                          {4, ""},
                          {5, ""},
                          {6, ""},
                          {7, ""},
                          {8, ""},
                          {9, ""},
                          {15, ""},
                          {23, ""},
                          {40, ""},
                          {3, "(vector,(0,2,2))"},
                          {4, "(vector,(0,2,2))"},
                          {6, "(vector,(0,2,3))"},
                          {7, "(vector,(0,3,3))"},
                          {7, "(vector,(0,1,4),(1,1,1),(2,1,2))"},
                          {8, "(vector,(0,2,1))"},
                          {9, "(vector,(0,3,3))"},
                          {9, "(vector,(0,9,1))"},
                          {13, "(vector,(3,2,2),(0,2,1))"},
                          {28, "(vector,(0,4,7))"},
                          {35, "(vector,(0,7,5))"},
                          {40, "(vector,(0,5,8))"}};

TEST_F(Scatters, BothAlgorithmsHaveTheBitsOfAReduce)
{
    unsigned seed = 0;
    for (const auto &layout : layouts)
        for (const char *way : {"halving", "pairs"})
            for (const char *levels : {"one", "two"})
                for (unsigned form = 0; form < 16; form++) {
                    set(std::string("reduce_scatter.steps=") + way + ",reduce_scatter.levels=" + levels +
                        ",reduce.levels=" + levels);
                    Network network(layout.size, seed++, layout.nodes);
                    ReduceScatter collective(layout.size, seed % 7, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0,
                                             (form & 8) != 0);
                    compare(network, collective);
                    if (HasFatalFailure())
                        FAIL() << layout.size << " " << layout.nodes << " " << way << " " << levels << " " << form;
                }
}

struct Sent {
    size_t messages = 0;
    size_t bytes = 0;
};

// What a rank sends to ranks that are not in [first, end).
Sent sent(const sched_t *sched, int first, int end)
{
    Sent sent;
    for (size_t i = 0; i < sched->count; i++) {
        const sched_step_t &step = sched->steps[i];
        if (step.kind != SCHED_SEND || (step.rank >= first && step.rank < end))
            continue;
        sent.messages++;
        sent.bytes += step.length;
    }
    return sent;
}

int rounds(int size)
{
    int rounds = 0;
    while (1 << rounds < size)
        rounds++;
    return rounds;
}

template <typename Check> void each_rank(const Layout &layout, size_t unit, bool equal, const Check &check)
{
    Network network(layout.size, 1, layout.nodes);
    ReduceScatter collective(layout.size, unit, equal, true, false, false, true);
    open(network, collective, false);
    for (int rank = 0; rank < layout.size; rank++)
        check(rank, collective.scheds[(size_t)rank]);
    for (sched_t *sched : collective.scheds)
        sched_release(sched);
}

TEST_F(Scatters, LongPartsAreSentOnceByEachRank)
{
    const size_t part = 1000 * sizeof(Matrix);
    for (int size = 2; size <= 40; size++)
        each_rank({size, ""}, 1000, true, [&](int rank, const sched_t *sched) {
            const Sent all = sent(sched, rank, rank);
            EXPECT_EQ(all.messages, (size_t)size - 1);
            EXPECT_EQ(all.bytes, part * ((size_t)size - 1));
        });
}

// Of a power of two each rank sends all but its own part; of others less than twice the vector.
TEST_F(Scatters, ShortPartsAreHalved)
{
    const size_t part = 5 * sizeof(Matrix);
    for (int size = 2; size <= 70; size++)
        each_rank({size, ""}, 5, true, [&](int rank, const sched_t *sched) {
            const Sent all = sent(sched, rank, rank);
            if (1 << rounds(size) == size) {
                EXPECT_EQ(all.messages, (size_t)rounds(size));
                EXPECT_EQ(all.bytes, part * ((size_t)size - 1));
            } else {
                EXPECT_LE(all.messages, (size_t)(2 * rounds(size))) << rank << " of " << size;
                EXPECT_LT(all.bytes, part * (size_t)size * 2) << rank << " of " << size;
            }
        });
}

// Who gets nothing is sent nothing.
TEST_F(Scatters, PairsSendNoEmptyParts)
{
    set("reduce_scatter.steps=pairs");
    each_rank({9, ""}, 1000, false, [](int rank, const sched_t *sched) {
        EXPECT_EQ(sent(sched, rank, rank).messages, rank % 3 == 0 ? 6u : 5u);
    });
}

// 5 nodes of 8 ranks: of a node every part leaves once, and each rank speaks with one of each other node.
TEST_F(Scatters, ANodeSendsTheVectorOnce)
{
    const size_t part = 1000 * sizeof(Matrix);
    size_t of_node = 0;
    each_rank({40, "(vector,(0,5,8))"}, 1000, true, [&](int rank, const sched_t *sched) {
        const Sent far = sent(sched, rank / 8 * 8, rank / 8 * 8 + 8);
        EXPECT_EQ(far.messages, 4u);
        EXPECT_EQ(far.bytes, 4 * part);
        EXPECT_EQ(sent(sched, rank, rank).messages, 4u + 7u);
        EXPECT_EQ(sent(sched, rank, rank).bytes, (4 + 7 * 5) * part);
        of_node += rank < 8 ? far.bytes : 0;
    });
    EXPECT_EQ(of_node, 32 * part);
}

// 4 nodes of 8: two rounds between the nodes, three in the node.
TEST_F(Scatters, ShortPartsAreHalvedInTheNodeFirst)
{
    const size_t part = 5 * sizeof(Matrix);
    each_rank({32, "(vector,(0,4,8))"}, 5, true, [&](int rank, const sched_t *sched) {
        const Sent far = sent(sched, rank / 8 * 8, rank / 8 * 8 + 8);
        EXPECT_EQ(far.messages, 2u);
        EXPECT_EQ(far.bytes, 3 * part);
        EXPECT_EQ(sent(sched, rank, rank).messages, 5u);
        EXPECT_EQ(sent(sched, rank, rank).bytes, 31 * part);
    });
}

// 4 nodes of 9 ranks, and one of 4, whose ranks stand for two or three of the other nodes' ranks.
TEST_F(Scatters, ANodeOfFewerRanksSendsEachPartOnce)
{
    for (size_t unit : {5u, 1000u}) {
        const size_t part = unit * sizeof(Matrix);
        size_t of_last = 0;
        each_rank({40, "(vector,(0,4,9),(4,1,4))"}, unit, true, [&](int rank, const sched_t *sched) {
            const bool is_last = rank >= 36;
            const Sent far = sent(sched, is_last ? 36 : rank / 9 * 9, is_last ? 40 : rank / 9 * 9 + 9);
            if (unit == 5) {
                EXPECT_LE(far.messages, is_last ? 3u * 5u : 5u) << rank;
                EXPECT_LT(far.bytes, (is_last ? 3 : 1) * 2 * 5 * part) << rank;
            } else {
                EXPECT_LE(far.messages, is_last ? 3u * 4u : 4u) << rank;
                EXPECT_LE(far.bytes, (is_last ? 3 : 1) * 4 * part) << rank;
                of_last += is_last ? far.bytes : 0;
            }
        });
        EXPECT_EQ(of_last, unit == 5 ? 0 : 36 * part);
    }
}

// A part that is much longer than the average: pairs would have memory for windows of such parts.
TEST_F(Scatters, OneLongPartAmongEmptyOnesIsHalved)
{
    const int alone = 5;
    Network network(8, 1, "(vector,(0,2,4))");
    ReduceScatter counted(8, 4000, false, true, false, false, true, alone);
    open(network, counted, false);
    size_t receives = 0;
    for (size_t i = 0; i < counted.scheds[alone]->count; i++)
        receives += counted.scheds[alone]->steps[i].kind == SCHED_RECV;
    EXPECT_EQ(receives,
              2u + 1u); // halvings in the node, and between the nodes; of each other rank of the node it would be 3
    for (sched_t *sched : counted.scheds)
        sched_release(sched);
    ReduceScatter collective(8, 4000, false, true, false, false, false, alone);
    compare(network, collective);
}

// A rank receives to few places, again and again: a window, and what it holds of the tree.
TEST_F(Scatters, WindowsOfPairsHaveMemoryForAFewParts)
{
    Network network(256, 1);
    const auto receives_at = [&](const sched_t *sched) {
        std::vector<const void *> places;
        for (size_t i = 0; i < sched->count; i++)
            if (sched->steps[i].kind == SCHED_RECV)
                places.push_back(sched->steps[i].to);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        return places.size();
    };
    ReduceScatter collective(256, 1000, true, true, false, false, true);
    open(network, collective, false);
    for (int rank : {0, 1, 127, 128, 200, 255})
        EXPECT_LE(receives_at(collective.scheds[(size_t)rank]), 16u + 2u * 8u) << rank;
    for (sched_t *sched : collective.scheds)
        sched_release(sched);
}

} // namespace
