// SPDX-License-Identifier: Apache-2.0
// Schedules on a simulated network: messages of different pairs of ranks are delivered in random order, sends complete
// at once or later. Every rank of the set lives in this process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

extern "C" {
#include "grp/levels.h"
#include "grp/steps.h"
}

namespace {

class Network {
public:
    explicit Network(int size, unsigned seed, const std::string &nodes = "")
        : random(seed), mapping(nodes), groups((size_t)size), sets((size_t)size)
    {
        rt.pmi.mapping = nodes.empty() ? nullptr : mapping.data();
        rt.pmi.size = size;
        for (int i = 0; i < size; i++) {
            groups[(size_t)i] = rt_group_t{1, size, i, 0, 1, nullptr, nullptr};
            sets[(size_t)i].ranks = &groups[(size_t)i];
            sets[(size_t)i].slots = 1;
            rt.rank = i;
            EXPECT_GE(levels_find(&sets[(size_t)i]), 0);
        }
        current = this;
    }

    ~Network()
    {
        for (grp_t &set : sets)
            grp_end(&set);
        rt.pmi.mapping = nullptr;
        current = nullptr;
    }

    static void reach(sched_step_t *) {}

    static vbn_status_t send(sched_op_t *op, uint64_t tag)
    {
        return current->post({op, sched_rank(op->sched), op->step->rank, tag, bytes(op)}, true);
    }

    static vbn_status_t recv(sched_op_t *op, uint64_t tag)
    {
        return current->post({op, op->step->rank, sched_rank(op->sched), tag, {}}, false);
    }

    static const char *cause(const sched_step_t *) { return "it is lost"; }

    // Delivers until nobody has anything to do.
    void run()
    {
        while (step()) {
        }
    }

    // One event of a pair that is drawn by chance; false: there is none.
    bool step()
    {
        const size_t count = ready.size() + unfinished.size();
        if (count == 0)
            return false;
        const size_t drawn = random() % count;
        if (drawn < ready.size())
            match(drawn);
        else
            finish(drawn - ready.size());
        return true;
    }

    // Each message from or to this rank fails from now on, also at that rank.
    void lose(int rank)
    {
        lost.push_back(rank);
        std::vector<sched_op_t *> dead;
        for (auto &[key, lane] : lanes) {
            if (key.from != rank && key.to != rank)
                continue;
            for (auto &message : lane.posted)
                dead.push_back(message.op);
            lane.posted.clear();
            lane.sent.clear();
        }
        for (sched_op_t *op : dead)
            sched_op_done(&op->op, VBN_ERR_PEER_LOST, 0);
    }

    bool is_empty() const
    {
        for (auto &[key, lane] : lanes)
            if (!lane.sent.empty() || !lane.posted.empty())
                return false;
        return unfinished.empty();
    }

    grp_t *set(int rank) { return &sets[(size_t)rank]; }
    int size() const { return (int)sets.size(); }

    std::mt19937 random;

private:
    struct Message {
        sched_op_t *op;
        int from;
        int to;
        uint64_t tag;
        std::vector<char> data;
    };
    struct Key {
        int from;
        int to;
        uint64_t tag;
        bool operator<(const Key &other) const
        {
            return std::tie(from, to, tag) < std::tie(other.from, other.to, other.tag);
        }
    };
    struct Lane {
        std::deque<Message> sent;
        std::deque<Message> posted;
    };

    static std::vector<char> bytes(const sched_op_t *op)
    {
        const char *first = (const char *)op->piece.iov_base;
        return op->piece.iov_len == 0 ? std::vector<char>() : std::vector<char>(first, first + op->piece.iov_len);
    }

    bool is_lost(int rank) const { return std::find(lost.begin(), lost.end(), rank) != lost.end(); }

    vbn_status_t post(Message message, bool sends)
    {
        if (is_lost(message.from) || is_lost(message.to))
            return VBN_ERR_PEER_LOST;
        sched_op_t *op = message.op;
        Lane &lane = lanes[{message.from, message.to, message.tag}];
        (sends ? lane.sent : lane.posted).push_back(std::move(message));
        if ((sends ? lane.posted : lane.sent).size() >= (sends ? lane.sent : lane.posted).size())
            ready.push_back(&lane); // one entry for each pair that can be matched
        if (!sends)
            return VBN_INPROGRESS;
        if (random() % 2 == 0) // copied
            return VBN_OK;
        unfinished.push_back(op);
        return VBN_INPROGRESS;
    }

    void match(size_t at)
    {
        Lane &lane = *ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        if (lane.sent.empty() || lane.posted.empty()) // of a lost rank
            return;
        Message sent = std::move(lane.sent.front());
        Message posted = std::move(lane.posted.front());
        lane.sent.pop_front();
        lane.posted.pop_front();
        posted.op->info.length = sent.data.size();
        const bool fits = sent.data.size() <= posted.op->piece.iov_len;
        if (fits && !sent.data.empty())
            memcpy(posted.op->piece.iov_base, sent.data.data(), sent.data.size());
        sched_op_done(&posted.op->op, fits ? VBN_OK : VBN_ERR_TRUNCATED, sent.data.size());
    }

    void finish(size_t at)
    {
        sched_op_t *op = unfinished[at];
        unfinished[at] = unfinished.back();
        unfinished.pop_back();
        sched_op_done(&op->op, VBN_OK, op->piece.iov_len);
    }

    static Network *current;
    std::string mapping; // of ranks to nodes, as the launcher says it
    std::vector<rt_group_t> groups;
    std::vector<grp_t> sets;
    std::map<Key, Lane> lanes;
    std::vector<Lane *> ready;
    std::vector<sched_op_t *> unfinished;
    std::vector<int> lost;
};

Network *Network::current;
const sched_net_t simulated = {Network::reach, Network::send, Network::recv, Network::cause};

// Matrices of 2 x 2 modulo 2^64: their product depends on the order.
using Matrix = std::array<uint64_t, 4>;

Matrix product(const Matrix &a, const Matrix &b)
{
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

void multiply(const grp_reduce_t *, const void *in, void *inout, size_t count)
{
    auto *a = (const Matrix *)in;
    auto *b = (Matrix *)inout;
    for (size_t i = 0; i < count; i++)
        b[i] = product(a[i], b[i]);
}

const grp_reduce_t ordered = {multiply, nullptr, sizeof(Matrix), 0, 0};

void add(const grp_reduce_t *, const void *in, void *inout, size_t count)
{
    auto *a = (const uint64_t *)in;
    auto *b = (uint64_t *)inout;
    for (size_t i = 0; i < 4 * count; i++)
        b[i] += a[i];
}

const grp_reduce_t commuting = {add, nullptr, sizeof(Matrix), 1, 0};

Matrix matrix(int rank, size_t i)
{
    return {(uint64_t)rank + 1, i + 3, (uint64_t)rank * 7 + i, 5};
}

Matrix product_of(int first, int end, size_t i)
{
    Matrix result = {1, 0, 0, 1};
    for (int rank = first; rank < end; rank++)
        result = product(result, matrix(rank, i));
    return result;
}

Matrix sum_of(int first, int end, size_t i)
{
    Matrix result = {0, 0, 0, 0};
    for (int rank = first; rank < end; rank++)
        for (size_t k = 0; k < 4; k++)
            result[k] += matrix(rank, i)[k];
    return result;
}

void fill(std::vector<Matrix> &place, int rank) // schedules know where it is
{
    for (size_t i = 0; i < place.size(); i++)
        place[i] = matrix(rank, i);
}

size_t block_offset(const grp_blocks_t *blocks, int rank)
{
    size_t offset = 0;
    for (int i = 0; i < rank; i++)
        offset += blocks->length(blocks, i);
    return offset;
}

// Rank i's block has i % 3 times `unit` bytes: some are empty.
size_t block_length(const grp_blocks_t *blocks, int rank)
{
    return (size_t)(rank % 3) * blocks->unit;
}

grp_blocks_t blocks_at(char *base, size_t unit)
{
    return {base, block_offset, block_length, nullptr, nullptr, unit};
}

char byte_of(int from, int to, size_t at)
{
    return (char)(from * 31 + to * 17 + (int)at);
}

// One collective of all ranks: schedules, their data, the check of the result.
struct Collective {
    virtual ~Collective() = default;
    virtual void build(sched_t *sched, int rank) = 0;
    virtual void refill() = 0;
    virtual void check() = 0;
    std::vector<sched_t *> scheds;
};

struct Reduction : Collective {
    enum Kind { ALL, ROOT, SCAN, EXSCAN };
    Reduction(Kind kind_, int size_, size_t count_, int root_, bool commutes = false)
        : kind(kind_), size(size_), count(count_), root(root_), reduce(commutes ? &commuting : &ordered)
    {
        data.resize((size_t)size);
        result.resize((size_t)size);
        for (auto &one : data)
            one.resize(count);
        for (auto &one : result)
            one.resize(count);
    }
    void build(sched_t *sched, int rank) override
    {
        Matrix *mine = data[(size_t)rank].data();
        if (kind == ALL)
            steps_allreduce(sched, mine, count, reduce);
        else if (kind == ROOT)
            steps_reduce(sched, mine, count, reduce, root);
        else
            steps_scan(sched, mine, result[(size_t)rank].data(), count, reduce, kind == EXSCAN);
    }
    void refill() override
    {
        for (int rank = 0; rank < size; rank++)
            fill(data[(size_t)rank], rank);
    }
    void check() override
    {
        for (int rank = 0; rank < size; rank++)
            for (size_t i = 0; i < count; i++) {
                const auto expected = reduce == &ordered ? product_of : sum_of;
                if (kind == ALL || (kind == ROOT && rank == root)) {
                    ASSERT_EQ(data[(size_t)rank][i], expected(0, size, i)) << rank;
                } else if (kind == SCAN || (kind == EXSCAN && rank > 0)) {
                    ASSERT_EQ(result[(size_t)rank][i], expected(0, rank + (kind == SCAN), i)) << rank;
                }
            }
    }
    Kind kind;
    int size;
    size_t count;
    int root;
    const grp_reduce_t *reduce;
    std::vector<std::vector<Matrix>> data;
    std::vector<std::vector<Matrix>> result;
};

struct Move : Collective {
    enum Kind { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL };
    Move(Kind kind_, int size_, size_t unit_, int root_) : kind(kind_), size(size_), unit(unit_), root(root_)
    {
        const grp_blocks_t blocks = blocks_at(nullptr, unit);
        total = block_offset(&blocks, size);
        const size_t most = std::max(total, 2 * unit * (size_t)size);
        in.assign((size_t)size, std::vector<char>(most));
        out.assign((size_t)size, std::vector<char>(most));
    }
    size_t length(int rank) const { return (size_t)(rank % 3) * unit; }
    static size_t to_me(const grp_blocks_t *blocks, int) { return blocks->unit; }
    static size_t side_by_side(const grp_blocks_t *blocks, int rank) { return (size_t)rank * blocks->unit; }
    void build(sched_t *sched, int rank) override
    {
        char *from = out[(size_t)rank].data();
        char *to = in[(size_t)rank].data();
        const size_t mine = length(rank);
        const grp_blocks_t blocks = blocks_at(rank == root || kind >= ALLGATHER ? to : nullptr, unit);
        if (kind == BCAST)
            steps_bcast(sched, rank == root ? from : to, unit, root);
        else if (kind == GATHER)
            steps_gather(sched, from, mine, &blocks, root);
        else if (kind == SCATTER) {
            const grp_blocks_t all = blocks_at(from, unit);
            steps_scatter(sched, &all, to, mine, root);
        } else if (kind == ALLGATHER) {
            steps_own(sched, grp_block(&blocks, rank), mine, from, mine);
            steps_allgather(sched, &blocks);
        } else {
            const grp_blocks_t send = blocks_at(from, unit); // to rank i as much as the length of its block
            const grp_blocks_t receive = {to, side_by_side, to_me, nullptr, nullptr, mine};
            steps_alltoall(sched, &send, &receive);
        }
    }
    void refill() override
    {
        const grp_blocks_t blocks = blocks_at(nullptr, unit);
        for (int rank = 0; rank < size; rank++) {
            std::fill(in[(size_t)rank].begin(), in[(size_t)rank].end(), (char)0);
            for (size_t at = 0; at < out[(size_t)rank].size(); at++)
                out[(size_t)rank][at] = byte_of(rank, 0, at);
            for (int to = 0; (kind == ALLTOALL || kind == SCATTER) && to < size; to++)
                for (size_t at = 0; at < length(to); at++)
                    out[(size_t)rank][block_offset(&blocks, to) + at] = byte_of(rank, to, at);
        }
    }
    void check() override
    {
        const grp_blocks_t blocks = blocks_at(nullptr, unit);
        for (int rank = 0; rank < size; rank++) {
            const auto &got = in[(size_t)rank];
            for (size_t at = 0; kind == BCAST && rank != root && at < unit; at++)
                ASSERT_EQ(got[at], byte_of(root, 0, at));
            for (size_t at = 0; kind == SCATTER && at < length(rank); at++)
                ASSERT_EQ(got[at], byte_of(root, rank, at));
            for (int from = 0; from < size; from++) {
                for (size_t at = 0; (kind == ALLGATHER || (kind == GATHER && rank == root)) && at < length(from); at++)
                    ASSERT_EQ(got[block_offset(&blocks, from) + at], byte_of(from, 0, at));
                for (size_t at = 0; kind == ALLTOALL && at < length(rank); at++)
                    ASSERT_EQ(got[(size_t)from * length(rank) + at], byte_of(from, rank, at));
            }
        }
    }
    Kind kind;
    int size;
    size_t unit;
    int root;
    size_t total;
    std::vector<std::vector<char>> in;
    std::vector<std::vector<char>> out;
};

std::vector<std::unique_ptr<Collective>> some_of_each(int size, std::mt19937 &random)
{
    std::vector<std::unique_ptr<Collective>> all;
    const size_t counts[] = {0, 1, 5, 300};
    for (auto kind : {Reduction::ALL, Reduction::ROOT, Reduction::SCAN, Reduction::EXSCAN})
        all.push_back(std::make_unique<Reduction>(kind, size, counts[random() % 4], (int)(random() % (unsigned)size),
                                                  random() % 2 == 0));
    for (auto kind : {Move::BCAST, Move::GATHER, Move::SCATTER, Move::ALLGATHER, Move::ALLTOALL})
        all.push_back(std::make_unique<Move>(kind, size, counts[random() % 4], (int)(random() % (unsigned)size)));
    return all;
}

void open(Network &network, Collective &collective, bool kept)
{
    for (int rank = 0; rank < network.size(); rank++) {
        sched_t *sched = kept ? sched_open_kept(network.set(rank)) : sched_open(network.set(rank));
        ASSERT_NE(sched, nullptr);
        sched->net = &simulated;
        collective.build(sched, rank);
        collective.scheds.push_back(sched);
    }
}

// Starts what is listed, in an order drawn by chance, delivering between starts.
void start_all(Network &network, std::vector<sched_t *> scheds)
{
    std::shuffle(scheds.begin(), scheds.end(), network.random);
    for (sched_t *sched : scheds) {
        ASSERT_EQ(sched_start(sched), 0);
        while (network.random() % 3 != 0 && network.step()) {
        }
    }
    network.run();
    for (sched_t *sched : scheds)
        ASSERT_TRUE(sched->complete);
    ASSERT_TRUE(network.is_empty());
}

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
