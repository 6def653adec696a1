// SPDX-License-Identifier: Apache-2.0
// The table of algorithms (grp/table.h): forced rows, its text, and costs of neighbours in bytes and ranks, counted on a simulated
// network.
#include <algorithm>

#include "sim_collectives.h"

extern "C" {
#include "grp/table.h"
}

using namespace sched_test;

namespace {

class Table : public testing::Test {
protected:
    void TearDown() override { EXPECT_EQ(set(""), ""); }
    static std::string set(const char *text)
    {
        char error[256] = "";
        return table_set(text, error, sizeof(error)) == 0 ? "" : error;
    }
    static std::string explain(table_row_t row, int ranks, int nodes)
    {
        char text[256];
        EXPECT_LT(table_explain(row, ranks, nodes, text, sizeof(text)), (int)sizeof(text));
        return text;
    }
    // The row's name, and its algorithms.
    static std::array<std::string, 3> names(table_row_t row)
    {
        const std::string text = explain(row, 4, 1);
        const std::string name = text.substr(0, text.find(':'));
        const std::string both = set((name + "=?").c_str());
        const size_t few = both.find(": give ") + 7;
        const size_t many = both.find(" or ", few);
        return {name, both.substr(few, many - few), both.substr(many + 4)};
    }
};

TEST_F(Table, ARowSaysUpToHowManyBytesTheFirstAlgorithmIsTaken)
{
    EXPECT_EQ(explain(TABLE_BCAST, 2, 1), "bcast: slots up to 8192 bytes, else tree");
    EXPECT_EQ(explain(TABLE_BCAST, 3, 1), "bcast: slots up to 65536 bytes, else tree");
    EXPECT_EQ(explain(TABLE_ALLGATHER_STEPS, 64, 1),
              "allgather.steps: spread up to 4096 bytes of a block, on average, else ring");
    EXPECT_TRUE(table_is_few(TABLE_BCAST, 2, 1, 8192));
    EXPECT_FALSE(table_is_few(TABLE_BCAST, 2, 1, 8193));
    EXPECT_TRUE(table_is_few(TABLE_BCAST, 64, 1, 65536));
    EXPECT_FALSE(table_is_few(TABLE_BCAST, 64, 1, 65537));
}

TEST_F(Table, ARowMayDifferOnOneNodeAndOnSeveral)
{
    EXPECT_EQ(explain(TABLE_GATHER, 4, 1), "gather: slots up to 8192 bytes of a block, else messages");
    EXPECT_EQ(explain(TABLE_GATHER, 4, 2), "gather: messages");
    EXPECT_EQ(explain(TABLE_BARRIER_LEVELS, 4, 1), "barrier.levels: one");
    EXPECT_EQ(explain(TABLE_BARRIER_LEVELS, 4, 3), "barrier.levels: two");
    EXPECT_TRUE(table_is_few(TABLE_ALLTOALL_STEPS, 4, 2, 256));
    EXPECT_FALSE(table_is_few(TABLE_ALLTOALL_STEPS, 4, 1, 256));
}

// Where both are possible: somewhere in each row they are.
TEST_F(Table, EachRowCanBeForcedToBothOfItsAlgorithms)
{
    for (unsigned number = 0; number < TABLE_ROWS; number++) {
        const auto row = (table_row_t)number;
        const auto [name, few, many] = names(row);
        int forced = 0;
        for (int ranks : {2, 64})
            for (int nodes : {1, 2}) {
                const std::string text = explain(row, ranks, nodes);
                ASSERT_EQ(set((name + "=" + few).c_str()), "");
                const bool is_few = table_is_few(row, ranks, nodes, 256);
                ASSERT_EQ(set((name + "=" + many).c_str()), "");
                const bool is_many = !table_is_few(row, ranks, nodes, 0);
                EXPECT_TRUE(is_few || text == name + ": " + many) << text;
                EXPECT_TRUE(is_many || text == name + ": " + few) << text;
                forced += is_few && is_many && explain(row, ranks, nodes) == name + ": " + many;
                ASSERT_EQ(set(""), "");
                EXPECT_EQ(explain(row, ranks, nodes), text);
            }
        EXPECT_GT(forced, 0) << name;
    }
}

TEST_F(Table, OnlyOneRowIsForced)
{
    for (unsigned row = 0; row < TABLE_ROWS; row++) {
        const auto [name, few, many] = names((table_row_t)row);
        for (unsigned other = 0; other < TABLE_ROWS; other++) {
            ASSERT_EQ(set(""), "");
            const std::string text = explain((table_row_t)other, 4, 2);
            ASSERT_EQ(set((name + "=" + many).c_str()), "");
            EXPECT_TRUE(row == other || explain((table_row_t)other, 4, 2) == text) << name;
        }
    }
}

TEST_F(Table, OneWordForcesAllRowsAndLaterOnesChangeThat)
{
    for (unsigned row = 0; row < TABLE_ROWS; row++) {
        const auto [name, few, many] = names((table_row_t)row);
        for (const std::string &other : {few, many}) {
            ASSERT_EQ(set((name + "=" + other).c_str()), "");
            const std::string text = explain((table_row_t)row, 2, 1) + explain((table_row_t)row, 4, 2);
            ASSERT_EQ(set(other == few ? "first" : "second"), "");
            EXPECT_EQ(explain((table_row_t)row, 2, 1) + explain((table_row_t)row, 4, 2), text);
        }
    }
    ASSERT_EQ(set("second,bcast=slots"), "");
    EXPECT_EQ(explain(TABLE_BCAST, 2, 1), "bcast: slots up to 65536 bytes, else tree");
    EXPECT_EQ(explain(TABLE_REDUCE, 2, 1), "reduce: pieces");
}

TEST_F(Table, SeveralRowsAndExplainStandInOneText)
{
    EXPECT_EQ(set("bcast=tree,explain,alltoall.steps=pairs"), "");
    EXPECT_EQ(explain(TABLE_BCAST, 4, 1), "bcast: tree");
    EXPECT_EQ(explain(TABLE_ALLTOALL_STEPS, 4, 2), "alltoall.steps: pairs");
    EXPECT_EQ(set("explain"), "");
    EXPECT_EQ(explain(TABLE_BCAST, 2, 1), "bcast: slots up to 8192 bytes, else tree");
}

TEST_F(Table, AWrongTextIsRefusedWithTheRightOnes)
{
    EXPECT_EQ(set("bcast=ring"), "bcast has no algorithm ring: give slots or tree");
    EXPECT_EQ(set("bcast="), "bcast has no algorithm : give slots or tree");
    for (const char *text : {"cast=tree", "bcast", "=tree", "bcast.steps=tree", "explained"})
        EXPECT_EQ(set(text), std::string(text) +
                                 " is no row of the table: give NAME=ALGORITHM; mpiexec -explain prints the table");
}

// The result is right whichever algorithm is forced, for any number of bytes.
TEST_F(Table, ForcedStepsGiveTheSameResult)
{
    for (const char *text : {"first", "second", "second,bcast.levels=two,reduce.levels=two,allreduce.levels=two"}) {
        ASSERT_EQ(set(text), "");
        for (const std::string nodes : {"", "(vector,(0,4,2))"}) {
            Network network(8, 1, nodes);
            for (size_t unit : {1u, 300u, 9000u}) {
                std::vector<std::unique_ptr<Collective>> all;
                for (auto kind :
                     {Move::BCAST, Move::GATHER_EACH, Move::SCATTER_EACH, Move::ALLTOALL_EACH, Move::ALLGATHER})
                    all.push_back(std::make_unique<Move>(kind, 8, unit, 3));
                for (auto kind : {Reduction::ALL, Reduction::ROOT, Reduction::SCAN, Reduction::EXSCAN})
                    all.push_back(std::make_unique<Reduction>(kind, 8, unit, 3));
                for (auto &collective : all) {
                    open(network, *collective, false);
                    collective->refill();
                    start_all(network, collective->scheds);
                    collective->check();
                    for (sched_t *sched : collective->scheds)
                        sched_release(sched);
                }
            }
        }
    }
}

// On so many nodes, whose ranks follow one another; the last nodes may have one rank less.
std::string on_nodes(int size, int nodes)
{
    const int least = size / nodes;
    const int more = size % nodes;
    const auto part = [](int first, int count, int each) {
        return ",(" + std::to_string(first) + "," + std::to_string(count) + "," + std::to_string(each) + ")";
    };
    return "(vector" + (more > 0 ? part(0, more, least + 1) : "") + part(more, nodes - more, least) + ")";
}

// Messages of one kind of collective, as the steps of all ranks say; nothing runs.
enum Kind { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, SCAN, REDUCE_SCATTER, KINDS };

std::unique_ptr<Collective> collective(Kind kind, int size, size_t bytes)
{
    const Move::Kind moves[] = {Move::BCAST, Move::GATHER_EACH, Move::SCATTER_EACH, Move::ALLGATHER,
                                Move::ALLTOALL_EACH};
    const Reduction::Kind reductions[] = {Reduction::ROOT, Reduction::ALL, Reduction::SCAN};
    if (kind < REDUCE)
        return std::make_unique<Move>(moves[kind], size, bytes, 0, true);
    if (kind == REDUCE_SCATTER)
        return std::make_unique<ReduceScatter>(size, bytes / sizeof(Matrix) + 1, true, true, false, false, true);
    return std::make_unique<Reduction>(reductions[kind - REDUCE], size, bytes / sizeof(Matrix) + 1, 0, true, true);
}

// [rank]: its messages as (kind, other rank, bytes).
using Messages = std::vector<std::vector<std::tuple<int, int, size_t>>>;

Messages messages_of(Kind kind, int size, int nodes, size_t bytes)
{
    Network network(size, 1, on_nodes(size, nodes));
    const auto made = collective(kind, size, bytes);
    open(network, *made, false);
    Messages messages;
    for (sched_t *sched : made->scheds) {
        messages.emplace_back();
        for (size_t i = 0; i < sched->count; i++)
            if (sched->steps[i].kind == SCHED_SEND || sched->steps[i].kind == SCHED_RECV)
                messages.back().emplace_back(sched->steps[i].kind, sched->steps[i].rank, sched->steps[i].length);
        sched_release(sched);
    }
    return messages;
}

// The busiest rank's messages, each as expensive as so many bytes, and its bytes.
constexpr double MESSAGE = 8192;

double cost(Kind kind, int size, int nodes, size_t bytes)
{
    double most = 0;
    for (const auto &of_rank : messages_of(kind, size, nodes, bytes)) {
        double cost = 0;
        for (const auto &[_, other, length] : of_rank)
            cost += MESSAGE + (double)length;
        most = std::max(most, cost);
    }
    return most;
}

TEST_F(Table, NeighboursInBytesRanksAndNodesCostNeverMoreThanTwiceAsMuch)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int size : {3, 4, 7, 8, 15, 16})
            for (int nodes = 1; nodes <= 4 && nodes < size; nodes++)
                for (size_t bytes : {8u, 256u, 4096u, 8192u, 32736u, 131040u}) {
                    const auto near = [&](int ranks, int on, size_t of) { return cost((Kind)kind, ranks, on, of); };
                    const std::string what = "kind " + std::to_string(kind) + ", " + std::to_string(size) +
                                             " ranks on " + std::to_string(nodes) + " nodes, " + std::to_string(bytes) +
                                             " bytes";
                    const double here = near(size, nodes, bytes);
                    EXPECT_LE(near(size, nodes, bytes + 32), 2 * here) << what << ", and more bytes";
                    EXPECT_LE(here, 2 * near(size, nodes, bytes + 32)) << what << ", and more bytes";
                    EXPECT_LE(near(size + 1, nodes, bytes), 2 * here) << what << ", and more ranks";
                    EXPECT_LE(here, 2 * near(size + 1, nodes, bytes)) << what << ", and more ranks";
                    EXPECT_LE(near(size, nodes + 1, bytes), 2 * here) << what << ", and more nodes";
                    EXPECT_LE(here, 2 * near(size, nodes + 1, bytes)) << what << ", and more nodes";
                }
}

// Each row of steps decides: its algorithms have other messages.
TEST_F(Table, EachAlgorithmOfStepsHasMessagesOfItsOwn)
{
    const std::vector<std::pair<table_row_t, Kind>> rows = {{TABLE_BCAST_LEVELS, BCAST},
                                                            {TABLE_REDUCE_LEVELS, REDUCE},
                                                            {TABLE_ALLREDUCE_LEVELS, ALLREDUCE},
                                                            {TABLE_GATHER_STEPS, GATHER},
                                                            {TABLE_SCATTER_STEPS, SCATTER},
                                                            {TABLE_ALLGATHER_STEPS, ALLGATHER},
                                                            {TABLE_ALLTOALL_STEPS, ALLTOALL},
                                                            {TABLE_ALLREDUCE_STEPS, ALLREDUCE},
                                                            {TABLE_SCAN_STEPS, SCAN},
                                                            {TABLE_REDUCE_SCATTER_LEVELS, REDUCE_SCATTER},
                                                            {TABLE_REDUCE_SCATTER_STEPS, REDUCE_SCATTER}};
    for (const auto &[row, kind] : rows) {
        const auto [name, few, many] = names(row);
        ASSERT_EQ(set((name + "=" + few).c_str()), "");
        const Messages one = messages_of(kind, 12, 4, 200000);
        ASSERT_EQ(set((name + "=" + many).c_str()), "");
        EXPECT_TRUE(one != messages_of(kind, 12, 4, 200000)) << name;
    }
}

} // namespace
