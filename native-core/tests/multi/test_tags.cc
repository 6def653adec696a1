// SPDX-License-Identifier: Apache-2.0
// test_tags.cc - tagged messages between real processes over real transports.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "launch.h"

using multi::Node;
using multi::Shared;
using Bytes = std::vector<uint8_t>;

namespace {

constexpr uint64_t EXACT = UINT64_MAX;
const size_t SIZES[] = {0, 1, 8, 300, 4096, 4097, 70000, 1000003};
constexpr size_t KINDS = sizeof(SIZES) / sizeof(SIZES[0]);

uint64_t tag_of(int sender, size_t kind)
{
    return static_cast<uint64_t>(sender) << 32 | kind;
}

uint8_t fill_of(int from, int to, size_t kind)
{
    return static_cast<uint8_t>(from * 64 + to * 16 + static_cast<int>(kind) + 1);
}

struct Transfer {
    Bytes data;
    iovec iov{};
    vbn_op_t op{};
    vbn_tag_info_t info{};
    explicit Transfer(size_t size, uint8_t fill) : data(size, fill) { iov = {data.data(), data.size()}; }
};

void expect_all_zero(const std::vector<int> &codes)
{
    for (size_t i = 0; i < codes.size(); i++)
        EXPECT_EQ(codes[i], 0) << "process " << i;
}

class Tags : public ::testing::TestWithParam<const char *> {};

/* Everybody sends every size to everybody; half of the receives are posted before, half after, some from anybody. */
void exchange(int rank, Shared &shared, int count, const char *transport)
{
    Node node(shared, rank, count, transport);
    node.connect_all(shared);
    std::vector<std::unique_ptr<Transfer>> in, out;
    auto receive = [&](int from, size_t kind) {
        in.push_back(std::make_unique<Transfer>(SIZES[kind] + 5, 0));
        Transfer &t = *in.back();
        bool anybody = kind % 3 == 0;
        MUST(vbn_tag_recv(node.worker, anybody ? nullptr : node.peers[from], tag_of(from, kind), EXACT, &t.iov, 1,
                          &t.info, &t.op) >= 0);
    };
    for (int other = 0; other < count; other++)
        for (size_t kind = 0; other != rank && kind < KINDS; kind += 2)
            receive(other, kind);
    node.barrier(shared, 1);
    for (int other = 0; other < count; other++) {
        for (size_t kind = 0; other != rank && kind < KINDS; kind++) {
            out.push_back(std::make_unique<Transfer>(SIZES[kind], fill_of(rank, other, kind)));
            Transfer &t = *out.back();
            MUST(vbn_tag_send(node.peers[other], tag_of(rank, kind), &t.iov, 1, kind % 2 == 0 ? 0 : VBN_TAG_SYNC,
                              &t.op) >= 0);
        }
    }
    for (int other = 0; other < count; other++)
        for (size_t kind = 1; other != rank && kind < KINDS; kind += 2)
            receive(other, kind);
    node.until([&] {
        for (auto *list : {&in, &out})
            for (auto &t : *list)
                if (t->op.complete == 0)
                    return false;
        return true;
    });
    for (auto &t : out)
        MUST(t->op.status == VBN_OK);
    for (auto &t : in) {
        int from = static_cast<int>(t->info.tag >> 32);
        size_t kind = t->info.tag & 0xffff;
        MUST(t->op.status == VBN_OK && t->op.length == SIZES[kind] && t->info.length == SIZES[kind]);
        MUST(t->info.source == vbn_peer_uid(node.peers[from]) && vbn_peer_uid(t->info.peer) == t->info.source);
        for (size_t i = 0; i < t->data.size(); i++)
            MUST(t->data[i] == (i < SIZES[kind] ? fill_of(from, rank, kind) : 0));
    }
    node.barrier(shared, 2);
    node.close();
}

TEST_P(Tags, four_exchange_every_size_with_receives_before_and_after)
{
    expect_all_zero(multi::launch(4, [](int rank, Shared &shared) { exchange(rank, shared, 4, GetParam()); }));
}

/* Three senders with numbered messages of one tag; the receiver takes them from anybody and knows each one's order. */
void numbered(int rank, Shared &shared, const char *transport)
{
    constexpr uint64_t COUNT = 2000;
    Node node(shared, rank, 4, transport);
    if (rank > 0) {
        node.connect(shared, 0);
        for (uint64_t i = 0; i < COUNT; i++) {
            Transfer t(i % 100 == 99 ? 20000 : 8, 0);
            std::memcpy(t.data.data(), &i, sizeof(i));
            MUST(vbn_tag_send(node.peers[0], 77, &t.iov, 1, 0, &t.op) >= 0);
            node.until([&] { return t.op.complete == 1; });
        }
    } else {
        uint64_t next[4] = {}, uids[4] = {};
        for (uint64_t i = 0; i < 3 * COUNT; i++) {
            Transfer t(20000, 0);
            uint64_t number;
            MUST(vbn_tag_recv(node.worker, nullptr, 0, 0, &t.iov, 1, &t.info, &t.op) >= 0);
            node.until([&] { return t.op.complete == 1; });
            MUST(t.op.status == VBN_OK);
            int from = 1;
            while (uids[from] != t.info.source && uids[from] != 0)
                MUST(++from < 4);
            uids[from] = t.info.source;
            std::memcpy(&number, t.data.data(), sizeof(number));
            MUST(number == next[from]++);
        }
    }
    node.barrier(shared, 1);
    node.close();
}

TEST_P(Tags, a_receiver_from_anybody_sees_each_sender_in_order)
{
    expect_all_zero(multi::launch(4, [](int rank, Shared &shared) { numbered(rank, shared, GetParam()); }));
}

/* The sender floods and is killed: what came whole is received, what was announced is gone, nothing hangs. */
void survivor(Shared &shared, const char *transport)
{
    Node node(shared, 0, 2, transport);
    node.connect_all(shared);
    Transfer from_it(100, 0), any(100, 0), pulled(4 << 20, 0);
    MUST(vbn_tag_recv(node.worker, node.peers[1], 1000, EXACT, &from_it.iov, 1, nullptr, &from_it.op) ==
         VBN_INPROGRESS);
    MUST(vbn_tag_recv(node.worker, nullptr, 1000, EXACT, &any.iov, 1, nullptr, &any.op) == VBN_INPROGRESS);
    vbn_tag_info_t info;
    node.until([&] { return vbn_tag_probe(node.worker, nullptr, 3, EXACT, &info, nullptr) == VBN_OK; });
    MUST(info.length == 4 << 20);
    MUST(vbn_tag_recv(node.worker, node.peers[1], 2, EXACT, &pulled.iov, 1, nullptr, &pulled.op) == VBN_INPROGRESS);
    shared.stage[0] = 1; /* now the other one dies */
    node.until([&] { return node.lost[1] != 0; });
    MUST(from_it.op.complete == 1 && from_it.op.status == VBN_ERR_PEER_LOST);
    MUST(pulled.op.complete == 1 && any.op.complete == 0);
    Transfer whole(8, 0), gone(4 << 20, 0);
    MUST(vbn_tag_recv(node.worker, nullptr, 1, EXACT, &whole.iov, 1, &info, &whole.op) == VBN_OK);
    MUST(info.peer == nullptr && info.source != 0 && whole.data[7] == 42);
    MUST(vbn_tag_recv(node.worker, node.peers[1], 3, EXACT, &gone.iov, 1, nullptr, &gone.op) == VBN_ERR_PEER_LOST);
    vbn_worker_destroy(node.worker); /* ends the receive from anybody */
    MUST(any.op.complete == 1 && any.op.status == VBN_ERR_CLOSED);
    MUST(vbn_close(node.context) == VBN_OK);
}

void victim(Shared &shared, const char *transport)
{
    Node node(shared, 1, 2, transport);
    node.connect_all(shared);
    Transfer small(8, 42), large(4 << 20, 1), large2(4 << 20, 2);
    MUST(vbn_tag_send(node.peers[0], 1, &small.iov, 1, 0, &small.op) >= 0);
    MUST(vbn_tag_send(node.peers[0], 2, &large.iov, 1, 0, &large.op) == VBN_INPROGRESS);
    MUST(vbn_tag_send(node.peers[0], 3, &large2.iov, 1, 0, &large2.op) == VBN_INPROGRESS);
    node.until([&] { return shared.stage[0] == 1; });
    kill(getpid(), SIGKILL);
}

TEST_P(Tags, a_killed_sender_ends_its_receives_and_leaves_what_came_whole)
{
    auto codes = multi::launch(
        2, [](int rank, Shared &shared) { rank == 0 ? survivor(shared, GetParam()) : victim(shared, GetParam()); });
    EXPECT_EQ(codes[0], 0);
    EXPECT_EQ(codes[1], -SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Over, Tags, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
