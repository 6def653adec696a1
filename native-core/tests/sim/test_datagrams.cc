/* SPDX-License-Identifier: Apache-2.0
 * test_datagrams.cc - the link layer over datagrams that get lost: each rule alone; and many peers in one process. */
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "crowd.h"

namespace {

struct Crowd {
    crowd_t *it;
    explicit Crowd(const crowd_options_t &options) : it(crowd_open(&options)) {}
    ~Crowd() { crowd_close(it); }
    Crowd(const Crowd &) = delete;
    Crowd &operator=(const Crowd &) = delete;
};

crowd_options_t two(uint64_t seed)
{
    crowd_options_t options = {};
    options.engines = 2;
    options.seed = seed;
    return options;
}

constexpr int kOk = 0, kInProgress = 1;

TEST(Datagrams, small_payloads_are_copied_and_large_ones_stay_the_callers_until_the_ack)
{
    Crowd crowd(two(1));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    crowd_run(crowd.it, 100);
    EXPECT_EQ(crowd_send(crowd.it, 0, 1, 0), kOk);
    EXPECT_EQ(crowd_send(crowd.it, 0, 1, 200), kOk);
    EXPECT_EQ(crowd_send(crowd.it, 0, 1, 1000), kInProgress);
    EXPECT_EQ(crowd_done(crowd.it, 0), 0u) << "not before the ack";
    crowd_run(crowd.it, 100);
    EXPECT_EQ(crowd_done(crowd.it, 0), 1u);
    EXPECT_EQ(crowd_received(crowd.it, 1), 3u);
}

TEST(Datagrams, a_packet_that_is_sent_again_reads_the_callers_memory_again)
{
    Crowd crowd(two(2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    crowd_run(crowd.it, 100);
    crowd_cut(crowd.it, 0, 1, true);
    ASSERT_EQ(crowd_send(crowd.it, 0, 1, 1000), kInProgress);
    crowd_run(crowd.it, 50);
    EXPECT_EQ(crowd_pending(crowd.it, 0), 1u);
    crowd_scribble(crowd.it); /* the rule broken on purpose: the receiver gets what is there now */
    crowd_cut(crowd.it, 0, 1, false);
    crowd_run(crowd.it, 5000);
    EXPECT_EQ(crowd_wrong(crowd.it, 1), 1u);
    EXPECT_EQ(crowd_done(crowd.it, 0), 1u);
    EXPECT_GT(crowd_counter(crowd.it, 0, "link.retransmits"), 0u);
}

TEST(Datagrams, a_close_with_flush_delivers_everything_over_a_net_that_loses_a_fifth)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crowd_options_t options = two(seed);
        options.loss_ppm = 200000;
        options.duplicate_ppm = 50000;
        options.late_ppm = 50000;
        options.later_ppm = seed % 2 == 0 ? 300000 : 0;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        for (uint32_t i = 0; i < 60; i++)
            ASSERT_GE(crowd_send(crowd.it, 0, 1, i * 40), 0);
        crowd_disconnect(crowd.it, 0, 1, true);
        crowd_run(crowd.it, 55000);
        ASSERT_EQ(crowd_received(crowd.it, 1), 60u);
        ASSERT_EQ(crowd_wrong(crowd.it, 1), 0u);
        ASSERT_EQ(crowd_failed(crowd.it, 0), 0u);
        ASSERT_EQ(crowd_peers(crowd.it, 0), 0u) << "closed before link.close_timeout";
        ASSERT_EQ(crowd_peers(crowd.it, 1), 0u);
        ASSERT_EQ(crowd_lost(crowd.it, 1), 1u);
        ASSERT_STREQ(crowd_lost_text(crowd.it, 1), "the peer closed the connection");
        ASSERT_EQ(crowd_timers(crowd.it, 0) + crowd_timers(crowd.it, 1), 0u) << "nothing stays behind";
    }
}

TEST(Datagrams, a_close_ends_soon_although_its_last_acks_are_lost)
{
    Crowd crowd(two(13));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 100);
    crowd_lose_acks(crowd.it, 1, 3);
    crowd_disconnect(crowd.it, 0, 1, true);
    crowd_run(crowd.it, 2000); /* the other side has no peer any more and still answers */
    EXPECT_EQ(crowd_peers(crowd.it, 1), 0u);
    EXPECT_EQ(crowd_peers(crowd.it, 0), 0u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "peers.lost"), 0u);
    crowd_run(crowd.it, 5000);
    EXPECT_EQ(crowd_timers(crowd.it, 1), 0u) << "it does not answer for ever";
}

TEST(Datagrams, a_silent_peer_is_lost_after_the_time_out_with_the_reason)
{
    for (bool busy : {false, true}) {
        crowd_options_t options = two(3);
        options.keepalive_ms = 1000;
        options.peer_timeout_ms = 5000;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        crowd_run(crowd.it, 100);
        crowd_cut(crowd.it, 0, 1, true);
        if (busy) {
            ASSERT_EQ(crowd_send(crowd.it, 0, 1, 1000), kInProgress);
        }
        crowd_run(crowd.it, 4500);
        EXPECT_EQ(crowd_lost(crowd.it, 0), 0u);
        crowd_run(crowd.it, 3000);
        EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
        EXPECT_NE(strstr(crowd_lost_text(crowd.it, 0), "link.peer_timeout"), nullptr) << crowd_lost_text(crowd.it, 0);
        EXPECT_EQ(crowd_failed(crowd.it, 0), busy ? 1u : 0u);
    }
}

TEST(Datagrams, idle_peers_stay_connected_and_say_little)
{
    crowd_options_t options = two(4);
    options.loss_ppm = 100000;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 10), 0);
    crowd_run(crowd.it, 5000);
    uint64_t before = crowd_packets(crowd.it);
    crowd_run(crowd.it, 3600000); /* an hour */
    EXPECT_EQ(crowd_lost(crowd.it, 0) + crowd_lost(crowd.it, 1), 0u);
    EXPECT_EQ(crowd_peers(crowd.it, 0), 1u);
    /* A question and an answer each 10 s when one side asks, twice that when both do, and what is lost again. */
    EXPECT_LT(crowd_packets(crowd.it) - before, 360u * 6);
    EXPECT_GT(crowd_packets(crowd.it) - before, 360u);
}

TEST(Datagrams, a_close_at_once_is_heard_by_the_peer_at_once)
{
    Crowd crowd(two(5));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 10), 0);
    crowd_run(crowd.it, 100);
    crowd_disconnect(crowd.it, 0, 1, false);
    crowd_run(crowd.it, 10);
    EXPECT_EQ(crowd_lost(crowd.it, 1), 1u);
    EXPECT_EQ(crowd_peers(crowd.it, 0) + crowd_peers(crowd.it, 1), 0u);
}

TEST(Datagrams, a_lost_packet_among_many_is_sent_again_without_a_time_out_and_alone)
{
    crowd_options_t options = two(6);
    options.loss_ppm = 20000;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    crowd_run(crowd.it, 1000);
    for (int i = 0; i < 20000; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
        if (i % 50 == 0)
            crowd_run(crowd.it, 1);
    }
    crowd_run(crowd.it, 5000);
    EXPECT_EQ(crowd_received(crowd.it, 1), 20000u);
    uint64_t again = crowd_counter(crowd.it, 0, "link.retransmits");
    EXPECT_GT(again, 300u) << "2 % of 20,000 were lost";
    EXPECT_LT(again, 1000u) << "only what was lost is sent again";
}

TEST(Datagrams, connections_of_a_reliable_transport_use_no_timer_and_no_extra_packet)
{
    crowd_options_t options = two(7);
    options.connections = true;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    crowd_run(crowd.it, 100);
    uint64_t before = crowd_packets(crowd.it);
    for (int i = 0; i < 100; i++)
        ASSERT_EQ(crowd_send(crowd.it, 0, 1, 1000), kOk);
    crowd_run(crowd.it, 60000);
    EXPECT_EQ(crowd_packets(crowd.it) - before, 100u);
    EXPECT_EQ(crowd_timers(crowd.it, 0) + crowd_timers(crowd.it, 1), 0u);
}

crowd_options_t resuming(uint64_t seed, bool connections)
{
    crowd_options_t options = two(seed);
    options.connections = connections;
    options.resume_ms = 10000;
    options.keepalive_ms = 500;
    options.peer_timeout_ms = 2000;
    return options;
}

TEST(Resume, a_connection_that_breaks_again_and_again_loses_and_doubles_nothing)
{
    for (bool connections : {true, false}) {
        Crowd crowd(resuming(9, connections));
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        crowd_run(crowd.it, 100);
        for (uint32_t i = 0; i < 500; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, i * 7), 0);
            ASSERT_GE(crowd_send(crowd.it, 1, 0, i * 5), 0);
            if (i % 25 == 0)
                crowd_break(crowd.it, i / 25 % 2, 0);
            if (i % 5 == 0)
                crowd_run(crowd.it, 1);
        }
        crowd_run(crowd.it, 60000);
        for (unsigned side : {0u, 1u}) {
            EXPECT_EQ(crowd_received(crowd.it, side), 500u);
            EXPECT_EQ(crowd_wrong(crowd.it, side), 0u);
            EXPECT_EQ(crowd_lost(crowd.it, side), 0u) << crowd_lost_text(crowd.it, side);
            EXPECT_EQ(crowd_pending(crowd.it, side), 0u);
            EXPECT_EQ(crowd_failed(crowd.it, side), 0u);
        }
        EXPECT_GE(crowd_counter(crowd.it, 0, "link.resumes"), 5u);
    }
}

TEST(Resume, without_the_setting_a_broken_connection_loses_its_peer_at_once)
{
    crowd_options_t options = two(10);
    options.connections = true;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 8), 0);
    crowd_run(crowd.it, 100);
    crowd_break(crowd.it, 0, 0);
    crowd_run(crowd.it, 10);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
    EXPECT_EQ(crowd_lost(crowd.it, 1), 1u);
}

TEST(Resume, a_connection_that_cannot_be_opened_again_is_lost_in_time_with_both_reasons)
{
    Crowd crowd(resuming(11, true));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 8), 0);
    crowd_run(crowd.it, 100);
    crowd_break(crowd.it, 0, 0);
    crowd_cut(crowd.it, 0, 1, true);
    ASSERT_EQ(crowd_send(crowd.it, 0, 1, 2000), kInProgress);
    crowd_run(crowd.it, 9000);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 0u);
    crowd_run(crowd.it, 2000);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
    EXPECT_EQ(crowd_failed(crowd.it, 0), 1u);
    EXPECT_NE(strstr(crowd_lost_text(crowd.it, 0), "link.resume_timeout"), nullptr);
    EXPECT_NE(strstr(crowd_lost_text(crowd.it, 0), "simulated connection broke"), nullptr);
}

TEST(Resume, a_peer_that_has_given_up_says_so)
{
    Crowd crowd(resuming(12, true));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_TRUE(crowd_connect(crowd.it, 1, 0));
    crowd_run(crowd.it, 100);
    crowd_break(crowd.it, 0, 0);
    crowd_disconnect(crowd.it, 1, 0, false);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
    EXPECT_STREQ(crowd_lost_text(crowd.it, 0), "the connection broke and the peer no longer resumes it");
}

size_t heap_bytes()
{
    return mallinfo2().uordblks;
}

bool measurable()
{
    size_t before = heap_bytes();
    void *volatile block = malloc(4096);
    bool counts = heap_bytes() >= before + 4096;
    free(block);
    return counts;
}

/* All spokes know hub 0 first, so that what they allocate once is there; then each gets to know hub 1. */
size_t bytes_per_peer(bool connections, unsigned peers)
{
    crowd_options_t options = {};
    options.engines = peers + 2;
    options.seed = 8;
    options.connections = connections;
    Crowd crowd(options);
    size_t before = 0;
    for (unsigned hub : {0u, 1u}) {
        for (unsigned i = 2; i < peers + 2; i++) {
            EXPECT_TRUE(crowd_connect(crowd.it, i, hub));
            EXPECT_GE(crowd_send(crowd.it, i, hub, 100), 0);
        }
        for (int turns = 0; turns < 100 && crowd_received(crowd.it, hub) < peers; turns++)
            crowd_run(crowd.it, 20);
        crowd_run(crowd.it, 20);
        EXPECT_EQ(crowd_received(crowd.it, hub), peers);
        EXPECT_EQ(crowd_peers(crowd.it, hub), peers);
        if (hub == 0)
            before = heap_bytes();
    }
    return (heap_bytes() - before) / 2 / peers; /* both ends of each connection live here */
}

TEST(ManyPeers, ten_thousand_peers_in_one_process_are_cheap_when_idle)
{
    if (!measurable())
        GTEST_SKIP() << "a sanitizer's allocator does not count: run the release build";
    constexpr unsigned kPeers = 10000;
    for (bool connections : {false, true}) {
        size_t bytes = bytes_per_peer(connections, kPeers);
        printf("%s: %u peers of one worker, %zu bytes of heap for each, transport's part included\n",
               connections ? "connections" : "datagrams", kPeers, bytes);
        EXPECT_LE(bytes, connections ? 512u : 752u);
    }
}

} // namespace
