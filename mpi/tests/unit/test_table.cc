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
    static std::string explain(table_row_t row, int ranks)
    {
        char text[256];
        EXPECT_LT(table_explain(row, ranks, text, sizeof(text)), (int)sizeof(text));
        return text;
    }
};

TEST_F(Table, ARowSaysUpToHowManyBytesTheFirstAlgorithmIsTaken)
{
    EXPECT_EQ(explain(TABLE_BCAST, 2), "bcast: slots up to 8192 bytes, else tree");
    EXPECT_EQ(explain(TABLE_BCAST, 3), "bcast: slots up to 65536 bytes, else tree");
    EXPECT_EQ(explain(TABLE_ALLGATHER_STEPS, 64),
              "allgather.steps: spread up to 4096 bytes of a block, on average, else ring");
    EXPECT_TRUE(table_is_few(TABLE_BCAST, 2, 8192));
    EXPECT_FALSE(table_is_few(TABLE_BCAST, 2, 8193));
    EXPECT_TRUE(table_is_few(TABLE_BCAST, 64, 65536));
    EXPECT_FALSE(table_is_few(TABLE_BCAST, 64, 65537));
}

TEST_F(Table, EachRowCanBeForcedToBothOfItsAlgorithms)
{
    for (unsigned row = 0; row < TABLE_ROWS; row++) {
        const std::string text = explain((table_row_t)row, 4);
        const std::string name = text.substr(0, text.find(':'));
        const std::string few = text.substr(name.size() + 2, text.find(" up to") - name.size() - 2);
        const std::string many = text.substr(text.rfind(' ') + 1);
        ASSERT_EQ(set((name + "=" + many).c_str()), "");
        EXPECT_FALSE(table_is_few((table_row_t)row, 2, 0));
        EXPECT_EQ(explain((table_row_t)row, 4), name + ": " + many);
        ASSERT_EQ(set((name + "=" + few).c_str()), "");
        EXPECT_TRUE(table_is_few((table_row_t)row, 2, 256));
        EXPECT_TRUE(table_is_few((table_row_t)row, 64, 256));
        for (unsigned other = 0; other < TABLE_ROWS; other++)
            EXPECT_EQ(table_is_few((table_row_t)other, 4, 1), 1) << "only one row is forced";
        ASSERT_EQ(set(""), "");
        EXPECT_EQ(explain((table_row_t)row, 4), text);
    }
}

TEST_F(Table, SeveralRowsAndExplainStandInOneText)
{
    EXPECT_EQ(set("bcast=tree,explain,alltoall.steps=pairs"), "");
    EXPECT_EQ(explain(TABLE_BCAST, 4), "bcast: tree");
    EXPECT_EQ(explain(TABLE_ALLTOALL_STEPS, 4), "alltoall.steps: pairs");
    EXPECT_EQ(set("explain"), "");
    EXPECT_EQ(explain(TABLE_BCAST, 2), "bcast: slots up to 8192 bytes, else tree");
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
    for (
        const char *text :
        {"gather.steps=tree,scatter.steps=tree,allgather.steps=spread,alltoall.steps=exchange,allreduce.steps=doubling",
         "gather.steps=root,scatter.steps=root,allgather.steps=ring,alltoall.steps=pairs,allreduce.steps=halving"}) {
        ASSERT_EQ(set(text), "");
        for (const std::string nodes : {"", "(vector,(0,4,2))"}) {
            Network network(8, 1, nodes);
            for (size_t unit : {1u, 300u, 9000u}) {
                std::vector<std::unique_ptr<Collective>> all;
                for (auto kind : {Move::GATHER_EACH, Move::SCATTER_EACH, Move::ALLTOALL_EACH, Move::ALLGATHER})
                    all.push_back(std::make_unique<Move>(kind, 8, unit, 3));
                all.push_back(std::make_unique<Reduction>(Reduction::ALL, 8, unit / 32 + 1, 0));
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

// The busiest rank's messages, each as expensive as so many bytes, and its bytes.
constexpr double MESSAGE = 8192;

// Counted in the steps; nothing runs.
double cost(std::unique_ptr<Collective> collective, int size)
{
    Network network(size, 1);
    open(network, *collective, false);
    double most = 0;
    for (sched_t *sched : collective->scheds) {
        double cost = 0;
        for (size_t i = 0; i < sched->count; i++)
            if (sched->steps[i].kind == SCHED_SEND || sched->steps[i].kind == SCHED_RECV)
                cost += MESSAGE + (double)sched->steps[i].length;
        most = std::max(most, cost);
        sched_release(sched);
    }
    return most;
}

std::unique_ptr<Collective> collective(int kind, int size, size_t bytes)
{
    if (kind == Move::ALLTOALL + 1)
        return std::make_unique<Reduction>(Reduction::ALL, size, bytes / sizeof(Matrix) + 1, 0, true);
    return std::make_unique<Move>((Move::Kind)kind, size, bytes, 0);
}

TEST_F(Table, NeighboursInBytesAndRanksCostNeverMoreThanTwiceAsMuch)
{
    for (int kind : {(int)Move::BCAST, (int)Move::GATHER_EACH, (int)Move::SCATTER_EACH, (int)Move::ALLGATHER,
                     (int)Move::ALLTOALL_EACH, Move::ALLTOALL + 1}) {
        for (int size : {3, 4, 7, 8, 15, 16}) {
            for (size_t bytes : {8u, 256u, 4096u, 8192u, 32736u}) {
                const double here = cost(collective(kind, size, bytes), size);
                const double larger = cost(collective(kind, size, bytes + 32), size);
                const double more = cost(collective(kind, size + 1, bytes), size + 1);
                EXPECT_LE(larger, 2 * here) << kind << " of " << size << " ranks, from " << bytes << " bytes on";
                EXPECT_LE(here, 2 * larger) << kind << " of " << size << " ranks, up to " << bytes << " bytes";
                EXPECT_LE(more, 2 * here) << kind << " of " << bytes << " bytes, more than " << size << " ranks";
            }
        }
    }
}

} // namespace
