/* SPDX-License-Identifier: Apache-2.0
 * test_link.cc - rules of the link layer over a deterministic transport. */
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "pair.h"

namespace {

TEST(LinkConnect, messages_sent_at_once_arrive_when_the_peer_is_ready)
{
    rig_seed(1, 0, 0);
    Pair pair;
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    for (int i = 0; i < 50; i++)
        ASSERT_EQ(rig_send(pair.a, peer, 100), VBN_INPROGRESS);
    pair.settle();
    EXPECT_TRUE(rig_ready(peer));
    EXPECT_EQ(rig_result(pair.b)->received, 50u);
    EXPECT_EQ(rig_result(pair.a)->done_ok, 50u);
    expect_clean(pair.a);
    EXPECT_EQ(rig_send(pair.b, rig_last_sender(pair.b), 8), VBN_OK);
    pair.settle();
    EXPECT_EQ(rig_result(pair.a)->received, 1u);
    EXPECT_EQ(rig_peer_uid(peer), rig_uid(pair.b));
}

TEST(LinkConnect, both_sides_dialling_at_once_end_with_one_connection_and_no_loss)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        rig_seed(seed, 5, 3);
        Pair pair;
        vbn_peer_t *to_b, *to_a;
        std::mt19937_64 order(seed);
        ASSERT_EQ(rig_connect(pair.a, pair.b, &to_b), VBN_OK);
        for (uint64_t i = order() % 12; i > 0; i--)
            rig_progress(order() % 2 == 0 ? pair.a : pair.b);
        ASSERT_EQ(rig_connect(pair.b, pair.a, &to_a), VBN_OK);
        for (int i = 0; i < 40; i++) {
            rig_send(pair.a, to_b, 10);
            rig_send(pair.b, to_a, 0);
            rig_progress(order() % 2 == 0 ? pair.a : pair.b);
        }
        pair.settle();
        for (rig_t *rig : {pair.a, pair.b}) {
            ASSERT_EQ(rig_result(rig)->received, 40u);
            ASSERT_EQ(rig_peers(rig), 1u);
            ASSERT_EQ(rig_result(rig)->errors, 0u) << rig_result(rig)->error_text;
            expect_clean(rig);
        }
        ASSERT_FALSE(HasFailure());
    }
}

TEST(LinkConnect, a_second_connect_gives_the_same_peer_and_each_needs_its_disconnect)
{
    rig_seed(3, 0, 0);
    Pair pair;
    vbn_peer_t *first, *second;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &first), VBN_OK);
    ASSERT_EQ(rig_connect(pair.a, pair.b, &second), VBN_OK);
    EXPECT_EQ(first, second);
    pair.settle();
    rig_disconnect(first, VBN_CLOSE_NOW);
    pair.settle();
    EXPECT_GE(rig_send(pair.a, second, 1), 0);
    pair.settle();
    EXPECT_EQ(rig_result(pair.b)->received, 1u);
    rig_disconnect(second, VBN_CLOSE_FLUSH);
    pair.settle();
    EXPECT_EQ(rig_peers(pair.a), 0u);
    EXPECT_EQ(rig_peers(pair.b), 0u);
    EXPECT_EQ(rig_result(pair.b)->passive_lost, 1u);
}

TEST(LinkConnect, a_peer_that_comes_back_replaces_its_dead_connection)
{
    rig_seed(4, 0, 0);
    Pair pair;
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    rig_send(pair.a, peer, 1);
    pair.settle();
    for (int i = 0; i < 5; i++) { /* close without a word and dial again at once */
        rig_disconnect(peer, VBN_CLOSE_NOW);
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        EXPECT_TRUE(rig_ready(peer));
        EXPECT_EQ(rig_peers(pair.b), 1u);
    }
}

TEST(LinkAuth, a_wrong_key_is_refused_on_both_sides_with_the_cure)
{
    rig_seed(5, 0, 0);
    Pair pair({7, 0, 0}, {8, 0, 0});
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    rig_send(pair.a, peer, 20);
    rig_send_from_errors(pair.a, true);
    pair.settle();
    EXPECT_EQ(rig_result(pair.a)->errors, 1u);
    EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_AUTH);
    EXPECT_NE(strstr(rig_result(pair.a)->error_text, "vbn_config_set_job_key"), nullptr);
    EXPECT_EQ(rig_counter(pair.a, "wireup.auth_failed"), 1u);
    EXPECT_EQ(rig_counter(pair.b, "wireup.auth_failed"), 1u);
    EXPECT_EQ(rig_result(pair.a)->done_failed, 1u);
    EXPECT_EQ(rig_result(pair.b)->received, 0u);
    expect_clean(pair.a);
    rig_disconnect(peer, VBN_CLOSE_FLUSH);
}

TEST(LinkAuth, one_side_without_authentication_is_refused_and_told_so)
{
    for (uint8_t who : {0, 1}) {
        rig_seed(6, 0, 0);
        rig_options_t none = {0, 0, 0};
        Pair pair(who == 0 ? none : kDefault, who == 0 ? kDefault : none);
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_AUTH);
        EXPECT_NE(strstr(rig_result(pair.a)->error_text, "security.auth differs"), nullptr);
        EXPECT_EQ(rig_counter(pair.b, "wireup.auth_failed"), 1u);
    }
    rig_seed(6, 0, 0);
    rig_options_t none = {0, 0, 0};
    Pair pair(none, none);
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    pair.settle();
    EXPECT_TRUE(rig_ready(peer));
}

TEST(LinkAuth, another_version_is_refused_and_both_versions_are_named)
{
    for (int type : {HELLO, CHALLENGE}) {
        rig_seed(7, 0, 0);
        Pair pair;
        vbn_peer_t *peer;
        rig_tamper(type, 0, 16 + 4, 1 ^ 9);
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_VERSION);
        EXPECT_NE(strstr(rig_result(pair.a)->error_text, "version"), nullptr);
        EXPECT_EQ(rig_counter(pair.b, "wireup.version_refused"), 1u);
    }
    rig_tamper_off();
}

TEST(LinkAuth, an_attacker_who_sends_our_own_packets_back_never_gets_in)
{
    const uint8_t changes[][2] = {{0, 0}, {HELLO, CHALLENGE}, {PROOF, WELCOME}, {HELLO, WELCOME}};
    for (const auto &change : changes) {
        rig_seed(8, 0, 0);
        rig_t *rig = rig_open(&kDefault);
        rig_echo_t *echo = rig_echo_open(change[0], change[1]);
        uint8_t blob[VBN_ADDRESS_MAX];
        ASSERT_EQ(rig_connect_blob(rig, blob, rig_echo_address(echo, blob)), VBN_OK);
        for (int i = 0; i < 100; i++) {
            rig_progress(rig);
            rig_echo_progress(echo);
        }
        EXPECT_EQ(rig_result(rig)->errors, 1u);
        EXPECT_LT(rig_result(rig)->error_status, 0);
        EXPECT_EQ(rig_counter(rig, "peers.connected"), 0u);
        rig_close(rig);
        rig_echo_close(echo);
    }
}

TEST(LinkCredit, a_small_window_carries_10000_packets_each_way_in_order)
{
    rig_seed(12, 7, 3);
    Pair pair({7, 8, 0}, {7, 8, 0});
    vbn_peer_t *to_b, *to_a;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &to_b), VBN_OK);
    ASSERT_EQ(rig_connect(pair.b, pair.a, &to_a), VBN_OK);
    for (int i = 0; i < 10000; i++) {
        ASSERT_GE(rig_send(pair.a, to_b, i % 50), 0);
        ASSERT_GE(rig_send(pair.b, to_a, i % 3 == 0 ? 200 : 0), 0);
        if (i % 7 == 0)
            rig_progress(pair.a);
        if (i % 11 == 0)
            rig_progress(pair.b);
        ASSERT_LE(rig_unacked(to_b), 8u);
        ASSERT_LE(rig_unacked(to_a), 8u);
    }
    pair.settle();
    for (rig_t *rig : {pair.a, pair.b}) {
        EXPECT_EQ(rig_result(rig)->received, 10000u);
        expect_clean(rig);
    }
}

TEST(LinkCredit, the_smaller_window_of_both_sides_holds)
{
    rig_seed(13, 0, 0);
    Pair pair({7, 512, 0}, {7, 8, 0});
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    pair.settle();
    for (int i = 0; i < 100; i++)
        rig_send(pair.a, peer, 4);
    EXPECT_EQ(rig_unacked(peer), 8u);
    EXPECT_GT(rig_counter(pair.a, "link.credit_stalls"), 0u);
    pair.settle();
    EXPECT_EQ(rig_result(pair.b)->received, 100u);
}

TEST(LinkFlush, completes_when_all_before_is_acknowledged_and_not_earlier)
{
    rig_seed(14, 4, 2);
    Pair pair({7, 16, 0}, kDefault);
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    for (int i = 0; i < 100; i++)
        rig_send(pair.a, peer, 64);
    ASSERT_EQ(rig_flush(pair.a, peer), VBN_INPROGRESS);
    for (int turn = 0; turn < 100000 && rig_result(pair.a)->flushed == 0; turn++) {
        rig_progress(pair.a);
        if (rig_result(pair.a)->flushed > 0)
            break;
        rig_progress(pair.b);
    }
    EXPECT_EQ(rig_result(pair.a)->flushed, 1u);
    EXPECT_EQ(rig_result(pair.b)->received, 100u);
    pair.settle();
    EXPECT_EQ(rig_flush(pair.a, peer), VBN_OK) << "nothing is left to wait for";
}

TEST(LinkClose, flush_delivers_everything_even_when_it_was_still_connecting)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        rig_seed(seed, 3, 2);
        Pair pair({7, 8, 0}, kDefault);
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        for (uint64_t i = 0; i < seed; i++)
            rig_progress(i % 2 == 0 ? pair.a : pair.b);
        for (int i = 0; i < 200; i++)
            rig_send(pair.a, peer, 64);
        rig_disconnect(peer, VBN_CLOSE_FLUSH);
        pair.settle();
        ASSERT_EQ(rig_result(pair.b)->received, 200u) << "seed " << seed;
        ASSERT_EQ(rig_result(pair.a)->done_failed, 0u);
        ASSERT_EQ(rig_result(pair.a)->errors, 0u);
        ASSERT_EQ(rig_peers(pair.a), 0u);
        ASSERT_EQ(rig_peers(pair.b), 0u);
        expect_clean(pair.a);
    }
}

TEST(LinkClose, now_completes_what_is_pending_with_closed_from_progress)
{
    rig_seed(15, 0, 0);
    Pair pair;
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    for (int i = 0; i < 10; i++)
        rig_send(pair.a, peer, 64);
    rig_disconnect(peer, VBN_CLOSE_NOW);
    EXPECT_EQ(rig_result(pair.a)->pending, 10u) << "no callback from within disconnect";
    EXPECT_EQ(rig_arm(pair.a), VBN_BUSY);
    pair.settle();
    EXPECT_EQ(rig_result(pair.a)->done_failed, 10u);
    EXPECT_EQ(rig_result(pair.a)->last_done, VBN_ERR_CLOSED);
    EXPECT_EQ(rig_result(pair.a)->errors, 0u);
    expect_clean(pair.a);
}

/* Whatever ends a peer: while its process copies into memory here nothing completes, and progress does not wait either. */
TEST(LinkClose, a_peer_whose_process_copies_ends_when_that_is_over)
{
    for (int way = 0; way < 4; way++) {
        SCOPED_TRACE("way " + std::to_string(way));
        rig_seed(40, 0, 1);
        Pair pair;
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        ASSERT_EQ(rig_send(pair.a, peer, 100), VBN_INPROGRESS);
        rig_unsettled(true);
        if (way == 0)
            rig_disconnect(peer, VBN_CLOSE_NOW);
        if (way == 1)
            rig_disconnect(peer, VBN_CLOSE_FLUSH);
        if (way == 2)
            rig_fail_peer(peer);
        if (way == 3)
            rig_tamper(-1, 0, -1, 0), rig_flush(pair.a, peer); /* the connection breaks */
        for (int turn = 0; turn < 100; turn++)
            rig_progress(pair.a), rig_progress(pair.b);
        EXPECT_EQ(rig_waits(), 0u);
        EXPECT_EQ(rig_result(pair.a)->downs, 0u);
        EXPECT_EQ(rig_peers(pair.a), 0u); /* it is found no more */
        EXPECT_EQ(rig_arm(pair.a), VBN_BUSY);
        EXPECT_LT(rig_send(pair.a, peer, 8), 0);
        rig_unsettled(false);
        rig_tamper_off();
        pair.settle();
        EXPECT_EQ(rig_result(pair.a)->downs, 1u);
        EXPECT_EQ(rig_result(pair.a)->errors, way < 2 ? 0u : 1u);
        EXPECT_EQ(rig_counter(pair.a, "peers.lost"), way < 2 ? 0u : 1u);
        expect_clean(pair.a);
        if (way >= 2)
            rig_disconnect(peer, VBN_CLOSE_NOW);
    }
}

TEST(LinkClose, closing_the_engine_completes_everything)
{
    rig_seed(16, 2, 2);
    Pair pair({7, 8, 0}, kDefault);
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    pair.settle();
    for (int i = 0; i < 100; i++)
        rig_send(pair.a, peer, 64);
    rig_flush(pair.a, peer);
    rig_close(pair.a); /* leaks and second completions are the sanitizer's to see */
    pair.a = nullptr;
    for (int i = 0; i < 100; i++)
        rig_progress(pair.b);
    EXPECT_EQ(rig_peers(pair.b), 0u);
}

TEST(LinkClose, an_upper_layer_can_fail_a_peer_from_its_own_code)
{
    rig_seed(17, 0, 0);
    Pair pair;
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    pair.settle();
    rig_fail_peer(peer);
    rig_fail_peer(peer);
    EXPECT_EQ(rig_result(pair.a)->errors, 0u);
    pair.settle();
    EXPECT_EQ(rig_result(pair.a)->errors, 1u);
    EXPECT_EQ(rig_result(pair.a)->error_status, VBN_ERR_PROTOCOL);
    EXPECT_STREQ(rig_result(pair.a)->error_text, "the upper layer says so");
}

TEST(LinkRx, tampered_data_headers_end_that_peer_only)
{
    for (int at = 0; at < 16; at++) {
        rig_seed(18, 0, 0);
        Pair pair;
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
        pair.settle();
        rig_tamper(-1, 0, at, 0x40);
        rig_send(pair.a, peer, 8);
        pair.settle();
        rig_tamper_off();
        EXPECT_EQ(rig_result(pair.b)->received, 0u) << "byte " << at;
        EXPECT_EQ(rig_result(pair.a)->errors, 1u) << "byte " << at;
        EXPECT_EQ(rig_peers(pair.b), 0u);
    }
}

TEST(LinkEngine, a_wake_up_makes_the_event_fd_readable_and_one_more_turn)
{
    rig_seed(19, 0, 0);
    Pair pair;
    ASSERT_EQ(rig_arm(pair.a), VBN_OK);
    rig_wake(pair.a);
    struct pollfd fd = {rig_fd(pair.a), POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 10000), 1);
    EXPECT_GT(rig_progress(pair.a), 0u);
    EXPECT_EQ(rig_arm(pair.a), VBN_BUSY);
    EXPECT_EQ(rig_arm(pair.a), VBN_OK);
    EXPECT_EQ(poll(&fd, 1, 0), 0);
}

/* False where the host allows fewer. */
bool allow_descriptors(rlim_t count)
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count)
        return false;
    limit.rlim_cur = std::max(limit.rlim_cur, count);
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

TEST(LinkEngine, holds_500_peers_within_512_bytes_each)
{
    if (!allow_descriptors(500 * 3 + 100)) /* three of an engine */
        GTEST_SKIP() << "too few descriptors for 500 engines: raise ulimit -Hn to 2048";
    rig_seed(20, 0, 0);
    std::vector<rig_t *> rigs;
    rig_t *hub = rig_open(&kDefault);
    for (int i = 0; i < 500; i++)
        rigs.push_back(rig_open(&kDefault));
    for (rig_t *rig : rigs) {
        vbn_peer_t *peer;
        ASSERT_EQ(rig_connect(rig, hub, &peer), VBN_OK);
        rig_send(rig, peer, 8);
    }
    for (int turn = 0; turn < 200; turn++) {
        rig_progress(hub);
        for (rig_t *rig : rigs)
            rig_progress(rig);
    }
    EXPECT_EQ(rig_peers(hub), 500u);
    EXPECT_EQ(rig_result(hub)->received, 500u);
    printf("bytes per idle peer: %zu\n", rig_idle_peer_bytes());
    EXPECT_LE(rig_idle_peer_bytes(), 512u);
    for (rig_t *rig : rigs)
        rig_close(rig);
    rig_close(hub);
}

TEST(LinkEngine, refuses_to_work_in_a_child_after_fork)
{
    rig_seed(21, 0, 0);
    Pair pair;
    vbn_peer_t *peer;
    ASSERT_EQ(rig_connect(pair.a, pair.b, &peer), VBN_OK);
    pair.settle();
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        uint8_t blob[VBN_ADDRESS_MAX];
        bool right = rig_arm(pair.a) == VBN_ERR_FORKED && rig_progress(pair.a) == 0 && rig_address(pair.a, blob) == 0 &&
                     rig_send(pair.a, peer, 1) == VBN_ERR_FORKED && rig_connect_blob(pair.a, blob, 0) == VBN_ERR_FORKED;
        _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rig_send(pair.a, peer, 1);
    pair.settle();
    EXPECT_EQ(rig_result(pair.b)->received, 1u) << "the parent is not disturbed";
}

TEST(LinkAddress, damaged_addresses_are_refused_without_harm)
{
    rig_seed(22, 0, 0);
    rig_t *rig = rig_open(&kDefault);
    uint8_t blob[VBN_ADDRESS_MAX];
    unsigned sections = 0;
    size_t length = rig_address(rig, blob);
    ASSERT_GT(length, 24u);
    EXPECT_EQ(rig_decode_address(blob, length, &sections), VBN_OK);
    EXPECT_EQ(sections, 1u);
    for (size_t cut = 0; cut < length; cut++) {
        std::vector<uint8_t> copy(blob, blob + cut); /* exact size: the sanitizer sees each byte too many */
        EXPECT_LT(rig_decode_address(copy.data(), cut, &sections), 0);
    }
    std::mt19937 random(22);
    for (int round = 0; round < 20000; round++) {
        std::vector<uint8_t> copy(blob, blob + length);
        for (unsigned flips = random() % 4 + 1; flips > 0; flips--)
            copy[random() % length] = static_cast<uint8_t>(random());
        if (rig_decode_address(copy.data(), copy.size(), &sections) == VBN_OK) {
            EXPECT_LE(sections, 8u);
        }
    }
    blob[4] = 9;
    EXPECT_EQ(rig_connect_blob(rig, blob, length), VBN_ERR_VERSION);
    rig_close(rig);
}

TEST(LinkSelect, takes_the_first_reachable_and_says_why)
{
    const char *names[] = {"self", "shm", "tcp"};
    const bool offered[] = {false, true, true};
    const int shm[] = {0, 0, 0}, tcp[] = {0, VBN_ERR_UNREACHABLE, 0}, none[] = {0, -5, -5};
    char text[256];
    EXPECT_EQ(rig_select(names, offered, shm, 3, text, sizeof(text)), 1);
    EXPECT_STREQ(text, "shm: reason 1; self: the peer does not offer it; tcp: not needed");
    EXPECT_EQ(rig_select(names, offered, tcp, 3, text, sizeof(text)), 2);
    EXPECT_STREQ(text, "tcp: reason 2; self: the peer does not offer it; shm: reason 1");
    EXPECT_EQ(rig_select(names, offered, none, 3, text, sizeof(text)), -1);
    char tiny[8];
    EXPECT_EQ(rig_select(names, offered, tcp, 3, tiny, sizeof(tiny)), 2);
    EXPECT_LT(strlen(tiny), sizeof(tiny));
}

} // namespace
