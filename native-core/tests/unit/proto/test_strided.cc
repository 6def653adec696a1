// SPDX-License-Identifier: Apache-2.0
// test_strided.cc - blocks at a distance, and data made by callbacks, through every call that moves data.
#include <random>

#include "fixture.h"

namespace {

class ProtoStrided : public ProtoMemory {
protected:
    /* Random blocks both ways, compared byte by byte with a model of both memories. */
    void random_blocks(vbn_key_t *with, size_t start, int rounds)
    {
        std::mt19937 random(11);
        const size_t sizes[] = {1, 3, 4, 8, 100, 1024, 5000, 33000};
        for (int i = 0; i < rounds; i++) {
            size_t block = sizes[random() % 8], most = (SIZE - start) / block;
            size_t count = random() % (most < 400 ? most + 1 : 400);
            size_t gap = count > 1 ? (SIZE - start - count * block) / (count - 1) : 0;
            size_t remote = block + (gap > 0 ? random() % (gap + 1) : 0);
            size_t span = count > 0 ? (count - 1) * remote + block : 0;
            size_t offset = SIZE - start > span ? random() % (SIZE - start - span) : 0;
            size_t local = block + random() % 40;
            bool backwards = random() % 3 == 0, get = random() % 2 == 0;
            Bytes here = pattern(local * (count + 1) + 64, static_cast<unsigned>(i)), model_here = here;
            Bytes model_there(base, base + SIZE);
            size_t first = backwards && count > 0 ? (count - 1) * local : 0;
            vbn_strided_t blocks{here.data() + first, block, count,
                                 backwards ? -static_cast<ptrdiff_t>(local) : static_cast<ptrdiff_t>(local), remote};
            for (size_t b = 0; b < count; b++) {
                auto *mine = model_here.data() + first + (backwards ? -b * local : b * local);
                auto *yours = model_there.data() + start + offset + b * remote;
                std::memcpy(get ? mine : yours, get ? yours : mine, block);
            }
            Op op;
            vbn_status_t r = get ? proto_get_strided(with, offset, &blocks, &op.op)
                                 : proto_put_strided(with, offset, &blocks, &op.op);
            run();
            op.expect(r, VBN_OK, block * count);
            ASSERT_TRUE(here == model_here) << "block " << block << " count " << count << " get " << get;
            ASSERT_EQ(std::memcmp(model_there.data(), base, SIZE), 0) << "block " << block << " count " << count;
        }
    }
};

TEST_P(ProtoStrided, blocks_go_exactly_where_they_belong)
{
    random_blocks(key, 100, 150);
}

TEST_P(ProtoStrided, small_blocks_share_packets)
{
    rig_imports_answer(rig);
    uint32_t column[500];
    vbn_strided_t blocks{column, 4, 500, 4, 64};
    Op op;
    unsigned packets = 0;
    vbn_status_t r = proto_put_strided(key, 0, &blocks, &op.op);
    while (rig_deliver(rig, 1))
        packets++;
    EXPECT_LE(packets, options.not_ready ? 2u : 1u) << "2,000 bytes, and perhaps a probe";
    run();
    op.expect(r, VBN_OK, 2000);
}

TEST_P(ProtoStrided, wrong_arguments_are_refused_before_anything_is_sent)
{
    rig_imports_answer(rig);
    Op op;
    uint64_t data[8];
    vbn_strided_t good{data, 8, 4, 8, 16}, bad = good;
    vbn_key_t *reader = rig_import(rig, 0, mem, 0, 56, VBN_ACCESS_READ);
    EXPECT_EQ(proto_get_strided(nullptr, 0, &good, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_get_strided(reader, 0, nullptr, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_get_strided(reader, 0, &good, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(proto_put_strided(reader, 0, &good, &op.op), VBN_ERR_ACCESS);
    EXPECT_EQ(proto_get_strided(reader, 1, &good, &op.op), VBN_ERR_RANGE);
    bad.remote_stride = 7;
    EXPECT_EQ(proto_get_strided(reader, 0, &bad, &op.op), VBN_ERR_INVALID) << "overlap";
    bad = {data, SIZE_MAX / 2, 3, 8, SIZE_MAX / 2};
    EXPECT_EQ(proto_get_strided(reader, 0, &bad, &op.op), VBN_ERR_INVALID);
    bad = {data, 8, 3, 8, SIZE_MAX / 2};
    EXPECT_EQ(proto_get_strided(reader, 0, &bad, &op.op), VBN_ERR_INVALID);
    bad = {nullptr, 8, 1, 8, 8};
    EXPECT_EQ(proto_get_strided(reader, 0, &bad, &op.op), VBN_ERR_INVALID);
    bad = {nullptr, 8, 0, 8, 0};
    EXPECT_EQ(proto_get_strided(reader, 0, &bad, &op.op), VBN_OK) << "nothing to move";
    EXPECT_FALSE(rig_deliver(rig, 1));
    proto_key_release(reader);
}

TEST_P(ProtoStrided, a_stale_key_fails_blocks_of_any_size)
{
    rig_imports_answer(rig);
    rig_mem_free(mem);
    mem = nullptr;
    Bytes data(39000);
    for (size_t block : {8u, 9000u}) {
        vbn_strided_t blocks{data.data(), block, 4, static_cast<ptrdiff_t>(block), block + 8};
        Op get, put;
        vbn_status_t r = proto_get_strided(key, 0, &blocks, &get.op);
        run();
        get.expect(r, VBN_ERR_STALE, 0);
        r = proto_put_strided(key, 0, &blocks, &put.op);
        run();
        put.expect(r, VBN_ERR_STALE, 0);
    }
    EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
}

TEST_P(ProtoStrided, malformed_blocks_fail_the_peer)
{
    rig_imports_answer(rig);
    const rig_header_t bad[] = {
        {GET_BLOCKS, 0, 0, 1, 0, 1, 0, 16, 8, 0},               /* no block */
        {GET_BLOCKS, 0, 0, 1, 8, 1, 0, 0, 8, 0},                /* no length */
        {GET_BLOCKS, 0, 0, 1, 8, 1, 0, 12, 8, 0},               /* half a block */
        {GET_BLOCKS, 0, 0, 1, 8, 1, 0, 16, 7, 0},               /* overlap */
        {GET_BLOCKS, 0, 0, 1, 8, 1, 0, 1u << 20, UINT64_MAX, 0} /* overflow */
    };
    for (const auto &h : bad) {
        lie(h, {}, 1);
        rig_imports_answer(rig);
        proto_key_release(key);
        rig_mem_free(mem);
        Proto::open();
        mem = rig_mem(rig, 1, SIZE);
        key = rig_import(rig, 0, mem, 0, SIZE, VBN_ACCESS_READ);
        rig_imports_answer(rig);
    }
    lie({PUT_BLOCKS, 2, 0, 1, 8, 1, 0, 16, 8, 0}, pattern(16), 1);
}

/* Data as every second byte of an array, through callbacks that check how they are called. */
struct EverySecond {
    Bytes bytes;
    size_t position = 0;
    vbn_pack_t description{};
    explicit EverySecond(size_t length, unsigned seed) : bytes(2 * length)
    {
        Bytes source = pattern(length, seed);
        for (size_t i = 0; i < length && seed != 0; i++)
            bytes[2 * i] = source[i];
        description = {pack, unpack, this, length};
    }
    const iovec *iov()
    {
        position = 0;
        return vbn_packed(&description);
    }
    static void pack(void *arg, size_t offset, void *buffer, size_t length)
    {
        auto *self = static_cast<EverySecond *>(arg);
        EXPECT_EQ(offset, self->position);
        for (size_t i = 0; i < length; i++)
            static_cast<uint8_t *>(buffer)[i] = self->bytes.at(2 * (offset + i));
        self->position += length;
    }
    static void unpack(void *arg, size_t offset, const void *buffer, size_t length)
    {
        auto *self = static_cast<EverySecond *>(arg);
        EXPECT_EQ(offset, self->position);
        for (size_t i = 0; i < length; i++)
            self->bytes.at(2 * (offset + i)) = static_cast<const uint8_t *>(buffer)[i];
        self->position += length;
    }
};

class ProtoPack : public ProtoMemory {};

TEST_P(ProtoPack, tagged_messages_of_any_size_are_packed_and_unpacked)
{
    for (size_t size : {0u, 1u, 1000u, 1024u, 1025u, 40000u, 200000u}) {
        for (unsigned flags : {0u, VBN_TAG_SYNC}) {
            EverySecond from(size, 3), to(size, 0);
            Op out, in;
            vbn_status_t r = proto_tag_recv(rig_engine(rig, 1), nullptr, 1, UINT64_MAX, to.iov(), VBN_PACK, nullptr,
                                            &in.op);
            vbn_status_t s = proto_tag_send(rig_peer(rig, 0), 1, from.iov(), VBN_PACK, flags, &out.op);
            run();
            out.expect(s, VBN_OK, size);
            in.expect(r, VBN_OK, size);
            EXPECT_TRUE(to.bytes == from.bytes);
        }
    }
}

TEST_P(ProtoPack, active_messages_are_packed_and_pulled_ones_unpacked)
{
    for (size_t size : {0u, 1000u, 40000u}) {
        inbox.items.clear();
        EverySecond from(size, 4), to(size, 0);
        Op out, in;
        vbn_status_t s = proto_am_send(rig_peer(rig, 0), 5, "h", 1, from.iov(), VBN_PACK, 0, &out.op);
        run();
        ASSERT_EQ(inbox.items.size(), 1u);
        if (inbox.items[0].remote == nullptr) {
            EXPECT_TRUE(inbox.items[0].data == pattern(size, 4));
        } else {
            vbn_status_t r = proto_am_pull(inbox.items[0].remote, to.iov(), VBN_PACK, &in.op);
            run();
            in.expect(r, VBN_OK, size);
            EXPECT_TRUE(to.bytes == from.bytes);
        }
        out.expect(s, VBN_OK, size);
    }
}

TEST_P(ProtoPack, puts_and_gets_are_packed_and_unpacked)
{
    for (size_t size : {0u, 1000u, 39000u}) {
        EverySecond from(size, 5), to(size, 0);
        Op put, get;
        vbn_status_t r = proto_put(key, 7, from.iov(), VBN_PACK, &put.op);
        run();
        put.expect(r, VBN_OK, size);
        r = proto_get(key, 7, to.iov(), VBN_PACK, &get.op);
        run();
        get.expect(r, VBN_OK, size);
        EXPECT_TRUE(to.bytes == from.bytes);
    }
}

TEST_P(ProtoPack, a_description_without_callbacks_is_refused)
{
    Op op;
    vbn_pack_t none{};
    EXPECT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, vbn_packed(&none), VBN_PACK, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, nullptr, VBN_PACK, 0, &op.op), VBN_ERR_INVALID);
    EXPECT_EQ(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, vbn_packed(&none), UINT32_MAX, 0, &op.op),
              VBN_ERR_INVALID);
}

/* With memory that is mapped here. */
class ProtoStridedMapped : public ProtoStrided {};

TEST_P(ProtoStridedMapped, blocks_and_packed_data_are_copied_without_a_packet)
{
    rig_imports_map(rig);
    random_blocks(key, 100, 150);
    EverySecond from(30000, 5), to(30000, 0);
    Op op;
    EXPECT_EQ(proto_put(key, 7, from.iov(), VBN_PACK, &op.op), VBN_OK);
    EXPECT_EQ(proto_get(key, 7, to.iov(), VBN_PACK, &op.op), VBN_OK);
    EXPECT_TRUE(to.bytes == from.bytes);
    EXPECT_FALSE(rig_deliver(rig, 1));
}

TEST_P(ProtoStridedMapped, blocks_issued_during_the_import_are_copied_once_it_is_mapped)
{
    uint64_t data[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    vbn_strided_t blocks{data, 8, 10, 8, 32};
    Op op;
    vbn_status_t r = proto_put_strided(key, 4, &blocks, &op.op);
    EXPECT_EQ(r, VBN_INPROGRESS);
    rig_imports_map(rig);
    op.expect(r, VBN_OK, 80);
    for (size_t i = 0; i < 10; i++)
        EXPECT_EQ(std::memcmp(base + 104 + 32 * i, &data[i], 8), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoStrided, ::testing::ValuesIn(MODES), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, ProtoPack, ::testing::ValuesIn(MODES), mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, ProtoStridedMapped, ::testing::Values(MODES[4]), mode_name); // the one with imports

} // namespace
