// SPDX-License-Identifier: Apache-2.0
// test_stage.cc - messages through stages: checksum and compression, agreed upon per message; damage and lies.
#include <algorithm>
#include <random>

#include "fixture.h"

extern "C" {
#include "proto/stage.h"
}

namespace {

enum { DATA_STAGED = GET_BLOCKS + 1 };

Bytes noise(size_t length, unsigned seed = 1)
{
    std::mt19937_64 random(seed);
    Bytes data(length);
    for (auto &byte : data)
        byte = static_cast<uint8_t>(random());
    return data;
}

/* Half of it is noise: compressed, many of them stay as they are, so that damage to one still unpacks. */
Bytes words(size_t length)
{
    Bytes data = noise(length);
    for (size_t i = 0; i < length; i += 16)
        std::memset(data.data() + i, 0, std::min<size_t>(8, length - i));
    return data;
}

const unsigned FLAGS[] = {VBN_SEND_CHECKSUM, VBN_SEND_LZ4, VBN_SEND_ZSTD, VBN_SEND_CHECKSUM | VBN_SEND_LZ4,
                          VBN_SEND_CHECKSUM | VBN_SEND_ZSTD};

/* ------------------------------------------------------------------------------------------- chunks */

struct Box {
    stage_box_t box{};
    ~Box() { stage_box_free(&box); }
};

TEST(StageChunk, comes_out_as_it_went_in_or_is_not_packed)
{
    Box box;
    for (auto form : {STAGE_FORM_LZ4, STAGE_FORM_ZSTD})
        for (uint32_t size : {1u, 2u, 3u, 64u, 4096u, STAGE_CHUNK - 1, STAGE_CHUNK})
            for (bool random : {false, true}) {
                Bytes data = random ? noise(size) : Bytes(size, 7), packed(size), out(size);
                uint32_t bytes = stage_pack(&box.box, form, data.data(), size, packed.data());
                EXPECT_LT(bytes, size);
                EXPECT_EQ(bytes > 0, !random && size >= 64) << size;
                if (bytes > 0) {
                    Bytes exact(packed.begin(), packed.begin() + bytes);
                    ASSERT_TRUE(stage_unpack(&box.box, form, exact.data(), bytes, out.data(), size));
                    EXPECT_EQ(out, data);
                }
            }
    Bytes big(STAGE_CHUNK + 1, 7), room(STAGE_CHUNK + 1);
    EXPECT_EQ(stage_pack(&box.box, STAGE_FORM_LZ4, big.data(), STAGE_CHUNK + 1, room.data()), 0u);
    EXPECT_EQ(stage_pack(&box.box, STAGE_PLAIN, big.data(), 100, room.data()), 0u);
}

TEST(StageChunk, is_refused_at_any_other_length_than_announced)
{
    Box box;
    Bytes data(10000, 7), packed(10000);
    for (auto form : {STAGE_FORM_LZ4, STAGE_FORM_ZSTD}) {
        uint32_t bytes = stage_pack(&box.box, form, data.data(), 10000, packed.data());
        ASSERT_GT(bytes, 0u);
        for (uint32_t plain : {bytes, bytes + 1, 9999u, 10001u, STAGE_CHUNK, STAGE_CHUNK + 1}) {
            Bytes out(plain); /* exact, so that AddressSanitizer sees a write beyond */
            EXPECT_FALSE(stage_unpack(&box.box, form, packed.data(), bytes, out.data(), plain)) << plain;
        }
        for (uint32_t cut = 0; cut < bytes; cut++) {
            Bytes out(10000), part(packed.begin(), packed.begin() + cut);
            EXPECT_FALSE(stage_unpack(&box.box, form, part.data(), cut, out.data(), 10000)) << cut;
        }
    }
}

TEST(StageChunk, sets_of_stages_have_at_most_one_compressor)
{
    EXPECT_TRUE(stage_valid(0));
    EXPECT_TRUE(stage_valid(STAGE_CHECKSUM | STAGE_LZ4));
    EXPECT_FALSE(stage_valid(STAGE_LZ4 | STAGE_ZSTD));
    EXPECT_FALSE(stage_valid(8));
    EXPECT_TRUE(stage_is_poor(1000, 900));
    EXPECT_FALSE(stage_is_poor(1000, 899));
    EXPECT_TRUE(stage_is_poor(1000, 0));
}

/* ----------------------------------------------------------------------------------------- messages */

class ProtoStage : public Proto {
protected:
    void SetUp() override
    {
        options.packet_max = 70000;
        options.stream_chunk = 65536;
        Proto::SetUp();
    }
    uint64_t count(int side, const char *name) { return rig_counter(rig, side, name); }
};

TEST_P(ProtoStage, messages_of_all_sizes_arrive_through_all_stages)
{
    for (unsigned flags : FLAGS)
        for (size_t size : {0u, 1u, 500u, 1024u, 1025u, 32768u, 32769u, 65536u, 65537u, 300001u}) {
            message_arrives(pattern(7), Bytes(size, 9), flags | VBN_AM_PULL);
            message_arrives(pattern(7), noise(size), flags | VBN_AM_PULL);
        }
}

TEST_P(ProtoStage, a_checksum_is_never_left_out_because_a_message_is_small)
{
    message_arrives({}, Bytes(10, 3), VBN_SEND_CHECKSUM);
    EXPECT_EQ(count(0, "stage.plain.bytes"), 10u);
    message_arrives({}, Bytes(10, 3), VBN_SEND_LZ4 | VBN_AM_PULL);
    EXPECT_EQ(count(0, "stage.plain.bytes"), 20u);
}

TEST_P(ProtoStage, compression_sends_less_and_is_given_up_when_it_does_not)
{
    for (unsigned flags : {VBN_SEND_LZ4, VBN_SEND_ZSTD}) {
        open();
        message_arrives({}, Bytes(1 << 20, 9), flags | VBN_AM_PULL);
        EXPECT_EQ(count(0, "stage.plain.bytes"), 1u << 20);
        EXPECT_LT(count(0, "stage.sent.bytes"), 1u << 14);
        open();
        message_arrives({}, noise(1 << 20), flags | VBN_AM_PULL);
        EXPECT_EQ(count(0, "stage.plain.bytes"), 32768u) << "the first chunk only";
        EXPECT_EQ(count(0, "stage.sent.bytes"), 32768u);
        open();
        Bytes half = noise(1 << 20); /* first chunk good, some later ones not */
        std::fill(half.begin(), half.begin() + 40000, static_cast<uint8_t>(1));
        message_arrives({}, half, flags | VBN_AM_PULL);
        EXPECT_EQ(count(0, "stage.plain.bytes"), 1u << 20);
        EXPECT_LT(count(0, "stage.sent.bytes"), 1u << 20);
    }
}

TEST_P(ProtoStage, lists_of_pieces_go_through_stages_on_both_sides)
{
    Bytes data = pattern(200000), got(200000);
    std::vector<iovec> from, to;
    for (size_t at = 0, step = 1; at < data.size(); at += step, step = (step * 7 + 3) % 3001 + 1) {
        size_t take = std::min(step, data.size() - at);
        from.push_back({data.data() + at, take});
        to.insert(to.begin(), {nullptr, 0});
    }
    to.push_back({got.data(), 70001});
    to.push_back({got.data() + 70001, got.size() - 70001});
    for (unsigned flags : FLAGS) {
        inbox.items.clear();
        std::fill(got.begin(), got.end(), static_cast<uint8_t>(0));
        Op send, pull;
        vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, from.data(), from.size(),
                                          flags | VBN_AM_PULL, &send.op);
        run();
        vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, to.data(), to.size(), &pull.op);
        run();
        pull.expect(pulled, VBN_OK, data.size());
        send.expect(sent, VBN_OK, data.size());
        EXPECT_TRUE(got == data);
    }
}

struct Packed {
    Bytes bytes;
    size_t next = 0;
    vbn_pack_t calls;
    explicit Packed(Bytes b) : bytes(std::move(b)) { calls = {pack, unpack, this, bytes.size()}; }
    static void pack(void *arg, size_t offset, void *to, size_t length)
    {
        auto *self = static_cast<Packed *>(arg);
        EXPECT_EQ(offset, self->next);
        std::memcpy(to, self->bytes.data() + offset, length);
        self->next = offset + length;
    }
    static void unpack(void *arg, size_t offset, const void *from, size_t length)
    {
        auto *self = static_cast<Packed *>(arg);
        EXPECT_EQ(offset, self->next);
        std::memcpy(self->bytes.data() + offset, from, length);
        self->next = offset + length;
    }
};

TEST_P(ProtoStage, packed_data_goes_through_stages_each_byte_once)
{
    for (unsigned flags : FLAGS)
        for (const Bytes &data : {Bytes(100000, 5), noise(100000)}) {
            inbox.items.clear();
            Packed from(data), to(Bytes(data.size()));
            Op send, pull;
            vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, vbn_packed(&from.calls), VBN_PACK,
                                              flags | VBN_AM_PULL, &send.op);
            run();
            vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, vbn_packed(&to.calls), VBN_PACK, &pull.op);
            run();
            pull.expect(pulled, VBN_OK, data.size());
            send.expect(sent, VBN_OK, data.size());
            EXPECT_TRUE(to.bytes == data);
            EXPECT_EQ(to.next, data.size());
        }
}

TEST_P(ProtoStage, tagged_messages_go_through_stages_before_and_after_their_receive)
{
    for (unsigned flags : FLAGS)
        for (bool early : {false, true}) {
            Bytes data(50000, 4), got(50000);
            iovec iov{data.data(), data.size()}, to{got.data(), got.size()};
            Op out, in;
            vbn_status_t received = VBN_INPROGRESS;
            if (early)
                received = proto_tag_recv(rig_engine(rig, 1), nullptr, 7, 7, &to, 1, nullptr, &in.op);
            vbn_status_t sent = proto_tag_send(rig_peer(rig, 0), 7, &iov, 1, flags, &out.op);
            run();
            if (!early)
                received = proto_tag_recv(rig_engine(rig, 1), nullptr, 7, 7, &to, 1, nullptr, &in.op);
            run();
            in.expect(received, VBN_OK, data.size());
            out.expect(sent, VBN_OK, data.size());
            EXPECT_TRUE(got == data);
        }
    EXPECT_EQ(count(0, "stage.plain.bytes"), 10u * 50000);
}

TEST_P(ProtoStage, settings_ask_for_announced_messages_and_flags_choose_the_compressor)
{
    options.compress = STAGE_LZ4;
    options.checksum = true;
    open();
    message_arrives({}, Bytes(100, 1), 0); /* whole */
    EXPECT_EQ(count(0, "stage.plain.bytes"), 0u);
    message_arrives({}, Bytes(100000, 1), 0);
    EXPECT_EQ(count(0, "stage.plain.bytes"), 100000u);
    EXPECT_LT(count(0, "stage.sent.bytes"), 10000u);
    message_arrives({}, Bytes(100000, 1), VBN_SEND_ZSTD);
    EXPECT_EQ(count(0, "stage.plain.bytes"), 200000u);
}

TEST_P(ProtoStage, left_to_the_model_only_slow_links_compress_and_only_what_is_announced)
{
    options.compress_auto = true;
    options.host = MODEL_HOST_DEFAULT; /* 400 MB/s are compressed */
    for (uint32_t mbytes_per_s : {0u, 1250u, 125u}) {
        bool slow = mbytes_per_s == 125 && !options.import_fails; /* mapped memory knows no link */
        options.mbytes_per_s = mbytes_per_s;
        open();
        message_arrives({}, Bytes(100, 1), 0);
        message_arrives({}, Bytes(100000, 1), 0);
        EXPECT_EQ(count(0, "stage.plain.bytes"), slow ? 100000u : 0u) << mbytes_per_s;
        message_arrives({}, Bytes(100000, 1), VBN_SEND_ZSTD);
        EXPECT_EQ(count(0, "stage.plain.bytes"), slow ? 200000u : 100000u) << "flags still choose";
    }
}

TEST_P(ProtoStage, two_compressors_and_unknown_flags_are_refused)
{
    Op op;
    vbn_peer_t *peer = rig_peer(rig, 0);
    unsigned both = VBN_SEND_LZ4 | VBN_SEND_ZSTD;
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, nullptr, 0, both, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_send(peer, 5, nullptr, 0, both, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(peer, 5, nullptr, 0, nullptr, 0, 1u << 31, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_tag_send(peer, 5, nullptr, 0, 1u << 31, &op.op), VBN_ERR_INVALID);
    EXPECT_FALSE(rig_deliver(rig, 1));
}

/* -------------------------------------------------------------------------------------------- damage */

/* Delivers everything but changes one bit of the payload of the `nth` staged segment. */
void run_with_damage(rig_t *rig, unsigned nth)
{
    uint8_t header[320];
    Bytes payload(70000);
    for (unsigned seen = 0, idle = 0; idle < 3;) {
        uint32_t bytes = 0, header_bytes = rig_take(rig, 1, header, payload.data(), &bytes);
        if (header_bytes > 0) {
            if (header[0] == DATA_STAGED && seen++ == nth)
                payload[bytes / 2] ^= 4;
            rig_inject(rig, 1, header, header_bytes, payload.data(), bytes);
        }
        idle = rig_deliver(rig, 0) || header_bytes > 0 ? 0 : idle + 1;
    }
}

TEST_P(ProtoStage, damage_ends_send_and_receive_names_the_peer_and_hurts_nothing_else)
{
    for (unsigned flags : {VBN_SEND_CHECKSUM, VBN_SEND_CHECKSUM | VBN_SEND_LZ4, VBN_SEND_CHECKSUM | VBN_SEND_ZSTD})
        for (unsigned nth = 0; nth < 4; nth++) {
            inbox.items.clear();
            uint64_t before = count(1, "stage.corrupt");
            Bytes data = words(130000), got(130000 + 1, 0xEE);
            iovec iov{data.data(), data.size()}, to{got.data(), data.size()};
            Op send, pull;
            vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, flags | VBN_AM_PULL, &send.op);
            run();
            vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op);
            run_with_damage(rig, nth);
            bool hit = nth < ((flags & VBN_SEND_STAGES) == VBN_SEND_CHECKSUM ? 2u : 4u);
            pull.expect(pulled, hit ? VBN_ERR_CORRUPT : VBN_OK, hit ? 0 : data.size());
            send.expect(sent, hit ? VBN_ERR_CORRUPT : VBN_OK, hit ? 0 : data.size());
            EXPECT_EQ(count(1, "stage.corrupt"), before + hit);
            EXPECT_EQ(got[data.size()], 0xEE);
            if (hit) {
                EXPECT_NE(pull.text.find("from peer 00000000000003e8"), std::string::npos) << pull.text;
                EXPECT_NE(send.text.find("VBN_ERR_CORRUPT"), std::string::npos) << send.text;
            }
            EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
            EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
            message_arrives({}, Bytes(100000, 2), flags);
        }
}

TEST_P(ProtoStage, damage_without_a_checksum_is_found_where_the_data_cannot_be_unpacked)
{
    Bytes data(100000, 6), got(100000);
    iovec iov{data.data(), data.size()}, to{got.data(), data.size()};
    Op send, pull;
    vbn_status_t sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_SEND_ZSTD | VBN_AM_PULL, &send.op);
    run();
    vbn_status_t pulled = proto_am_pull(inbox.items[0].remote, &to, 1, &pull.op);
    uint8_t header[320];
    Bytes payload(70000);
    run_with_damage(rig, 99);
    pull.expect(pulled, VBN_OK, data.size());
    send.reset();
    sent = proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_SEND_ZSTD | VBN_AM_PULL, &send.op);
    run();
    pulled = proto_am_pull(inbox.items[1].remote, &to, 1, (pull.reset(), &pull.op));
    while (rig_deliver(rig, 0))
        ;
    uint32_t bytes = 0, header_bytes = rig_take(rig, 1, header, payload.data(), &bytes);
    ASSERT_EQ(header[0], DATA_STAGED);
    payload[0] ^= 1; /* zstd's magic number */
    rig_inject(rig, 1, header, header_bytes, payload.data(), bytes);
    run();
    pull.expect(pulled, VBN_ERR_CORRUPT, 0);
    send.expect(sent, VBN_ERR_CORRUPT, 0);
}

/* ---------------------------------------------------------------------------------------------- lies */

TEST_P(ProtoStage, asking_for_stages_that_were_not_offered_is_blamed)
{
    Bytes data(5000, 1);
    iovec iov{data.data(), data.size()};
    Op send;
    ASSERT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_SEND_LZ4, &send.op), VBN_INPROGRESS);
    uint8_t header[320];
    Bytes payload(70000);
    uint32_t bytes;
    ASSERT_GT(rig_take(rig, 1, header, payload.data(), &bytes), 0u);
    uint64_t op;
    std::memcpy(&op, header + 8, sizeof(op));
    rig_header_t pull{};
    pull.type = PULL;
    pull.op = op;
    pull.target = 77;
    pull.code = STAGE_CHECKSUM << 8;
    lie(pull);
}

/* A pull is under way with these flags, and its sender has been silenced; what the receiver's op is called. */
uint64_t waiting_pull(rig_t *rig, Inbox &inbox, unsigned flags, Op &send, Op &pull, Bytes &data, Bytes &got,
                      iovec *iovs)
{
    iovs[0] = {data.data(), data.size()};
    iovs[1] = {got.data(), got.size()};
    EXPECT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iovs[0], 1, flags | VBN_AM_PULL, &send.op),
              VBN_INPROGRESS);
    rig_run(rig);
    EXPECT_EQ(proto_am_pull(inbox.items.back().remote, &iovs[1], 1, &pull.op), VBN_INPROGRESS);
    uint8_t header[320];
    Bytes payload(70000);
    uint32_t bytes;
    EXPECT_GT(rig_take(rig, 0, header, payload.data(), &bytes), 0u);
    EXPECT_EQ(header[0], PULL);
    uint64_t target;
    std::memcpy(&target, header + 16, sizeof(target));
    return target;
}

TEST_P(ProtoStage, segments_in_a_form_that_was_not_agreed_upon_are_blamed)
{
    struct Lie {
        unsigned flags, type, code;
        size_t payload;
        uint64_t length;
    };
    const Lie lies[] = {{VBN_SEND_CHECKSUM, DATA, 0, 500, 0},    /* the checksum is missing */
                        {0, DATA_STAGED, STAGE_PLAIN, 500, 500}, /* no stages */
                        {VBN_SEND_LZ4, DATA_STAGED, STAGE_FORM_ZSTD, 500, 600},
                        {VBN_SEND_CHECKSUM, DATA_STAGED, STAGE_FORM_LZ4, 500, 600},
                        {VBN_SEND_LZ4, DATA_STAGED, STAGE_FORM_LZ4, 500, 5001}}; /* more than is missing */
    for (const Lie &l : lies) {
        inbox.items.clear();
        open();
        Op send, pull;
        Bytes data(5000, 1), got(5000);
        iovec iovs[2];
        rig_header_t h{};
        h.type = l.type;
        h.code = l.code;
        h.length = l.length;
        h.op = waiting_pull(rig, inbox, l.flags, send, pull, data, got, iovs);
        lie(h, Bytes(l.payload, 1), 1);
        rig_kill(rig, 0, VBN_ERR_CLOSED); /* ends what refers to this frame */
    }
}

TEST_P(ProtoStage, impossible_chunks_are_malformed)
{
    uint8_t bytes[320];
    rig_header_t h{};
    h.type = DATA_STAGED;
    h.code = STAGE_FORM_LZ4;
    h.length = STAGE_CHUNK;
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 100), VBN_OK);
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 0), VBN_ERR_PROTOCOL);
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), STAGE_CHUNK), VBN_ERR_PROTOCOL) << "not fewer bytes";
    h.length = STAGE_CHUNK + 1;
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 100), VBN_ERR_PROTOCOL) << "a bomb";
    h.length = 200;
    h.code = STAGE_PLAIN;
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 200), VBN_OK);
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 199), VBN_ERR_PROTOCOL);
    h.target = uint64_t{1} << 32; /* the check */
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 200), VBN_ERR_PROTOCOL);
    h.target = 0;
    h.code = STAGE_FORMS;
    EXPECT_EQ(rig_decode(bytes, rig_encode(&h, bytes), 100), VBN_ERR_PROTOCOL);
    for (unsigned type : {AM, DATA, STATUS, GET, TAG, TAG_CREDIT_BACK}) {
        rig_header_t plain{};
        plain.type = type;
        uint32_t count = rig_encode(&plain, bytes);
        EXPECT_EQ(rig_decode(bytes, count, 0), VBN_OK) << type;
        plain.code = STAGE_CHECKSUM << 8;
        count = rig_encode(&plain, bytes);
        EXPECT_EQ(rig_decode(bytes, count, 0), VBN_ERR_PROTOCOL) << type;
    }
    for (unsigned type : {RTS, PULL, TAG_RTS})
        for (unsigned stages = 0; stages < 16; stages++) {
            rig_header_t offer{};
            offer.type = type;
            offer.code = stages << 8;
            uint32_t count = rig_encode(&offer, bytes);
            EXPECT_EQ(rig_decode(bytes, count, 0) == VBN_OK, stage_valid(stages)) << type << " " << stages;
        }
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoStage, ::testing::ValuesIn(MODES), mode_name);

} // namespace
