// SPDX-License-Identifier: Apache-2.0
// test_flush_all.cc - a flush of all peers: which of them it looks at, and what it waits for.
#include <cstdio>
#include <cstdlib>

#include "fixture.h"

namespace {

/* A worker (side 1 of the first rig) with so many peers, each of which has sent it a message. */
class Star {
public:
    std::vector<rig_t *> rigs;
    explicit Star(unsigned peers)
    {
        rig_options_t options = rig_defaults();
        rigs.push_back(rig_open(&options));
        MUST_BE(rig_handler(rigs[0], 1, 5, Inbox::handle, &inbox) == VBN_OK);
        while (rigs.size() < peers)
            rigs.push_back(rig_join(rigs[0]));
        for (auto *rig : rigs) {
            MUST_BE(rig_handler(rig, 0, 5, Inbox::handle, &inbox) == VBN_OK);
            MUST_BE(send(rig, 0) == VBN_OK);
            rig_run(rig);
        }
        MUST_BE(inbox.items.size() == peers);
    }
    ~Star()
    {
        while (!rigs.empty()) {
            rig_close(rigs.back());
            rigs.pop_back();
        }
    }
    Star(const Star &) = delete;
    Star &operator=(const Star &) = delete;
    static vbn_status_t send(rig_t *rig, int side)
    {
        Op op;
        return proto_am_send(rig_peer(rig, side), 5, "x", 1, nullptr, 0, 0, &op.op);
    }
    vbn_status_t flush(Op &op)
    {
        op.reset();
        return proto_flush_all(rig_engine(rigs[0], 1), &op.op);
    }
    /* Since the last call. */
    unsigned looks()
    {
        unsigned before = seen;
        seen = rig_flush_looks(rigs[0]);
        return seen - before;
    }

private:
    Inbox inbox;
    unsigned seen = 0;
    static void MUST_BE(bool condition)
    {
        if (!condition) {
            std::fprintf(stderr, "the star cannot be set up\n");
            std::abort();
        }
    }
};

TEST(ProtoFlushAll, looks_at_no_peer_of_a_thousand_that_nothing_was_sent_to)
{
    Star star(1000);
    Op op;
    EXPECT_EQ(star.flush(op), VBN_OK);
    EXPECT_EQ(star.looks(), 0u);
    /* Ten of them: waited for, then forgotten. */
    for (unsigned i = 0; i < 1000; i += 100)
        ASSERT_EQ(Star::send(star.rigs[i], 1), VBN_OK);
    vbn_status_t status = star.flush(op);
    EXPECT_EQ(status, VBN_INPROGRESS);
    EXPECT_EQ(star.looks(), 10u);
    for (unsigned i = 0; i < 1000; i += 100) {
        EXPECT_EQ(op.op.complete, 0u);
        rig_run(star.rigs[i]);
    }
    op.expect(status, VBN_OK, 0);
    EXPECT_EQ(star.looks(), 10u) << "each was idle when its part was done";
    EXPECT_EQ(star.flush(op), VBN_OK);
    EXPECT_EQ(star.looks(), 0u);
}

TEST(ProtoFlushAll, forgets_peers_that_have_received_everything_meanwhile)
{
    Star star(1000);
    Op op;
    for (auto *rig : star.rigs) {
        ASSERT_EQ(Star::send(rig, 1), VBN_OK);
        rig_run(rig);
    }
    EXPECT_EQ(star.flush(op), VBN_OK);
    EXPECT_GE(star.looks(), 1000u);
    EXPECT_EQ(star.flush(op), VBN_OK);
    EXPECT_EQ(star.looks(), 0u);
}

TEST(ProtoFlushAll, waits_again_for_a_peer_that_something_was_sent_to_after_it_was_idle)
{
    Star star(3);
    for (int round = 0; round < 3; round++)
        for (auto *rig : star.rigs) {
            Op op;
            ASSERT_EQ(Star::send(rig, 1), VBN_OK);
            vbn_status_t status = star.flush(op);
            EXPECT_EQ(status, VBN_INPROGRESS);
            rig_run(rig);
            op.expect(status, VBN_OK, 0);
        }
}

TEST(ProtoFlushAll, remembers_what_was_sent_while_it_waits)
{
    Star star(2);
    Op first, second;
    ASSERT_EQ(Star::send(star.rigs[1], 1), VBN_OK);
    vbn_status_t one = star.flush(first);
    ASSERT_EQ(Star::send(star.rigs[1], 1), VBN_OK);
    rig_deliver(star.rigs[1], 0);
    vbn_status_t two = star.flush(second);
    EXPECT_EQ(two, VBN_INPROGRESS);
    EXPECT_EQ(second.op.complete, 0u);
    rig_run(star.rigs[1]);
    first.expect(one, VBN_OK, 0);
    second.expect(two, VBN_OK, 0);
}

TEST(ProtoFlushAll, waits_for_puts_that_are_not_answered_and_not_for_lost_peers)
{
    Star star(3);
    uint8_t bytes[8] = {1};
    iovec iov{bytes, sizeof(bytes)};
    vbn_mem_t *mem = rig_mem(star.rigs[0], 0, 4096);
    vbn_key_t *key = rig_import(star.rigs[0], 1, mem, 0, 4096, VBN_ACCESS_WRITE);
    ASSERT_NE(key, nullptr) << vbn_error_text();
    Op put, all;
    vbn_status_t p = proto_put(key, 0, &iov, 1, &put.op);
    ASSERT_EQ(p, VBN_INPROGRESS);
    ASSERT_EQ(Star::send(star.rigs[2], 1), VBN_OK);
    rig_kill(star.rigs[2], 1, VBN_ERR_PEER_LOST);
    rig_deliver(star.rigs[0], 0); /* the put is there, */
    vbn_status_t r = star.flush(all);
    EXPECT_EQ(r, VBN_INPROGRESS) << "but not answered";
    rig_run(star.rigs[0]);
    put.expect(p, VBN_OK, 8);
    all.expect(r, VBN_OK, 0);
    proto_key_release(key);
    rig_mem_free(mem);
}

} // namespace
