// SPDX-License-Identifier: Apache-2.0
// test_proto.cc - the protocol engine over the deterministic rig: messages, pulls, puts, gets, loss and lies.
#include <algorithm>
#include <random>

#include "fixture.h"

namespace {

TEST_P(Proto, every_size_around_the_boundaries_arrives)
{
    for (size_t size : {0u, 1u, 7u, 8u, 511u, 512u, 1023u, 1024u, 1025u, 4095u, 4096u, 4097u, 5u * 4096 + 3, 1u << 20})
        for (unsigned flags : {0u, VBN_AM_PULL})
            message_arrives(pattern(7), pattern(size), flags);
}

TEST_P(Proto, every_header_length_arrives_with_small_and_large_messages)
{
    for (size_t length = 0; length <= VBN_AM_HEADER_MAX; length++)
        message_arrives(pattern(length, 3), pattern(length % 2 == 0 ? 100 : 3000), 0);
}

TEST_P(Proto, sixty_four_mebibytes_arrive)
{
    options.packet_max = 300 << 10;
    options.stream_chunk = 256 << 10;
    open();
    message_arrives({}, pattern(64u << 20), 0);
}

TEST_P(Proto, lists_of_many_and_empty_buffers_are_one_message)
{
    for (size_t pieces : {0u, 3u, 16u, 17u, 40u, 2000u}) {
        Bytes source = pattern(pieces * 7), got(pieces * 7);
        std::vector<iovec> from, to;
        for (size_t i = 0; i < pieces; i++) {
            from.push_back({source.data() + i * 7, i % 3 == 0 ? 0u : 7u});
            from.push_back({nullptr, 0});
            if (i % 3 == 0)
                from.push_back({source.data() + i * 7, 7});
            to.push_back({got.data() + i * 7, 3});
            to.push_back({got.data() + i * 7 + 3, 4});
        }
        for (unsigned flags : {0u, VBN_AM_PULL}) {
            inbox.items.clear();
            Op send, pull;
            vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, "h", 1, from.data(), from.size(), flags, &send.op);
            run();
            ASSERT_EQ(inbox.items.size(), 1u);
            if (inbox.items[0].remote != nullptr) {
                vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, to.data(), to.size(), &pull.op);
                run();
                pull.expect(pulled, VBN_OK, source.size());
                EXPECT_EQ(got, source);
            } else {
                EXPECT_EQ(inbox.items[0].data, source);
            }
            send.expect(sent, VBN_OK, source.size());
        }
    }
}

TEST_P(Proto, order_is_kept_between_small_and_large_messages)
{
    Bytes big = pattern(3000);
    std::vector<Op> ops(40);
    iovec iov[2] = {{big.data(), 3000}, {big.data(), 10}};
    for (uint8_t i = 0; i < 40; i++) {
        ASSERT_GE(proto_am_send(rig_peer(rig, 0), 5, &i, 1, &iov[i % 3 == 0 ? 0 : 1], 1, 0, &ops[i].op), 0);
    }
    run();
    ASSERT_EQ(inbox.items.size(), 40u);
    for (uint8_t i = 0; i < 40; i++) {
        EXPECT_EQ(inbox.items[i].header[0], i);
        proto_am_drop(inbox.items[i].remote);
    }
    run();
    for (auto &op : ops)
        EXPECT_EQ(op.op.complete, 1u);
}

TEST_P(Proto, a_short_buffer_is_refused_and_the_message_can_still_be_pulled)
{
    Bytes data = pattern(5000), got(5000);
    Op send, pull;
    iovec iov{data.data(), data.size()}, to{got.data(), 4999};
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
    run();
    EXPECT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_ERR_TRUNCATED);
    to.iov_len = 5000;
    EXPECT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
    run();
    EXPECT_EQ(got, data);
    EXPECT_EQ(send.calls, 1);
}

TEST_P(Proto, a_dropped_message_completes_at_the_sender)
{
    Bytes data = pattern(5000);
    Op send;
    iovec iov{data.data(), data.size()};
    vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op);
    run();
    proto_am_drop(inbox.items[0].remote);
    run();
    send.expect(sent, VBN_OK, 0);
}

TEST_P(Proto, a_message_without_handler_is_counted_and_refused_when_large)
{
    Bytes data = pattern(5000);
    Op small, large;
    iovec iov{data.data(), 5000}, few{data.data(), 10};
    ASSERT_GE(proto_am_send(rig_peer(rig, 0), 6, nullptr, 0, &few, 1, 0, &small.op), 0);
    vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 6, nullptr, 0, &iov, 1, 0, &large.op);
    run();
    EXPECT_EQ(rig_counter(rig, 1, "am.unhandled"), 2u);
    large.expect(sent, VBN_ERR_UNSUPPORTED, 0);
}

TEST_P(Proto, wrong_arguments_are_refused_without_effect)
{
    Op op;
    iovec iov{nullptr, 4};
    uint8_t header[200] = {};
    vbn_peer_t *peer = rig_peer(rig, 0);
    EXPECT_EQ(proto_am_send(nullptr, 5, nullptr, 0, nullptr, 0, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 64, nullptr, 0, nullptr, 0, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, header, 193, nullptr, 0, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, &iov, 1, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, nullptr, 1, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, nullptr, 0, 1u << 31, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, nullptr, 0, 0, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(rig_handler(rig, 0, 64, nullptr, nullptr), VBN_ERR_INVALID);
    EXPECT_FALSE(rig_deliver(rig, 1));
}

TEST_P(ProtoMemory, gets_and_puts_of_all_sizes_move_exactly_their_range)
{
    for (size_t size : {0u, 1u, 1024u, 1025u, 4095u, 4096u, 4097u, 5u * 4096 + 3, 39900u}) {
        size_t offset = (SIZE - 100 - size) / 2;
        Bytes before(base, base + SIZE), got(size), fresh = pattern(size, static_cast<unsigned>(size) + 77);
        Op get, put;
        iovec to[3] = {{got.data(), size / 3}, {nullptr, 0}, {got.data() + size / 3, size - size / 3}};
        vbn_status_t returned = proto_get(key, offset, to, 3, &get.op);
        run();
        get.expect(returned, VBN_OK, size);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), before.begin() + 100 + static_cast<long>(offset)));
        iovec from[2] = {{fresh.data(), size / 2}, {fresh.data() + size / 2, size - size / 2}};
        returned = proto_put(key, offset, from, 2, &put.op);
        run();
        put.expect(returned, VBN_OK, size);
        std::copy(fresh.begin(), fresh.end(), before.begin() + 100 + static_cast<long>(offset));
        EXPECT_TRUE(std::equal(before.begin(), before.end(), base)) << size;
    }
}

TEST_P(ProtoMemory, range_and_rights_are_checked_before_anything_is_sent)
{
    Bytes data(200);
    Op op;
    iovec iov{data.data(), 200};
    vbn_key_t *reader = rig_import(rig, 0, mem, 0, 100, VBN_ACCESS_READ);
    EXPECT_EQ(proto_get(reader, 0, &iov, 1, &op.op), VBN_ERR_RANGE);
    EXPECT_EQ(proto_get(reader, SIZE_MAX - 10, &iov, 1, &op.op), VBN_ERR_RANGE);
    EXPECT_EQ(proto_put(reader, 0, &iov, 0, &op.op), VBN_ERR_ACCESS);
    EXPECT_EQ(proto_get(nullptr, 0, &iov, 1, &op.op), VBN_ERR_INVALID);
    EXPECT_FALSE(rig_deliver(rig, 1));
    proto_key_release(reader);
}

TEST_P(ProtoMemory, a_stale_key_fails_gets_and_puts_of_any_size)
{
    rig_mem_free(mem);
    mem = nullptr;
    Bytes data(30000);
    for (size_t size : {0u, 10u, 30000u}) {
        Op get, put;
        iovec iov{data.data(), size};
        vbn_status_t returned = proto_get(key, 0, &iov, 1, &get.op);
        run();
        get.expect(returned, VBN_ERR_STALE, 0);
        returned = proto_put(key, 0, &iov, 1, &put.op);
        run();
        put.expect(returned, VBN_ERR_STALE, 0);
    }
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
}

TEST_P(ProtoMemory, memory_freed_during_a_stream_ends_it_with_stale_and_no_crash)
{
    Bytes data(39900);
    Op get, put;
    iovec iov{data.data(), data.size()};
    ASSERT_EQ(proto_get(key, 0, &iov, 1, &get.op), VBN_INPROGRESS);
    ASSERT_EQ(proto_put(key, 0, &iov, 1, &put.op), VBN_INPROGRESS);
    rig_imports_answer(rig);
    rig_deliver(rig, 1);
    rig_deliver(rig, 0);
    rig_mem_free(mem);
    mem = nullptr;
    run();
    EXPECT_EQ(put.op.status, VBN_ERR_STALE);
    EXPECT_EQ(put.calls, 1);
    EXPECT_EQ(get.calls, 1);
    /* Segments that were read before the free may be all of it only if none had to wait. */
    EXPECT_EQ(get.op.status, options.late_done ? VBN_ERR_STALE : VBN_OK);
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
}

TEST_P(ProtoMemory, any_number_of_flushes_that_wait_for_one_put_complete_in_order_and_on_any_stack)
{
    struct Flush {
        vbn_op_t op;
        std::vector<size_t> *order;
        size_t index;
        static void done(vbn_op_t *op, vbn_status_t status, size_t)
        {
            auto *self = static_cast<Flush *>(op->user);
            EXPECT_EQ(status, VBN_OK);
            self->order->push_back(self->index);
        }
    };
    std::vector<size_t> order;
    std::vector<Flush> flushes(200000);
    Op put;
    Bytes data = pattern(10000, 2);
    iovec iov{data.data(), data.size()};
    vbn_status_t status = proto_put(key, 0, &iov, 1, &put.op);
    for (size_t i = 0; i < flushes.size(); i++) {
        flushes[i] = Flush{vbn_op_t{}, &order, i};
        flushes[i].op.done = Flush::done;
        flushes[i].op.user = &flushes[i];
        ASSERT_EQ(proto_flush(rig_peer(rig, 0), &flushes[i].op), VBN_INPROGRESS);
    }
    run();
    put.expect(status, VBN_OK, data.size());
    ASSERT_EQ(order.size(), flushes.size());
    for (size_t i = 0; i < order.size(); i++)
        ASSERT_EQ(order[i], i);
}

TEST_P(ProtoMemory, a_flush_completes_after_the_puts_before_it)
{
    Bytes data = pattern(20000);
    Op put, flush;
    iovec iov{data.data(), data.size()};
    ASSERT_EQ(proto_put(key, 0, &iov, 1, &put.op), VBN_INPROGRESS);
    ASSERT_EQ(proto_flush(rig_peer(rig, 0), &flush.op), VBN_INPROGRESS);
    rig_imports_answer(rig);
    while (flush.op.complete == 0) {
        ASSERT_TRUE(rig_deliver(rig, 1) || rig_deliver(rig, 0));
        if (flush.op.complete) {
            EXPECT_EQ(std::memcmp(base + 100, data.data(), data.size()), 0);
        }
    }
    run();
    EXPECT_EQ(put.op.complete, 1u);
    Op idle;
    EXPECT_EQ(proto_flush(rig_peer(rig, 0), &idle.op), VBN_OK);
}

TEST_P(ProtoMemory, a_lost_peer_ends_every_operation_exactly_once)
{
    proto_key_release(key);
    rig_mem_free(mem);
    key = nullptr;
    mem = nullptr;
    for (int steps = 0; steps < 14; steps++) {
        Proto::open();
        inbox.items.clear();
        vbn_mem_t *other = rig_mem(rig, 1, SIZE);
        vbn_key_t *k = rig_import(rig, 0, other, 0, SIZE, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        Bytes data = pattern(SIZE);
        iovec iov{data.data(), data.size()}, few{data.data(), 10};
        Op ops[5], pull;
        vbn_status_t r[5] = {proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &ops[0].op),
                             proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &few, 1, 0, &ops[1].op),
                             proto_get(k, 0, &iov, 1, &ops[2].op), proto_put(k, 0, &iov, 1, &ops[3].op),
                             proto_flush(rig_peer(rig, 0), &ops[4].op)};
        vbn_status_t pulled = VBN_OK;
        Bytes got(SIZE);
        iovec to{got.data(), got.size()};
        for (int i = 0; i < steps; i++) {
            if (i == 3)
                rig_imports_answer(rig);
            rig_deliver(rig, 1);
            rig_deliver(rig, 0);
            if (!inbox.items.empty() && inbox.items[0].remote != nullptr && i == 6) {
                pulled = proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op);
                inbox.items[0].remote = nullptr;
            }
        }
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        for (int i = 0; i < 5; i++) {
            EXPECT_EQ(ops[i].op.complete, 1u) << steps << " op " << i;
            EXPECT_EQ(ops[i].calls, r[i] == VBN_OK ? 0 : 1);
        }
        if (pulled == VBN_INPROGRESS) {
            EXPECT_EQ(pull.calls, 1);
        }
        if (!inbox.items.empty() && inbox.items[0].remote != nullptr) {
            Op late;
            EXPECT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &late.op), VBN_ERR_PEER_LOST);
            proto_am_drop(inbox.items[0].remote);
        }
        Op after;
        EXPECT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &few, 1, 0, &after.op), VBN_ERR_PEER_LOST);
        EXPECT_EQ(proto_get(k, 0, &few, 1, &after.op), VBN_ERR_PEER_LOST);
        proto_key_release(k);
        rig_mem_free(other);
    }
}

TEST_P(ProtoMemory, releasing_a_key_ends_what_waited_for_its_mapping)
{
    Bytes data(100);
    iovec iov{data.data(), data.size()};
    Op get;
    vbn_status_t returned = proto_get(key, 0, &iov, 1, &get.op);
    proto_key_release(key);
    key = nullptr;
    run();
    get.expect(returned, options.import_fails ? VBN_ERR_CLOSED : VBN_OK, options.import_fails ? 0 : 100);
}

TEST_P(Proto, lies_fail_the_peer)
{
    Bytes some = pattern(600);
    lie({DATA, 0, 0, 12345, 0, 0, 0, 0, 0, 0}, some);
    open();
    lie({STATUS, 0, 1, 12345, 0, 0, 0, 0, 0, 0});
    open();
    lie({PULL, 0, 0, 12345, 1, 0, 0, 0, 0, 0});
    open();
    lie({RTS, 5, 0, 1, 0, 0, 0, UINT64_MAX, 0, 0}, {}, 1);
    open();
    lie({DATA, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_P(Proto, an_announcement_beyond_the_quota_fails_the_peer)
{
    uint8_t bytes[320];
    rig_header_t h{RTS, 5, 0, 77, 0, 0, 0, 100000, 0, 0};
    uint32_t count = rig_encode(&h, bytes);
    for (int i = 0; i < 64; i++)
        rig_inject(rig, 1, bytes, count, nullptr, 0);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    lie(h, {}, 1);
    EXPECT_EQ(inbox.items.size(), 64u);
    for (auto &item : inbox.items)
        proto_am_drop(item.remote);
}

/* The lying receiver gets our handle from the RTS it was sent; here it is learnt from the first packet. */
TEST_P(Proto, an_answer_out_of_turn_or_a_second_pull_fails_the_peer)
{
    Bytes data = pattern(30000), got(30000);
    iovec iov{data.data(), data.size()}, to{got.data(), got.size()};
    for (int kind = 0; kind < 3; kind++) {
        open();
        inbox.items.clear();
        Op send, pull;
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_AM_PULL, &send.op), VBN_INPROGRESS);
        uint64_t handle = send.op.priv[4]; /* proto_op_t.handle, after two list links */
        ASSERT_NE(handle, 0u);
        rig_deliver(rig, 1);
        ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
        rig_deliver(rig, 0); /* PULL: streams */
        if (kind == 0)
            lie({PULL, 0, 0, handle, 1, 0, 0, 0, 0, 0});
        else if (kind == 1)
            lie({STATUS, 0, 1, handle, 0, 0, 0, 12345, 0, 0});
        else
            lie({DATA, 0, 0, handle, 0, 0, 0, 0, 0, 0}, pattern(10));
        EXPECT_EQ(send.calls, 1);
        EXPECT_EQ(send.op.status, VBN_ERR_PROTOCOL);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        EXPECT_EQ(pull.calls, 1);
    }
}

TEST_P(Proto, segments_twice_beyond_or_out_of_order_fail_the_peer)
{
    for (int kind = 0; kind < 4; kind++) {
        open();
        Bytes got(5000), payload = pattern(kind == 2 ? 5001 : 1000);
        iovec to{got.data(), got.size()};
        vbn_mem_t *mem = rig_mem(rig, 1, 8192);
        vbn_key_t *key = rig_import(rig, 0, mem, 0, 8192, VBN_ACCESS_READ);
        Op get;
        ASSERT_EQ(proto_get(key, 0, &to, 1, &get.op), VBN_INPROGRESS);
        rig_imports_answer(rig);
        uint64_t handle = get.op.priv[4];
        uint8_t bytes[320];
        rig_header_t good{DATA, 0, 0, handle, 0, 0, 0, 0, 0, 0};
        uint32_t count = rig_encode(&good, bytes);
        if (kind == 0) { /* twice */
            rig_inject(rig, 0, bytes, count, payload.data(), 1000);
            lie(good, payload);
        } else if (kind == 1) { /* out of order */
            lie({DATA, 0, 0, handle, 0, 0, 1000, 0, 0, 0}, payload);
        } else if (kind == 2) { /* beyond */
            lie(good, payload);
        } else { /* success without the data */
            lie({STATUS, 0, 1, handle, 0, 0, 0, 5000, 0, 0});
        }
        EXPECT_EQ(get.calls, 1);
        EXPECT_EQ(get.op.status, VBN_ERR_PROTOCOL);
        proto_key_release(key);
        rig_mem_free(mem);
    }
}

TEST(ProtoWire, damaged_headers_are_refused_or_mean_something_valid)
{
    std::mt19937 random(42);
    unsigned refused = 0, accepted = 0;
    for (unsigned type = 1; type <= GET_BLOCKS; type++) {
        rig_header_t h{type, 0, 0, 11, 5, 13, 14, 15, 16, 17};
        uint8_t bytes[320];
        uint32_t count = rig_encode(&h, bytes);
        uint32_t payload = type == PUT || type == PUT_SIGNAL || type == PUT_BLOCKS ? 15
                           : type == DATA || type == AM || type == TAG             ? 20
                                                                                   : 0;
        ASSERT_EQ(rig_decode(bytes, count, payload), VBN_OK) << vbn_error_text();
        for (uint32_t shorter = 0; shorter < count; shorter++)
            EXPECT_EQ(rig_decode(bytes, shorter, payload), VBN_ERR_PROTOCOL);
        for (int i = 0; i < 20000; i++) {
            std::vector<uint8_t> damaged(bytes, bytes + count); /* exact size, so that ASan sees a read beyond */
            for (unsigned n = 1 + random() % 3; n > 0; n--)
                damaged[random() % 8] = static_cast<uint8_t>(random());
            vbn_status_t status = rig_decode(damaged.data(), count, payload);
            (status == VBN_OK ? accepted : refused)++;
            ASSERT_TRUE(status == VBN_OK || status == VBN_ERR_PROTOCOL);
        }
    }
    EXPECT_GT(refused, 100000u);
    EXPECT_GT(accepted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, Proto, ::testing::ValuesIn(MODES), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, ProtoMemory, ::testing::ValuesIn(MODES), mode_name);

} // namespace
