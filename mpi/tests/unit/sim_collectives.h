// SPDX-License-Identifier: Apache-2.0
// sim_collectives.h - each collective of mpi/grp for all ranks of a simulated network: steps, data, the check of the result.
#ifndef MPI_TESTS_SIM_COLLECTIVES_H
#define MPI_TESTS_SIM_COLLECTIVES_H

#include <algorithm>
#include <array>
#include <memory>

#include "sim_network.h"

namespace sched_test {

// Matrices of 2 x 2 modulo 2^64: their product depends on the order.
using Matrix = std::array<uint64_t, 4>;

inline Matrix product(const Matrix &a, const Matrix &b)
{
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

inline void multiply(const grp_reduce_t *, const void *in, void *inout, size_t count)
{
    auto *a = (const Matrix *)in;
    auto *b = (Matrix *)inout;
    for (size_t i = 0; i < count; i++)
        b[i] = product(a[i], b[i]);
}

inline const grp_reduce_t ordered = {multiply, nullptr, sizeof(Matrix), 0, 0, nullptr, 0, 0};

inline void add(const grp_reduce_t *, const void *in, void *inout, size_t count)
{
    auto *a = (const uint64_t *)in;
    auto *b = (uint64_t *)inout;
    for (size_t i = 0; i < 4 * count; i++)
        b[i] += a[i];
}

inline const grp_reduce_t commuting = {add, nullptr, sizeof(Matrix), 1, 0, nullptr, 0, 0};

inline Matrix matrix(int rank, size_t i)
{
    return {(uint64_t)rank + 1, i + 3, (uint64_t)rank * 7 + i, 5};
}

inline Matrix product_of(int first, int end, size_t i)
{
    Matrix result = {1, 0, 0, 1};
    for (int rank = first; rank < end; rank++)
        result = product(result, matrix(rank, i));
    return result;
}

inline Matrix sum_of(int first, int end, size_t i)
{
    Matrix result = {0, 0, 0, 0};
    for (int rank = first; rank < end; rank++)
        for (size_t k = 0; k < 4; k++)
            result[k] += matrix(rank, i)[k];
    return result;
}

inline void fill(std::vector<Matrix> &place, int rank) // schedules know where it is
{
    for (size_t i = 0; i < place.size(); i++)
        place[i] = matrix(rank, i);
}

inline size_t block_offset(const grp_blocks_t *blocks, int rank)
{
    size_t offset = 0;
    for (int i = 0; i < rank; i++)
        offset += blocks->length(blocks, i);
    return offset;
}

// Rank i's block has i % 3 times `unit` bytes: some are empty.
inline size_t block_length(const grp_blocks_t *blocks, int rank)
{
    return (size_t)(rank % 3) * blocks->unit;
}

inline char byte_of(int from, int to, size_t at)
{
    return (char)(from * 31 + to * 17 + (int)at);
}

// One collective of all ranks: schedules, their data, the check of the result. counted: no data, as its steps are counted only.
struct Collective {
    virtual ~Collective() = default;
    virtual void build(sched_t *sched, int rank) = 0;
    virtual void refill() = 0;
    virtual void check() = 0;
    std::vector<sched_t *> scheds;
};

struct Reduction : Collective {
    enum Kind { ALL, ROOT, SCAN, EXSCAN };
    Reduction(Kind kind_, int size_, size_t count_, int root_, bool commutes = false, bool counted = false)
        : kind(kind_), size(size_), count(count_), root(root_), reduce(commutes ? &commuting : &ordered)
    {
        data.resize((size_t)size);
        result.resize((size_t)size);
        for (auto &one : data)
            one.resize(counted ? 1 : count);
        for (auto &one : result)
            one.resize(counted ? 1 : count);
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
    enum Kind { BCAST, GATHER, SCATTER, GATHER_EACH, SCATTER_EACH, ALLTOALL_EACH, ALLGATHER, ALLTOALL };
    Move(Kind kind_, int size_, size_t unit_, int root_, bool counted = false)
        : kind(kind_), size(size_), unit(unit_), root(root_)
    {
        const grp_blocks_t blocks = at(nullptr);
        total = block_offset(&blocks, size);
        const size_t most = counted ? 1 : std::max(total, 2 * unit * (size_t)size);
        in.assign((size_t)size, std::vector<char>(most));
        out.assign((size_t)size, std::vector<char>(most));
    }
    bool is_gather() const { return kind == GATHER || kind == GATHER_EACH; }
    bool is_scatter() const { return kind == SCATTER || kind == SCATTER_EACH; }
    bool is_alltoall() const { return kind == ALLTOALL || kind == ALLTOALL_EACH; }
    bool is_each() const { return kind >= GATHER_EACH && kind <= ALLTOALL_EACH; }
    size_t length(int rank) const { return is_each() ? unit : (size_t)(rank % 3) * unit; }
    grp_blocks_t at(char *base) const
    {
        return {base, block_offset, is_each() ? to_me : block_length, nullptr, nullptr, unit};
    }
    static size_t to_me(const grp_blocks_t *blocks, int) { return blocks->unit; }
    static size_t side_by_side(const grp_blocks_t *blocks, int rank) { return (size_t)rank * blocks->unit; }
    void build(sched_t *sched, int rank) override
    {
        char *from = out[(size_t)rank].data();
        char *to = in[(size_t)rank].data();
        const size_t mine = length(rank);
        const grp_blocks_t blocks = at(rank == root || kind >= ALLGATHER || kind == ALLTOALL_EACH ? to : nullptr);
        if (kind == BCAST)
            steps_bcast(sched, rank == root ? from : to, unit, root);
        else if (is_gather())
            (kind == GATHER ? steps_gather : steps_gather_each)(sched, from, mine, &blocks, root);
        else if (is_scatter()) {
            const grp_blocks_t all = at(from);
            (kind == SCATTER ? steps_scatter : steps_scatter_each)(sched, &all, to, mine, root);
        } else if (kind == ALLGATHER) {
            steps_own(sched, grp_block(&blocks, rank), mine, from, mine);
            steps_allgather(sched, &blocks);
        } else {
            const grp_blocks_t send = at(from); // to rank i as much as the length of its block
            const grp_blocks_t receive = {to, side_by_side, to_me, nullptr, nullptr, mine};
            (kind == ALLTOALL ? steps_alltoall : steps_alltoall_each)(sched, &send, &receive);
        }
    }
    void refill() override
    {
        const grp_blocks_t blocks = at(nullptr);
        for (int rank = 0; rank < size; rank++) {
            std::fill(in[(size_t)rank].begin(), in[(size_t)rank].end(), (char)0);
            for (size_t at = 0; at < out[(size_t)rank].size(); at++)
                out[(size_t)rank][at] = byte_of(rank, 0, at);
            for (int to = 0; (is_alltoall() || is_scatter()) && to < size; to++)
                for (size_t at = 0; at < length(to); at++)
                    out[(size_t)rank][block_offset(&blocks, to) + at] = byte_of(rank, to, at);
        }
    }
    void check() override
    {
        const grp_blocks_t blocks = at(nullptr);
        for (int rank = 0; rank < size; rank++) {
            const auto &got = in[(size_t)rank];
            for (size_t at = 0; kind == BCAST && rank != root && at < unit; at++)
                ASSERT_EQ(got[at], byte_of(root, 0, at));
            for (size_t at = 0; is_scatter() && at < length(rank); at++)
                ASSERT_EQ(got[at], byte_of(root, rank, at));
            for (int from = 0; from < size; from++) {
                for (size_t at = 0; (kind == ALLGATHER || (is_gather() && rank == root)) && at < length(from); at++)
                    ASSERT_EQ(got[block_offset(&blocks, from) + at], byte_of(from, 0, at));
                for (size_t at = 0; is_alltoall() && at < length(rank); at++)
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

// Neither order nor grouping may differ: what a schedule joins is compared with a reduce.
inline void join_unevenly(const grp_reduce_t *, const void *in, void *inout, size_t count)
{
    auto *a = (const uint64_t *)in;
    auto *b = (uint64_t *)inout;
    for (size_t i = 0; i < 4 * count; i++)
        b[i] = 3 * a[i] + 5 * b[i] + 1;
}

constexpr size_t PADDING = 16;

// A part of so many elements as one, whose padding is written, too, as functions of the program may do it.
inline void join_whole(const grp_reduce_t *reduce, const void *in, void *inout, size_t)
{
    join_unevenly(reduce, in, inout, (size_t)reduce->arg);
    memset((char *)inout - PADDING, 1, PADDING);
    memset((char *)inout + reduce->element, 2, PADDING);
}

// Rank i gets `unit` elements, or i % 3 times as many. The expected result is that of a reduce to rank 0.
struct ReduceScatter : Collective {
    ReduceScatter(int size_, size_t unit_, bool equal_, bool commutes, bool whole_ = false, bool in_place_ = false,
                  bool counted_ = false, int alone_ = -1)
        : size(size_), unit(unit_), equal(equal_), alone(alone_), whole(whole_), in_place(in_place_), counted(counted_),
          reduce{join_unevenly, nullptr, sizeof(Matrix), commutes, 0, nullptr, 0, 0}
    {
        starts.push_back(0);
        for (int rank = 0; rank < size; rank++) {
            const size_t bytes = count(rank) * sizeof(Matrix);
            each.push_back({join_whole, (void *)count(rank), bytes, commutes, 0, nullptr, PADDING, PADDING});
            starts.push_back(starts.back() + bytes + (whole ? 2 * PADDING : 0));
            total += count(rank);
        }
        for (const auto &one : each)
            wholes.push_back(&one);
        data.assign((size_t)size, std::vector<char>(counted ? 1 : starts.back()));
        result.assign((size_t)size, std::vector<char>(counted ? 1 : starts.back()));
        expected.assign((size_t)size, std::vector<Matrix>(counted ? 1 : total));
    }
    size_t count(int rank) const
    {
        if (alone >= 0)
            return rank == alone ? unit : 0;
        return equal ? unit : (size_t)(rank % 3) * unit;
    }
    void *place_of(int rank) { return (in_place ? data : result)[(size_t)rank].data(); }
    void build(sched_t *sched, int rank) override
    {
        const grp_parts_t parts = {data[(size_t)rank].data(), starts.data(), &reduce, whole ? wholes.data() : nullptr};
        steps_reduce_scatter(sched, &parts, place_of(rank));
    }
    void refill() override
    {
        for (size_t rank = 0; rank < data.size(); rank++) {
            size_t at = 0;
            std::fill(result[rank].begin(), result[rank].end(), (char)0);
            fill(expected[rank], (int)rank);
            for (int part = 0; part < size; part++)
                for (size_t i = 0; i < count(part); i++, at++)
                    memcpy(data[rank].data() + starts[(size_t)part] + (whole ? PADDING : 0) + i * sizeof(Matrix),
                           &expected[rank][at], sizeof(Matrix));
        }
    }
    // A schedule for each rank: a reduce, whose result each part is compared with.
    void build_expected(sched_t *sched, int rank)
    {
        steps_reduce(sched, expected[(size_t)rank].data(), total, &reduce, 0);
    }
    void check() override
    {
        if (!is_known)
            return;
        size_t at = 0;
        for (int rank = 0; rank < size; rank++) {
            const char *got = (const char *)place_of(rank) + (whole ? PADDING : 0);
            for (size_t i = 0; i < count(rank); i++, at++)
                ASSERT_EQ(memcmp(got + i * sizeof(Matrix), &expected[0][at], sizeof(Matrix)), 0) << rank << ", " << i;
        }
    }
    int size;
    size_t unit;
    bool equal;
    int alone; // the only rank with a part; -1: no such
    bool whole;
    bool in_place;
    bool counted;
    bool is_known = false; // `expected` is the result
    grp_reduce_t reduce;
    size_t total = 0;
    std::vector<size_t> starts;
    std::vector<grp_reduce_t> each;
    std::vector<const grp_reduce_t *> wholes;
    std::vector<std::vector<char>> data;
    std::vector<std::vector<char>> result;
    std::vector<std::vector<Matrix>> expected;
};

inline std::vector<std::unique_ptr<Collective>> some_of_each(int size, std::mt19937 &random)
{
    std::vector<std::unique_ptr<Collective>> all;
    const size_t counts[] = {0, 1, 5, 300};
    for (auto kind : {Reduction::ALL, Reduction::ROOT, Reduction::SCAN, Reduction::EXSCAN})
        all.push_back(std::make_unique<Reduction>(kind, size, counts[random() % 4], (int)(random() % (unsigned)size),
                                                  random() % 2 == 0));
    for (auto kind : {Move::BCAST, Move::GATHER, Move::SCATTER, Move::GATHER_EACH, Move::SCATTER_EACH,
                      Move::ALLTOALL_EACH, Move::ALLGATHER, Move::ALLTOALL})
        all.push_back(std::make_unique<Move>(kind, size, counts[random() % 4], (int)(random() % (unsigned)size)));
    all.push_back(std::make_unique<ReduceScatter>(size, counts[random() % 4], random() % 2 == 0, random() % 2 == 0,
                                                  random() % 2 == 0, random() % 2 == 0));
    return all;
}

inline void open(Network &network, Collective &collective, bool kept)
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
inline void start_all(Network &network, std::vector<sched_t *> scheds)
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

} // namespace sched_test

#endif
