// SPDX-License-Identifier: Apache-2.0
// test_many_gets.cc - more gets than the owner answers at a time (its proto.max_incoming): they wait for one another.
#include <memory>

#include "fixture.h"

namespace {

constexpr size_t GETS = 30, PIECE = 1200;

class ManyGets : public ProtoMemory {
protected:
    struct Get {
        Op op;
        Bytes to = Bytes(PIECE, 0);
        iovec iov{to.data(), PIECE};
        vbn_status_t status = VBN_OK;
    };
    std::vector<std::unique_ptr<Get>> gets;

    void limits(int64_t ours, int64_t theirs)
    {
        TearDown();
        rig = nullptr;
        options.max_incoming = ours;
        options.owner_incoming = theirs;
        ProtoMemory::SetUp();
    }
    void issue(size_t count)
    {
        for (size_t i = 0; i < count; i++) {
            gets.push_back(std::make_unique<Get>());
            Get &get = *gets.back();
            get.status = proto_get(key, i * PIECE, &get.iov, 1, &get.op.op);
            ASSERT_GE(get.status, 0) << vbn_error_text();
        }
    }
    void all_came()
    {
        for (size_t i = 0; i < gets.size(); i++) {
            gets[i]->op.expect(gets[i]->status, VBN_OK, PIECE);
            EXPECT_EQ(std::memcmp(gets[i]->to.data(), base + 100 + i * PIECE, PIECE), 0) << i;
        }
        EXPECT_EQ(rig_failure(rig, 0), VBN_OK);
        EXPECT_EQ(rig_failure(rig, 1), VBN_OK);
        EXPECT_EQ(rig_counter(rig, 1, "rx.bad_frames"), 0u);
    }
};

TEST_P(ManyGets, than_the_owner_allows_are_all_answered)
{
    for (int64_t theirs : {1, 2, 7}) {
        limits(64, theirs);
        gets.clear();
        issue(GETS);
        rig_imports_answer(rig);
        while (rig_deliver(rig, 1)) { /* all requests, before the answers have left (modes with late completion) */
        }
        run();
        all_came();
    }
}

TEST_P(ManyGets, than_this_side_allows_are_not_sent_before_others_have_ended)
{
    limits(3, 64);
    issue(GETS);
    rig_imports_answer(rig);
    Bytes header(320), payload(8192), first;
    unsigned sent = 0;
    for (uint32_t count, bytes; (count = rig_take(rig, 1, header.data(), payload.data(), &bytes)) > 0; sent++) {
        EXPECT_EQ(header[0], GET);
        if (sent == 0)
            first.assign(header.begin(), header.begin() + count);
    }
    EXPECT_EQ(sent, 3u);
    rig_inject(rig, 1, first.data(), static_cast<uint32_t>(first.size()), nullptr, 0);
    run(); /* the other two are lost, the first and all that waited for it are not */
    for (size_t i = 0; i < GETS; i++)
        EXPECT_EQ(gets[i]->op.op.complete, i == 1 || i == 2 ? 0u : 1u) << i;
}

TEST_P(ManyGets, that_wait_end_with_their_peer)
{
    limits(64, 2);
    issue(GETS);
    rig_imports_answer(rig);
    for (int i = 0; i < 12; i++)
        (void)rig_deliver(rig, 1);
    for (int i = 0; i < 5; i++)
        (void)rig_deliver(rig, 0);
    rig_kill(rig, 0, VBN_ERR_PEER_LOST);
    for (const auto &get : gets) {
        EXPECT_EQ(get->op.op.complete, 1u);
        EXPECT_TRUE(get->op.op.status == VBN_OK || get->op.op.status == VBN_ERR_PEER_LOST) << get->op.op.status;
    }
}

TEST_P(ManyGets, whose_answer_has_begun_are_not_asked_for_again)
{
    if (options.import_fails)
        return; /* the same as late, after a question more */
    Op op;
    Bytes to(9000);
    iovec iov{to.data(), to.size()};
    ASSERT_EQ(proto_get(key, 0, &iov, 1, &op.op), VBN_INPROGRESS);
    uint32_t asked_bytes = 0;
    Bytes payload(8192);
    uint8_t asked[320];
    uint32_t asked_count = rig_take(rig, 1, asked, payload.data(), &asked_bytes);
    ASSERT_EQ(asked[0], GET);
    rig_inject(rig, 1, asked, asked_count, nullptr, 0);
    ASSERT_TRUE(rig_deliver(rig, 0)) << "the first segment";
    rig_header_t limit{};
    limit.type = STATUS;
    limit.code = static_cast<unsigned>(-VBN_ERR_LIMIT);
    limit.last = 1;
    std::memcpy(&limit.op, asked + 8, sizeof(limit.op));
    uint8_t bytes[320];
    uint32_t count = rig_encode(&limit, bytes);
    rig_inject(rig, 0, bytes, count, nullptr, 0);
    EXPECT_EQ(op.op.complete, 1u);
    EXPECT_EQ(op.op.status, VBN_ERR_LIMIT);
}

INSTANTIATE_TEST_SUITE_P(Modes, ManyGets, ::testing::ValuesIn(MODES), mode_name);

} // namespace
