// SPDX-License-Identifier: Apache-2.0
// test_direct_lies.cc - announcements of direct copies by a peer that lies.
#include "fixture.h"

namespace {

class ProtoDirectLies : public Proto {
protected:
    void SetUp() override
    {
        options.direct = true;
        options.copies = true;
        options.host = MODEL_HOST_DEFAULT; /* by which copies pay */
        Proto::SetUp();
    }
    /* An announced message of side 0, not pulled; its handle as the peer knows it. */
    uint64_t announced(Op &send, Bytes &data)
    {
        iovec iov{data.data(), data.size()};
        uint8_t header[400];
        Bytes payload(8192);
        uint32_t bytes = 0;
        EXPECT_GE(proto_am_send(rig_peer(rig, 0), 5, nullptr, 0, &iov, 1, VBN_AM_PULL, &send.op), 0);
        EXPECT_GT(rig_take(rig, 1, header, payload.data(), &bytes), 0u);
        uint64_t handle;
        std::memcpy(&handle, header + 8, 8);
        return handle;
    }
};

TEST_P(ProtoDirectLies, a_message_cannot_be_copied_twice_or_without_an_offer)
{
    Op send;
    Bytes data(100000), room(100000);
    rig_header_t h{};
    h.type = PULL_AT;
    h.op = announced(send, data);
    h.target = 1;
    h.value = 5u << 8 | 3;
    rig_place_t place{reinterpret_cast<uintptr_t>(room.data()), 0, 0, 0};
    uint8_t bytes[400];
    uint32_t count = rig_encode_at(&h, &place, bytes);
    if (!options.not_ready) { /* else it was announced without an offer */
        rig_inject(rig, 0, bytes, count, nullptr, 0);
        EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
    }
    rig_inject(rig, 0, bytes, count, nullptr, 0);
    EXPECT_EQ(rig_failure(rig, 0), VBN_ERR_PROTOCOL);
}

TEST_P(ProtoDirectLies, help_that_nobody_asked_for_is_blamed)
{
    rig_header_t h{};
    h.type = HELPED;
    h.op = 12345;
    lie(h);
}

TEST_P(ProtoDirectLies, impossible_places_and_claims_are_refused)
{
    auto refused = [](const rig_header_t &h, const rig_place_t &place) {
        uint8_t bytes[400];
        uint32_t count = rig_encode_at(&h, &place, bytes);
        return rig_decode(bytes, count, 0) == VBN_ERR_PROTOCOL;
    };
    rig_header_t good{};
    good.type = RTS_AT;
    good.op = 1;
    good.length = 1000;
    good.key = 2;
    good.offset = 24;
    rig_place_t place{4096, 3, 4, 1024};
    EXPECT_FALSE(refused(good, place));
    for (int lie = 0; lie < 8; lie++) {
        rig_header_t h = good;
        rig_place_t p = place;
        switch (lie) {
        case 0: h.offset = 25; break;
        case 1: p.memory_bytes = 999; break;
        case 2: h.offset = UINT64_MAX; break;
        case 3: p.owner = 0; break;
        case 4: p.memory = 0; break;
        case 5: h.key = 0; break;
        case 6: p.address = UINT64_MAX; break;
        default: h.length = UINT64_MAX; break;
        }
        EXPECT_TRUE(refused(h, p)) << lie;
    }
    rig_header_t pull{};
    pull.type = PULL_AT;
    rig_place_t at{4096, 0, 0, 0};
    EXPECT_FALSE(refused(pull, at));
    pull.value = 16;
    EXPECT_TRUE(refused(pull, at)) << "no such claim";
    pull.value = UINT64_C(1) << 31;
    EXPECT_TRUE(refused(pull, at)) << "no such tag";
    pull.value = 0;
    at.address = 0;
    EXPECT_TRUE(refused(pull, at));
    rig_header_t helped{};
    helped.type = HELPED;
    helped.code = 200;
    uint8_t bytes[400];
    EXPECT_EQ(rig_decode(bytes, rig_encode(&helped, bytes), 0), VBN_ERR_PROTOCOL);
}

INSTANTIATE_TEST_SUITE_P(Modes, ProtoDirectLies, ::testing::ValuesIn(MODES), mode_name);

} // namespace
