// SPDX-License-Identifier: Apache-2.0
// test_direct.cc - announced messages that are copied without packets: both sides' parts, refusals, failures, lies.
#include "fixture.h"

namespace {

/* Where the sender's data lies. */
struct Way {
    const char *name;
    bool copies; /* processes may read each other */
    bool memory; /* in memory that can be mapped */
};

class ProtoDirect : public ::testing::TestWithParam<Way> {
protected:
    rig_options_t options = rig_defaults(); /* the built-in costs, by which copies pay */
    rig_t *rig = nullptr;
    Inbox inbox;
    std::vector<vbn_mem_t *> memories;
    void SetUp() override
    {
        options.direct = true;
        options.copies = GetParam().copies;
        options.import_fails = true; /* answered when the test says so */
        rig = rig_open(&options);
        ASSERT_EQ(rig_handler(rig, 1, 5, Inbox::handle, &inbox), VBN_OK);
    }
    void TearDown() override
    {
        rig_imports_answer(rig); /* the link promises an answer to each */
        for (auto *mem : memories)
            rig_mem_free(mem);
        rig_close(rig);
    }
    /* The sender's buffer, filled with a pattern. */
    uint8_t *source(size_t size, unsigned seed, Bytes &heap)
    {
        Bytes data = pattern(size, seed);
        if (!GetParam().memory) {
            heap = data;
            return heap.data();
        }
        memories.push_back(rig_mem(rig, 0, size + 100));
        auto *at = static_cast<uint8_t *>(rig_mem_address(memories.back())) + 37;
        std::memcpy(at, data.data(), size);
        return at;
    }
    uint64_t direct_bytes()
    {
        return rig_counter(rig, 1, "copy.read.bytes") + rig_counter(rig, 1, "get.mapped.bytes") +
               rig_counter(rig, 0, "copy.written.bytes");
    }
    /* Both until nothing moves, imports answered by mapping. */
    void run()
    {
        for (int i = 0; i < 3; i++) {
            rig_run(rig);
            rig_imports_map(rig);
        }
    }
    struct Transfer {
        Op send, pull;
        Bytes heap, got;
        iovec from{}, to{};
        vbn_status_t sent = VBN_OK, pulled = VBN_OK;
        size_t size = 0;
        unsigned seed = 0;
    };
    void announce(Transfer &t, size_t size, unsigned seed)
    {
        t.size = size;
        t.seed = seed;
        t.from = iovec{source(size, seed, t.heap), size};
        t.got.assign(size + 2, 0xEE);
        t.to = iovec{t.got.data() + 1, size};
        t.sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &t.from, 1, VBN_AM_PULL, &t.send.op);
        ASSERT_GE(t.sent, 0) << vbn_error_text();
        while (rig_deliver(rig, 1)) {
        }
        ASSERT_FALSE(inbox.items.empty());
    }
    void pull(Transfer &t)
    {
        t.pulled = proto_am_pull(inbox.items.back().remote, &t.to, 1, &t.pull.op);
        ASSERT_GE(t.pulled, 0) << vbn_error_text();
    }
    static void arrived(Transfer &t)
    {
        t.pull.expect(t.pulled, VBN_OK, t.size);
        t.send.expect(t.sent, VBN_OK, t.size);
        EXPECT_EQ(t.got[0], 0xEE);
        EXPECT_EQ(t.got[t.size + 1], 0xEE);
        EXPECT_TRUE(Bytes(t.got.begin() + 1, t.got.end() - 1) == pattern(t.size, t.seed));
    }
    void whole(size_t size, unsigned seed = 1)
    {
        Transfer t;
        announce(t, size, seed);
        pull(t);
        run();
        arrived(t);
    }
};

class ProtoDirectMapped : public ProtoDirect {}; /* the data lies in memory of the core */
class ProtoDirectHelped : public ProtoDirect {}; /* both processes may copy */
class ProtoDirectRead : public ProtoDirect {};   /* the data can be read from the sender's process only */
class ProtoDirectUsable : public ProtoDirect {}; /* any way but packets */

TEST_P(ProtoDirect, every_size_arrives_and_large_ones_without_packets)
{
    for (size_t size : {1u, 4096u, 8191u, 8192u, 8193u, 65535u, 65536u, 65537u, 262144u, 600001u, 3000000u}) {
        uint64_t before = direct_bytes();
        whole(size, static_cast<unsigned>(size));
        if (GetParam().copies) {
            EXPECT_EQ(direct_bytes() - before, size >= 8192 ? size : 0) << size;
        }
    }
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
}

TEST_P(ProtoDirect, tagged_messages_take_the_same_way)
{
    for (bool early : {true, false}) {
        Bytes heap, got(300000);
        iovec from{source(got.size(), 3, heap), got.size()}, to{got.data(), got.size()};
        Op out, in;
        uint64_t before = direct_bytes();
        if (early) {
            ASSERT_GE(proto_tag_recv(rig_engine(rig, 1), nullptr, 7, ~0ull, &to, 1, nullptr, &in.op), 0);
        }
        ASSERT_GE(proto_tag_send(rig_peer(rig, 0), 7, &from, 1, 0, &out.op), 0);
        while (rig_deliver(rig, 1)) {
        }
        if (!early) {
            ASSERT_GE(proto_tag_recv(rig_engine(rig, 1), nullptr, 7, ~0ull, &to, 1, nullptr, &in.op), 0);
        }
        run();
        EXPECT_EQ(in.op.complete, 1u);
        EXPECT_EQ(in.op.status, VBN_OK);
        EXPECT_EQ(out.op.complete, 1u);
        EXPECT_TRUE(got == pattern(got.size(), 3));
        if (GetParam().copies) {
            EXPECT_EQ(direct_bytes() - before, got.size());
        }
    }
}

TEST_P(ProtoDirectMapped, a_mapping_is_kept_for_its_time_although_no_timer_ran_for_long_before)
{
    Bytes none;
    const size_t size = 400000;
    uint8_t *data = source(size, 1, none);
    rig_sleep(rig, 60000);
    Transfer t;
    t.got.assign(size, 0);
    t.from = iovec{data, size};
    t.to = iovec{t.got.data(), size};
    t.sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &t.from, 1, VBN_AM_PULL, &t.send.op);
    while (rig_deliver(rig, 1)) {
    }
    pull(t);
    run();
    EXPECT_TRUE(t.got == pattern(size, 1));
    rig_tick(rig, 0);
    rig_tick(rig, 1001);
    EXPECT_GT(rig_counter(rig, 1, "mem.imported.bytes"), 0u);
    rig_tick(rig, 1001);
    EXPECT_EQ(rig_counter(rig, 1, "mem.imported.bytes"), 0u);
}

TEST_P(ProtoDirectMapped, a_memory_is_mapped_once_and_then_read_without_asking_until_it_is_idle)
{
    Bytes none;
    const size_t size = 400000;
    uint8_t *data = source(size, 1, none);
    for (int i = 0; i < 5; i++) {
        Transfer t;
        t.got.assign(size, 0);
        t.from = iovec{data, size};
        t.to = iovec{t.got.data(), size};
        uint64_t before = rig_counter(rig, 1, "get.mapped.bytes");
        t.sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &t.from, 1, VBN_AM_PULL, &t.send.op);
        while (rig_deliver(rig, 1)) {
        }
        pull(t);
        run();
        EXPECT_TRUE(t.got == pattern(size, 1));
        EXPECT_EQ(t.send.op.status, VBN_OK);
        EXPECT_EQ(rig_counter(rig, 1, "get.mapped.bytes") > before, i != 0 && i != 4) << i;
        EXPECT_GT(rig_counter(rig, 1, "mem.imported.bytes"), 0u);
        if (i == 3) { /* idle: the owner's pages are not kept alive */
            rig_tick(rig, 1001);
            rig_tick(rig, 1001);
            rig_tick(rig, 1001);
            EXPECT_EQ(rig_counter(rig, 1, "mem.imported.bytes"), 0u);
        }
    }
}

TEST_P(ProtoDirectMapped, a_memory_that_is_freed_early_stays_until_its_message_is_pulled)
{
    Transfer t;
    announce(t, 100000, 4);
    rig_mem_free(memories.back());
    memories.pop_back();
    pull(t);
    run();
    arrived(t);
    EXPECT_EQ(rig_counter(rig, 0, "mem.bytes"), 0u);
}

TEST_P(ProtoDirectHelped, a_busy_sender_takes_no_part_and_blocks_nothing)
{
    Transfer t;
    announce(t, 1000000, 5);
    pull(t);
    while (rig_progress(rig, 1)) { /* nothing reaches the sender */
    }
    t.pull.expect(t.pulled, VBN_OK, t.size);
    EXPECT_EQ(rig_counter(rig, 0, "copy.written.bytes"), 0u);
    EXPECT_EQ(t.send.op.complete, 0u);
    run();
    arrived(t);
    EXPECT_EQ(rig_counter(rig, 0, "copy.written.bytes"), 0u) << "it must not write after the receiver has completed";
}

TEST_P(ProtoDirectHelped, a_busy_receiver_is_helped_with_all_of_it)
{
    Transfer t;
    announce(t, 1000000, 6);
    pull(t);
    while (rig_deliver(rig, 0) || rig_progress(rig, 0)) {
    }
    EXPECT_EQ(rig_counter(rig, 0, "copy.written.bytes"), t.size);
    EXPECT_EQ(t.pull.op.complete, 0u);
    run();
    arrived(t);
    EXPECT_EQ(rig_counter(rig, 1, "copy.read.bytes"), 0u);
}

TEST_P(ProtoDirectHelped, both_sides_meet_wherever_they_are)
{
    for (unsigned mine = 1; mine < 6; mine++) {
        for (unsigned theirs = 1; theirs < 6; theirs++) {
            Transfer t;
            uint64_t before = direct_bytes();
            announce(t, 777777, mine * 10 + theirs);
            pull(t);
            while (rig_deliver(rig, 0)) {
            }
            for (int i = 0; i < 100; i++) {
                for (unsigned k = 0; k < mine; k++)
                    rig_progress(rig, 1);
                for (unsigned k = 0; k < theirs; k++)
                    rig_progress(rig, 0);
            }
            run();
            arrived(t);
            EXPECT_EQ(direct_bytes() - before, t.size) << "each byte is copied once";
        }
    }
}

TEST_P(ProtoDirectHelped, one_progress_call_copies_a_bounded_part)
{
    Transfer t;
    announce(t, 20000000, 7);
    pull(t);
    for (int i = 0; i < 20; i++) {
        uint64_t before = direct_bytes();
        rig_progress(rig, 1);
        EXPECT_LE(direct_bytes() - before, 262144u);
        EXPECT_GT(direct_bytes(), before);
        EXPECT_TRUE(rig_busy(rig, 1)) << "it would sleep";
    }
    run();
    arrived(t);
}

TEST_P(ProtoDirectRead, what_the_receiver_cannot_read_comes_by_packets_from_then_on)
{
    for (int after : {0, 1, 2, 3}) {
        rig_close(rig);
        SetUp();
        inbox.items.clear();
        Transfer t;
        announce(t, 1000000, 8);
        rig_fail_copies(rig, 1, after);
        pull(t);
        run();
        arrived(t);
        EXPECT_GE(rig_counter(rig, 1, "get.stream.bytes"), t.size);
        uint64_t before = direct_bytes();
        whole(1000000, 9);
        EXPECT_EQ(direct_bytes(), before);
    }
}

TEST_P(ProtoDirectHelped, what_the_helper_cannot_write_the_receiver_copies_itself)
{
    for (int after : {0, 1, 3}) {
        for (int first = 0; first < 3; first++) {
            Transfer t;
            announce(t, 1000000, 10);
            rig_fail_copies(rig, 0, after);
            pull(t);
            while (rig_deliver(rig, 0)) {
            }
            for (int i = 0; i < first; i++)
                rig_progress(rig, 1);
            for (int i = 0; i < 10; i++)
                rig_progress(rig, 0);
            run();
            arrived(t);
        }
    }
}

TEST_P(ProtoDirectRead, both_sides_failing_leaves_packets)
{
    Transfer t;
    announce(t, 1000000, 11);
    rig_fail_copies(rig, 0, 2);
    rig_fail_copies(rig, 1, 2);
    pull(t);
    run();
    arrived(t);
    EXPECT_EQ(rig_counter(rig, 1, "get.stream.bytes"), t.size);
}

TEST_P(ProtoDirectUsable, more_transfers_at_once_than_there_are_claims)
{
    std::vector<Transfer> all(40);
    for (unsigned i = 0; i < all.size(); i++) {
        announce(all[i], 100000 + i, 20 + i);
        pull(all[i]);
    }
    run();
    for (auto &t : all)
        arrived(t);
    whole(500000);
}

TEST_P(ProtoDirectHelped, a_transfer_that_was_wholly_helped_ends_before_its_turn)
{
    Transfer first, second;
    announce(first, 1000000, 61);
    pull(first);
    announce(second, 1000000, 62);
    pull(second);
    while (rig_deliver(rig, 0) || rig_progress(rig, 0)) {
    }
    while (rig_deliver(rig, 1)) { /* HELPED; the receiver has not had its turn */
    }
    EXPECT_EQ(second.pull.op.status, VBN_OK);
    EXPECT_NE(second.pull.op.complete, 0u) << "it would keep a claim that others wait for";
    run();
    arrived(first);
    arrived(second);
}

TEST_P(ProtoDirectHelped, both_sides_go_through_many_transfers_in_the_same_order)
{
    std::vector<Transfer> all(80);
    size_t ended = 0, begun = 0;
    for (int turn = 0; turn < 10000 && ended < all.size(); turn++) {
        for (; begun < all.size() && begun < ended + 24; begun++) { /* more than there are claims */
            announce(all[begun], 500000, 70 + static_cast<unsigned>(begun));
            pull(all[begun]);
        }
        for (int node : {0, 1}) {
            while (rig_deliver(rig, node)) {
            }
            rig_progress(rig, node);
        }
        while (ended < all.size() && all[ended].pull.op.complete != 0)
            ended++;
        for (size_t i = ended + 2; i < begun; i++)
            ASSERT_EQ(all[i].pull.op.complete, 0u) << "transfer " << i << " overtook " << ended;
    }
    run();
    for (auto &t : all)
        arrived(t);
    EXPECT_GT(rig_counter(rig, 0, "copy.written.bytes"), all.size() * 500000 / 4) << "the sender has helped with all";
}

TEST_P(ProtoDirect, lists_of_buffers_and_dropped_messages_work_as_ever)
{
    Bytes heap, got(200000);
    uint8_t *data = source(200000, 12, heap);
    iovec from[2] = {{data, 100}, {data + 100, 199900}}, to[2] = {{got.data(), 150000}, {got.data() + 150000, 50000}};
    Op send, pull, send2;
    ASSERT_GE(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, from, 2, VBN_AM_PULL, &send.op), 0);
    rig_run(rig);
    ASSERT_GE(proto_am_pull(inbox.items.back().remote, to, 2, &pull.op), 0);
    run();
    EXPECT_TRUE(got == pattern(200000, 12));
    iovec one{data, 200000};
    ASSERT_GE(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &one, 1, VBN_AM_PULL, &send2.op), 0);
    rig_run(rig);
    proto_am_drop(inbox.items.back().remote);
    run();
    EXPECT_EQ(send2.op.status, VBN_OK);
    EXPECT_EQ(send2.op.length, 0u);
}

TEST_P(ProtoDirect, a_peer_that_dies_at_any_step_ends_both_operations_once)
{
    for (int steps = 0; steps < 24; steps++) {
        rig_close(rig);
        SetUp();
        inbox.items.clear();
        for (auto *mem : memories)
            (void)mem; /* freed with the registry's owner below */
        Transfer t;
        announce(t, 300000, 13);
        pull(t);
        for (int i = 0; i < steps; i++)
            i % 3 == 0 ? (void)rig_deliver(rig, (i / 3) % 2) : (void)rig_progress(rig, i % 2);
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        EXPECT_EQ(t.pull.op.complete, 1u);
        EXPECT_EQ(t.send.op.complete, 1u);
        EXPECT_LE(t.pull.calls, 1);
        EXPECT_LE(t.send.calls, 1);
        EXPECT_FALSE(rig_busy(rig, 0) || rig_busy(rig, 1));
        rig_imports_answer(rig);
        while (!memories.empty()) {
            rig_mem_free(memories.back());
            memories.pop_back();
        }
    }
}

TEST_P(ProtoDirectHelped, data_of_a_process_that_may_have_ended_is_not_taken_for_good)
{
    Transfer t;
    announce(t, 300000, 14);
    pull(t);
    rig_set_present(rig, false);
    run();
    EXPECT_EQ(t.pull.op.complete, 0u);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    EXPECT_EQ(t.pull.op.status, VBN_ERR_PEER_LOST);
}

TEST_P(ProtoDirectHelped, a_claim_full_of_nonsense_hurts_nobody_else)
{
    for (uint64_t value : {UINT64_C(0), ~UINT64_C(0), UINT64_C(1) << 42, UINT64_C(0x3ffff) << 20, UINT64_C(0xfffff),
                           UINT64_C(1) << 41, (UINT64_C(1) << 42) | 0xffff}) {
        rig_close(rig);
        SetUp();
        inbox.items.clear();
        Transfer t;
        announce(t, 1000000, 15);
        pull(t);
        rig_progress(rig, 1);
        rig_scribble_claims(rig, value);
        run();
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        EXPECT_EQ(t.got[0], 0xEE);
        EXPECT_EQ(t.got[t.size + 1], 0xEE);
        EXPECT_EQ(t.pull.op.complete, 1u);
        EXPECT_EQ(t.send.op.complete, 1u);
        rig_imports_answer(rig);
        while (!memories.empty()) {
            rig_mem_free(memories.back());
            memories.pop_back();
        }
    }
}

TEST_P(ProtoDirect, claims_hand_out_each_chunk_once)
{
    for (uint32_t total : {1u, 2u, 7u, 64u}) {
        uint64_t word = 0;
        std::vector<int> taken(total);
        rig_claim(&word, "open", 9, 0);
        EXPECT_EQ(rig_claim(&word, "back", 8, total), UINT32_MAX) << "another transfer's helper";
        for (uint32_t i = 0; i < total; i++) {
            uint32_t index = rig_claim(&word, i % 3 == 1 ? "back" : "front", 9, total);
            ASSERT_LT(index, total);
            taken[index]++;
            EXPECT_EQ(rig_claim(&word, "release", 9, total), i + 1 < total ? 1u : 0u);
        }
        EXPECT_EQ(taken, std::vector<int>(total, 1));
        EXPECT_EQ(rig_claim(&word, "front", 9, total), UINT32_MAX);
        EXPECT_EQ(rig_claim(&word, "back", 9, total), UINT32_MAX);
    }
    uint64_t word = 0;
    rig_claim(&word, "open", 1, 0);
    EXPECT_EQ(rig_claim(&word, "back", 1, 10), 9u);
    EXPECT_EQ(rig_claim(&word, "close", 1, 10), 1u);
    EXPECT_EQ(rig_claim(&word, "front", 1, 10), UINT32_MAX);
}

const Way HEAP{"heap", true, false}, MEMORY{"memory", true, true}, MEMORY_ONLY{"memoryonly", false, true},
    PACKETS{"packets", false, false};

std::string way_name(const ::testing::TestParamInfo<Way> &each)
{
    return each.param.name;
}

INSTANTIATE_TEST_SUITE_P(Ways, ProtoDirect, ::testing::Values(HEAP, MEMORY, MEMORY_ONLY, PACKETS), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, ProtoDirectUsable, ::testing::Values(HEAP, MEMORY, MEMORY_ONLY), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, ProtoDirectMapped, ::testing::Values(MEMORY, MEMORY_ONLY), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, ProtoDirectHelped, ::testing::Values(HEAP, MEMORY), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, ProtoDirectRead, ::testing::Values(HEAP), way_name);

} // namespace
