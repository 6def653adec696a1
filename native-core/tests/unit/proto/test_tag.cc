// SPDX-License-Identifier: Apache-2.0
// test_tag.cc - tagged messages over the rig: sizes, order, truncation, room, probing, cancelling, loss, lies.
#include "fixture.h"

#include <algorithm>

namespace {

constexpr uint64_t EXACT = UINT64_MAX;

class ProtoTag : public Proto {
protected:
    proto_engine_t *engine() { return rig_engine(rig, 1); }
    vbn_peer_t *sender() { return rig_peer(rig, 1); }
    vbn_status_t send(uint64_t tag, const Bytes &data, Op &op, unsigned flags = 0)
    {
        iov.push_back(new iovec{const_cast<uint8_t *>(data.data()), data.size()});
        return proto_tag_send(rig_peer(rig, 0), tag, iov.back(), 1, flags, &op.op);
    }
    vbn_status_t recv(vbn_peer_t *from, uint64_t tag, uint64_t mask, Bytes &room, vbn_tag_info_t *info, Op &op)
    {
        iov.push_back(new iovec{room.data(), room.size()});
        return proto_tag_recv(engine(), from, tag, mask, iov.back(), 1, info, &op.op);
    }
    void TearDown() override
    {
        Proto::TearDown();
        for (auto *each : iov)
            delete each;
    }

private:
    std::vector<iovec *> iov; /* stay put until the end */
};

TEST_P(ProtoTag, every_size_arrives_whether_the_receive_or_the_message_comes_first)
{
    for (size_t size : {0u, 1u, 8u, 256u, 257u, 1023u, 1024u, 1025u, 4096u, 5u * 4096 + 3, 300000u}) {
        for (bool post_first : {true, false}) {
            for (unsigned flags : {0u, VBN_TAG_SYNC}) {
                Bytes data = pattern(size), got(size + 1, 0xEE);
                Op out, in;
                vbn_tag_info_t info{};
                vbn_status_t sent = VBN_OK, received = VBN_OK;
                if (post_first)
                    received = recv(nullptr, 42, EXACT, got, &info, in);
                sent = send(42, data, out, flags);
                run();
                if (!post_first) {
                    EXPECT_TRUE(out.op.complete == 0 || (flags == 0 && size <= options.am_small_max));
                    received = recv(sender(), 42, EXACT, got, &info, in);
                }
                run();
                in.expect(received, VBN_OK, size);
                out.expect(sent, VBN_OK, size);
                EXPECT_EQ(got[size], 0xEE);
                got.pop_back();
                EXPECT_TRUE(got == data);
                EXPECT_EQ(info.peer, sender());
                EXPECT_EQ(info.source, 1000u);
                EXPECT_EQ(info.tag, 42u);
                EXPECT_EQ(info.length, size);
            }
        }
    }
}

TEST_P(ProtoTag, lists_of_many_buffers_are_one_message)
{
    for (size_t pieces : {3u, 16u, 17u, 400u}) {
        for (unsigned flags : {0u, VBN_TAG_SYNC}) {
            Bytes data = pattern(pieces * 7), got(pieces * 7);
            std::vector<iovec> from, to;
            for (size_t i = 0; i < pieces; i++) {
                from.push_back({data.data() + i * 7, 7});
                to.push_back({got.data() + i * 7, 2});
                to.push_back({got.data() + i * 7 + 2, 5});
            }
            Op out, in;
            vbn_status_t sent = proto_tag_send(rig_peer(rig, 0), 1, from.data(), from.size(), flags, &out.op);
            run();
            vbn_status_t received = proto_tag_recv(engine(), nullptr, 1, EXACT, to.data(), to.size(), nullptr, &in.op);
            run();
            in.expect(received, VBN_OK, data.size());
            out.expect(sent, VBN_OK, data.size());
            EXPECT_EQ(got, data);
        }
    }
}

TEST_P(ProtoTag, the_mask_says_which_bits_count_and_the_earliest_message_comes_first)
{
    Bytes data[4] = {pattern(10, 0), pattern(2000, 1), pattern(30, 2), pattern(40, 3)};
    uint64_t tags[4] = {0xA1, 0xB1, 0xA2, 0xA1};
    Op out[4];
    for (int i = 0; i < 4; i++)
        ASSERT_GE(send(tags[i], data[i], out[i]), 0);
    run();
    struct {
        uint64_t tag, mask;
        int expected;
    } const receives[] = {{0x02, 0x0F, 2}, {0x01, 0x0F, 0}, {0, 0, 1}, {0xA1, EXACT, 3}};
    for (const auto &r : receives) {
        Bytes got(5000);
        Op in;
        vbn_tag_info_t info{};
        vbn_status_t received = recv(nullptr, r.tag, r.mask, got, &info, in);
        run();
        in.expect(received, VBN_OK, data[r.expected].size());
        EXPECT_EQ(info.tag, tags[r.expected]);
        got.resize(info.length);
        EXPECT_TRUE(got == data[r.expected]);
    }
    for (auto &op : out)
        EXPECT_EQ(op.op.complete, 1u);
}

TEST_P(ProtoTag, a_message_too_long_for_its_receive_is_dropped_and_both_sizes_are_told)
{
    for (size_t size : {100u, 5000u}) {
        for (bool post_first : {true, false}) {
            Bytes data = pattern(size), got(size - 1, 0xEE), next(size);
            Op out, in, out2, in2;
            vbn_tag_info_t info{};
            vbn_status_t received = VBN_OK;
            if (post_first) {
                ASSERT_EQ(recv(nullptr, 7, EXACT, got, &info, in), VBN_INPROGRESS);
            }
            vbn_status_t sent = send(7, data, out, VBN_TAG_SYNC);
            run();
            if (!post_first)
                received = recv(nullptr, 7, EXACT, got, &info, in);
            EXPECT_EQ(received, post_first ? VBN_OK : VBN_ERR_TRUNCATED);
            EXPECT_EQ(in.calls, post_first ? 1 : 0);
            EXPECT_EQ(in.op.complete, 1u);
            EXPECT_EQ(in.op.status, VBN_ERR_TRUNCATED);
            std::string text = vbn_error_text();
            EXPECT_NE(text.find(std::to_string(size) + " bytes"), std::string::npos) << text;
            EXPECT_NE(text.find(std::to_string(size - 1) + " bytes"), std::string::npos) << text;
            EXPECT_EQ(info.length, size);
            EXPECT_EQ(got, Bytes(size - 1, 0xEE));
            run();
            EXPECT_EQ(out.calls, 1);
            EXPECT_EQ(out.op.status, VBN_OK) << "the sender has done its part: " << sent;
            /* The stream goes on with the next message. */
            ASSERT_GE(send(7, data, out2), 0);
            run();
            vbn_status_t again = recv(nullptr, 7, EXACT, next, nullptr, in2);
            run();
            in2.expect(again, VBN_OK, size);
        }
    }
}

TEST_P(ProtoTag, a_flood_without_receives_stays_within_a_peers_credit_and_arrives_in_order)
{
    constexpr unsigned COUNT = 3000;
    options.max_incoming = COUNT;
    open();
    std::vector<Bytes> data;
    std::vector<Op> out(COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        data.push_back(pattern(900, i));
        ASSERT_GE(send(5, data.back(), out[i]), 0);
        if (i % 50 == 0)
            run();
    }
    run();
    uint64_t whole = (1u << 20) / (900 + 320);
    EXPECT_EQ(rig_counter(rig, 0, "tag.small"), whole);
    EXPECT_EQ(rig_counter(rig, 0, "tag.large"), COUNT - whole);
    EXPECT_EQ(rig_counter(rig, 1, "tag.unexpected"), COUNT);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        Bytes got(900);
        Op in;
        vbn_status_t received = recv(sender(), 5, EXACT, got, nullptr, in);
        run();
        in.expect(received, VBN_OK, 900);
        ASSERT_TRUE(got == data[i]) << i;
        EXPECT_EQ(out[i].op.complete, 1u);
    }
    Op last;
    ASSERT_GE(send(5, data[0], last), 0);
    run();
    EXPECT_EQ(rig_counter(rig, 0, "tag.small"), whole + 1) << "credit was given back";
    EXPECT_EQ(rig_tag_credit_problem(rig), nullptr);
}

TEST_P(ProtoTag, announcements_beyond_the_limit_are_refused_at_the_sender_and_the_connection_lives)
{
    Bytes data = pattern(5000), got(5000);
    std::vector<Op> out(64);
    Op refused, in, again;
    for (int round = 0; round < 2; round++) {
        for (auto &op : out)
            if (round == 0 || &op == &out[0]) {
                ASSERT_EQ(send(5, data, op), VBN_INPROGRESS);
            }
        EXPECT_EQ(send(5, data, refused), VBN_ERR_LIMIT);
        run();
        EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
        Op *receive = round == 0 ? &in : &again;
        vbn_status_t r = recv(nullptr, 5, EXACT, got, nullptr, *receive);
        run();
        receive->expect(r, VBN_OK, 5000);
        if (round == 0)
            out[0].reset();
    }
    EXPECT_EQ(refused.calls, 0);
    open(); /* ends the others while their ops exist */
}

TEST_P(ProtoTag, a_stream_of_received_messages_never_runs_out_of_credit)
{
    Bytes data = pattern(1000), got(1000);
    for (unsigned i = 0; i < 5000; i++) {
        Op out, in;
        vbn_status_t received = recv(sender(), 5, EXACT, got, nullptr, in);
        vbn_status_t sent = send(5, data, out);
        rig_imports_answer(rig);
        rig_run(rig);
        in.expect(received, VBN_OK, 1000);
        out.expect(sent, VBN_OK, 1000);
    }
    EXPECT_EQ(rig_counter(rig, 0, "tag.large"), 0u);
}

TEST_P(ProtoTag, a_probe_sees_what_a_receive_would_get_and_may_take_it_away)
{
    vbn_tag_info_t info{};
    vbn_tag_message_t *first = nullptr, *second = nullptr;
    EXPECT_EQ(proto_tag_probe(engine(), nullptr, 0, 0, &info, nullptr), VBN_INPROGRESS);
    Bytes small = pattern(100, 1), large = pattern(9000, 2);
    Op out[3];
    ASSERT_GE(send(1, small, out[0], VBN_TAG_SYNC), 0);
    ASSERT_GE(send(1, large, out[1]), 0);
    ASSERT_GE(send(1, small, out[2]), 0);
    run();
    EXPECT_EQ(proto_tag_probe(engine(), sender(), 2, EXACT, &info, nullptr), VBN_INPROGRESS);
    for (int i = 0; i < 2; i++) { /* looking changes nothing */
        EXPECT_EQ(proto_tag_probe(engine(), sender(), 1, EXACT, &info, nullptr), VBN_OK);
        EXPECT_EQ(info.length, 100u);
        EXPECT_EQ(info.peer, sender());
    }
    EXPECT_EQ(proto_tag_probe(engine(), nullptr, 1, EXACT, &info, &first), VBN_OK);
    EXPECT_EQ(proto_tag_probe(engine(), nullptr, 1, 1, &info, &second), VBN_OK);
    EXPECT_EQ(info.length, 9000u);
    Bytes got(10000), rest(100), got2(100);
    Op in, in2, in3;
    vbn_status_t r = recv(nullptr, 1, EXACT, rest, nullptr, in);
    run();
    in.expect(r, VBN_OK, 100);
    EXPECT_EQ(out[0].op.complete, 0u) << "a taken message is not received yet";
    iovec to{got.data(), got.size()}, to2{got2.data(), got2.size()};
    r = proto_tag_mrecv(second, &to, 1, &info, &in2.op);
    run();
    in2.expect(r, VBN_OK, 9000);
    r = proto_tag_mrecv(first, &to2, 1, nullptr, &in3.op);
    run();
    in3.expect(r, VBN_OK, 100);
    got.resize(9000);
    EXPECT_TRUE(got == large);
    EXPECT_EQ(got2, small);
    for (auto &op : out)
        EXPECT_EQ(op.op.complete, 1u);
}

TEST_P(ProtoTag, a_receive_can_be_cancelled_until_it_has_a_message)
{
    Bytes data = pattern(5000), got(5000), got2(5000);
    Op in, in2, out;
    ASSERT_EQ(recv(nullptr, 3, EXACT, got, nullptr, in), VBN_INPROGRESS);
    ASSERT_EQ(recv(sender(), 3, EXACT, got2, nullptr, in2), VBN_INPROGRESS);
    EXPECT_EQ(proto_tag_cancel(&in.op), VBN_OK);
    EXPECT_EQ(in.op.complete, 1u);
    EXPECT_EQ(in.op.status, VBN_ERR_CLOSED);
    EXPECT_EQ(proto_tag_cancel(&in.op), VBN_INPROGRESS);
    ASSERT_GE(send(3, data, out), 0);
    EXPECT_EQ(proto_tag_cancel(nullptr), VBN_ERR_INVALID);
    rig_imports_answer(rig);
    rig_deliver(rig, 1); /* matched, the data is under way */
    EXPECT_EQ(proto_tag_cancel(&in2.op), VBN_INPROGRESS);
    run();
    EXPECT_EQ(in.calls, 0);
    EXPECT_EQ(in2.calls, 1);
    EXPECT_EQ(in2.op.status, VBN_OK);
    EXPECT_TRUE(got2 == data);
    EXPECT_EQ(got, Bytes(5000));
}

/* Of several with one tag it is the one that was named, and the others keep their order. */
TEST_P(ProtoTag, a_send_can_be_withdrawn_until_a_receive_has_its_message)
{
    Bytes data[3] = {pattern(9000), pattern(9001), pattern(9002)}, small = pattern(100), got(9002), rest(9002);
    Op out[3], sync, in, in2, none;
    for (int i = 0; i < 3; i++)
        ASSERT_EQ(send(1, data[i], out[i]), VBN_INPROGRESS);
    ASSERT_EQ(send(1, small, sync, VBN_TAG_SYNC), VBN_INPROGRESS);
    run();
    EXPECT_EQ(proto_tag_cancel(&out[1].op), VBN_INPROGRESS);
    EXPECT_EQ(proto_tag_cancel(&out[1].op), VBN_INPROGRESS);
    EXPECT_EQ(proto_tag_cancel(&sync.op), VBN_INPROGRESS);
    run();
    out[1].expect(VBN_INPROGRESS, VBN_ERR_CLOSED, 0);
    sync.expect(VBN_INPROGRESS, VBN_ERR_CLOSED, 0);
    vbn_status_t first = recv(sender(), 1, EXACT, got, nullptr, in);
    EXPECT_EQ(proto_tag_cancel(&out[0].op), VBN_INPROGRESS) << "a receive has it";
    run();
    in.expect(first, VBN_OK, 9000);
    out[0].expect(VBN_INPROGRESS, VBN_OK, 9000);
    vbn_status_t second = recv(sender(), 1, EXACT, rest, nullptr, in2);
    run();
    in2.expect(second, VBN_OK, 9002);
    EXPECT_TRUE(rest == data[2]);
    EXPECT_EQ(proto_tag_probe(engine(), sender(), 1, EXACT, nullptr, nullptr), VBN_INPROGRESS);
    EXPECT_EQ(proto_tag_cancel(&out[0].op), VBN_INPROGRESS) << "complete";
    ASSERT_GE(proto_am_send(rig_peer(rig, 0), 1, nullptr, 0, nullptr, 0, VBN_AM_PULL, &none.op), 0);
    EXPECT_EQ(proto_tag_cancel(&none.op), VBN_ERR_INVALID);
    run();
}

TEST_P(ProtoTag, wrong_arguments_are_refused_without_effect)
{
    Op op;
    iovec bad{nullptr, 4};
    EXPECT_EQ(proto_tag_send(nullptr, 1, nullptr, 0, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_send(rig_peer(rig, 0), 1, &bad, 1, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_send(rig_peer(rig, 0), 1, nullptr, 0, 1u << 31, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_send(rig_peer(rig, 0), 1, nullptr, 0, 0, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_recv(engine(), nullptr, 1, 1, &bad, 1, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_recv(engine(), rig_peer(rig, 0), 1, 1, nullptr, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_probe(engine(), rig_peer(rig, 0), 1, 1, nullptr, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_mrecv(nullptr, nullptr, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_FALSE(rig_deliver(rig, 1));
}

TEST_P(ProtoTag, what_a_lost_peer_sent_whole_can_still_be_received)
{
    Bytes small = pattern(500, 1), large = pattern(9000, 2), got(10000), got2(10000), got3(10000);
    Op out[4], from_it, any, late[4];
    ASSERT_GE(send(1, small, out[0], VBN_TAG_SYNC), 0);
    ASSERT_GE(send(2, large, out[1]), 0);
    ASSERT_GE(send(3, large, out[2]), 0);
    ASSERT_GE(send(4, small, out[3]), 0);
    run();
    vbn_tag_message_t *taken_large = nullptr, *taken_small = nullptr;
    ASSERT_EQ(proto_tag_probe(engine(), nullptr, 3, EXACT, nullptr, &taken_large), VBN_OK);
    ASSERT_EQ(proto_tag_probe(engine(), nullptr, 4, EXACT, nullptr, &taken_small), VBN_OK);
    ASSERT_EQ(recv(sender(), 9, EXACT, got, nullptr, from_it), VBN_INPROGRESS);
    ASSERT_EQ(recv(nullptr, 9, EXACT, got2, nullptr, any), VBN_INPROGRESS);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    from_it.expect(VBN_INPROGRESS, VBN_ERR_PEER_LOST, 0);
    EXPECT_EQ(any.calls, 0);
    EXPECT_EQ(rig_counter(rig, 1, "tag.dropped"), 1u);
    vbn_tag_info_t info{};
    late[0].expect(recv(sender(), 1, EXACT, got3, &info, late[0]), VBN_OK, 500);
    EXPECT_EQ(info.peer, nullptr);
    EXPECT_EQ(info.source, 1000u);
    EXPECT_EQ(info.length, 500u);
    EXPECT_TRUE(std::equal(small.begin(), small.end(), got3.begin()));
    EXPECT_EQ(recv(sender(), 1, EXACT, got3, &info, late[1]), VBN_ERR_PEER_LOST);
    EXPECT_EQ(proto_tag_probe(engine(), sender(), 2, EXACT, nullptr, nullptr), VBN_ERR_PEER_LOST);
    iovec to{got3.data(), got3.size()};
    EXPECT_EQ(proto_tag_mrecv(taken_large, &to, 1, &info, &late[2].op), VBN_ERR_PEER_LOST);
    late[3].expect(proto_tag_mrecv(taken_small, &to, 1, &info, &late[3].op), VBN_OK, 500);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    for (auto &op : out)
        EXPECT_EQ(op.op.complete, 1u);
    EXPECT_EQ(proto_tag_cancel(&any.op), VBN_OK);
}

TEST_P(ProtoTag, the_end_of_the_worker_ends_its_receives_and_frees_what_nobody_took)
{
    Bytes small = pattern(50), middle = pattern(1000), got(100);
    Op out[4], any;
    for (int i = 0; i < 4; i++)
        ASSERT_GE(send(1, i % 2 == 0 ? small : middle, out[i]), 0);
    run();
    vbn_tag_message_t *taken[2];
    for (auto &each : taken)
        ASSERT_EQ(proto_tag_probe(engine(), nullptr, 1, EXACT, nullptr, &each), VBN_OK);
    ASSERT_EQ(recv(nullptr, 2, EXACT, got, nullptr, any), VBN_INPROGRESS);
    open(); /* closes the rig before; AddressSanitizer looks for leaks */
    any.expect(VBN_INPROGRESS, VBN_ERR_CLOSED, 0);
}

TEST_P(ProtoTag, a_lost_peer_ends_every_operation_exactly_once_at_every_step)
{
    for (int steps = 0; steps < 14; steps++) {
        open();
        Bytes small = pattern(500), large = pattern(30000), got[4];
        Op out[4], in[4];
        vbn_status_t s[4], r[4];
        for (int i = 0; i < 4; i++) {
            got[i].resize(30000);
            s[i] = send(static_cast<uint64_t>(i), i % 2 == 0 ? small : large, out[i], i < 2 ? VBN_TAG_SYNC : 0);
            r[i] = recv(i == 0 ? nullptr : sender(), static_cast<uint64_t>(i), EXACT, got[i], nullptr, in[i]);
            ASSERT_EQ(r[i], VBN_INPROGRESS);
        }
        for (int i = 0; i < steps; i++) {
            rig_deliver(rig, 1);
            rig_deliver(rig, 0);
        }
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        if (in[0].op.complete == 0) {
            EXPECT_EQ(proto_tag_cancel(&in[0].op), VBN_OK);
            in[0].calls++;
        }
        for (int i = 0; i < 4; i++) {
            EXPECT_EQ(out[i].op.complete, 1u) << steps << " send " << i;
            EXPECT_EQ(out[i].calls, s[i] == VBN_OK ? 0 : 1) << steps << " send " << i;
            EXPECT_EQ(in[i].op.complete, 1u) << steps << " receive " << i;
            EXPECT_EQ(in[i].calls, 1) << steps << " receive " << i;
        }
    }
}

TEST_P(ProtoTag, a_peer_that_uses_more_credit_than_it_has_or_gives_too_much_is_failed)
{
    uint8_t bytes[320];
    rig_header_t h{TAG, 0, 0, 0, 0, 0, 0, 0, 77, 0};
    uint32_t count = rig_encode(&h, bytes);
    Bytes data = pattern(1000);
    for (unsigned i = 0; i < 3; i++) /* 3 * (1000 + 320) of 4096 + 320 */
        rig_inject(rig, 1, bytes, count, data.data(), 1000);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    lie(h, data, 1);
    open();
    lie({TAG_CREDIT_BACK, 0, 0, 0, 0, 0, 0, (1u << 20) - 4416 + 1, 0, 0});
    open();
    lie({TAG_CREDIT_BACK, 0, 0, 0, 0, 0, 0, UINT64_MAX, 0, 0});
    open();
    lie({TAG_CREDIT_BACK, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    open();
    lie({TAG_RTS, 2, 0, 1, 0, 0, 0, 100, 5, 0}, {}, 1);
    open();
    lie({TAG_RTS, 0, 0, 1, 0, 0, 0, UINT64_MAX, 5, 0}, {}, 1);
    open();
    rig_header_t rts{TAG_RTS, 0, 0, 1, 0, 0, 0, 100000, 5, 0};
    count = rig_encode(&rts, bytes);
    for (int i = 0; i < 64; i++)
        rig_inject(rig, 1, bytes, count, nullptr, 0);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    lie(rts, {}, 1);
}

TEST_P(ProtoTag, a_synchronous_send_is_neither_pulled_nor_answered_twice)
{
    Bytes data = pattern(100);
    for (int kind = 0; kind < 2; kind++) {
        open();
        Op out;
        ASSERT_EQ(send(1, data, out, VBN_TAG_SYNC), VBN_INPROGRESS);
        uint64_t handle = out.op.priv[4]; /* proto_op_t.handle, after two list links */
        rig_imports_answer(rig);
        rig_deliver(rig, 1);
        if (kind == 0)
            lie({PULL, 0, 0, handle, 1, 0, 0, 0, 0, 0});
        else
            lie({STATUS, 0, 1, handle, 0, 0, 0, 100, 0, 0});
        EXPECT_EQ(out.calls, 1);
        EXPECT_EQ(out.op.status, VBN_ERR_PROTOCOL);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoTag, ::testing::ValuesIn(MODES), mode_name);

} // namespace
