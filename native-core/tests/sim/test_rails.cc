/* SPDX-License-Identifier: Apache-2.0
 * test_rails.cc - peers with several lanes: rails for bulk data, promotion to a costly transport, lanes that break or are
 * dropped. Each rule alone. */
#include <gtest/gtest.h>

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

constexpr uint32_t kBulk = 3000; /* more than half of a packet */

crowd_options_t rails(uint64_t seed, unsigned count)
{
    crowd_options_t options = {};
    options.engines = 2;
    options.seed = seed;
    options.connections = true;
    options.two_nets = true;
    options.rails = count;
    return options;
}

crowd_options_t promoting(uint64_t seed, unsigned engines)
{
    crowd_options_t options = {};
    options.engines = engines;
    options.seed = seed;
    options.two_nets = true;
    options.costly = true;
    options.promote_after = 20;
    options.promoted_max = 1;
    return options;
}

/* Everything that was sent has arrived once, in order, and was told to be done. */
void expect_all(crowd_t *crowd, unsigned from, unsigned to, uint64_t count)
{
    EXPECT_EQ(crowd_received(crowd, to), count);
    EXPECT_EQ(crowd_wrong(crowd, to), 0u);
    EXPECT_EQ(crowd_pending(crowd, from), 0u);
    EXPECT_EQ(crowd_failed(crowd, from), 0u);
    EXPECT_EQ(crowd_lost(crowd, from) + crowd_lost(crowd, to), 0u) << crowd_lost_text(crowd, from);
}

TEST(Rails, bulk_is_spread_over_all_lanes_and_small_packets_take_the_first)
{
    Crowd crowd(rails(1, 3));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 50; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 1u) << "small packets need no rails";
    for (int i = 0; i < 30; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 2u);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 1), 1u);
    EXPECT_EQ(crowd_lanes(crowd.it, 1, 0, -1), 3u) << "both sides have them";
    uint64_t before[2] = {crowd_carried(crowd.it, 0, 1, 0), crowd_carried(crowd.it, 0, 1, 1)};
    for (int i = 0; i < 300; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
    crowd_run(crowd.it, 1000);
    EXPECT_GT(crowd_carried(crowd.it, 0, 1, 0) - before[0], 150u);
    EXPECT_GT(crowd_carried(crowd.it, 0, 1, 1) - before[1], 60u);
    before[1] = crowd_carried(crowd.it, 0, 1, 1);
    for (int i = 0; i < 300; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_carried(crowd.it, 0, 1, 1), before[1]);
    expect_all(crowd.it, 0, 1, 50 + 30 + 300 + 300);
}

TEST(Rails, a_lane_that_breaks_at_any_packet_loses_nothing_while_another_lives)
{
    for (uint64_t at = 1; at <= 120; at++) {
        SCOPED_TRACE("broken at packet " + std::to_string(at));
        crowd_options_t options = rails(at, 2);
        options.resume_ms = at % 4 < 2 ? 10000 : 0;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        for (int i = 0; i < 10; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
            crowd_run(crowd.it, 20);
        }
        ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u);
        crowd_break_after(crowd.it, (unsigned)(at % 2), at);
        for (uint32_t i = 0; i < 100; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, i % 3 == 0 ? 50 : kBulk), 0);
            ASSERT_GE(crowd_send(crowd.it, 1, 0, i % 3 == 1 ? 50 : kBulk), 0);
            if (i % 10 == 0)
                crowd_run(crowd.it, 1);
        }
        crowd_run(crowd.it, 5000);
        expect_all(crowd.it, 0, 1, 110);
        expect_all(crowd.it, 1, 0, 100);
        EXPECT_EQ(crowd_counter(crowd.it, 0, "link.resumes"), 0u) << "the other lane went on";
        EXPECT_EQ(crowd_counter(crowd.it, 0, "link.lanes_lost") > 0, crowd_counter(crowd.it, 1, "link.lanes_lost") > 0);
    }
}

TEST(Rails, a_lane_that_broke_is_opened_again_when_bulk_goes_on)
{
    Crowd crowd(rails(3, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 20; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
            crowd_run(crowd.it, 20);
        }
        ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u) << "round " << round;
        crowd_break(crowd.it, 1, (unsigned)round % 2);
    }
    crowd_run(crowd.it, 1000);
    expect_all(crowd.it, 0, 1, 100);
}

TEST(Rails, a_net_that_is_silent_is_left_for_the_other)
{
    crowd_options_t options = rails(4, 2);
    options.keepalive_ms = 500;
    options.peer_timeout_ms = 2000;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 10; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    crowd_cut(crowd.it, 0, 1, true); /* of the first net; its packets wait, nothing breaks */
    for (int i = 0; i < 100; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
    crowd_run(crowd.it, 10000);
    expect_all(crowd.it, 0, 1, 110);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 0u);
}

TEST(Rails, a_lane_over_datagrams_that_is_silent_is_left_for_the_other)
{
    crowd_options_t options = rails(8, 2);
    options.connections = false; /* the first net */
    options.datagrams2 = true;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 20; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 1u);
    ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, 1), 1u);
    crowd_cut(crowd.it, 0, 1, true);
    uint64_t sent = 20;
    for (int round = 0; round < 40 && crowd_lanes(crowd.it, 0, 1, 0) > 0; round++, sent += 20) {
        for (int i = 0; i < 20; i++)
            ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 1000);
    }
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 0u);
    crowd_run(crowd.it, 5000);
    expect_all(crowd.it, 0, 1, sent);
}

TEST(Rails, a_lane_that_names_another_session_is_refused_and_the_peer_goes_on)
{
    Crowd crowd(rails(9, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 100);
    crowd_mistake_session(crowd.it, 0, 1);
    for (int i = 0; i < 50; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 1u);
    EXPECT_EQ(crowd_lanes(crowd.it, 1, 0, -1), 1u);
    EXPECT_EQ(crowd_counter(crowd.it, 1, "link.lanes_added"), 0u);
    expect_all(crowd.it, 0, 1, 51);
}

TEST(Rails, a_lane_that_only_one_side_can_spare_is_not_dropped)
{
    Crowd crowd(rails(10, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 10; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    ASSERT_EQ(crowd_lanes(crowd.it, 1, 0, -1), 2u);
    crowd_cut(crowd.it, 0, 1, true); /* so that 0 does not hear that */
    crowd_break(crowd.it, 1, 0);     /* 1 has lost its lane over the first net */
    crowd_run(crowd.it, 1);
    ASSERT_EQ(crowd_lanes(crowd.it, 1, 0, -1), 1u);
    crowd_drop_lane(crowd.it, 0, 1, 1);
    crowd_run(crowd.it, 100);
    EXPECT_EQ(crowd_lanes(crowd.it, 1, 0, 1), 1u) << "its last";
    crowd_cut(crowd.it, 0, 1, false);
    for (int i = 0; i < 20; i++) { /* the lane is used again, and a second one opened */
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "link.lanes_dropped"), 0u);
    /* Now 1 drops it. What it heard then does not count: it waits for 0 to say that nothing more is under way. */
    uint64_t before = crowd_counter(crowd.it, 0, "link.retransmits");
    for (int i = 0; i < 100; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
    crowd_drop_lane(crowd.it, 1, 0, 1);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_counter(crowd.it, 1, "link.lanes_dropped"), 1u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "link.retransmits"), before);
    expect_all(crowd.it, 0, 1, 130);
}

TEST(Rails, a_sender_is_never_further_ahead_than_the_receiver_can_hold)
{
    Crowd crowd(rails(7, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 10; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    crowd_cut(crowd.it, 0, 1, true); /* one of two lanes is late by a second */
    for (int i = 0; i < 2000; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
    crowd_run(crowd.it, 1000);
    crowd_cut(crowd.it, 0, 1, false);
    crowd_run(crowd.it, 2000);
    expect_all(crowd.it, 0, 1, 2010);
}

TEST(Rails, the_peer_is_lost_with_its_last_lane)
{
    Crowd crowd(rails(5, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 10; i++) {
        ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
        crowd_run(crowd.it, 20);
    }
    crowd_break(crowd.it, 0, 0);
    crowd_run(crowd.it, 1);
    EXPECT_EQ(crowd_lost(crowd.it, 0) + crowd_lost(crowd.it, 1), 0u);
    crowd_break(crowd.it, 0, 1);
    crowd_run(crowd.it, 1);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
    EXPECT_EQ(crowd_lost(crowd.it, 1), 1u);
}

TEST(Rails, a_peer_that_closes_breaks_no_lane)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Crowd crowd(rails(seed, 2));
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        for (int i = 0; i < 10; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
            crowd_run(crowd.it, 20);
        }
        ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u);
        crowd_disconnect(crowd.it, 0, 1, seed % 2 == 0);
        crowd_run(crowd.it, 200);
        EXPECT_EQ(crowd_lost(crowd.it, 1), 1u);
        for (unsigned side : {0u, 1u})
            EXPECT_EQ(crowd_counter(crowd.it, side, "link.lanes_lost"), 0u) << "of side " << side;
    }
}

TEST(Rails, one_rail_means_one_lane_and_nothing_is_kept)
{
    crowd_options_t options = rails(6, 1);
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 100; i++)
        ASSERT_EQ(crowd_send(crowd.it, 0, 1, kBulk), 1) << "not ready yet";
    crowd_run(crowd.it, 100);
    ASSERT_EQ(crowd_send(crowd.it, 0, 1, kBulk), 0) << "the transport took it";
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 1u);
    EXPECT_EQ(crowd_timers(crowd.it, 0), 0u);
}

TEST(Rails, a_lane_dropped_under_traffic_loses_nothing)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crowd_options_t options = rails(seed, 2);
        options.later_ppm = seed % 2 == 0 ? 300000 : 0;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        for (int i = 0; i < 10; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, kBulk), 0);
            crowd_run(crowd.it, 20);
        }
        for (uint32_t i = 0; i < 100; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, i % 3 == 0 ? 50 : kBulk), 0);
            ASSERT_GE(crowd_send(crowd.it, 1, 0, i % 3 == 1 ? 50 : kBulk), 0);
            if (i == seed)
                crowd_drop_lane(crowd.it, 0, 1, (unsigned)(seed % 2));
            if (i == seed && seed % 3 == 0)
                crowd_drop_lane(crowd.it, 1, 0, (unsigned)(seed % 2));
            if (i % 10 == 0)
                crowd_run(crowd.it, 1);
        }
        crowd_run(crowd.it, 2000);
        expect_all(crowd.it, 0, 1, 110);
        expect_all(crowd.it, 1, 0, 100);
        for (unsigned side : {0u, 1u}) {
            EXPECT_EQ(crowd_counter(crowd.it, side, "link.lanes_dropped"), seed < 100 ? 1u : 0u);
            EXPECT_EQ(crowd_counter(crowd.it, side, "link.lanes_lost"), 0u);
        }
    }
}

TEST(Promotion, a_peer_gets_the_costly_transport_after_its_messages_and_not_before)
{
    Crowd crowd(promoting(1, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    for (int i = 0; i < 10; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 5000);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 1), 0u);
    for (int i = 0; i < 10; i++)
        ASSERT_GE(crowd_send(crowd.it, 1, 0, 100), 0); /* those of both sides count */
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 1), 1u);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 1u) << "the first lane stays";
    uint64_t before = crowd_carried(crowd.it, 0, 1, 0);
    for (int i = 0; i < 100; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_carried(crowd.it, 0, 1, 0), before) << "the better lane takes everything";
    expect_all(crowd.it, 0, 1, 110);
}

TEST(Promotion, one_sided_operations_promote_at_once)
{
    Crowd crowd(promoting(2, 2));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    crowd_promote(crowd.it, 0, 1);
    ASSERT_GE(crowd_send(crowd.it, 0, 1, 100), 0);
    crowd_run(crowd.it, 100);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 1), 1u);
}

TEST(Promotion, the_least_recently_used_peer_makes_room_and_loses_nothing)
{
    Crowd crowd(promoting(3, 4));
    for (unsigned to : {1u, 2u, 3u})
        ASSERT_TRUE(crowd_connect(crowd.it, 0, to));
    unsigned promoted = 0;
    for (unsigned round = 0; round < 6; round++) {
        unsigned to = 1 + round % 3;
        for (int i = 0; i < 60; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, to, (uint32_t)i * 20), 0);
            crowd_run(crowd.it, 50);
        }
        EXPECT_EQ(crowd_lanes(crowd.it, 0, to, 1), 1u) << "round " << round;
        unsigned all = 0;
        for (unsigned other : {1u, 2u, 3u})
            all += crowd_lanes(crowd.it, 0, other, 1);
        EXPECT_EQ(all, 1u) << "link.promoted_max is 1";
        promoted += crowd_lanes(crowd.it, 0, to, 1);
    }
    EXPECT_EQ(promoted, 6u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "link.demotions"), 5u);
    for (unsigned to : {1u, 2u, 3u}) {
        EXPECT_EQ(crowd_received(crowd.it, to), 120u);
        EXPECT_EQ(crowd_wrong(crowd.it, to), 0u);
    }
    EXPECT_EQ(crowd_lost(crowd.it, 0), 0u);
}

TEST(Promotion, peers_in_use_keep_their_lanes_and_the_others_go_on_without)
{
    Crowd crowd(promoting(4, 3));
    for (unsigned to : {1u, 2u})
        ASSERT_TRUE(crowd_connect(crowd.it, 0, to));
    for (int i = 0; i < 200; i++) {
        for (unsigned to : {1u, 2u})
            ASSERT_GE(crowd_send(crowd.it, 0, to, 100), 0);
        crowd_run(crowd.it, 10);
    }
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 1) + crowd_lanes(crowd.it, 0, 2, 1), 1u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "link.demotions"), 0u);
    EXPECT_EQ(crowd_received(crowd.it, 1) + crowd_received(crowd.it, 2), 400u);
}

TEST(Promotion, a_promoted_lane_that_breaks_costs_nothing)
{
    for (uint64_t at = 1; at <= 60; at++) {
        SCOPED_TRACE("broken at packet " + std::to_string(at));
        crowd_options_t options = promoting(at, 2);
        options.loss_ppm = 50000;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        crowd_run(crowd.it, 2000);
        crowd_promote(crowd.it, 0, 1);
        crowd_break_after(crowd.it, 1, at);
        for (uint32_t i = 0; i < 100; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, i * 20), 0);
            ASSERT_GE(crowd_send(crowd.it, 1, 0, i * 30), 0);
            if (i % 10 == 0)
                crowd_run(crowd.it, 3);
        }
        crowd_run(crowd.it, 10000);
        expect_all(crowd.it, 0, 1, 100);
        expect_all(crowd.it, 1, 0, 100);
    }
}

} // namespace
