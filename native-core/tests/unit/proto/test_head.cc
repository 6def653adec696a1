// SPDX-License-Identifier: Apache-2.0
// test_head.cc - the first bytes of a large tagged message, which come with its announcement (proto/head.h).
#include <random>

#include "fixture.h"

namespace {

enum { PULL_REST = HELPED + 9, TAG_MORE };
constexpr unsigned MORE = 3; // parts behind the first one

class ProtoHead : public Proto {
protected:
    struct Message {
        Op send, receive;
        Bytes data, got;
        vbn_status_t sent = VBN_OK, received = VBN_OK;
        std::vector<iovec> from;
        iovec to{};
        explicit Message(size_t size, unsigned seed = 1) : data(pattern(size, seed)), got(size + 1, 0xEE) {}
    };
    struct Packet {
        uint8_t header[400]{};
        Bytes payload = Bytes(8192);
        uint32_t header_bytes = 0, payload_bytes = 0;
    };
    void SetUp() override
    {
        options.direct = true;  /* one host, */
        options.copies = false; /* but neither may read the other's memory */
        options.host = MODEL_HOST_DEFAULT;
        Proto::SetUp();
        if (options.not_ready) { /* until a packet has come, nobody knows that it is one host */
            Message first(10);
            send(first);
            run();
            receive(first);
            run();
        }
    }
    void send(Message &m, unsigned flags = 0, size_t pieces = 1)
    {
        for (size_t i = 0, part = m.data.size() / pieces; i < pieces; i++)
            m.from.push_back({m.data.data() + i * part, i + 1 < pieces ? part : m.data.size() - i * part});
        m.sent = proto_tag_send(rig_peer(rig, 0), 7, m.from.data(), m.from.size(), flags, &m.send.op);
        ASSERT_GE(m.sent, 0) << vbn_error_text();
    }
    void receive(Message &m, size_t room = SIZE_MAX)
    {
        m.to = iovec{m.got.data(), room < m.data.size() ? room : m.data.size()};
        m.received = proto_tag_recv(rig_engine(rig, 1), rig_peer(rig, 1), 7, UINT64_MAX, &m.to, 1, nullptr,
                                    &m.receive.op);
        ASSERT_GE(m.received, 0) << vbn_error_text();
    }
    Packet take(int to)
    {
        Packet p;
        p.header_bytes = rig_take(rig, to, p.header, p.payload.data(), &p.payload_bytes);
        return p;
    }
    void give(int to, const Packet &p)
    {
        rig_inject(rig, to, p.header, p.header_bytes, p.payload.data(), p.payload_bytes);
    }
    static void arrived(Message &m)
    {
        m.send.expect(m.sent, VBN_OK, m.data.size());
        m.receive.expect(m.received, VBN_OK, m.data.size());
        EXPECT_EQ(m.got.back(), 0xEE);
        m.got.pop_back();
        EXPECT_TRUE(m.got == m.data);
    }
    uint64_t streamed() { return rig_counter(rig, 1, "get.stream.bytes"); }
    /* A message without a waiting receive; the bytes that came with its announcement. */
    uint32_t late(size_t size)
    {
        Message m(size);
        send(m);
        Packet announcement = take(1);
        give(1, announcement);
        if (size % 2 == 0) /* what follows the head comes before or after the receive */
            (void)rig_deliver(rig, 1);
        receive(m);
        run();
        arrived(m);
        return announcement.payload_bytes;
    }
};

TEST_P(ProtoHead, a_receive_that_waits_takes_the_head_and_asks_for_the_rest)
{
    Message m(60000);
    const uint64_t before = streamed();
    receive(m);
    send(m);
    const Packet announcement = take(1);
    EXPECT_EQ(announcement.header[0], TAG_RTS);
    ASSERT_EQ(announcement.payload_bytes, 4096u);
    give(1, announcement);
    const Packet pull = take(0);
    uint64_t offset;
    ASSERT_EQ(pull.header[0], PULL_REST);
    std::memcpy(&offset, pull.header + 24, 8);
    EXPECT_EQ(offset, announcement.payload_bytes);
    for (uint64_t part = 1; part <= MORE; part++) {
        const Packet more = take(1);
        EXPECT_EQ(more.header[0], TAG_MORE);
        EXPECT_EQ(more.payload_bytes, 4096u);
        std::memcpy(&offset, more.header + 16, 8);
        EXPECT_EQ(offset, part * 4096);
        give(1, more);
    }
    give(0, pull);
    run();
    arrived(m);
    EXPECT_EQ(streamed() - before, 60000u) << "no byte twice";
}

TEST_P(ProtoHead, a_message_that_fits_the_head_needs_no_further_packet)
{
    for (uint64_t bytes : {8193u, 16000u, 16384u}) {
        Message m(bytes);
        const uint64_t before = streamed();
        receive(m);
        send(m);
        for (uint64_t at = 0; at < bytes;) {
            const Packet part = take(1);
            EXPECT_EQ(part.header[0], at == 0 ? int{TAG_RTS} : int{TAG_MORE});
            at += part.payload_bytes;
            give(1, part);
        }
        run();
        arrived(m);
        EXPECT_EQ(streamed() - before, bytes);
    }
}

TEST_P(ProtoHead, without_a_receive_the_head_is_dropped_and_all_data_comes_later)
{
    const uint64_t before = streamed();
    EXPECT_GT(late(60000), 0u);
    EXPECT_EQ(streamed() - before, 60000u);
    EXPECT_EQ(late(60001), 0u) << "the last one was of no use";
    EXPECT_GT(late(60003), 0u);
    EXPECT_EQ(streamed() - before, 180004u);
}

TEST_P(ProtoHead, heads_that_are_of_no_use_are_sent_less_and_less_until_one_is_used)
{
    std::vector<int> with;
    for (int i = 0; i < 100; i++)
        if (late(20000) > 0)
            with.push_back(i);
    EXPECT_EQ(with, (std::vector<int>{0, 2, 6, 14, 30, 62}));
    for (int i = 0; i < 64; i++) {
        Message m(20000);
        receive(m);
        send(m);
        run();
        arrived(m);
    }
    EXPECT_GT(late(20000), 0u);
}

TEST_P(ProtoHead, only_a_message_alone_in_one_piece_and_plain_has_one)
{
    Message first(20000), second(20000, 2), pieces(20000, 3), checked(20000, 4);
    send(first);
    send(second);
    EXPECT_GT(take(1).payload_bytes, 0u);
    for (unsigned part = 0; part < MORE; part++)
        EXPECT_EQ(take(1).header[0], TAG_MORE);
    EXPECT_EQ(take(1).payload_bytes, 0u) << "its question comes while data of the first moves";
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    SetUp();
    send(pieces, 0, 3);
    EXPECT_EQ(take(1).payload_bytes, 0u);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    SetUp();
    send(checked, VBN_SEND_CHECKSUM);
    EXPECT_EQ(take(1).payload_bytes, 0u);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
}

TEST_P(ProtoHead, a_message_that_is_too_long_writes_nothing)
{
    Message m(60000);
    receive(m, 100);
    send(m);
    run();
    m.send.expect(m.sent, VBN_OK, 0);
    EXPECT_EQ(m.receive.op.status, VBN_ERR_TRUNCATED);
    EXPECT_TRUE(m.got == Bytes(60001, 0xEE));
}

TEST_P(ProtoHead, every_size_arrives_whenever_its_receive_comes)
{
    std::mt19937 random(1);
    for (int i = 0; i < 200; i++) {
        Message m(1 + random() % (i % 2 == 0 ? 20000 : 200000), random()), n(1 + random() % 50000, random());
        const unsigned when = random() % 3;
        if (when == 0)
            receive(m);
        send(m);
        if (when == 1)
            run();
        send(n);
        if (when != 0)
            receive(m);
        receive(n);
        run();
        arrived(m);
        arrived(n);
    }
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
}

TEST_P(ProtoHead, the_peer_may_be_lost_at_any_packet)
{
    for (int packets = 0; packets < 8; packets++) {
        Message m(60000);
        receive(m);
        send(m);
        for (int i = 0; i < packets; i++)
            (void)rig_deliver(rig, i % 2 == 0);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        EXPECT_EQ(m.send.op.complete, 1u);
        EXPECT_EQ(m.receive.op.complete, 1u);
        SetUp();
    }
}

TEST_P(ProtoHead, a_peer_that_leaves_out_other_bytes_is_blamed)
{
    Message m(60000);
    send(m);
    const Packet announcement = take(1);
    rig_header_t h{};
    h.type = PULL_REST;
    std::memcpy(&h.op, announcement.header + 8, 8);
    h.target = 1;
    h.offset = announcement.payload_bytes + 1u;
    lie(h);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
}

TEST_P(ProtoHead, what_follows_a_head_belongs_exactly_behind_it)
{
    for (uint64_t offset : {4095u, 4097u, 0u}) {
        Message m(60000);
        receive(m);
        send(m);
        const Packet announcement = take(1);
        give(1, announcement);
        rig_header_t h{};
        h.type = TAG_MORE;
        std::memcpy(&h.op, announcement.header + 8, 8);
        h.offset = offset;
        lie(h, Bytes(4096), 1);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        SetUp();
    }
}

TEST_P(ProtoHead, what_follows_no_head_is_dropped)
{
    rig_header_t h{};
    h.type = TAG_MORE;
    h.op = 12345;
    uint8_t bytes[320];
    const Bytes payload(4096);
    rig_inject(rig, 1, bytes, rig_encode(&h, bytes), payload.data(), 4096);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    EXPECT_GT(late(60000), 0u);
}

TEST_P(ProtoHead, as_many_bytes_as_the_message_has_are_no_head)
{
    Message m(60000);
    send(m);
    const Packet announcement = take(1);
    EXPECT_EQ(rig_decode(announcement.header, announcement.header_bytes, 59999), VBN_OK);
    EXPECT_EQ(rig_decode(announcement.header, announcement.header_bytes, 60000), VBN_ERR_PROTOCOL);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoHead, ::testing::ValuesIn(MODES), mode_name);

} // namespace
