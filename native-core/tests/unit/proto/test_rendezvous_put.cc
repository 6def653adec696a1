// SPDX-License-Identifier: Apache-2.0
// test_rendezvous_put.cc - announced messages that the sender writes into the receiver's memory: when, and lies.
#include <random>

#include "fixture.h"

namespace {

enum { DATA_STAGED = GET_BLOCKS + 1, RTS_AT, TAG_RTS_AT, PULL_AT, HELPED, PULL_PUT };
constexpr unsigned RW = VBN_ACCESS_READ | VBN_ACCESS_WRITE;

class ProtoPut : public ::testing::Test {
protected:
    static constexpr size_t SIZE = 2 << 20;
    rig_options_t options = rig_defaults(); /* the built-in costs, by which copies pay */
    rig_t *rig = nullptr;
    Inbox inbox;
    vbn_mem_t *mem = nullptr; /* the receiver's */
    uint8_t *base = nullptr;
    void SetUp() override
    {
        options.import_fails = true; /* memory can be mapped; the rig answers when the test says so */
        options.direct = true;       /* between processes of one host, */
        options.copies = false;      /* but neither may read the other's memory */
        rig = rig_open(&options);
        ASSERT_EQ(rig_handler(rig, 1, 5, Inbox::handle, &inbox), VBN_OK);
        mem = rig_mem(rig, 1, SIZE);
        base = static_cast<uint8_t *>(rig_mem_address(mem));
    }
    void TearDown() override
    {
        rig_imports_answer(rig);
        rig_kill(rig, 0, VBN_ERR_CLOSED);
        rig_kill(rig, 1, VBN_ERR_CLOSED);
        rig_mem_free(mem);
        rig_close(rig);
    }
    void run()
    {
        for (int i = 0; i < 3; i++) {
            rig_run(rig);
            rig_imports_map(rig);
        }
    }
    uint64_t put_bytes() { return rig_counter(rig, 0, "put.mapped.bytes"); }
    /* One message into the receiver's memory at `offset`; how many of its bytes were put. */
    uint64_t message(const Bytes &data, size_t offset, const std::vector<size_t> &cuts = {})
    {
        inbox.items.clear();
        std::vector<iovec> from;
        size_t at = 0;
        for (size_t cut : cuts) {
            from.push_back({const_cast<uint8_t *>(data.data()) + at, cut - at});
            at = cut;
        }
        from.push_back({const_cast<uint8_t *>(data.data()) + at, data.size() - at});
        iovec to{base + offset, data.size()};
        Op send, pull;
        uint64_t before = put_bytes();
        base[offset + data.size()] = 0xEE;
        vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, from.data(), from.size(), VBN_AM_PULL,
                                          &send.op);
        run();
        vbn_status_t pulled = proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op);
        run();
        pull.expect(pulled, VBN_OK, data.size());
        send.expect(sent, VBN_OK, data.size());
        EXPECT_EQ(std::memcmp(base + offset, data.data(), data.size()), 0);
        EXPECT_EQ(base[offset + data.size()], 0xEE);
        return put_bytes() - before;
    }
    uint64_t handle_in(const uint8_t *header, size_t at)
    {
        uint64_t handle;
        std::memcpy(&handle, header + at, sizeof(handle));
        return handle;
    }
    void lie(rig_header_t h, int to)
    {
        uint8_t bytes[320];
        rig_inject(rig, to, bytes, rig_encode(&h, bytes), nullptr, 0);
        EXPECT_EQ(rig_failure(rig, to), VBN_ERR_PROTOCOL);
    }
};

TEST_F(ProtoPut, the_first_message_into_a_memory_comes_by_packets_the_next_ones_are_put)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    EXPECT_EQ(message(pattern(100000), 33), 0u);
    for (size_t size : {1000u, 1001u, 65536u, 262144u, 262145u, 1000003u})
        EXPECT_EQ(message(pattern(size), 77), size);
    EXPECT_EQ(message(pattern(50000), 1, {1, 1, 4097, 49999}), 50000u) << "the sender's pieces do not matter";
}

TEST_F(ProtoPut, only_memory_that_was_exported_for_writing_is_put_to)
{
    EXPECT_EQ(message(pattern(100000), 0), 0u);
    EXPECT_EQ(message(pattern(100000), 0), 0u) << "no key";
    ASSERT_TRUE(rig_export(mem, 0, SIZE, VBN_ACCESS_READ));
    EXPECT_EQ(message(pattern(100000), 0), 0u);
    EXPECT_EQ(message(pattern(100000), 0), 0u) << "a key for reading";
    ASSERT_TRUE(rig_export(mem, 4096, 100000, RW));
    EXPECT_EQ(message(pattern(100000), 4096), 0u) << "not mapped yet";
    EXPECT_EQ(message(pattern(100000), 4096), 100000u);
    EXPECT_EQ(message(pattern(100000), 4095), 0u) << "a key for another range";
    EXPECT_EQ(message(pattern(100001), 4096), 0u);
    EXPECT_EQ(message(pattern(1000), 4096 + 99000), 1000u);
}

TEST_F(ProtoPut, tiny_messages_stages_and_buffers_in_pieces_are_not_put)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    EXPECT_EQ(message(pattern(100000), 0), 0u);
    EXPECT_EQ(message(pattern(10), 0), 0u) << "packets cost less";
    Bytes data = pattern(50000);
    iovec iov{data.data(), data.size()}, to[2] = {{base, 20000}, {base + 30000, 30000}};
    for (unsigned flags : {VBN_AM_PULL, VBN_SEND_CHECKSUM}) {
        inbox.items.clear();
        Op send, pull;
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, flags, &send.op), VBN_INPROGRESS);
        run();
        vbn_status_t pulled = proto_am_pull(inbox.items.at(0).remote, to, flags == VBN_AM_PULL ? 2 : 1,
                                            (to[0].iov_len = flags == VBN_AM_PULL ? 20000 : 50000, &pull.op));
        run();
        pull.expect(pulled, VBN_OK, data.size());
        EXPECT_EQ(put_bytes(), 0u);
    }
}

TEST_F(ProtoPut, tagged_receives_are_put_to_whatever_they_waited_for)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    (void)message(pattern(100000), 0);
    for (bool early : {false, true})
        for (bool any : {false, true})
            for (unsigned flags : {0u, VBN_SEND_LZ4}) {
                Bytes data = pattern(70000, 3);
                iovec iov{data.data(), data.size()}, to{base + 5, data.size()};
                vbn_tag_info_t info{};
                Op out, in;
                vbn_peer_t *from = any ? nullptr : rig_peer(rig, 1);
                vbn_status_t received = VBN_INPROGRESS;
                uint64_t before = put_bytes();
                std::memset(base, 0, 80000);
                if (early)
                    received = proto_tag_recv(rig_engine(rig, 1), from, 9, 15, &to, 1, &info, &in.op);
                vbn_status_t sent = proto_tag_send(rig_peer(rig, 0), 9, &iov, 1, flags, &out.op);
                run();
                if (!early)
                    received = proto_tag_recv(rig_engine(rig, 1), from, 9, 15, &to, 1, &info, &in.op);
                run();
                in.expect(received, VBN_OK, data.size());
                out.expect(sent, VBN_OK, data.size());
                EXPECT_EQ(info.length, data.size());
                EXPECT_EQ(put_bytes() - before, flags == 0 ? data.size() : 0);
                EXPECT_EQ(std::memcmp(base + 5, data.data(), data.size()), 0);
            }
}

TEST_F(ProtoPut, many_at_once_in_any_order_all_arrive)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    const char *one = std::getenv("VBN_TEST_SEED");
    uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
    for (uint64_t seed = first; seed < (one != nullptr ? first + 1 : 301); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        constexpr size_t COUNT = 8, SLOT = 200000;
        std::vector<Op> send(COUNT), pull(COUNT);
        std::vector<Bytes> data;
        std::vector<iovec> from(COUNT), to(COUNT);
        inbox.items.clear();
        for (size_t i = 0; i < COUNT; i++) {
            data.push_back(pattern(1 + random() % (SLOT - 1), static_cast<unsigned>(seed + i)));
            from[i] = {data[i].data(), data[i].size()};
            ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &from[i], 1, VBN_AM_PULL, &send[i].op),
                      VBN_INPROGRESS);
        }
        rig_run(rig);
        for (size_t left = COUNT; left > 0; left--) {
            std::vector<size_t> waiting;
            for (size_t i = 0; i < COUNT; i++)
                if (inbox.items.at(i).remote != nullptr)
                    waiting.push_back(i);
            size_t i = waiting[random() % waiting.size()];
            to[i] = {base + i * SLOT, data[i].size()};
            ASSERT_EQ(proto_am_pull(inbox.items[i].remote, &to[i], 1, &pull[i].op), VBN_INPROGRESS);
            inbox.items[i].remote = nullptr;
            for (uint64_t steps = random() % 6; steps > 0; steps--)
                random() % 2 == 0 ? (void)rig_deliver(rig, static_cast<int>(random() % 2)) : (void)rig_progress(rig, 0);
            if (random() % 4 == 0)
                rig_imports_map(rig);
        }
        run();
        for (size_t i = 0; i < COUNT; i++) {
            pull[i].expect(VBN_INPROGRESS, VBN_OK, data[i].size());
            send[i].expect(VBN_INPROGRESS, VBN_OK, data[i].size());
            ASSERT_EQ(std::memcmp(base + i * SLOT, data[i].data(), data[i].size()), 0) << i;
        }
    }
    EXPECT_GT(put_bytes(), 0u);
}

TEST_F(ProtoPut, a_peer_lost_in_the_middle_completes_both_sides_once)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    (void)message(pattern(100000), 0);
    Bytes data = pattern(1000000);
    iovec iov{data.data(), data.size()}, to{base, data.size()};
    Op send, pull;
    uint64_t before = put_bytes();
    inbox.items.clear();
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
    rig_run(rig);
    ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
    ASSERT_TRUE(rig_deliver(rig, 0));
    ASSERT_TRUE(rig_progress(rig, 0));
    EXPECT_GT(put_bytes(), before);
    EXPECT_EQ(send.calls, 0);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    rig_kill(rig, 1, VBN_ERR_PEER_LOST);
    EXPECT_EQ(send.calls, 1);
    EXPECT_EQ(send.op.status, VBN_ERR_PEER_LOST);
    EXPECT_EQ(pull.calls, 1);
    EXPECT_EQ(pull.op.status, VBN_ERR_PEER_LOST);
    EXPECT_FALSE(rig_busy(rig, 0));
}

/* -------------------------------------------------------------------------------------------------- lies */

TEST_F(ProtoPut, done_without_having_been_asked_to_put_is_blamed)
{
    Bytes data = pattern(50000), got(50000); /* not in memory that can be mapped */
    iovec iov{data.data(), data.size()}, to{got.data(), got.size()};
    Op send, pull;
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
    rig_run(rig);
    ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
    uint8_t header[320];
    Bytes payload(70000);
    uint32_t bytes;
    ASSERT_GT(rig_take(rig, 0, header, payload.data(), &bytes), 0u);
    ASSERT_EQ(header[0], PULL);
    rig_header_t h{};
    h.type = STATUS;
    h.last = 1;
    h.op = handle_in(header, 16);
    h.length = data.size();
    lie(h, 1);
    EXPECT_EQ(pull.op.status, VBN_ERR_PROTOCOL);
    rig_kill(rig, 0, VBN_ERR_CLOSED);
}

TEST_F(ProtoPut, done_with_another_length_or_after_data_is_blamed)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    for (uint64_t length : {49999u, 0u}) {
        Bytes data = pattern(50000);
        iovec iov{data.data(), data.size()}, to{base, data.size()};
        Op send, pull;
        inbox.items.clear();
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
        rig_run(rig);
        ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
        uint8_t header[320];
        Bytes payload(70000);
        uint32_t bytes;
        ASSERT_GT(rig_take(rig, 0, header, payload.data(), &bytes), 0u);
        ASSERT_EQ(header[0], PULL_PUT);
        rig_header_t h{};
        h.type = STATUS;
        h.last = 1;
        h.op = handle_in(header, 16);
        h.length = length;
        lie(h, 1);
        rig_kill(rig, 0, VBN_ERR_CLOSED);
        TearDown();
        SetUp();
        ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    }
}

TEST_F(ProtoPut, nothing_is_written_once_the_receiver_has_taken_its_memory_back)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    (void)message(pattern(1000), 0);
    ASSERT_EQ(message(pattern(1000), 0), 1000u) << "mapped";
    Bytes data = pattern(1000000), before(base, base + SIZE);
    iovec from{data.data(), data.size()}, to{base, data.size()};
    Op send, pull;
    inbox.items.clear();
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &from, 1, VBN_AM_PULL, &send.op), VBN_INPROGRESS);
    rig_run(rig);
    ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
    rig_shut(rig, 1);
    rig_run(rig);
    EXPECT_EQ(std::memcmp(base, before.data(), SIZE), 0);
    EXPECT_EQ(pull.op.complete, 0);
    rig_kill(rig, 0, VBN_ERR_CLOSED); /* ends what lies on this stack */
    rig_kill(rig, 1, VBN_ERR_CLOSED);
}

TEST_F(ProtoPut, a_place_where_the_message_does_not_fit_is_blamed)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    Bytes data = pattern(50000);
    iovec iov{data.data(), data.size()}, to{base, data.size()};
    for (uint64_t beyond : {uint64_t{1}, uint64_t{SIZE}}) {
        Op send, pull;
        inbox.items.clear();
        ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
        rig_run(rig);
        ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
        uint8_t header[320];
        Bytes payload(70000);
        uint32_t bytes, count = rig_take(rig, 0, header, payload.data(), &bytes);
        ASSERT_EQ(header[0], PULL_PUT);
        uint64_t offset = SIZE - data.size() + beyond; /* prefix, op, target, key, then offset */
        std::memcpy(header + 32, &offset, sizeof(offset));
        rig_inject(rig, 0, header, count, nullptr, 0);
        EXPECT_EQ(rig_failure(rig, 0), VBN_ERR_PROTOCOL);
        EXPECT_EQ(send.op.status, VBN_ERR_PROTOCOL);
        rig_kill(rig, 1, VBN_ERR_CLOSED);
        TearDown();
        SetUp();
        ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
        to.iov_base = base;
    }
}

TEST_F(ProtoPut, asking_twice_is_blamed)
{
    ASSERT_TRUE(rig_export(mem, 0, SIZE, RW));
    (void)message(pattern(100000), 0);
    Bytes data = pattern(1000000);
    iovec iov{data.data(), data.size()}, to{base, data.size()};
    Op send, pull;
    inbox.items.clear();
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, 0, &send.op), VBN_INPROGRESS);
    rig_run(rig);
    ASSERT_EQ(proto_am_pull(inbox.items.at(0).remote, &to, 1, &pull.op), VBN_INPROGRESS);
    uint8_t header[320];
    Bytes payload(70000);
    uint32_t bytes, count = rig_take(rig, 0, header, payload.data(), &bytes);
    rig_inject(rig, 0, header, count, nullptr, 0);
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    rig_inject(rig, 0, header, count, nullptr, 0);
    EXPECT_EQ(rig_failure(rig, 0), VBN_ERR_PROTOCOL);
    EXPECT_EQ(send.calls, 1);
    rig_kill(rig, 1, VBN_ERR_CLOSED);
}

} // namespace
