/* SPDX-License-Identifier: Apache-2.0
 * test_wireup.cc - handshakes that are damaged, end early, cross or are never answered. */
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "pair.h"

namespace {

/* One wire-up with one tampered packet; true when no side believes in the other. */
void expect_refused(int type, int at, uint8_t mask)
{
    Pair pair;
    vbn_peer_t *peer;
    rig_tamper(type, -1, at, mask);
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    rig_send(pair.a, peer, 30);
    pair.settle();
    bool refused = rig_result(pair.a)->errors ==
                   1; /* else the other side has closed the connection, it is dialled again */
    EXPECT_TRUE(refused || rig_counter(pair.a, "wireup.redials") > 0);
    EXPECT_EQ(rig_result(pair.a)->error_status < 0, refused);
    EXPECT_EQ(rig_result(pair.b)->received, 0u);
    EXPECT_EQ(rig_counter(pair.a, "peers.connected"), 0u);
    EXPECT_EQ(rig_peers(pair.a), refused ? 0u : 1u);
    EXPECT_EQ(rig_peers(pair.b), 0u);
    EXPECT_EQ(rig_result(pair.a)->pending, refused ? 0u : 1u);
}

TEST(LinkWireup, any_flipped_or_missing_byte_in_a_handshake_packet_is_noticed)
{
    int cases = 0;
    rig_seed(9, 0, 0);
    {
        Pair pair;
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        ASSERT_TRUE(rig_ready(peer));
    }
    for (int type : {HELLO, CHALLENGE, PROOF, WELCOME}) {
        int bytes = static_cast<int>(rig_packet_bytes(type));
        ASSERT_GT(bytes, 16);
        for (int at = 0; at < bytes && !HasFailure(); at++, cases += 3) {
            SCOPED_TRACE("type " + std::to_string(type) + " byte " + std::to_string(at));
            expect_refused(type, at, 0x01);
            expect_refused(type, at, 0x80);
            expect_refused(type, at, 0);
        }
    }
    rig_tamper_off();
    EXPECT_GT(cases, 900);
}

TEST(LinkWireup, death_at_each_packet_is_reported_once_and_completes_everything)
{
    for (int victim = 4; victim < 16; victim++) { /* behind WELCOME */
        SCOPED_TRACE("packet " + std::to_string(victim));
        rig_seed(10 + static_cast<uint64_t>(victim), 0, 2);
        Pair pair;
        vbn_peer_t *peer;
        rig_tamper(-1, victim, -1, 0);
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        for (int i = 0; i < 20; i++)
            rig_send(pair.a, peer, 100);
        rig_flush(pair.a, peer);
        pair.settle();
        rig_tamper_off();
        EXPECT_EQ(rig_result(pair.a)->errors, 1u);
        EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_PEER_LOST);
        EXPECT_EQ(rig_result(pair.a)->downs, 1u);
        expect_clean(pair.a);
        EXPECT_EQ(rig_send(pair.a, peer, 1), VBN_ERR_PEER_LOST);
        rig_disconnect(peer, VBN_CLOSE_FLUSH);
    }
}

TEST(LinkWireup, a_connection_that_ends_before_welcome_is_dialled_again_and_nothing_is_lost)
{
    for (int type : {HELLO, CHALLENGE, PROOF, WELCOME}) {
        SCOPED_TRACE("type " + std::to_string(type));
        rig_seed(20 + static_cast<uint64_t>(type), 0, 2);
        Pair pair;
        vbn_peer_t *peer;
        rig_tamper(type, 0, -1, 0);
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        for (int i = 0; i < 20; i++)
            rig_send(pair.a, peer, 100);
        ASSERT_TRUE(pair.run_until([&] { return rig_result(pair.b)->received == 20; }))
            << rig_result(pair.a)->error_text;
        pair.settle();
        rig_tamper_off();
        EXPECT_EQ(rig_counter(pair.a, "wireup.redials"), 1u);
        EXPECT_EQ(rig_result(pair.a)->errors, 0u);
        EXPECT_EQ(rig_peers(pair.b), 1u);
        expect_clean(pair.a);
        expect_clean(pair.b);
        rig_disconnect(peer, VBN_CLOSE_FLUSH);
    }
}

TEST(LinkWireup, a_peer_whose_connections_all_end_is_lost_after_wireup_timeout)
{
    rig_seed(24, 0, 0);
    Pair pair({7, 0, 1500000000}, kDefault); /* long enough for redials when this process does not run for a while */
    vbn_peer_t *peer;
    rig_tamper(PROOF, -1, -1, 0);
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    rig_send(pair.a, peer, 100);
    ASSERT_TRUE(pair.run_until([&] { return rig_result(pair.a)->errors == 1; }));
    rig_tamper_off();
    EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_TIMEOUT);
    EXPECT_NE(strstr(rig_result(pair.a)->error_text, "link.wireup_timeout"), nullptr);
    EXPECT_NE(strstr(rig_result(pair.a)->error_text, "the other end is gone"), nullptr)
        << rig_result(pair.a)->error_text;
    EXPECT_GT(rig_counter(pair.a, "wireup.redials"), 1u);
    expect_clean(pair.a);
    EXPECT_EQ(rig_peers(pair.b), 0u);
}

/* One side computes for longer than the time-out: whatever it did not answer meanwhile says nothing of its peer. */
TEST(LinkWireup, a_program_that_computes_after_connect_loses_no_peer)
{
    for (bool dials : {true, false}) {
        SCOPED_TRACE(dials ? "the side that dials" : "the side that is dialled");
        rig_seed(26, 0, 0);
        const rig_options_t impatient = {7, 0, 1000000000};
        Pair pair(dials ? impatient : kDefault, dials ? kDefault : impatient);
        rig_t *busy = dials ? pair.a : pair.b, *other = dials ? pair.b : pair.a;
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        rig_send(pair.a, peer, 100);
        for (int turns = 0; turns < 100; turns++) { /* the dialled side has a connection of its own to time out */
            if (!dials && turns < 2)
                rig_progress(busy);
            rig_progress(other);
        }
        usleep(1500000);
        ASSERT_TRUE(pair.run_until([&] {
            return rig_result(pair.b)->received == 1 || rig_result(pair.a)->errors + rig_result(pair.b)->errors > 0;
        }));
        EXPECT_EQ(rig_result(pair.b)->received, 1u);
        EXPECT_EQ(rig_result(pair.a)->errors, 0u) << rig_result(pair.a)->error_text;
        EXPECT_EQ(rig_counter(pair.a, "wireup.redials"), 0u);
    }
}

TEST(LinkWireup, the_next_transport_is_tried_when_a_connection_ends_before_welcome)
{
    const char *const both[] = {"tl.enable", "loop,loop2", nullptr};
    rig_seed(25, 0, 0);
    rig_dies("loop");
    Pair pair(both);
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    for (int i = 0; i < 20; i++)
        rig_send(pair.a, peer, 100);
    ASSERT_TRUE(pair.run_until([&] { return rig_result(pair.b)->received == 20; })) << rig_result(pair.a)->error_text;
    rig_dies(nullptr);
    char text[256];
    rig_explain(peer, text, sizeof(text));
    EXPECT_EQ(strncmp(text, "loop2: a connection over another transport ended", 48), 0) << text;
    EXPECT_EQ(rig_counter(pair.a, "wireup.redials"), 1u);
    expect_clean(pair.a);
}

/* Each side dials, and one's connections end: the other side's come through all the same. */
TEST(LinkWireup, crossing_dials_end_with_one_connection_although_connections_end_before_welcome)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        rig_seed(seed, 5, 3);
        rig_tamper(-1, static_cast<int>(seed % 8), -1, 0);
        Pair pair;
        vbn_peer_t *to_b, *to_a;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &to_b), VBN_OK);
        ASSERT_EQ(rig_connect(pair.b, pair.a, &to_a), VBN_OK);
        ASSERT_TRUE(pair.run_until([&] {
            return (rig_ready(to_b) && rig_ready(to_a)) || rig_result(pair.a)->errors + rig_result(pair.b)->errors > 0;
        })) << rig_result(pair.a)->error_text
            << rig_result(pair.b)->error_text;
        rig_tamper_off();
        pair.settle();
        if (rig_result(pair.a)->errors + rig_result(pair.b)->errors > 0)
            continue; /* it died behind WELCOME */
        rig_send(pair.a, to_b, 10);
        rig_send(pair.b, to_a, 10);
        pair.settle();
        EXPECT_EQ(rig_result(pair.a)->received, 1u);
        EXPECT_EQ(rig_result(pair.b)->received, 1u);
        expect_clean(pair.a);
        expect_clean(pair.b);
        ASSERT_FALSE(HasFailure());
    }
}

/* a dials over loop, b over loop2 with its smaller packets; the smaller uid's connection stays. bytes: of the packets that
 * both queue before; 0: as many as their peers' capabilities say. Returns the other one's packets, -1 for an error. */
int cross(uint32_t bytes)
{
    const char *const first[] = {"tl.enable", "loop,loop2", nullptr}, *const second[] = {"tl.enable", "loop2,loop",
                                                                                         nullptr};
    Pair pair(first, second);
    vbn_peer_t *to_b, *to_a;
    EXPECT_EQ(rig_connect(pair.a, pair.b, &to_b), VBN_OK);
    EXPECT_EQ(rig_connect(pair.b, pair.a, &to_a), VBN_OK);
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(rig_send(pair.a, to_b, bytes != 0 ? bytes : rig_payload_max(to_b)), VBN_INPROGRESS);
    pair.settle();
    EXPECT_EQ(rig_result(pair.a)->pending, 0u) << "a queue that does not move";
    expect_clean(pair.a);
    if (rig_result(pair.a)->errors > 0) {
        EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_INVALID);
        EXPECT_NE(strstr(rig_result(pair.a)->error_text, "packet of"), nullptr) << rig_result(pair.a)->error_text;
        return -1;
    }
    EXPECT_EQ(rig_payload_max(to_b), rig_payload_max(to_a));
    return static_cast<int>(rig_result(pair.b)->received);
}

TEST(LinkWireup, what_is_queued_before_fits_whichever_connection_stays)
{
    for (uint64_t seed = 1; seed <= 30; seed++) { /* uids are random: each of the two stays sometimes */
        rig_seed(seed, 0, 0);
        ASSERT_EQ(cross(0), 10);
        ASSERT_FALSE(HasFailure());
    }
}

TEST(LinkWireup, a_packet_that_no_connection_takes_ends_the_peer_with_a_text)
{
    int lost = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        rig_seed(seed, 0, 0);
        int received = cross(30000);
        lost += received < 0;
        ASSERT_TRUE(received < 0 || received == 10);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(lost, 0);
}

TEST(LinkWireup, a_silent_peer_times_out_and_a_sleeping_caller_is_woken_for_it)
{
    rig_seed(11, 0, 0);
    Pair pair({7, 0, 20000000}, kDefault);
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK); /* b never makes progress */
    for (int turn = 0; turn < 1000 && rig_result(pair.a)->errors == 0; turn++) {
        rig_progress(pair.a);
        if (rig_result(pair.a)->errors == 0 && rig_arm(pair.a) == VBN_OK) {
            struct pollfd fd = {rig_fd(pair.a), POLLIN, 0};
            ASSERT_EQ(poll(&fd, 1, 20000), 1) << "nothing woke the sleeper";
        }
    }
    EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_TIMEOUT);
    EXPECT_NE(strstr(rig_result(pair.a)->error_text, "link.wireup_timeout"), nullptr);
    EXPECT_NE(strstr(rig_result(pair.a)->error_text, "HELLO"), nullptr);
}

} // namespace
