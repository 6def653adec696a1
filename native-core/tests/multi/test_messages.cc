// SPDX-License-Identifier: Apache-2.0
// test_messages.cc - real processes over real transports: messages, pulls, puts, gets, sleeping, killing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "full.h"
#include "launch.h"

using multi::MAX;
using multi::Node;
using multi::Shared;
using Bytes = std::vector<uint8_t>;

namespace {

uint8_t byte_at(size_t i, unsigned seed)
{
    return static_cast<uint8_t>(i * 131 + seed * 17 + (i >> 8) * 7);
}

Bytes pattern(size_t length, unsigned seed)
{
    Bytes data(length);
    for (size_t i = 0; i < length; i++)
        data[i] = byte_at(i, seed);
    return data;
}

bool matches(const uint8_t *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        if (data[i] != byte_at(i, seed))
            return false;
    return true;
}

/* Counts messages, checks each against the seed in its header, pulls the large ones. */
struct Receiver {
    struct Pull {
        vbn_op_t op{};
        Receiver *owner;
        Bytes data;
        unsigned seed;
        iovec iov;
    };
    size_t messages = 0, bytes = 0;
    int failed = 0;
    static void pulled(vbn_op_t *op, vbn_status_t status, size_t length)
    {
        auto *pull = static_cast<Pull *>(op->user);
        if (status != VBN_OK)
            pull->owner->failed = status;
        else
            MUST(length == pull->data.size() && matches(pull->data.data(), length, pull->seed));
        pull->owner->messages++;
        pull->owner->bytes += length;
        delete pull;
    }
    static void handle(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Receiver *>(arg);
        unsigned seed;
        MUST(m->header_length == sizeof(seed));
        std::memcpy(&seed, m->header, sizeof(seed));
        if (m->remote == nullptr) {
            MUST(matches(static_cast<const uint8_t *>(m->data), m->length, seed));
            self->messages++;
            self->bytes += m->length;
            return;
        }
        auto *pull = new Pull;
        pull->owner = self;
        pull->data.resize(m->length);
        pull->seed = seed;
        pull->iov = {pull->data.data(), m->length};
        pull->op.done = pulled;
        pull->op.user = pull;
        vbn_status_t status = vbn_am_pull(m->remote, &pull->iov, 1, &pull->op);
        MUST(status >= 0);
        if (status == VBN_OK)
            pulled(&pull->op, VBN_OK, 0);
    }
};

const size_t SIZES[] = {0, 1, 8, 1000, 4095, 4096, 4097, 8191, 8192, 65536, 262143, 262144, 262145, 5 * 262144 + 3};

/* Sends every size to one peer; all ops are in flight at once. */
struct Sender {
    std::vector<Bytes> data;
    std::vector<vbn_op_t> ops;
    std::vector<iovec> iov;
    unsigned seed = 0;
    /* Before there is a connection: takes seconds in an emulated machine. */
    void make(unsigned seed_)
    {
        seed = seed_;
        for (size_t size : SIZES)
            data.push_back(pattern(size, seed_ + static_cast<unsigned>(data.size())));
    }
    void send_all(vbn_peer_t *peer)
    {
        ops.assign(data.size(), vbn_op_t{});
        iov.resize(data.size());
        for (size_t i = 0; i < data.size(); i++) {
            iov[i] = {data[i].data(), data[i].size()};
            unsigned id = seed + static_cast<unsigned>(i);
            MUST(vbn_am_send(peer, 3, &id, sizeof(id), &iov[i], 1, 0, &ops[i]) >= 0);
        }
    }
    bool done() const
    {
        for (const auto &op : ops)
            if (op.complete == 0)
                return false;
        return true;
    }
    void check() const
    {
        for (const auto &op : ops)
            MUST(op.status == VBN_OK);
    }
};

size_t total_bytes()
{
    size_t sum = 0;
    for (size_t size : SIZES)
        sum += size;
    return sum;
}

void expect_all_zero(const std::vector<int> &codes)
{
    for (size_t i = 0; i < codes.size(); i++)
        EXPECT_EQ(codes[i], 0) << "process " << i;
}

class Processes : public ::testing::TestWithParam<const char *> {};

void all_to_all(int rank, Shared &shared, int count, const char *transport)
{
    std::vector<Sender> senders(static_cast<size_t>(count));
    for (int i = 0; i < count; i++)
        if (i != rank)
            senders[static_cast<size_t>(i)].make(static_cast<unsigned>(rank * 100 + i));
    Node node(shared, rank, count, transport);
    Receiver receiver;
    MUST(vbn_am_handler(node.worker, 3, Receiver::handle, &receiver) == VBN_OK);
    node.connect_all(shared);
    for (int i = 0; i < count; i++)
        if (i != rank)
            senders[static_cast<size_t>(i)].send_all(node.peers[i]);
    size_t others = static_cast<size_t>(count - 1);
    node.until([&] {
        for (auto &sender : senders)
            if (!sender.done())
                return false;
        return receiver.messages == others * (sizeof(SIZES) / sizeof(SIZES[0]));
    });
    for (auto &sender : senders)
        sender.check();
    MUST(receiver.bytes == others * total_bytes());
    node.barrier(shared, 1);
    node.close();
}

TEST_P(Processes, two_exchange_all_sizes_in_both_directions_at_once)
{
    expect_all_zero(multi::launch(2, [&](int rank, Shared &shared) { all_to_all(rank, shared, 2, GetParam()); }));
}

TEST_P(Processes, four_send_everything_to_everyone)
{
    expect_all_zero(multi::launch(4, [&](int rank, Shared &shared) { all_to_all(rank, shared, 4, GetParam()); }));
}

/* -------------------------------------------------------------------------------- sleeping ping-pong */

struct PingPong {
    vbn_peer_t *peer = nullptr;
    vbn_op_t op{};
    uint64_t received = 0;
    bool answer = false;
    void send()
    {
        MUST(op.complete == 1 || received == 0 || answer);
        op = vbn_op_t{};
        MUST(vbn_am_send(peer, 3, &received, sizeof(received), nullptr, 0, 0, &op) >= 0);
    }
    static void handle(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<PingPong *>(arg);
        uint64_t number;
        MUST(m->header_length == sizeof(number));
        std::memcpy(&number, m->header, sizeof(number));
        MUST(number == self->received);
        self->received++;
        if (self->answer) {
            self->received--;
            self->send();
            self->received++;
        }
    }
};

void ping_pong(int rank, Shared &shared, const char *transport, uint64_t rounds)
{
    Node node(shared, rank, 2, transport);
    PingPong game;
    game.answer = rank == 1;
    MUST(vbn_am_handler(node.worker, 3, PingPong::handle, &game) == VBN_OK);
    node.connect(shared, 1 - rank);
    game.peer = node.peers[1 - rank];
    const auto enough = multi::Clock::now() +
                        std::chrono::seconds(60); /* where other processes leave little of the processors */
    int late = 0;
    while (game.received == 0 || static_cast<int>(game.received) != shared.stage[2]) {
        uint64_t before = game.received;
        if (rank == 0) {
            if (before + 1 == rounds || (before >= 1000 && multi::Clock::now() > enough))
                shared.stage[2] = static_cast<int>(before + 1); /* it is the last one */
            game.send();
        }
        while (game.received == before) {
            auto start = multi::Clock::now();
            while (vbn_progress(node.worker) > 0)
                ;
            if (game.received != before || vbn_arm(node.worker) != VBN_OK)
                continue;
            pollfd fd{vbn_event_fd(node.worker), POLLIN, 0};
            int n = poll(&fd, 1, 20000);
            late += n == 0;
            MUST(n >= 0);
            MUST(n > 0 || multi::Clock::now() - start > std::chrono::seconds(19));
        }
    }
    MUST(late == 0); /* a sleep of 20 s means that a wake-up was missed */
    node.barrier(shared, 1);
    node.close();
}

TEST_P(Processes, many_sleeping_ping_pongs_miss_no_wake_up)
{
    bool device = std::strcmp(GetParam(), "shm") != 0 && std::strcmp(GetParam(), "tcp") != 0;
    uint64_t rounds = device ? 4000 : usual_or_full(30000, 100000); /* devices in software take a millisecond each */
    expect_all_zero(
        multi::launch(2, [&](int rank, Shared &shared) { ping_pong(rank, shared, GetParam(), rounds); }, 300));
}

/* ------------------------------------------------------------------------------------ put and get */

void owner(Shared &shared, const char *transport)
{
    Node node(shared, 0, 2, transport);
    vbn_mem_t *mem;
    MUST(vbn_mem_alloc(node.context, 3 << 20, VBN_BACKING_MEMFD, nullptr, &mem) == VBN_OK);
    auto *base = static_cast<uint8_t *>(vbn_mem_address(mem));
    Bytes data = pattern(3 << 20, 5);
    std::memcpy(base, data.data(), data.size());
    size_t length = VBN_KEY_MAX;
    MUST(vbn_key_export(mem, 4096, (3 << 20) - 4096, VBN_ACCESS_READ | VBN_ACCESS_WRITE, shared.key[0], &length) ==
         VBN_OK);
    shared.key_length[0] = length;
    node.connect_all(shared);
    node.barrier(shared, 1); /* the reader has got and put */
    MUST(matches(base + 4096 + 1000, 2000000, 9));
    MUST(matches(base, 4096 + 1000, 5));
    MUST(vbn_mem_revoke(mem) == VBN_OK);
    node.barrier(shared, 2);
    node.barrier(shared, 3);
    MUST(vbn_mem_free(mem) == VBN_OK);
    node.close();
}

void user(Shared &shared, const char *transport)
{
    Node node(shared, 1, 2, transport);
    node.connect_all(shared);
    while (shared.key_length[0] == 0)
        node.step(1);
    vbn_key_t *key;
    MUST(vbn_key_import(node.peers[0], shared.key[0], shared.key_length[0], &key) == VBN_OK);
    for (size_t size : {0u, 1u, 4096u, 262144u, 2000000u}) {
        Bytes got(size);
        iovec iov{got.data(), size};
        vbn_op_t op{};
        MUST(vbn_get(key, 500, &iov, 1, &op) >= 0);
        node.until([&] { return op.complete == 1; });
        MUST(op.status == VBN_OK && op.length == size);
        Bytes whole = pattern(4096 + 500 + size, 5);
        MUST(size == 0 || std::memcmp(got.data(), whole.data() + 4096 + 500, size) == 0);
    }
    bool mapped = vbn_key_pointer(key) != nullptr;
    MUST(mapped == (std::strcmp(transport, "shm") == 0));
    Bytes fresh = pattern(2000000, 9);
    iovec iov{fresh.data(), fresh.size()};
    vbn_op_t put{}, flush{}, stale{};
    MUST(vbn_put(key, 1000, &iov, 1, &put) >= 0);
    MUST(vbn_flush(node.peers[0], &flush) >= 0);
    node.until([&] { return flush.complete == 1; });
    MUST(put.complete == 1 && put.status == VBN_OK && flush.status == VBN_OK);
    node.barrier(shared, 1);
    node.barrier(shared, 2);
    if (!mapped) {
        MUST(vbn_get(key, 0, &iov, 1, &stale) == VBN_INPROGRESS);
        node.until([&] { return stale.complete == 1; });
        MUST(stale.status == VBN_ERR_STALE);
    }
    vbn_key_release(key);
    node.barrier(shared, 3);
    node.close();
}

TEST_P(Processes, puts_and_gets_reach_the_owners_memory_until_it_is_revoked)
{
    expect_all_zero(multi::launch(
        2, [&](int rank, Shared &shared) { rank == 0 ? owner(shared, GetParam()) : user(shared, GetParam()); }));
}

/* ------------------------------------------------------------------------------------- peer death */

struct Victim {
    static void keep(void *arg, const vbn_am_message_t *m)
    {
        if (m->remote != nullptr)
            *static_cast<vbn_am_remote_t **>(arg) = m->remote;
    }
};

void survivor(Shared &shared, const char *transport, int moment)
{
    Bytes data = pattern(16 << 20, 1),
          got(16 << 20); /* takes seconds in an emulated machine: not of the wire-up's time */
    Node node(shared, 0, 2, transport);
    vbn_am_remote_t *remote = nullptr;
    MUST(vbn_am_handler(node.worker, 3, Victim::keep, &remote) == VBN_OK);
    node.connect_all(shared);
    iovec iov{data.data(), data.size()}, to{got.data(), got.size()};
    vbn_op_t large{}, pull{};
    unsigned seed = 1;
    MUST(vbn_am_send(node.peers[1], 3, &seed, sizeof(seed), &iov, 1, 0, &large) == VBN_INPROGRESS);
    node.until([&] { return remote != nullptr; });
    if (moment > 0)
        MUST(vbn_am_pull(remote, &to, 1, &pull) == VBN_INPROGRESS);
    for (int i = 0; i < (moment - 1) * 3; i++)
        vbn_progress(node.worker);
    shared.stage[0] = 1; /* now the other one dies */
    node.until([&] { return node.lost[1] != 0; });
    MUST(large.complete == 1 && large.status == VBN_ERR_PEER_LOST);
    MUST(moment == 0 || pull.complete == 1);
    if (moment == 0) {
        MUST(vbn_am_pull(remote, &to, 1, &pull) == VBN_ERR_PEER_LOST);
        vbn_am_drop(remote);
    }
    vbn_op_t after{};
    MUST(vbn_am_send(node.peers[1], 3, nullptr, 0, nullptr, 0, 0, &after) < 0);
    node.close();
}

void victim(Shared &shared, const char *transport)
{
    Bytes data = pattern(16 << 20, 2);
    Node node(shared, 1, 2, transport);
    vbn_am_remote_t *remote = nullptr;
    MUST(vbn_am_handler(node.worker, 3, Victim::keep, &remote) == VBN_OK);
    node.connect_all(shared);
    iovec iov{data.data(), data.size()};
    vbn_op_t op{};
    unsigned seed = 2;
    MUST(vbn_am_send(node.peers[0], 3, &seed, sizeof(seed), &iov, 1, 0, &op) == VBN_INPROGRESS);
    node.until([&] { return shared.stage[0] == 1; });
    kill(getpid(), SIGKILL);
}

TEST_P(Processes, a_killed_peer_ends_every_operation_and_leaves_no_wild_pointer)
{
    for (int moment = 0; moment < 5; moment++) {
        auto codes = multi::launch(2, [&](int rank, Shared &shared) {
            rank == 0 ? survivor(shared, GetParam(), moment) : victim(shared, GetParam());
        });
        EXPECT_EQ(codes[0], 0) << "moment " << moment;
        EXPECT_EQ(codes[1], -SIGKILL);
    }
}

INSTANTIATE_TEST_SUITE_P(Over, Processes, ::testing::ValuesIn(multi::ways({"shm", "tcp"})),
                         [](const auto &each) { return multi::way_name(each.param); });

} // namespace
