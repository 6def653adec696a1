// SPDX-License-Identifier: Apache-2.0
// test_put.cc - announced messages that the sender writes into the receiver's exported memory, between real processes
// that may not copy from each other.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "launch.h"

using multi::Node;
using multi::Shared;

namespace {

constexpr size_t ROOM = 3 << 20;
constexpr uint64_t ROUNDS = 60;

uint8_t byte_of(uint64_t round, size_t at)
{
    return static_cast<uint8_t>(round * 31 + at * 7 + (at >> 9));
}

size_t size_of(uint64_t round)
{
    static const size_t sizes[] = {20000, 65536, 65537, 262144, 262145, 1000003, ROOM - 100};
    return sizes[round % 7];
}

/* The data lies in two pieces on the heap: nobody but the sender can copy it. */
void send_all(Node &node)
{
    std::vector<uint8_t> data(ROOM);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t size = size_of(round), half = size / 3;
        for (size_t i = 0; i < size; i++)
            data[i] = byte_of(round, i);
        iovec iov[2] = {{data.data(), half}, {data.data() + half, size - half}};
        vbn_op_t op{};
        MUST(vbn_tag_send(node.peers[1], round, iov, 2, 0, &op) >= 0);
        node.until([&] { return op.complete == 1; });
        MUST(op.status == VBN_OK && op.length == size);
    }
}

void receive_all(Node &node, uint8_t *base)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint8_t *to = base + round % 61;
        iovec iov{to, size_of(round)};
        vbn_op_t op{};
        MUST(vbn_tag_recv(node.worker, nullptr, round, UINT64_MAX, &iov, 1, nullptr, &op) >= 0);
        node.until([&] { return op.complete == 1; });
        MUST(op.status == VBN_OK && op.length == size_of(round));
        for (size_t i = 0; i < op.length; i++)
            MUST(to[i] == byte_of(round, i));
    }
}

void exchange(int rank, Shared &shared, bool exported)
{
    setenv("VBN_TL_SHM_COPY", "false", 1);
    Node node(shared, rank, 2, "shm");
    node.connect_all(shared);
    if (rank == 0) {
        send_all(node);
        node.barrier(shared, 1);
        MUST((counter(node, "put.mapped.bytes") > 1000000) == exported);
    } else {
        vbn_mem_t *mem;
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(vbn_mem_alloc(node.context, ROOM, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        unsigned access = exported ? VBN_ACCESS_READ | VBN_ACCESS_WRITE : VBN_ACCESS_READ;
        MUST(vbn_key_export(mem, 0, ROOM, access, blob, &length) == VBN_OK);
        receive_all(node, static_cast<uint8_t *>(vbn_mem_address(mem)));
        node.barrier(shared, 1);
        MUST(vbn_mem_free(mem) == VBN_OK);
    }
    node.close();
}

class Put : public ::testing::TestWithParam<bool> {};

TEST_P(Put, messages_reach_exported_memory_by_the_senders_copy_and_other_memory_by_packets)
{
    auto codes = multi::launch(2, [&](int rank, Shared &shared) { exchange(rank, shared, GetParam()); });
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Memory, Put, ::testing::Values(true, false), [](const auto &test) {
    return test.param ? "exported_for_writing" : "exported_for_reading";
});

} // namespace
