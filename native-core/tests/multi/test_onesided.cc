// SPDX-License-Identifier: Apache-2.0
// test_onesided.cc - atomics, signals, fence, flush of all and strides between real processes over real transports.
#include <gtest/gtest.h>

#include <string>

#include "launch.h"

using multi::MAX;
using multi::Node;
using multi::Shared;

namespace {

constexpr unsigned ALL_ACCESS = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

void wait_op(Node &node, vbn_status_t returned, const vbn_op_t &op)
{
    MUST(returned >= 0);
    node.until([&] { return op.complete == 1; });
    MUST(op.status == VBN_OK);
}

vbn_mem_t *offer(Node &node, Shared &shared, size_t size)
{
    vbn_mem_t *mem;
    size_t length = VBN_KEY_MAX;
    MUST(vbn_mem_alloc(node.context, size, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
    MUST(vbn_key_export(mem, 0, size, ALL_ACCESS, shared.key[node.rank], &length) == VBN_OK);
    shared.key_length[node.rank] = length;
    return mem;
}

vbn_key_t *take(Node &node, Shared &shared, int from)
{
    vbn_key_t *key;
    while (shared.key_length[from] == 0)
        node.step(1);
    MUST(vbn_key_import(node.peers[from], shared.key[from], shared.key_length[from], &key) == VBN_OK);
    return key;
}

uint64_t acquire(const void *word)
{
    return __atomic_load_n(static_cast<const uint64_t *>(word), __ATOMIC_ACQUIRE);
}

void expect_all_zero(const std::vector<int> &codes)
{
    for (size_t i = 0; i < codes.size(); i++)
        EXPECT_EQ(codes[i], 0) << "process " << i;
}

/* ------------------------------------------------------------------------------------- coherence */

constexpr uint64_t TICKETS = 1500; /* per process */

/* Tickets are drawn from word 0; a bit set in the map behind it says that the ticket was drawn. */
void draw_over_network(Node &node, vbn_key_t *key)
{
    for (uint64_t i = 0; i < TICKETS; i++) {
        uint64_t ticket = 0, bits = 0;
        vbn_op_t op{};
        wait_op(node, vbn_atomic(key, 0, VBN_ATOMIC_ADD, 8, 1, 0, &ticket, &op), op);
        op = vbn_op_t{};
        uint64_t bit = UINT64_C(1) << (ticket % 32);
        wait_op(node, vbn_atomic(key, 64 + ticket / 32 * 4, VBN_ATOMIC_OR, 4, bit, 0, &bits, &op), op);
        MUST((bits & bit) == 0);
    }
}

void draw_locally(Node &node, uint8_t *base)
{
    for (uint64_t i = 0; i < TICKETS; i++) {
        uint64_t ticket = __atomic_fetch_add(reinterpret_cast<uint64_t *>(base), 1, __ATOMIC_SEQ_CST);
        uint32_t bit = UINT32_C(1) << (ticket % 32);
        auto *bits = reinterpret_cast<uint32_t *>(base + 64) + ticket / 32;
        MUST((__atomic_fetch_or(bits, bit, __ATOMIC_SEQ_CST) & bit) == 0);
        node.step(0);
    }
}

/* Process 0 owns the word and uses C11 atomics; 1 has it mapped; 2 goes by packets; 3 takes what it gets. */
TEST(OneSided, every_ticket_is_drawn_once_by_owner_mapped_and_remote_users_together)
{
    expect_all_zero(multi::launch(4, [](int rank, Shared &shared) {
        const char *transports[] = {"shm,tcp", "shm", "tcp", "shm,tcp"};
        Node node(shared, rank, 4, transports[rank]);
        if (rank == 0) {
            vbn_mem_t *mem = offer(node, shared, 65536);
            auto *base = static_cast<uint8_t *>(vbn_mem_address(mem));
            draw_locally(node, base);
            node.barrier(shared, 1);
            MUST(acquire(base) == 4 * TICKETS);
            node.barrier(shared, 2);
            MUST(vbn_mem_free(mem) == VBN_OK);
        } else {
            node.connect(shared, 0);
            vbn_key_t *key = take(node, shared, 0);
            draw_over_network(node, key);
            MUST((vbn_key_pointer(key) == nullptr) == (rank == 2));
            node.barrier(shared, 1);
            node.barrier(shared, 2);
            vbn_key_release(key);
        }
        node.close();
    }));
}

/* --------------------------------------------------------------------------------------- signals */

class OneSidedOver : public ::testing::TestWithParam<const char *> {};

/* Updates of mapped memory wake nobody: the word is polled. */
void watch(Node &node, const uint8_t *word, uint64_t value)
{
    auto end = multi::Clock::now() + std::chrono::seconds(60);
    while (acquire(word) != value) {
        MUST(multi::Clock::now() < end);
        node.step(1);
    }
}

size_t size_of(uint64_t round)
{
    return round * 7919 % 300000;
}

void signal_rounds(int rank, Shared &shared, const char *transport, uint64_t rounds)
{
    Node node(shared, rank, 2, transport);
    node.connect_all(shared);
    vbn_mem_t *mem = offer(node, shared, 1 << 20);
    auto *base = static_cast<uint8_t *>(vbn_mem_address(mem));
    vbn_key_t *key = take(node, shared, 1 - rank);
    std::vector<uint8_t> data(300000);
    for (uint64_t round = 1; round <= rounds; round++) {
        size_t size = size_of(round);
        if (rank == 0) {
            std::memset(data.data(), static_cast<int>(round), size);
            iovec iov{data.data(), size};
            vbn_signal_t signal{key, 8, round % 2 == 0 ? VBN_ATOMIC_ADD : VBN_ATOMIC_SWAP, round % 2 == 0 ? 1 : round};
            vbn_op_t op{};
            wait_op(node, vbn_put_signal(key, 4096, &iov, 1, &signal, &op), op);
            watch(node, base, round); /* the other side has looked */
        } else {
            watch(node, base + 8, round);
            for (size_t i = 0; i < size; i++)
                MUST(base[4096 + i] == static_cast<uint8_t>(round));
            vbn_op_t op{};
            wait_op(node, vbn_atomic(key, 0, VBN_ATOMIC_SWAP, 8, round, 0, nullptr, &op), op);
        }
    }
    node.barrier(shared, 1);
    vbn_key_release(key);
    MUST(vbn_mem_free(mem) == VBN_OK);
    node.close();
}

TEST_P(OneSidedOver, a_signal_is_never_seen_before_its_data)
{
    expect_all_zero(multi::launch(2, [](int rank, Shared &shared) { signal_rounds(rank, shared, GetParam(), 300); }));
}

/* ------------------------------------------------------------------------------ fence, flush of all */

/* Every process writes to every other one: data, fence, count of blocks so far. */
void all_write(int rank, Shared &shared, const char *transport)
{
    constexpr size_t BLOCK = 100000, ROUNDS = 20;
    Node node(shared, rank, 4, transport);
    node.connect_all(shared);
    vbn_mem_t *mem = offer(node, shared, 4 << 20);
    auto *base = static_cast<uint8_t *>(vbn_mem_address(mem));
    vbn_key_t *keys[4] = {};
    for (int i = 0; i < 4; i++)
        if (i != rank)
            keys[i] = take(node, shared, i);
    std::vector<uint8_t> data(BLOCK, static_cast<uint8_t>(rank + 1));
    iovec iov{data.data(), BLOCK};
    uint64_t counts[ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        counts[round] = round + 1;
        iovec word{&counts[round], 8};
        vbn_op_t ops[8] = {}, flush{};
        for (int i = 0; i < 4; i++)
            if (i != rank)
                MUST(vbn_put(keys[i], 4096 + static_cast<size_t>(rank) * BLOCK, &iov, 1, &ops[2 * i]) >= 0);
        MUST(vbn_fence(node.worker) == VBN_OK);
        for (int i = 0; i < 4; i++)
            if (i != rank)
                MUST(vbn_put(keys[i], static_cast<size_t>(rank) * 64, &word, 1, &ops[2 * i + 1]) >= 0);
        wait_op(node, vbn_flush_all(node.worker, &flush), flush);
        for (int i = 0; i < 8; i++)
            MUST(i / 2 == rank || (ops[i].complete == 1 && ops[i].status == VBN_OK));
        for (int i = 0; i < 4; i++)
            if (i != rank && acquire(base + i * 64) > 0)
                MUST(base[4096 + static_cast<size_t>(i) * BLOCK + BLOCK - 1] == i + 1);
    }
    node.barrier(shared, 1);
    for (int i = 0; i < 4; i++)
        MUST(i == rank || acquire(base + i * 64) == ROUNDS);
    node.barrier(shared, 2);
    for (auto *key : keys)
        vbn_key_release(key);
    MUST(vbn_mem_free(mem) == VBN_OK);
    node.close();
}

TEST_P(OneSidedOver, four_write_to_everyone_with_fences_and_flush_all_peers_at_once)
{
    expect_all_zero(multi::launch(4, [](int rank, Shared &shared) { all_write(rank, shared, GetParam()); }));
}

/* ----------------------------------------------------------------------------------------- strides */

/* A matrix of 64-bit numbers at process 0; process 1 writes one column after the other and reads them back as rows. */
void transpose(int rank, Shared &shared, const char *transport)
{
    constexpr size_t N = 200;
    Node node(shared, rank, 2, transport);
    node.connect_all(shared);
    if (rank == 0) {
        vbn_mem_t *mem = offer(node, shared, N * N * 8);
        node.barrier(shared, 1);
        auto *matrix = static_cast<uint64_t *>(vbn_mem_address(mem));
        for (size_t i = 0; i < N * N; i++)
            MUST(matrix[i] == i % N * 1000 + i / N);
        node.barrier(shared, 2);
        MUST(vbn_mem_free(mem) == VBN_OK);
    } else {
        vbn_key_t *key = take(node, shared, 0);
        std::vector<uint64_t> numbers(2 * N), got(N);
        for (size_t column = 0; column < N; column++) {
            for (size_t i = 0; i < N; i++)
                numbers[2 * i] = column * 1000 + i;
            vbn_strided_t from{numbers.data(), 8, N, 16, N * 8}, to{got.data(), 8, N, 8, N * 8};
            vbn_op_t put{}, get{};
            wait_op(node, vbn_put_strided(key, column * 8, &from, &put), put);
            wait_op(node, vbn_get_strided(key, column * 8, &to, &get), get);
            MUST(put.length == N * 8 && get.length == N * 8);
            for (size_t i = 0; i < N; i++)
                MUST(got[i] == column * 1000 + i);
        }
        node.barrier(shared, 1);
        node.barrier(shared, 2);
        vbn_key_release(key);
    }
    node.close();
}

TEST_P(OneSidedOver, a_matrix_is_written_and_read_by_columns)
{
    expect_all_zero(multi::launch(2, [](int rank, Shared &shared) { transpose(rank, shared, GetParam()); }));
}

INSTANTIATE_TEST_SUITE_P(Over, OneSidedOver, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
