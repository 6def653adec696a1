// SPDX-License-Identifier: Apache-2.0
// Schedules on a simulated network: every collective alone, with others, kept, with a rank that is lost.
#include "sim_collectives.h"

using namespace sched_test;

namespace {

// Fewer of them for large sets.
unsigned rounds(int size, unsigned most)
{
    return size < 13 ? most : most / 8 + 1;
}

// How many ranks, and on which nodes.
struct Layout {
    int size;
    std::string nodes = "";
};

class Sched : public testing::TestWithParam<Layout> {};

TEST_P(Sched, EveryCollectiveAloneGivesItsResult)
{
    for (unsigned seed = 0; seed < rounds(GetParam().size, 40); seed++) {
        Network network(GetParam().size, seed, GetParam().nodes);
        for (auto &collective : some_of_each(GetParam().size, network.random)) {
            open(network, *collective, false);
            collective->refill();
            start_all(network, collective->scheds);
            collective->check();
            for (sched_t *sched : collective->scheds) {
                EXPECT_EQ(sched->status, 0) << sched->error;
                sched_release(sched);
            }
        }
    }
}

TEST_P(Sched, ManyAtOnceDoNotMix)
{
    for (unsigned seed = 0; seed < rounds(GetParam().size, 20); seed++) {
        Network network(GetParam().size, seed, GetParam().nodes);
        std::vector<std::unique_ptr<Collective>> all;
        for (int round = 0; round < 3; round++)
            for (auto &collective : some_of_each(GetParam().size, network.random))
                all.push_back(std::move(collective));
        std::vector<sched_t *> scheds;
        for (auto &collective : all) {
            open(network, *collective, seed % 2 != 0);
            collective->refill();
            scheds.insert(scheds.end(), collective->scheds.begin(), collective->scheds.end());
        }
        start_all(network, scheds);
        for (auto &collective : all)
            collective->check();
        for (sched_t *sched : scheds)
            sched_release(sched);
    }
}

// S5: a rank that is done with one start may be in the next while others are still in the first.
TEST_P(Sched, KeptOnesStartAgainWhileOthersAreNotDone)
{
    const int size = GetParam().size;
    Network network(size, 7, GetParam().nodes);
    Reduction collective(Reduction::ALL, size, 4, 0);
    open(network, collective, true);
    std::vector<int> starts((size_t)size);
    int all = 0;
    while (all < 50 * size) {
        const size_t rank = network.random() % (unsigned)size;
        sched_t *sched = collective.scheds[rank];
        if (starts[rank] > 0 && sched->complete) {
            for (size_t i = 0; i < 4; i++)
                ASSERT_EQ(collective.data[rank][i], product_of(0, size, i));
        }
        if (starts[rank] < 50 && (starts[rank] == 0 || sched->complete)) {
            fill(collective.data[rank], (int)rank);
            starts[rank]++;
            all++;
            ASSERT_EQ(sched_start(sched), 0);
        } else {
            network.step();
        }
    }
    network.run();
    collective.check();
    for (sched_t *sched : collective.scheds)
        sched_release(sched);
}

// S6: a rank is lost, and another one lives but does not come: the others end when they give up, and so does that one, later.
TEST_P(Sched, WhoeverGivesUpEnds)
{
    const int size = GetParam().size;
    std::mt19937 random(6);
    for (unsigned round = 0; size > 2 && round < rounds(size, 30); round++) {
        for (auto &collective : some_of_each(size, random)) {
            Network network(size, random(), GetParam().nodes);
            const size_t absent = random() % (unsigned)size;
            const int lost = (int)((absent + 1 + random() % (unsigned)(size - 1)) % (unsigned)size);
            open(network, *collective, false);
            collective->refill();
            network.lose(lost);
            auto give_up_after = [&](sched_t *sched) {
                network.run();
                if (!sched->complete)
                    sched_give_up(sched, lost);
                network.run();
                EXPECT_TRUE(sched->complete);
            };
            for (size_t rank = 0; rank < collective->scheds.size(); rank++)
                if (rank != absent) {
                    ASSERT_EQ(sched_start(collective->scheds[rank]), 0);
                }
            for (size_t rank = 0; rank < collective->scheds.size(); rank++)
                if (rank != absent)
                    give_up_after(collective->scheds[rank]);
            ASSERT_EQ(sched_start(collective->scheds[absent]), 0);
            give_up_after(collective->scheds[absent]);
            for (sched_t *sched : collective->scheds)
                sched_release(sched);
        }
    }
}

// S2: whoever is lost, and whenever: all others end, and nobody waits for a message.
TEST_P(Sched, EveryRankEndsWhenOneIsLost)
{
    const int size = GetParam().size;
    std::mt19937 random(5);
    int failed = 0;
    for (unsigned round = 0; round < rounds(size, 60); round++) {
        for (auto &collective : some_of_each(size, random)) {
            Network network(size, random(), GetParam().nodes);
            unsigned steps = random() % 20;
            open(network, *collective, false);
            collective->refill();
            for (sched_t *sched : collective->scheds)
                ASSERT_EQ(sched_start(sched), 0);
            while (steps-- > 0 && network.step()) {
            }
            network.lose((int)(random() % (unsigned)size));
            network.run();
            EXPECT_TRUE(network.is_empty());
            for (sched_t *sched : collective->scheds) {
                ASSERT_TRUE(sched->complete);
                failed += sched->status < 0;
                sched_release(sched);
            }
        }
    }
    EXPECT_EQ(failed > 0, size > 1);
}

std::string name_of(const testing::TestParamInfo<Layout> &info)
{
    std::string name = std::to_string(info.param.size);
    for (char one : info.param.nodes)
        name += isalnum(one) != 0 ? one : '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(Sizes, Sched,
                         testing::Values(Layout{1}, Layout{2}, Layout{3}, Layout{4}, Layout{5}, Layout{7}, Layout{8},
                                         Layout{13}, Layout{40}),
                         name_of);

// Nodes of several ranks: equal ones, a last one of fewer, unequal ones, ranks that go round the nodes.
INSTANTIATE_TEST_SUITE_P(Nodes, Sched,
                         testing::Values(Layout{3, "(vector,(0,2,2))"}, Layout{4, "(vector,(0,2,2))"},
                                         Layout{7, "(vector,(0,3,3))"}, Layout{7, "(vector,(0,1,4),(1,1,1),(2,1,2))"},
                                         Layout{8, "(vector,(0,2,1))"}, Layout{13, "(vector,(3,2,2),(0,2,1))"},
                                         Layout{40, "(vector,(0,5,8))"}),
                         name_of);

size_t bytes_sent(const sched_t *sched)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sched->count; i++)
        bytes += sched->steps[i].kind == SCHED_SEND ? sched->steps[i].length : 0;
    return bytes;
}

// Large data: the order of the ranks is kept, and of 8 ranks each sends 7 / 8 of it twice, not all of it three times.
TEST(Sched, LargeAllreduceSendsEachElementTwice)
{
    for (int size : {2, 3, 4, 7, 8, 13}) {
        Network network(size, 11);
        Reduction collective(Reduction::ALL, size, 1024 + 5, 0);
        open(network, collective, false);
        collective.refill();
        start_all(network, collective.scheds);
        collective.check();
        const size_t all = 1029 * sizeof(Matrix);
        for (sched_t *sched : collective.scheds) {
            if (size == 8) {
                EXPECT_LT(bytes_sent(sched), all * 2);
            }
            sched_release(sched);
        }
    }
}

TEST(Sched, OtherCountsAreAnErrorAtBothSides)
{
    Network network(2, 1);
    char data[8] = {0};
    sched_t *scheds[2];
    for (int rank = 0; rank < 2; rank++) {
        scheds[rank] = sched_open(network.set(rank));
        scheds[rank]->net = &simulated;
        steps_bcast(scheds[rank], data, rank == 0 ? 4 : 8, 0);
        ASSERT_EQ(sched_start(scheds[rank]), 0);
    }
    network.run();
    EXPECT_EQ(scheds[1]->status, VBN_ERR_TRUNCATED);
    EXPECT_STREQ(scheds[1]->error, "rank 0 of the job sent 4 bytes where 8 are expected");
    for (sched_t *sched : scheds)
        sched_release(sched);
}

int called;

int count_call(void *)
{
    return called++, 0;
}
void count_end(void *arg)
{
    *(int *)arg += 1;
}

TEST(Sched, CallsComeInOrderAndEndsOnce)
{
    Network network(1, 1);
    int ends = 0;
    called = 0;
    sched_t *sched = sched_open_kept(network.set(0));
    sched_at_end(sched, count_end, &ends);
    auto *large = (char *)sched_memory(sched, 1 << 20);
    ASSERT_NE(large, nullptr);
    sched_call(sched, count_call, nullptr);
    sched_copy(sched, large, "text", 5);
    for (int i = 1; i <= 3; i++) {
        ASSERT_EQ(sched_start(sched), 0);
        EXPECT_TRUE(sched->complete);
        EXPECT_EQ(called, i);
        EXPECT_STREQ(large, "text");
    }
    EXPECT_EQ(ends, 0);
    sched_release(sched);
    EXPECT_EQ(ends, 1);
}

} // namespace
