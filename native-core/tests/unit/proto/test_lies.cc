// SPDX-License-Identifier: Apache-2.0
// test_lies.cc - a peer that lies in every field: an honest exchange of every operation is repeated, each time with
// one field of one packet changed. The fields are those of proto_wire.h: the prefix, then words of 64 bits. Whatever
// the lie, every operation of both sides ends once, memory outside of the key is untouched, and both engines can be
// closed.
#include <algorithm>
#include <memory>

#include "fixture.h"

namespace {

constexpr size_t SIZE = 40000, KEY_AT = 1000, KEY_BYTES = 20000, PREFIX = 8;

struct Field {
    size_t at, bytes;
};

std::vector<Field> fields_of(const uint8_t *header, size_t count)
{
    size_t user = static_cast<size_t>(header[2]) | static_cast<size_t>(header[3]) << 8;
    std::vector<Field> fields = {{0, 1}, {1, 1}, {2, 2}, {4, 2}, {6, 2}};
    for (size_t at = PREFIX; at + 8 <= count - user; at += 8)
        fields.push_back({at, 8});
    return fields;
}

/* What is put in place of a true value. */
std::vector<uint64_t> lies_about(uint64_t value)
{
    return {0,         1,          value + 1,      value - 1,  value ^ 1ull << 32,
            value * 2, UINT64_MAX, UINT64_MAX / 2, 1ull << 31, KEY_BYTES};
}

class Exchange {
public:
    rig_t *rig;
    vbn_mem_t *mem;
    vbn_key_t *key;
    uint8_t *memory;
    std::vector<std::unique_ptr<Op>> ops; /* issued, of both sides */
    std::vector<vbn_status_t> results;
    Bytes data = pattern(9000), got = Bytes(9000), pulled = Bytes(9000), received = Bytes(9000), strided = Bytes(9000);
    uint64_t before = 0;
    vbn_strided_t out{data.data(), 40, 50, 80, 100}, in{strided.data(), 40, 50, 80, 100};
    iovec large{data.data(), 9000}, small{data.data(), 100}, into{got.data(), 9000}, tagged{received.data(), 9000},
        room{pulled.data(), 9000};
    vbn_signal_t signal{};

    explicit Exchange(const rig_options_t &options) : rig(rig_open(&options))
    {
        EXPECT_EQ(rig_handler(rig, 1, 5, arrived, this), VBN_OK);
        mem = rig_mem(rig, 1, SIZE);
        memory = static_cast<uint8_t *>(rig_mem_address(mem));
        std::memset(memory, 0xAA, SIZE);
        key = rig_import(rig, 0, mem, KEY_AT, KEY_BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE);
        signal = {key, 0, VBN_ATOMIC_ADD, 1};
    }
    ~Exchange()
    {
        proto_key_release(key);
        rig_mem_free(mem);
        rig_close(rig);
    }
    Exchange(const Exchange &) = delete;
    Exchange &operator=(const Exchange &) = delete;

    vbn_op_t *op()
    {
        ops.push_back(std::make_unique<Op>());
        results.push_back(VBN_ERR_INVALID);
        return &ops.back()->op;
    }
    void issued(size_t index, vbn_status_t status) { results[index] = status; }
    static void arrived(void *arg, const vbn_am_message_t *m)
    {
        auto *self = static_cast<Exchange *>(arg);
        if (m->remote == nullptr)
            return;
        size_t index = self->ops.size();
        vbn_op_t *op = self->op();
        self->issued(index, proto_am_pull(m->remote, &self->room, 1, op));
        if (self->results[index] < 0)
            proto_am_drop(m->remote); /* longer than there is room */
    }
    void start()
    {
        vbn_peer_t *peer = rig_peer(rig, 0);
        vbn_op_t *o[13];
        for (auto &each : o)
            each = op();
        issued(0, proto_tag_recv(rig_engine(rig, 1), rig_peer(rig, 1), 7, UINT64_MAX, &tagged, 1, nullptr, o[0]));
        issued(1, proto_tag_recv(rig_engine(rig, 1), rig_peer(rig, 1), 8, UINT64_MAX, &tagged, 1, nullptr, o[1]));
        issued(2, proto_am_send(peer, 5, "head", 4, &small, 1, 0, o[2]));
        issued(3, proto_am_send(peer, 5, "head", 4, &large, 1, 0, o[3]));
        issued(4, proto_tag_send(peer, 7, &small, 1, VBN_TAG_SYNC, o[4]));
        issued(5, proto_tag_send(peer, 8, &large, 1, 0, o[5]));
        issued(6, proto_put(key, 100, &large, 1, o[6]));
        issued(7, proto_get(key, 100, &into, 1, o[7]));
        issued(8, proto_atomic(key, 8, VBN_ATOMIC_CAS, 8, 5, 6, &before, o[8]));
        issued(9, proto_put_signal(key, 100, &large, 1, &signal, o[9]));
        issued(10, proto_put_strided(key, 10000, &out, o[10]));
        issued(11, proto_get_strided(key, 10000, &in, o[11]));
        issued(12, proto_flush(peer, o[12]));
    }
    /* Lets all packets move; instead of number `packet` comes what change() makes of it. Returns how many moved. */
    template <typename Change> unsigned run(unsigned packet, Change change)
    {
        unsigned moved = 0;
        for (bool any = true; any;) {
            any = false;
            for (int to : {1, 0}) {
                uint8_t header[320];
                static uint8_t payload[16384];
                uint32_t payload_bytes = 0, bytes = 0;
                if (moved == packet && (bytes = rig_take(rig, to, header, payload, &payload_bytes)) > 0) {
                    change(header, bytes);
                    rig_inject(rig, to, header, bytes, payload, payload_bytes);
                }
                if (bytes > 0 || rig_deliver(rig, to)) {
                    moved++;
                    any = true;
                }
            }
        }
        rig_run(rig); /* what waits for its turn */
        return moved;
    }
    /* True when all is as it must be after any lie. */
    bool ends_well()
    {
        rig_kill(rig, 0, VBN_ERR_PEER_LOST);
        rig_kill(rig, 1, VBN_ERR_PEER_LOST);
        for (size_t i = 0; i < ops.size(); i++)
            if (results[i] >= 0 && (ops[i]->op.complete != 1 || ops[i]->calls != (results[i] == VBN_OK ? 0 : 1)))
                return false;
        auto untouched = [](uint8_t byte) { return byte == 0xAA; };
        return std::all_of(memory, memory + KEY_AT, untouched) &&
               std::all_of(memory + KEY_AT + KEY_BYTES, memory + SIZE, untouched);
    }
};

class ProtoLies : public Proto {};

TEST_P(ProtoLies, in_any_field_of_any_packet_harm_nobody_but_the_liar)
{
    unsigned lies = 0, blamed = 0, packets;
    {
        Exchange honest(options);
        honest.start();
        packets = honest.run(UINT32_MAX, [](uint8_t *, uint32_t) {});
        EXPECT_EQ(rig_failure(honest.rig, 0), VBN_OK);
        EXPECT_EQ(rig_failure(honest.rig, 1), VBN_OK);
        for (auto &each : honest.ops)
            EXPECT_EQ(each->op.status, VBN_OK);
        EXPECT_TRUE(honest.ends_well());
    }
    ASSERT_GT(packets, 25u);
    for (unsigned packet = 0; packet < packets; packet++) {
        for (size_t field = 0, fields = 1, lie = 0, kinds = 1; field < fields;
             lie + 1 < kinds ? lie++ : (lie = 0, field++)) {
            Exchange exchange(options);
            exchange.start();
            exchange.run(packet, [&](uint8_t *header, uint32_t count) {
                auto all = fields_of(header, count);
                fields = all.size();
                uint64_t value = 0;
                std::memcpy(&value, header + all[field].at, all[field].bytes);
                auto values = lies_about(value);
                kinds = values.size();
                std::memcpy(header + all[field].at, &values[lie], all[field].bytes);
            });
            lies++;
            blamed += rig_failure(exchange.rig, 0) == VBN_ERR_PROTOCOL ||
                      rig_failure(exchange.rig, 1) == VBN_ERR_PROTOCOL;
            ASSERT_TRUE(exchange.ends_well()) << "packet " << packet << ", field " << field << ", lie " << lie;
        }
    }
    EXPECT_GT(blamed, lies / 3);
    std::printf("%u packets, %u lies, %u blamed at once\n", packets, lies, blamed);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoLies, ::testing::Values(MODES[0], MODES[1]), mode_name);

} // namespace
