// SPDX-License-Identifier: Apache-2.0
// test_incast.cc - tagged messages of many peers to one worker: one budget for what no receive has taken.
#include <memory>

#include "fixture.h"
#include "full.h"

namespace {

constexpr uint64_t EXACT = UINT64_MAX;

struct Message {
    Bytes data;
    Op op;
    iovec iov{};
    vbn_status_t returned = VBN_OK;
};

/* `count` workers, each with one peer: the worker at side 1 of the first. */
class Crowd {
public:
    std::vector<rig_t *> rigs;
    Crowd(rig_options_t options, unsigned count)
    {
        rigs.push_back(rig_open(&options));
        while (rigs.size() < count)
            rigs.push_back(rig_join(rigs[0]));
    }
    ~Crowd()
    {
        while (!rigs.empty()) {
            rig_close(rigs.back());
            rigs.pop_back();
        }
    }
    Crowd(const Crowd &) = delete;
    Crowd &operator=(const Crowd &) = delete;
    proto_engine_t *receiver() { return rig_engine(rigs[0], 1); }
    void send(unsigned from, uint64_t tag, size_t size, unsigned seed, unsigned flags = 0)
    {
        auto message = std::make_unique<Message>();
        message->data = pattern(size, seed);
        message->iov = {message->data.data(), size};
        message->returned = proto_tag_send(rig_peer(rigs[from], 0), tag, &message->iov, 1, flags, &message->op.op);
        ASSERT_GE(message->returned, 0) << vbn_error_text();
        sent.push_back(std::move(message));
    }
    /* The next message of this peer must be the one made with this seed. */
    void receive(unsigned from, uint64_t tag, size_t size, unsigned seed)
    {
        Bytes got(size);
        Op in;
        iovec to{got.data(), size};
        vbn_status_t r = proto_tag_recv(receiver(), rig_peer(rigs[from], 1), tag, EXACT, &to, 1, nullptr, &in.op);
        rig_run(rigs[from]);
        in.expect(r, VBN_OK, size);
        ASSERT_TRUE(got == pattern(size, seed)) << "message " << seed << " of peer " << from;
    }
    void run()
    {
        for (auto *rig : rigs)
            rig_run(rig);
    }
    void all_complete()
    {
        for (auto &message : sent)
            message->op.expect(message->returned, VBN_OK, message->data.size());
        for (auto *rig : rigs) {
            EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
            EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
            EXPECT_EQ(rig_tag_credit_problem(rig), nullptr);
        }
    }
    uint64_t kept() { return rig_tags_kept(rigs[0], 1); }
    uint64_t counter(int side, const char *name) { return rig_counter(rigs[0], side, name); }

private:
    std::vector<std::unique_ptr<Message>> sent;
};

rig_options_t usual()
{
    rig_options_t options = rig_defaults();
    options.am_small_max = 4096;
    options.max_incoming = 1000;
    return options;
}

TEST(ProtoIncast, a_thousand_senders_stay_inside_one_budget_and_all_arrives_in_order)
{
    constexpr unsigned PEERS = 1000;
    constexpr size_t SIZE = 4000;
    const unsigned EACH = usual_or_full(5, 20); /* a quarter more than the budget */
    const uint64_t BUDGET = (uint64_t{64} << 20) / 20 * EACH;
    rig_options_t options = usual();
    options.tag_unexpected = static_cast<int64_t>(BUDGET);
    Crowd crowd(options, PEERS);
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned peer = 0; peer < PEERS; peer++)
            crowd.send(peer, 7, SIZE, peer + i);
        crowd.run();
        ASSERT_LE(crowd.kept(), BUDGET);
    }
    EXPECT_EQ(crowd.counter(1, "tag.unexpected"), PEERS * EACH);
    EXPECT_GE(crowd.kept(), PEERS * SIZE) << "each peer's first message is whole";
    for (unsigned peer = 0; peer < PEERS; peer++)
        for (unsigned i = 0; i < EACH; i++)
            crowd.receive(peer, 7, SIZE, peer + i);
    crowd.run();
    crowd.all_complete();
}

/* Ten thousand peers and 64 MiB, in small. */
TEST(ProtoIncast, where_first_credits_take_most_of_the_budget_the_rest_is_announced)
{
    constexpr unsigned PEERS = 1000, EACH = 5;
    constexpr uint64_t BUDGET = 6400u << 10;
    rig_options_t options = usual();
    options.tag_unexpected = BUDGET;
    Crowd crowd(options, PEERS);
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned peer = 0; peer < PEERS; peer++)
            crowd.send(peer, 7, 4096, peer + i);
        crowd.run();
        ASSERT_LE(crowd.kept(), BUDGET);
    }
    EXPECT_GT(crowd.counter(0, "tag.large"), PEERS * (EACH - 2));
    for (unsigned peer = 0; peer < PEERS; peer++)
        for (unsigned i = 0; i < EACH; i++)
            crowd.receive(peer, 7, 4096, peer + i);
    crowd.run();
    crowd.all_complete();
}

TEST(ProtoIncast, a_pair_that_streams_announces_only_until_its_first_credit_has_come_back)
{
    Crowd crowd(usual(), 1);
    uint64_t announced = 0;
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < 1000; i++) /* 320 KiB of credit */
            crowd.send(0, 3, 8, i);
        crowd.run();
        if (round == 0)
            announced = crowd.counter(0, "tag.large");
        for (unsigned i = 0; i < 1000; i++)
            crowd.receive(0, 3, 8, i);
    }
    EXPECT_EQ(announced, 1000u - 13u) << "nothing moved between the first 1000";
    EXPECT_EQ(crowd.counter(0, "tag.large"), announced);
    crowd.all_complete();
}

TEST(ProtoIncast, credit_moves_from_those_who_had_it_to_those_who_come_later)
{
    constexpr unsigned EARLY = 40;
    rig_options_t options = usual();
    options.tag_unexpected = 2 << 20;
    Crowd crowd(options, EARLY + 1);
    auto burst = [&](unsigned peer) {
        uint64_t before = crowd.counter(0, "tag.small");
        for (unsigned i = 0; i < 100; i++)
            crowd.send(peer, 3, 1000, i);
        crowd.run();
        EXPECT_LE(crowd.kept(), 2u << 20);
        uint64_t whole = crowd.counter(0, "tag.small") - before;
        for (unsigned i = 0; i < 100; i++)
            crowd.receive(peer, 3, 1000, i);
        return whole;
    };
    for (int round = 0; round < 3; round++)
        for (unsigned peer = 0; peer < EARLY; peer++)
            burst(peer);
    EXPECT_EQ(burst(EARLY), 3u) << "the first credit";
    uint64_t next = burst(EARLY);
    EXPECT_GT(next, 8u) << "a share of what the others left";
    for (int round = 0; round < 3; round++)
        for (unsigned peer = 0; peer <= EARLY; peer++)
            burst(peer);
    uint64_t first = burst(0), last = burst(EARLY);
    EXPECT_LE(first, 2 * last);
    EXPECT_LE(last, 2 * first);
    crowd.all_complete();
}

TEST(ProtoIncast, messages_of_lost_peers_count_and_their_credit_comes_back)
{
    constexpr unsigned PEERS = 100;
    rig_options_t options = usual();
    options.tag_unexpected = 1 << 20;
    Crowd crowd(options, PEERS);
    for (unsigned peer = 0; peer < PEERS; peer++) {
        crowd.send(peer, peer, 4096, peer);
        rig_run(crowd.rigs[peer]);
        rig_kill(crowd.rigs[peer], 1, VBN_ERR_PEER_LOST);
        ASSERT_EQ(rig_tag_credit_problem(crowd.rigs[peer]), nullptr);
    }
    EXPECT_EQ(crowd.counter(1, "tag.dropped"), 0u);
    EXPECT_LE(crowd.kept(), 1u << 20);
    for (unsigned peer = 0; peer < PEERS; peer++) {
        Bytes got(4096);
        Op in;
        iovec to{got.data(), got.size()};
        in.expect(proto_tag_recv(crowd.receiver(), nullptr, peer, EXACT, &to, 1, nullptr, &in.op), VBN_OK, 4096);
        ASSERT_TRUE(got == pattern(4096, peer));
    }
    EXPECT_EQ(crowd.kept(), 0u);
}

} // namespace
