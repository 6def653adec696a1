// SPDX-License-Identifier: Apache-2.0
// test_costs.cc - what an operation costs a device: doorbells, requests, completions.
#include "checks.h"

using verbs::with_fabric;

namespace {

constexpr unsigned BURST = 8;

struct Answers {
    vbn_op_t ops[BURST] = {};
    unsigned got = 0;
};

/* b answers each message with BURST of its own, from within vbn_progress. */
void answer(void *arg, const vbn_am_message_t *message)
{
    auto *answers = static_cast<Answers *>(arg);
    answers->got++;
    for (vbn_op_t &op : answers->ops)
        MUST(vbn_am_send(message->peer, 1, nullptr, 0, nullptr, 0, 0, &op) >= 0);
}

void small(vbn_peer_t *peer, unsigned id)
{
    uint8_t data[8] = {};
    iovec iov{data, sizeof(data)};
    vbn_op_t op{};
    MUST(vbn_am_send(peer, id, nullptr, 0, &iov, 1, 0, &op) == VBN_OK); /* copied, gone */
}

class VerbsCosts : public ::testing::TestWithParam<const char *> {};

TEST_P(VerbsCosts, what_is_sent_in_one_turn_rings_once)
{
    int code = with_fabric(1, [] {
        multi::Pair pair(GetParam());
        Answers answers;
        MUST(vbn_am_handler(pair.b.worker, 4, answer, &answers) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        for (unsigned i = 0; i < 1000; i++)
            pair.turn(); /* acknowledgements that are owed */
        small(pair.a.peer, 4);
        fabric_counts_t before = fabric_counts;
        while (answers.got == 0)
            (void)vbn_progress(pair.b.worker);
        MUST(fabric_counts.doorbells - before.doorbells == 1);
        MUST(fabric_counts.requests - before.requests >= BURST);
        MUST(pair.until([&] { return pair.a.messages == BURST; }));
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

TEST_P(VerbsCosts, one_request_in_32_asks_for_a_completion)
{
    int code = with_fabric(1, [] {
        multi::Pair pair(GetParam());
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        fabric_counts_t before = fabric_counts;
        for (unsigned i = 0; i < 3200; i++) {
            small(pair.a.peer, 1);
            pair.turn();
        }
        MUST(pair.until([&] { return pair.b.messages == 3201; }));
        uint64_t requests = fabric_counts.requests - before.requests;
        MUST(requests >= 3200 && requests < 3200 + 3200 / 4); /* and acknowledgements */
        MUST(fabric_counts.signalled - before.signalled <= requests / 32 + 2);
        MUST(fabric_counts.inlined - before.inlined >= 3200);
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

/* Data that devices do not read in place: its transfers have few packets under way, and each waits for the ACKs of those. */
TEST_P(VerbsCosts, bulk_data_from_the_heap_waits_for_no_timer)
{
    int code = with_fabric(1, [] {
        multi::Pair pair(GetParam());
        struct Into {
            std::vector<uint8_t> data = std::vector<uint8_t>(8 << 20);
            iovec iov{data.data(), data.size()};
            vbn_op_t op{};
        } into;
        auto pull = [](void *arg, const vbn_am_message_t *message) {
            auto *to = static_cast<Into *>(arg);
            MUST(vbn_am_pull(message->remote, &to->iov, 1, &to->op) == VBN_INPROGRESS);
        };
        MUST(vbn_am_handler(pair.b.worker, 5, pull, &into) == VBN_OK);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        std::vector<uint8_t> data(into.data.size(), 9);
        iovec iov{data.data(), data.size()};
        vbn_op_t op{};
        unsigned turns = 0;
        MUST(vbn_am_send(pair.a.peer, 5, nullptr, 0, &iov, 1, VBN_AM_PULL, &op) == VBN_INPROGRESS);
        MUST(pair.until([&] {
            turns++;
            return op.complete == 1;
        }));
        std::fprintf(stderr, "%u turns for 8 MiB\n", turns);
        MUST(op.status == VBN_OK && into.data == data);
        MUST(turns < 20000); /* 1,000 to 2,000 packets; a turn that waits for a timer is one of a million */
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

/* Puts 1 MiB into b's memory; returns how much was copied on its way to the device. */
uint64_t copied_by_put(multi::Pair &pair, vbn_key_t *key, void *data)
{
    iovec iov{data, 1 << 20};
    vbn_op_t op{};
    uint64_t before = verbs::counted(pair.a, "verbs.copied_bytes");
    MUST(pair.finish(vbn_put(key, 0, &iov, 1, &op), op) == VBN_OK);
    return verbs::counted(pair.a, "verbs.copied_bytes") - before;
}

TEST(VerbsMemory, of_the_core_is_sent_in_place_and_let_go_when_it_is_freed)
{
    int code = with_fabric(1, [] {
        setenv("VBN_LINK_PROMOTED_MAX", "1", 1); /* puts go by packets */
        multi::Pair pair("rc");
        vbn_mem_t *target = nullptr, *source = nullptr;
        vbn_key_t *key = nullptr;
        uint8_t blob[VBN_KEY_MAX];
        size_t length = sizeof(blob);
        std::vector<uint8_t> plain(1 << 20, 3);
        MUST(pair.a.connect(pair.b) == VBN_OK && pair.send(8) == VBN_OK);
        MUST(vbn_mem_alloc(pair.b.context, 1 << 20, VBN_BACKING_MEMFD, nullptr, &target) == VBN_OK);
        MUST(vbn_key_export(target, 0, 1 << 20, VBN_ACCESS_READ | VBN_ACCESS_WRITE, blob, &length) == VBN_OK);
        MUST(vbn_key_import(pair.a.peer, blob, length, &key) == VBN_OK);
        MUST(copied_by_put(pair, key, plain.data()) >= 1 << 20);
        uint64_t registered = fabric_counts.mrs;
        for (unsigned round = 0; round < 3; round++) {
            MUST(vbn_mem_alloc(pair.a.context, 1 << 20, VBN_BACKING_MEMFD, nullptr, &source) == VBN_OK);
            std::memset(vbn_mem_address(source), static_cast<int>(10 + round), 1 << 20);
            MUST(copied_by_put(pair, key, vbn_mem_address(source)) < 1024);
            MUST(fabric_counts.mrs == registered + 1);
            MUST(static_cast<uint8_t *>(vbn_mem_address(target))[(1 << 20) - 1] == 10 + round);
            MUST(vbn_mem_free(source) == VBN_OK);
            for (unsigned i = 0; i < 3000; i++)
                pair.turn();
            MUST(fabric_counts.mrs == registered);
        }
        vbn_key_release(key);
        MUST(vbn_mem_free(target) == VBN_OK);
        pair.close();
    });
    ASSERT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsCosts, ::testing::Values("ud", "rc"),
                         [](const auto &each) { return std::string(each.param); });

} // namespace
