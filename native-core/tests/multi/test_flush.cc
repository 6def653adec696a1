// SPDX-License-Identifier: Apache-2.0
// test_flush.cc - a flush of all peers after messages, again and again: what was sent has been received when it is complete,
// also when the peer was idle in between and a flush need not have looked at it.
#include <gtest/gtest.h>

#include "pair.h"

using multi::Pair;

namespace {

class FlushOver : public ::testing::TestWithParam<const char *> {};

void say(Pair &pair, vbn_peer_t *peer)
{
    uint64_t word = 5;
    iovec iov{&word, sizeof(word)};
    vbn_op_t op{};
    MUST(pair.finish(vbn_am_send(peer, 1, nullptr, 0, &iov, 1, 0, &op), op) == VBN_OK);
}

void rounds(const char *transport)
{
    Pair pair(transport);
    MUST(pair.a.connect(pair.b) == VBN_OK);
    unsigned sent = 0;
    for (unsigned round = 0; round < 300; round++) {
        vbn_op_t all{};
        for (unsigned i = 0; i < round % 4; i++, sent++)
            say(pair, pair.a.peer);
        MUST(pair.finish(vbn_flush_all(pair.a.worker, &all), all) == VBN_OK);
        MUST(pair.b.messages == sent);
        all = {};
        MUST(vbn_flush_all(pair.a.worker, &all) == VBN_OK); /* nothing is left to wait for */
        all = {};
        MUST(vbn_flush_all(pair.b.worker, &all) == VBN_OK); /* nothing was sent */
    }
    pair.close();
}

TEST_P(FlushOver, all_peers_is_complete_when_every_message_has_been_received)
{
    auto codes = multi::launch(1, [](int, multi::Shared &) { rounds(GetParam()); });
    EXPECT_EQ(codes[0], 0);
}

/* What goes to and fro acknowledges itself, so no flush has to ask; what is sent afterwards is waited for all the same. */
void to_and_fro(const char *transport)
{
    Pair pair(transport);
    MUST(pair.a.connect(pair.b) == VBN_OK);
    say(pair, pair.a.peer);
    MUST(pair.until([&] { return pair.b.messages == 1; }));
    MUST(pair.b.connect(pair.a) == VBN_OK);
    for (unsigned sent = 1; sent < 300; sent++) {
        vbn_op_t all{};
        say(pair, pair.b.peer);
        MUST(pair.until([&] { return pair.a.messages == sent; }));
        MUST(vbn_flush_all(pair.a.worker, &all) == VBN_OK);
        all = {};
        say(pair, pair.a.peer);
        MUST(pair.finish(vbn_flush_all(pair.a.worker, &all), all) == VBN_OK);
        MUST(pair.b.messages == sent + 1);
        say(pair, pair.a.peer); /* for the fast way */
        MUST(pair.until([&] { return pair.b.messages == sent + 2; }));
        pair.b.messages--;
    }
    pair.close();
}

TEST_P(FlushOver, all_peers_asks_nobody_who_has_answered_anyway)
{
    auto codes = multi::launch(1, [](int, multi::Shared &) { to_and_fro(GetParam()); });
    EXPECT_EQ(codes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, FlushOver, ::testing::Values("shm", "tcp"));

} // namespace
