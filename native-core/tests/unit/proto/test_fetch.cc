// SPDX-License-Identifier: Apache-2.0
// test_fetch.cc - announced messages that the receiver's device reads out of the sender's memory: data, connections that
// break or are missing, memory that goes meanwhile, lies. The rig's devices take 3000 bytes at a time.
#include <functional>
#include <memory>

#include "fixture.h"

namespace {

constexpr size_t SIZE = 60000;
constexpr unsigned CONNECTION = 77; /* the rig's first */
enum { RTS_DEVICE = 24, TAG_RTS_DEVICE = 25 };

class Fetch : public ::testing::Test {
protected:
    rig_options_t options = rig_defaults(); /* the built-in costs, by which devices pay */
    rig_t *rig = nullptr;
    vbn_mem_t *mem = nullptr;
    uint8_t *memory = nullptr;
    Inbox inbox;
    iovec sent{}; /* until the message is complete */

    void SetUp() override
    {
        options.devices = true;
        options.latency_ns = 2000; /* the cost model: small messages do not pay for a connection */
        options.mbytes_per_s = 1000;
        rig = rig_open(&options);
        ASSERT_EQ(rig_handler(rig, 1, 5, Inbox::handle, &inbox), VBN_OK);
        mem = rig_mem(rig, 0, SIZE);
        memory = static_cast<uint8_t *>(rig_mem_address(mem));
        Bytes data = pattern(SIZE, 3);
        std::memcpy(memory, data.data(), SIZE);
    }
    void TearDown() override
    {
        if (mem != nullptr)
            rig_mem_free(mem);
        rig_close(rig);
    }
    /* Sends memory from offset 100 on and delivers the announcement. */
    void announce(Op &send, size_t length)
    {
        inbox.items.clear();
        sent = {memory + 100, length};
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, "head", 4, &sent, 1, VBN_AM_PULL, &send.op), VBN_INPROGRESS);
        while (rig_deliver(rig, 1)) {
        }
        ASSERT_EQ(inbox.items.size(), 1u);
        ASSERT_NE(inbox.items[0].remote, nullptr);
        EXPECT_EQ(inbox.items[0].header, Bytes({'h', 'e', 'a', 'd'}));
    }
    uint64_t fetched() { return rig_counter(rig, 1, "get.native.bytes"); }
    uint64_t streamed() { return rig_counter(rig, 1, "get.stream.bytes"); }
    /* Into three buffers, the middle one empty. */
    void arrives(Op &send, size_t length)
    {
        Op pull;
        Bytes got(length + 1, 0xEE);
        iovec to[3] = {{got.data(), length / 3}, {got.data(), 0}, {got.data() + length / 3, length - length / 3}};
        ASSERT_EQ(proto_am_pull(inbox.items[0].remote, to, 3, &pull.op), VBN_INPROGRESS);
        rig_run(rig);
        pull.expect(VBN_INPROGRESS, VBN_OK, length);
        send.expect(VBN_INPROGRESS, VBN_OK, length);
        EXPECT_EQ(std::memcmp(got.data(), memory + 100, length), 0);
        EXPECT_EQ(got[length], 0xEE);
    }
};

TEST_F(Fetch, messages_of_all_sizes_are_read_by_the_device_and_by_nobody_else)
{
    uint64_t bytes = 0;
    for (size_t length : {1u, 2999u, 3000u, 3001u, 12000u, 50001u}) {
        Op send;
        announce(send, length);
        arrives(send, length);
        EXPECT_EQ(fetched(), bytes += length);
    }
    EXPECT_EQ(streamed(), 0u);
    EXPECT_LT(rig_counter(rig, 0, "mem.exposed.bytes"), 2 * SIZE) << "once";
    EXPECT_EQ(rig_counter(rig, 1, "native.redone"), 0u);
}

TEST_F(Fetch, tagged_messages_are_read_too_expected_or_not)
{
    for (bool early : {false, true}) {
        Op send, receive;
        Bytes got(40000);
        iovec from{memory, got.size()}, to{got.data(), got.size()};
        vbn_status_t received = VBN_INPROGRESS;
        if (early)
            received = proto_tag_recv(rig_engine(rig, 1), nullptr, 9, UINT64_MAX, &to, 1, nullptr, &receive.op);
        ASSERT_EQ(proto_tag_send(rig_peer(rig, 0), 9, &from, 1, 0, &send.op), VBN_INPROGRESS);
        rig_run(rig);
        if (!early)
            received = proto_tag_recv(rig_engine(rig, 1), nullptr, 9, UINT64_MAX, &to, 1, nullptr, &receive.op);
        rig_run(rig);
        receive.expect(received, VBN_OK, got.size());
        send.expect(VBN_INPROGRESS, VBN_OK, got.size());
        EXPECT_EQ(std::memcmp(got.data(), memory, got.size()), 0);
    }
    EXPECT_EQ(fetched(), 80000u);
}

TEST_F(Fetch, data_elsewhere_or_in_pieces_or_checked_comes_by_packets)
{
    Bytes heap = pattern(20000);
    const iovec lists[3][2] = {{{heap.data(), 10000}, {heap.data() + 10000, 10000}},
                               {{memory, 10000}, {heap.data(), 10000}},
                               {{memory, 10000}, {memory + 10000, 10000}}};
    for (unsigned i = 0; i < 4; i++) {
        Op send, pull;
        Bytes got(20000);
        iovec to{got.data(), got.size()}, whole{memory, got.size()};
        inbox.items.clear();
        const iovec *from = i < 3 ? lists[i] : &whole;
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, from, i < 3 ? 2 : 1, i < 3 ? 0 : VBN_SEND_CHECKSUM,
                                &send.op),
                  VBN_INPROGRESS);
        rig_run(rig);
        vbn_status_t status = proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op);
        rig_run(rig);
        pull.expect(status, VBN_OK, got.size());
        send.expect(VBN_INPROGRESS, VBN_OK, got.size());
        EXPECT_EQ(std::memcmp(got.data(), from[0].iov_base, 10000), 0);
    }
    EXPECT_EQ(fetched(), 0u);
}

TEST_F(Fetch, a_connection_that_breaks_after_any_piece_costs_nothing)
{
    for (unsigned pieces = 0; pieces <= 8; pieces++) {
        Op send, pull;
        Bytes got(20000);
        iovec to{got.data(), got.size()};
        announce(send, got.size());
        ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
        for (unsigned i = 0; i < pieces; i++)
            (void)rig_devices_turn(rig);
        rig_break_devices(rig);
        rig_run(rig);
        pull.expect(VBN_INPROGRESS, VBN_OK, got.size());
        send.expect(VBN_INPROGRESS, VBN_OK, got.size());
        ASSERT_EQ(std::memcmp(got.data(), memory + 100, got.size()), 0) << pieces;
        ASSERT_EQ(rig_counter(rig, 1, "native.redone"), pieces < 7 ? pieces + 1 : 7) << "20000 bytes are 7 pieces";
    }
}

TEST_F(Fetch, a_connection_that_went_before_the_pull_costs_nothing)
{
    Op send;
    announce(send, 20000);
    rig_break_devices(rig); /* the next one has another number */
    arrives(send, 20000);
    EXPECT_EQ(fetched(), 0u);
    send.reset();
    announce(send, 20000);
    arrives(send, 20000);
    EXPECT_EQ(fetched(), 20000u);
}

TEST_F(Fetch, memory_that_its_owner_frees_while_it_is_read_still_arrives)
{
    Op send, pull;
    Bytes got(20000), expected(memory + 100, memory + 20100);
    iovec to{got.data(), got.size()};
    announce(send, got.size());
    ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
    (void)rig_devices_turn(rig);
    rig_mem_free(mem); /* the device serves it no more; the op holds it for the packets */
    mem = nullptr;
    rig_run(rig);
    pull.expect(VBN_INPROGRESS, VBN_OK, got.size());
    send.expect(VBN_INPROGRESS, VBN_OK, got.size());
    EXPECT_TRUE(got == expected);
    EXPECT_EQ(rig_counter(rig, 1, "native.redone"), 1u);
    EXPECT_EQ(rig_counter(rig, 0, "mem.exposed.bytes"), 0u);
}

TEST_F(Fetch, without_a_connection_a_large_message_makes_both_sides_want_one_and_a_small_one_does_not)
{
    rig_hide_devices(rig, true);
    Op small, large;
    announce(small, 100);
    arrives(small, 100);
    EXPECT_EQ(rig_promoted(rig, 0) + rig_promoted(rig, 1), 0u);
    announce(large, 50000);
    EXPECT_EQ(rig_promoted(rig, 0), 1u);
    EXPECT_EQ(rig_promoted(rig, 1), 1u);
    arrives(large, 50000);
    EXPECT_EQ(fetched(), 0u);
    EXPECT_EQ(rig_counter(rig, 0, "mem.exposed.bytes"), 0u) << "nothing is served before there is a connection";
}

TEST_F(Fetch, a_message_that_is_dropped_or_whose_peer_ends_is_let_go_of)
{
    Op dropped, ended, pull;
    announce(dropped, 20000);
    proto_am_drop(inbox.items[0].remote);
    rig_run(rig);
    dropped.expect(VBN_INPROGRESS, VBN_OK, 0);
    Bytes got(20000);
    iovec to{got.data(), got.size()};
    announce(ended, got.size());
    ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
    (void)rig_devices_turn(rig);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    EXPECT_EQ(pull.calls, 1);
    EXPECT_EQ(pull.op.status, VBN_ERR_PEER_LOST);
    EXPECT_EQ(ended.calls, 1);
    EXPECT_EQ(ended.op.status, VBN_ERR_PEER_LOST);
}

TEST_F(Fetch, what_the_device_does_not_serve_is_pulled_from_who_lied_about_it)
{
    Bytes got(5000);
    iovec to{got.data(), got.size()};
    rig_header_t header{};
    header.type = TAG_RTS_DEVICE;
    header.op = 12345;
    header.length = got.size();
    header.key = 100; /* the first that the rig's devices give out */
    header.value = CONNECTION;
    rig_place_t place{4096, 0, 0, 0};
    uint8_t bytes[400], payload[8192];
    uint32_t payload_bytes = 0;
    Op pull;
    inbox.items.clear();
    rig_inject(rig, 1, bytes, rig_encode_at(&header, &place, bytes), payload, 0);
    vbn_status_t status = proto_tag_recv(rig_engine(rig, 1), nullptr, 0, 0, &to, 1, nullptr, &pull.op);
    ASSERT_EQ(status, VBN_INPROGRESS);
    (void)rig_devices_turn(rig); /* refused: the connection breaks */
    EXPECT_TRUE(rig_progress(rig, 1));
    uint32_t count = 0;
    unsigned pulls = 0;
    while ((count = rig_take(rig, 0, bytes, payload, &payload_bytes)) > 0)
        pulls += bytes[0] == 3; /* PULL */
    EXPECT_EQ(pulls, 1u);
    EXPECT_EQ(pull.op.complete, 0u);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST); /* nobody answers that pull */
    pull.expect(status, VBN_ERR_PEER_LOST, 0);
}

TEST_F(Fetch, an_answer_to_what_a_device_reads_is_blamed)
{
    Op first, second, pull;
    Bytes got(20000);
    iovec to{got.data(), got.size()};
    uint8_t bytes[400], payload[8192];
    uint32_t payload_bytes = 0;
    rig_hide_devices(rig, true);
    announce(first, got.size());
    ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
    uint32_t count = rig_take(rig, 0, bytes, payload, &payload_bytes);
    ASSERT_EQ(bytes[0], 3); /* PULL: tells the receiver's handle */
    rig_header_t lie{};
    std::memcpy(&lie.op, bytes + 16, 8);
    rig_inject(rig, 0, bytes, count, payload, 0);
    rig_run(rig);
    pull.reset();
    rig_hide_devices(rig, false);
    announce(second, got.size());
    ASSERT_EQ(proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op), VBN_INPROGRESS);
    lie.type = 5; /* STATUS */
    lie.code = static_cast<unsigned>(-VBN_ERR_STALE);
    lie.last = 1;
    lie.op += uint64_t{1} << 32; /* the next one at the same index */
    rig_inject(rig, 1, bytes, rig_encode(&lie, bytes), payload, 0);
    EXPECT_EQ(rig_failure(rig, 1), VBN_ERR_PROTOCOL);
    EXPECT_EQ(pull.calls, 1);
    EXPECT_EQ(pull.op.status, VBN_ERR_PROTOCOL);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    second.expect(VBN_INPROGRESS, VBN_ERR_PEER_LOST, 0);
}

TEST_F(Fetch, impossible_places_are_refused)
{
    auto refused = [](const std::function<void(rig_header_t &, rig_place_t &)> &change) {
        uint8_t bytes[400];
        rig_header_t header{};
        header.type = RTS_DEVICE;
        header.op = 1;
        header.length = 1000;
        header.key = 2;
        header.value = CONNECTION;
        rig_place_t place{4096, 0, 0, 0};
        change(header, place);
        return rig_decode(bytes, rig_encode_at(&header, &place, bytes), 0) == VBN_ERR_PROTOCOL;
    };
    EXPECT_FALSE(refused([](auto &, auto &) {}));
    EXPECT_FALSE(refused([](auto &h, auto &p) { h.key = h.value = p.address = 0; }));
    EXPECT_TRUE(refused([](auto &h, auto &) { h.value = 0; }));
    EXPECT_TRUE(refused([](auto &h, auto &) { h.value = uint64_t{1} << 32; }));
    EXPECT_TRUE(refused([](auto &h, auto &) { h.length = UINT64_MAX; }));
    EXPECT_TRUE(refused([](auto &, auto &p) { p.address = UINT64_MAX - 999; }));
}

} // namespace
