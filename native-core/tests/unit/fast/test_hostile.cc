/* SPDX-License-Identifier: Apache-2.0
 * test_hostile.cc - slots that no honest sender writes, read by the fast lane: they end the peer that wrote them, and
 * nothing else. A victim with two peers: one lies, the other one goes on. */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "slots.h"

namespace {

constexpr int TURNS = 2000000; /* far more than anything here needs */
constexpr unsigned INLINE = 0, WORD_ID = 1, NO_HANDLER = 2;

struct End {
    vbn_context_t *context = nullptr;
    vbn_worker_t *worker = nullptr;
    std::vector<uint64_t> received;
    std::vector<vbn_status_t> lost;

    End()
    {
        static const uint8_t key[VBN_JOB_KEY_BYTES] = {1};
        vbn_config_t *config;
        EXPECT_EQ(vbn_config_create(&config), VBN_OK);
        EXPECT_EQ(vbn_config_set(config, "tl.enable", "shm"), VBN_OK);
        EXPECT_EQ(vbn_config_set_job_key(config, key), VBN_OK);
        vbn_config_set_log(config, [](void *, const vbn_log_record_t *) {}, nullptr);
        EXPECT_EQ(vbn_open(config, &context), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_worker_create(context, &worker), VBN_OK) << vbn_error_text();
        EXPECT_EQ(vbn_am_handler(worker, WORD_ID, on_message, this), VBN_OK);
        vbn_worker_set_peer_lost(worker, on_lost, this);
        vbn_config_destroy(config);
    }
    ~End()
    {
        vbn_worker_destroy(worker);
        EXPECT_EQ(vbn_close(context), VBN_OK) << vbn_error_text();
    }
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    static void on_message(void *arg, const vbn_am_message_t *message)
    {
        uint64_t word = 0;
        memcpy(&word, message->data, std::min(sizeof(word), message->length));
        static_cast<End *>(arg)->received.push_back(word);
    }
    static void on_lost(void *arg, vbn_peer_t *, vbn_status_t status, const char *)
    {
        static_cast<End *>(arg)->lost.push_back(status);
    }
};

struct Three {
    End victim, liar, honest;
    vbn_peer_t *liars_peer = nullptr, *honest_peer = nullptr;
    uint64_t words = 0;

    Three()
    {
        liars_peer = connect(liar);
        honest_peer = connect(honest);
        for (int i = 0; i < 3; i++) /* what comes first does not go by the fast lane */
            EXPECT_TRUE(arrives(liar, liars_peer) && arrives(honest, honest_peer));
        EXPECT_TRUE(slots_open(liars_peer)) << "the fast lane is what these tests are about";
    }
    vbn_peer_t *connect(End &end)
    {
        uint8_t blob[VBN_ADDRESS_MAX];
        size_t length = sizeof(blob);
        vbn_peer_t *peer = nullptr;
        EXPECT_EQ(vbn_worker_address(victim.worker, blob, &length), VBN_OK);
        EXPECT_EQ(vbn_connect(end.worker, blob, length, End::on_lost, &end, &peer), VBN_OK) << vbn_error_text();
        return peer;
    }
    void turn()
    {
        for (End *end : {&victim, &liar, &honest})
            (void)vbn_progress(end->worker);
    }
    template <typename Done> bool until(Done done)
    {
        for (int i = 0; i < TURNS && !done(); i++)
            turn();
        return done();
    }
    bool arrives(End &from, vbn_peer_t *peer)
    {
        uint64_t word = ++words;
        iovec iov = {&word, sizeof(word)};
        vbn_op_t op = {};
        if (vbn_am_send(peer, WORD_ID, nullptr, 0, &iov, 1, 0, &op) < 0)
            return false;
        return until([&] {
                   return (op.complete && !victim.received.empty() && victim.received.back() == word) ||
                          !from.lost.empty();
               }) &&
               from.lost.empty();
    }
};

using Slot = std::array<uint8_t, SLOTS_DATA>;

/* A right message of 8 bytes, to be spoilt. */
Slot right(const vbn_peer_t *peer, unsigned id)
{
    Slot slot = {};
    slots_link_header(peer, slot.data());
    slot[16] = 1; /* PROTO_AM */
    slot[17] = static_cast<uint8_t>(id);
    return slot;
}

/* The same as a tagged message. */
Slot right_tagged(const vbn_peer_t *peer, uint64_t tag)
{
    Slot slot = {};
    slots_link_header(peer, slot.data());
    slot[16] = 10; /* PROTO_TAG */
    memcpy(&slot[24], &tag, sizeof(tag));
    return slot;
}

struct Lie {
    const char *what;
    uint32_t header_bytes, payload_bytes;
    unsigned kind;
    int at;       /* this byte of the slot */
    uint8_t with; /* is turned by these bits */
};

const Lie LIES[] = {
    {"one byte more than a slot has", 24, 97, INLINE, 0, 0},
    {"the largest header", 0xfff, 0, INLINE, 0, 0},
    {"the largest payload", 24, 0xffffff, INLINE, 0, 0},
    {"no header", 0, 8, INLINE, 0, 0},
    {"a header that ends in the link's", 15, 8, INLINE, 0, 0},
    {"a packet without a message header", 16, 8, INLINE, 0, 0},
    {"a kind that there is not", 24, 8, 6, 0, 0},
    {"an inline packet that calls itself a chunk of more than a ring", 24, 0xffffff, 1, 0, 0},
    {"another version of the link", 24, 8, INLINE, 0, 0xf0},
    {"reserved bytes", 24, 8, INLINE, 2, 1},
    {"another connection", 24, 8, INLINE, 5, 1},
    {"a number that was used", 24, 8, INLINE, 8, 1},
    {"a number far ahead", 24, 8, INLINE, 11, 0x40},
    {"an ack of what was never sent", 24, 8, INLINE, 15, 0x40},
    {"a message type that there is not", 24, 8, INLINE, 16, 0x7f},
    {"a message id that there is not", 24, 8, INLINE, 17, 0x80},
    {"a user header that is not there", 24, 8, INLINE, 18, 1},
};

const Lie TAG_LIES[] = {
    {"one byte more than a slot has", 32, 89, INLINE, 0, 0},
    {"no tag", 24, 8, INLINE, 0, 0},
    {"a word more than a tagged message has", 40, 8, INLINE, 0, 0},
    {"a code where none belongs", 32, 8, INLINE, 17, 1},
    {"a user header where none belongs", 32, 0, INLINE, 18, 8},
    {"a last answer where none belongs", 32, 8, INLINE, 20, 1},
    {"stages where none belong", 32, 8, INLINE, 22, 1},
};

/* Waits for every message. */
struct Receive {
    uint8_t data[SLOTS_DATA + 1] = {};
    iovec iov = {data, SLOTS_DATA};
    vbn_op_t op = {};
    explicit Receive(const End &end)
    {
        EXPECT_EQ(vbn_tag_recv(end.worker, nullptr, 0, 0, &iov, 1, nullptr, &op), VBN_INPROGRESS);
    }
};

TEST(FastHostile, a_tagged_slot_that_lies_ends_its_peer_and_reaches_no_receive)
{
    for (const Lie &lie : TAG_LIES) {
        SCOPED_TRACE(lie.what);
        Three three;
        Receive receive(three.victim);
        Slot slot = right_tagged(three.liars_peer, 7);
        slot[static_cast<size_t>(lie.at)] ^= lie.with;
        slots_write(three.liars_peer, lie.header_bytes, lie.payload_bytes, lie.kind, slot.data());
        EXPECT_TRUE(three.until([&] { return !three.victim.lost.empty() && !three.liar.lost.empty(); }));
        EXPECT_EQ(receive.op.complete, 0u) << "it reached a receive";
        ASSERT_EQ(three.victim.lost.size(), 1u);
        EXPECT_EQ(three.victim.lost[0], VBN_ERR_PROTOCOL);
        EXPECT_TRUE(three.arrives(three.honest, three.honest_peer));
        EXPECT_EQ(vbn_tag_cancel(&receive.op), VBN_OK);
    }
}

TEST(FastHostile, a_right_tagged_slot_is_taken_until_the_credit_of_its_sender_is_used_up)
{
    Three three;
    {
        Receive receive(three.victim);
        slots_write(three.liars_peer, 32, 8, INLINE, right_tagged(three.liars_peer, 7).data());
        EXPECT_TRUE(three.until([&] { return receive.op.complete != 0; }));
        EXPECT_EQ(receive.op.length, 8u);
    }
    for (int i = 0; i < 20 && slots_open(three.liars_peer); i++) { /* no receive: 12 or 13 may wait */
        slots_write(three.liars_peer, 32, 8, INLINE, right_tagged(three.liars_peer, 7).data());
        three.turn();
    }
    EXPECT_TRUE(three.until([&] { return !three.victim.lost.empty(); }));
    ASSERT_EQ(three.victim.lost.size(), 1u);
    EXPECT_EQ(three.victim.lost[0], VBN_ERR_PROTOCOL);
    EXPECT_TRUE(three.arrives(three.honest, three.honest_peer));
}

TEST(FastHostile, a_slot_that_lies_ends_its_peer_and_nothing_else)
{
    for (const Lie &lie : LIES) {
        SCOPED_TRACE(lie.what);
        Three three;
        size_t before = three.victim.received.size();
        Slot slot = right(three.liars_peer, WORD_ID);
        slot[static_cast<size_t>(lie.at)] ^= lie.with;
        slots_write(three.liars_peer, lie.header_bytes, lie.payload_bytes, lie.kind, slot.data());
        EXPECT_TRUE(three.until([&] { return !three.victim.lost.empty() && !three.liar.lost.empty(); }));
        EXPECT_EQ(three.victim.received.size(), before) << "it reached a handler";
        ASSERT_EQ(three.victim.lost.size(), 1u);
        EXPECT_EQ(three.victim.lost[0], VBN_ERR_PROTOCOL);
        EXPECT_TRUE(three.arrives(three.honest, three.honest_peer));
    }
}

TEST(FastHostile, a_right_slot_is_taken_and_one_without_a_handler_is_dropped)
{
    Three three;
    size_t before = three.victim.received.size();
    slots_write(three.liars_peer, 24, 8, INLINE, right(three.liars_peer, WORD_ID).data());
    EXPECT_TRUE(three.until([&] { return three.victim.received.size() == before + 1; }));
    Three other;
    slots_write(other.liars_peer, 24, 8, INLINE, right(other.liars_peer, NO_HANDLER).data());
    EXPECT_TRUE(other.arrives(other.honest, other.honest_peer));
    EXPECT_TRUE(other.victim.lost.empty());
}

TEST(FastHostile, arbitrary_slots_harm_nobody_else)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        Three three;
        std::vector<std::unique_ptr<Receive>> receives;
        for (int i = 0; i < 3; i++)
            receives.push_back(std::make_unique<Receive>(three.victim));
        for (int i = 0; i < 4 && slots_open(three.liars_peer); i++) {
            bool tagged = random() % 2 != 0;
            Slot slot = tagged ? right_tagged(three.liars_peer, random()) : right(three.liars_peer, WORD_ID);
            for (int changes = static_cast<int>(random() % 4); changes > 0; changes--)
                slot[random() % 40] = static_cast<uint8_t>(random());
            uint32_t header = random() % 2 != 0 ? (tagged ? 32 : 24) : random() % 0x1000;
            uint32_t payload = random() % 2 != 0 ? random() % 100 : random() % 0x1000000;
            slots_write(three.liars_peer, header, payload, random() % 2 != 0 ? INLINE : random() % 8, slot.data());
            three.turn();
        }
        EXPECT_TRUE(three.arrives(three.honest, three.honest_peer));
        EXPECT_LE(three.victim.lost.size(), 1u);
        for (auto &receive : receives) {
            EXPECT_EQ(receive->data[SLOTS_DATA], 0) << "written behind the buffer";
            (void)vbn_tag_cancel(&receive->op);
        }
    }
}

} // namespace
