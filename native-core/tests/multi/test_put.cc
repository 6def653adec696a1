// SPDX-License-Identifier: Apache-2.0
// test_put.cc - announced messages that the sender writes into the receiver's exported memory, between real processes
// that may not copy from each other.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "pair.h"

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

/* a sends out of the heap, b receives into exported memory. */
struct Receive {
    multi::Pair pair{"shm"};
    vbn_mem_t *mem = nullptr;
    uint8_t *to = nullptr;
    std::vector<uint8_t> data = std::vector<uint8_t>(ROOM, 1);
    vbn_op_t send{}, receive{};
    iovec from{data.data(), ROOM}, into{};
    vbn_status_t sent = VBN_OK;

    Receive()
    {
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(vbn_mem_alloc(pair.b.context, ROOM, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
        MUST(vbn_key_export(mem, 0, ROOM, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        to = static_cast<uint8_t *>(vbn_mem_address(mem));
        into = {to, ROOM};
    }
    uint64_t put() const
    {
        vbn_counter_t all[256];
        size_t count = vbn_counters(pair.a.context, all, 256);
        for (size_t i = 0; i < count; i++)
            if (std::strcmp(all[i].name, "put.mapped.bytes") == 0)
                return all[i].value;
        return 0;
    }
    void start()
    {
        std::memset(to, 0, ROOM);
        MUST(vbn_tag_recv(pair.b.worker, nullptr, 1, UINT64_MAX, &into, 1, nullptr, &receive) == VBN_INPROGRESS);
        sent = vbn_tag_send(pair.a.peer, 1, &from, 1, 0, &send);
        MUST(sent == VBN_INPROGRESS);
    }
};

void end_in_the_middle()
{
    setenv("VBN_TL_SHM_COPY", "false", 1);
    Receive r;
    for (uint64_t before = r.put(); r.put() == before;) { /* until the memory is mapped at the sender */
        r.start();
        MUST(r.pair.finish(r.sent, r.send) == VBN_OK && r.pair.finish(VBN_INPROGRESS, r.receive) == VBN_OK);
    }
    r.start();
    uint64_t before = r.put();
    MUST(r.pair.until([&] { return r.put() > before; }));
    MUST(r.put() - before < ROOM && r.receive.complete == 0); /* in the middle */
    vbn_peer_t *peer = nullptr;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    MUST(vbn_worker_address(r.pair.a.worker, blob, &length) == VBN_OK);
    MUST(vbn_connect(r.pair.b.worker, blob, length, nullptr, nullptr, &peer) == VBN_OK);
    vbn_disconnect(peer, VBN_CLOSE_NOW);
    while (r.receive.complete == 0)
        (void)vbn_progress(r.pair.b.worker);
    MUST(r.receive.status < 0);
    std::memset(r.to, 0xEE, ROOM); /* the buffer is its owner's again */
    MUST(r.pair.until([&] { return r.send.complete == 1; }));
    for (size_t i = 0; i < ROOM; i++)
        MUST(r.to[i] == 0xEE);
    MUST(vbn_mem_free(r.mem) == VBN_OK);
    r.pair.close();
}

TEST(PutEnds, a_receive_that_ends_with_its_peer_is_not_written_by_the_sender_any_more)
{
    auto codes = multi::launch(1, [](int, Shared &) { end_in_the_middle(); });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Memory, Put, ::testing::Values(true, false),
                         [](const auto &test) { return test.param ? "exported_for_writing" : "exported_for_reading"; });

} // namespace
