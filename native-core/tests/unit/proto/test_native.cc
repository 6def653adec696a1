// SPDX-License-Identifier: Apache-2.0
// test_native.cc - gets and puts that devices carry out, over devices that work one transfer at a time, break and refuse:
// data, order, signals, keys that are released or revoked meanwhile.
#include <functional>
#include <memory>
#include <random>

#include "fixture.h"

namespace {

constexpr size_t SIZE = 60000;
constexpr unsigned STATUS = 5, KEY_ASK = 21, KEY_TELL = 22, LANE_END = 23;
constexpr uint64_t CONNECTION = 77; /* the rig's first */

class Native : public ::testing::Test {
protected:
    rig_options_t options = pinned_options();
    rig_t *rig = nullptr;
    vbn_mem_t *mem = nullptr;
    vbn_key_t *key = nullptr;
    uint8_t *memory = nullptr;
    Bytes data = pattern(SIZE, 3);

    void SetUp() override
    {
        options.devices = true;
        rig = rig_open(&options);
        mem = rig_mem(rig, 1, SIZE);
        memory = static_cast<uint8_t *>(rig_mem_address(mem));
        key = rig_import(rig, 0, mem, 0, SIZE, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        ASSERT_NE(key, nullptr);
        get(1); /* asks the owner how its device serves the key */
        ASSERT_EQ(rig_counter(rig, 0, "get.native.bytes"), 0u);
    }
    void TearDown() override
    {
        if (key != nullptr)
            proto_key_release(key);
        if (mem != nullptr)
            rig_mem_free(mem);
        rig_close(rig);
    }
    void get(size_t length, size_t offset = 0)
    {
        Op op;
        Bytes got(length);
        iovec iov{got.data(), length};
        vbn_status_t status = proto_get(key, offset, &iov, 1, &op.op);
        rig_run(rig);
        op.expect(status, VBN_OK, length);
        EXPECT_EQ(std::memcmp(got.data(), memory + offset, length), 0);
    }
};

TEST_F(Native, operations_reach_memory_past_the_packets_in_as_many_pieces_as_the_device_likes)
{
    for (size_t length : {1u, 2999u, 3000u, 3001u, 12000u, 50001u}) {
        Op op;
        iovec lists[3] = {
            {data.data(), length / 3}, {data.data() + 100, 0}, {data.data() + length / 3, length - length / 3}};
        vbn_status_t status = proto_put(key, 777, lists, 3, &op.op);
        rig_run(rig);
        op.expect(status, VBN_OK, length);
        ASSERT_EQ(std::memcmp(memory + 777, data.data(), length), 0);
        get(length, 333);
    }
    EXPECT_EQ(rig_counter(rig, 0, "put.stream.bytes"), 0u);
    EXPECT_EQ(rig_counter(rig, 0, "get.stream.bytes"), 1u);
    EXPECT_EQ(rig_counter(rig, 0, "native.redone"), 0u);
}

TEST_F(Native, what_packets_must_do_they_do)
{
    Op put, get_blocks, nothing, add;
    uint64_t before = 0;
    vbn_strided_t blocks{data.data(), 40, 50, 80, 100};
    iovec none{data.data(), 0};
    vbn_status_t s1 = proto_put_strided(key, 0, &blocks, &put.op),
                 s2 = proto_get_strided(key, 0, &blocks, &get_blocks.op);
    vbn_status_t s3 = proto_put(key, 0, &none, 1, &nothing.op);
    vbn_status_t s4 = proto_atomic(key, 8, VBN_ATOMIC_ADD, 8, 1, 0, &before, &add.op);
    rig_run(rig);
    put.expect(s1, VBN_OK, 2000);
    get_blocks.expect(s2, VBN_OK, 2000);
    nothing.expect(s3, VBN_OK, 0);
    add.expect(s4, VBN_OK, 8);
    EXPECT_EQ(rig_counter(rig, 0, "put.native.bytes") + rig_counter(rig, 0, "get.native.bytes"), 0u);
}

/* At each step packets or the device move, by chance; whatever the order, nothing overtakes a fence. */
TEST_F(Native, nothing_overtakes_a_fence_in_any_order_of_packets_and_transfers)
{
    for (unsigned seed = 1; seed <= 300; seed++) {
        std::mt19937_64 random(seed);
        std::vector<std::unique_ptr<Op>> ops;
        std::vector<uint64_t> values(8);
        std::vector<iovec> iovs(8);
        std::vector<vbn_strided_t> blocks(8);
        uint64_t *words = reinterpret_cast<uint64_t *>(memory);
        std::memset(memory, 0, 64);
        for (unsigned i = 0; i < 8; i++) {
            ops.push_back(std::make_unique<Op>());
            values[i] = 1;
            iovs[i] = {&values[i], 8};
            blocks[i] = {&values[i], 8, 1, 8, 8};
            unsigned what = static_cast<unsigned>(random() % 3);
            vbn_status_t status = what == 0   ? proto_put(key, i * 8, &iovs[i], 1, &ops[i]->op)
                                  : what == 1 ? proto_put_strided(key, i * 8, &blocks[i], &ops[i]->op)
                                              : proto_atomic(key, i * 8, VBN_ATOMIC_ADD, 8, 1, 0, nullptr, &ops[i]->op);
            ASSERT_EQ(status, VBN_INPROGRESS);
            ASSERT_EQ(proto_fence(rig_engine(rig, 0)), VBN_OK);
        }
        for (unsigned idle = 0; idle < 200; idle++) {
            unsigned what = static_cast<unsigned>(random() % 4);
            bool moved = what == 0   ? rig_devices_turn(rig)
                         : what == 3 ? rig_progress(rig, 0)
                                     : rig_deliver(rig, what - 1);
            idle = moved ? 0 : idle;
            for (unsigned i = 1; i < 8; i++)
                ASSERT_LE(words[i], words[i - 1]) << "seed " << seed << ", word " << i;
        }
        for (auto &op : ops)
            ASSERT_EQ(op->op.status, VBN_OK) << "seed " << seed;
        ASSERT_EQ(words[7], 1u);
    }
    EXPECT_GT(rig_counter(rig, 0, "put.native.bytes"), 500u); /* what waited for a fence goes by packets */
}

TEST_F(Native, a_get_after_a_fence_brings_what_was_put_before_it)
{
    for (unsigned seed = 1; seed <= 100; seed++) {
        std::mt19937_64 random(seed);
        Op put, get_it;
        Bytes what = pattern(9000, seed), got(9000);
        iovec from{what.data(), 9000}, to{got.data(), 9000};
        ASSERT_EQ(proto_put(key, 0, &from, 1, &put.op), VBN_INPROGRESS);
        ASSERT_EQ(proto_fence(rig_engine(rig, 0)), VBN_OK);
        ASSERT_EQ(proto_get(key, 0, &to, 1, &get_it.op), VBN_INPROGRESS);
        for (unsigned i = 0; i < 1000; i++) {
            unsigned next = static_cast<unsigned>(random() % 4);
            (void)(next == 0 ? rig_devices_turn(rig) : next == 3 ? rig_progress(rig, 0) : rig_deliver(rig, next - 1));
        }
        rig_run(rig);
        ASSERT_EQ(get_it.op.status, VBN_OK);
        ASSERT_EQ(what, got);
    }
}

TEST_F(Native, the_signal_comes_when_the_data_is_there_and_once_whatever_breaks)
{
    for (unsigned at = 0; at < 8; at++) {
        Op op;
        uint64_t *word = reinterpret_cast<uint64_t *>(memory + 50000);
        *word = 0;
        std::memset(memory, 0, 12000);
        iovec iov{data.data(), 12000};
        vbn_signal_t signal{key, 50000, VBN_ATOMIC_ADD, 1};
        vbn_status_t status = proto_put_signal(key, 0, &iov, 1, &signal, &op.op);
        for (unsigned i = 0; i < at; i++)
            (void)rig_devices_turn(rig);
        ASSERT_EQ(*word, 0u);
        if (at < 7)
            rig_break_devices(rig);
        rig_run(rig);
        op.expect(status, VBN_OK, 12000);
        ASSERT_EQ(*word, 1u) << at;
        ASSERT_EQ(std::memcmp(memory, data.data(), 12000), 0);
        get(1); /* asks for the key again */
    }
}

TEST_F(Native, a_put_that_broke_writes_again_only_when_the_owner_has_closed_the_connection)
{
    Op op;
    iovec iov{data.data(), 12000};
    ASSERT_EQ(proto_put(key, 0, &iov, 1, &op.op), VBN_INPROGRESS);
    ASSERT_TRUE(rig_devices_turn(rig));
    rig_break_devices(rig);
    EXPECT_EQ(op.calls, 0) << "a user must not be called from within the link";
    uint8_t header[320], payload[8192];
    uint32_t bytes = 0, payload_bytes = 0;
    EXPECT_TRUE(rig_progress(rig, 0));
    bytes = rig_take(rig, 1, header, payload, &payload_bytes);
    ASSERT_GT(bytes, 0u);
    EXPECT_EQ(header[0], LANE_END);
    EXPECT_EQ(rig_take(rig, 1, header + 64, payload, &payload_bytes), 0u);
    rig_inject(rig, 1, header, bytes, payload, 0);
    rig_run(rig);
    op.expect(VBN_INPROGRESS, VBN_OK, 12000);
    EXPECT_EQ(std::memcmp(memory, data.data(), 12000), 0);
    EXPECT_EQ(rig_counter(rig, 0, "native.redone"), 1u);
}

TEST_F(Native, a_key_may_be_released_and_its_memory_freed_while_devices_work)
{
    Op get_it, put;
    Bytes got(40000);
    iovec to{got.data(), 40000}, from{data.data(), 12000};
    ASSERT_EQ(proto_get(key, 0, &to, 1, &get_it.op), VBN_INPROGRESS);
    ASSERT_EQ(proto_put(key, 0, &from, 1, &put.op), VBN_INPROGRESS);
    proto_key_release(key);
    key = nullptr;
    (void)rig_devices_turn(rig);
    rig_mem_free(mem);
    mem = nullptr;
    rig_run(rig);
    EXPECT_EQ(get_it.op.status, VBN_ERR_STALE);
    EXPECT_EQ(put.op.status, VBN_ERR_STALE);
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
}

TEST_F(Native, a_key_that_is_released_while_the_owner_is_asked_harms_nobody)
{
    vbn_key_t *other = rig_import(rig, 0, mem, 100, 200, VBN_ACCESS_READ);
    Op op;
    Bytes got(200);
    iovec iov{got.data(), 200};
    ASSERT_EQ(proto_get(other, 0, &iov, 1, &op.op), VBN_INPROGRESS);
    proto_key_release(other);
    rig_run(rig);
    op.expect(VBN_INPROGRESS, VBN_OK, 200);
}

TEST_F(Native, the_end_of_the_peer_ends_what_devices_have_under_way)
{
    Op get_it, put;
    Bytes got(40000);
    iovec to{got.data(), 40000}, from{data.data(), 40000};
    ASSERT_EQ(proto_get(key, 0, &to, 1, &get_it.op), VBN_INPROGRESS);
    ASSERT_EQ(proto_put(key, 0, &from, 1, &put.op), VBN_INPROGRESS);
    (void)rig_devices_turn(rig);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    EXPECT_EQ(get_it.calls, 1);
    EXPECT_EQ(put.calls, 1);
    EXPECT_EQ(put.op.status, VBN_ERR_PEER_LOST);
}

/* What the peer answers to such a packet: its first byte, and with STATUS its code; 0: nothing. */
unsigned answer(rig_t *rig, const rig_header_t &header, unsigned *code_p)
{
    uint8_t bytes[320], payload[8192];
    uint32_t payload_bytes = 0, length = rig_encode(&header, bytes);
    rig_inject(rig, 1, bytes, length, payload, 0);
    uint32_t count = rig_take(rig, 0, bytes, payload, &payload_bytes);
    *code_p = bytes[1];
    return count == 0 ? 0 : bytes[0];
}

TEST_F(Native, a_question_is_answered_for_keys_and_connections_that_exist)
{
    unsigned code;
    rig_header_t ask{KEY_ASK, 0, 0, 5, CONNECTION, rig_key_handle(key), 0, 0, 0, 0};
    EXPECT_EQ(answer(rig, ask, &code), KEY_TELL);
    ask.target++;
    EXPECT_EQ(answer(rig, ask, &code), STATUS);
    EXPECT_EQ(code, static_cast<unsigned>(-VBN_ERR_UNSUPPORTED));
    ask.target--;
    ask.key++;
    EXPECT_EQ(answer(rig, ask, &code), STATUS);
    EXPECT_EQ(code, static_cast<unsigned>(-VBN_ERR_STALE));
    EXPECT_EQ(answer(rig, {LANE_END, 0, 0, 5, CONNECTION + 9, 0, 0, 0, 0, 0}, &code), STATUS);
    EXPECT_EQ(code, 0u);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
    get(100); /* the connection is still there */
    EXPECT_EQ(rig_counter(rig, 0, "get.native.bytes"), 100u);
    EXPECT_EQ(answer(rig, {KEY_ASK, 0, 0, 5, 0, rig_key_handle(key), 0, 0, 0, 0}, &code), 0u);
    EXPECT_EQ(rig_failure(rig, 1), VBN_ERR_PROTOCOL);
}

/* An answer to the question about a second key, as changed by the test. */
void tell(rig_t *rig, vbn_mem_t *mem, const std::function<void(rig_header_t &)> &change)
{
    vbn_key_t *second = rig_import(rig, 0, mem, 0, 5000, VBN_ACCESS_READ);
    Op op;
    Bytes got(5000);
    iovec iov{got.data(), 5000};
    uint8_t bytes[320], payload[8192];
    uint32_t payload_bytes = 0;
    vbn_status_t status = proto_get(second, 0, &iov, 1, &op.op);
    ASSERT_GT(rig_take(rig, 1, bytes, payload, &payload_bytes), 0u);
    ASSERT_EQ(bytes[0], KEY_ASK);
    rig_header_t header{KEY_TELL, 0, 0, 0, 0, 100, 4096, 0, 0, 0};
    std::memcpy(&header.op, bytes + 8, 8);
    change(header);
    rig_inject(rig, 0, bytes, rig_encode(&header, bytes), payload, 0);
    rig_run(rig);
    EXPECT_EQ(op.calls, status == VBN_INPROGRESS ? 1 : 0);
    proto_key_release(second);
}

TEST_F(Native, answers_that_cannot_be_end_the_liar)
{
    const std::function<void(rig_header_t &)> lies[] = {
        [](rig_header_t &h) { h.op++; }, [](rig_header_t &h) { h.op += 2; },
        [](rig_header_t &h) { h.key = uint64_t{1} << 32; }, [](rig_header_t &h) { h.offset = UINT64_MAX - 4999; },
        [](rig_header_t &h) { h.code = 1; }};
    for (const auto &lie : lies) {
        tell(rig, mem, lie);
        EXPECT_EQ(rig_failure(rig, 0), VBN_ERR_PROTOCOL);
        TearDown();
        SetUp();
    }
    tell(rig, mem, [](rig_header_t &) {}); /* wrong, but only the owner's device can tell */
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
}

TEST_F(Native, explain_says_who_does_it)
{
    char text[1024];
    (void)proto_explain_call(rig_peer(rig, 0), VBN_CALL_GET, 1 << 20, text, sizeof(text));
    EXPECT_NE(std::string(text).find("carried out by the devices of both sides"), std::string::npos) << text;
    EXPECT_NE(std::string(text).find("estimated: RDMA"), std::string::npos) << text;
    (void)proto_explain_call(rig_peer(rig, 0), VBN_CALL_ATOMIC, 8, text, sizeof(text));
    EXPECT_EQ(std::string(text).find("device"), std::string::npos) << text;
}

} // namespace
