// SPDX-License-Identifier: Apache-2.0
// test_busy.cc - peers whose program computes and makes no progress, for longer than link.peer_timeout: they are not lost,
// little is sent to them meanwhile, what was under way arrives afterwards; and hosts that are gone are noticed all the same.
#include <gtest/gtest.h>

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

struct Kind {
    const char *name;
    bool connections, two_nets, costly;
    unsigned rails;
    uint64_t resume_ms;
    uint32_t loss_ppm;
};

/* link.peer_timeout is 30 s, link.keepalive 10 s: the defaults. */
const Kind kKinds[] = {
    {"datagrams", false, false, false, 0, 0, 0},
    {"datagrams, a fifth lost", false, false, false, 0, 0, 200000},
    {"datagrams that resume", false, false, false, 0, 5000, 0},
    {"connections", true, false, false, 0, 0, 0},
    {"connections that resume", true, false, false, 0, 5000, 0},
    {"two rails", true, true, false, 2, 0, 0},
    {"promoted from datagrams to connections", false, true, true, 0, 0, 0},
};

crowd_options_t options_of(const Kind &kind, uint64_t seed)
{
    crowd_options_t options = {};
    options.engines = 2;
    options.seed = seed;
    options.connections = kind.connections;
    options.two_nets = kind.two_nets;
    options.costly = kind.costly;
    options.rails = kind.rails;
    options.promote_after = kind.costly ? 8 : 0;
    options.resume_ms = kind.resume_ms;
    options.loss_ppm = kind.loss_ppm;
    options.packet_max = 65536;
    return options;
}

void exchange(crowd_t *crowd, unsigned count)
{
    crowd_run(crowd, 2000); /* wire-up, also where it is lost at first */
    for (unsigned i = 0; i < count; i++) {
        ASSERT_GE(crowd_send(crowd, 0, 1, i % 3 == 0 ? 40000 : 50), 0);
        ASSERT_GE(crowd_send(crowd, 1, 0, 50), 0);
        crowd_run(crowd, 20);
    }
}

TEST(Busy, a_peer_that_computes_loses_nothing_and_is_left_in_peace)
{
    for (const Kind &kind : kKinds) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            SCOPED_TRACE(std::string(kind.name) + ", seed " + std::to_string(seed));
            Crowd crowd(options_of(kind, seed));
            ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
            exchange(crowd.it, 30);
            crowd_run(crowd.it, 5000);
            unsigned lanes = crowd_lanes(crowd.it, 0, 1, -1);
            EXPECT_EQ(lanes, kind.two_nets ? 2u : 1u);
            ASSERT_GE(crowd_send(crowd.it, 1, 0, 40000), 0); /* just before it computes */
            crowd_compute(crowd.it, 1, true);
            for (unsigned i = 0; i < 60; i++)
                ASSERT_GE(crowd_send(crowd.it, 0, 1, i % 3 == 0 ? 40000 : 50), 0);
            crowd_run(crowd.it, 5000);
            uint64_t before = crowd_packets(crowd.it);
            crowd_run(crowd.it, 115000);
            EXPECT_LE(crowd_packets(crowd.it) - before, kind.loss_ppm > 0 ? 100u : 40u)
                << "questions and repeated packets in 115 s";
            crowd_compute(crowd.it, 1, false);
            crowd_run(crowd.it, kind.loss_ppm > 0 ? 20000 : 1000); /* soon */
            for (unsigned side : {0u, 1u}) {
                EXPECT_EQ(crowd_received(crowd.it, side), side == 0 ? 31u : 90u);
                EXPECT_EQ(crowd_wrong(crowd.it, side), 0u);
                EXPECT_EQ(crowd_pending(crowd.it, side), 0u);
                EXPECT_EQ(crowd_failed(crowd.it, side), 0u);
                EXPECT_EQ(crowd_lost(crowd.it, side), 0u) << crowd_lost_text(crowd.it, side);
                EXPECT_EQ(crowd_counter(crowd.it, side, "link.resumes"), 0u);
                EXPECT_EQ(crowd_counter(crowd.it, side, "link.lanes_lost"), 0u);
            }
            EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, -1), lanes);
            exchange(crowd.it, 5);
        }
    }
}

TEST(Busy, an_idle_peer_that_computes_for_an_hour_is_not_lost)
{
    for (const Kind &kind : kKinds) {
        SCOPED_TRACE(kind.name);
        Crowd crowd(options_of(kind, 3));
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        exchange(crowd.it, 10);
        crowd_run(crowd.it, 5000);
        crowd_compute(crowd.it, 1, true);
        crowd_run(crowd.it, 3600000);
        EXPECT_EQ(crowd_lost(crowd.it, 0), 0u) << crowd_lost_text(crowd.it, 0);
        crowd_compute(crowd.it, 1, false);
        exchange(crowd.it, 5);
        crowd_run(crowd.it, 5000);
        EXPECT_EQ(crowd_received(crowd.it, 1), 15u);
        EXPECT_EQ(crowd_lost(crowd.it, 0) + crowd_lost(crowd.it, 1), 0u);
    }
}

TEST(Busy, a_host_that_vanishes_while_its_program_computes_is_noticed_over_datagrams)
{
    for (bool waits : {false, true}) {
        SCOPED_TRACE(waits ? "a packet waits" : "idle");
        Crowd crowd(options_of(kKinds[0], 4));
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        exchange(crowd.it, 10);
        crowd_compute(crowd.it, 1, true);
        if (waits) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, 40000), 0);
        }
        crowd_run(crowd.it, 120000);
        ASSERT_EQ(crowd_lost(crowd.it, 0), 0u) << crowd_lost_text(crowd.it, 0);
        crowd_cut(crowd.it, 0, 1, true);
        crowd_run(crowd.it, 19000);
        EXPECT_EQ(crowd_lost(crowd.it, 0), 0u) << "link.peer_timeout is 30 s, the last sign may be link.keepalive old";
        crowd_run(crowd.it, 13000);
        EXPECT_EQ(crowd_lost(crowd.it, 0), 1u);
        EXPECT_NE(strstr(crowd_lost_text(crowd.it, 0), "link.peer_timeout"), nullptr) << crowd_lost_text(crowd.it, 0);
    }
}

TEST(Busy, a_peer_whose_worker_has_gone_without_a_word_is_noticed_although_its_process_lives)
{
    Crowd crowd(options_of(kKinds[0], 5));
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    exchange(crowd.it, 10);
    ASSERT_TRUE(crowd_connect(crowd.it, 1, 0));
    crowd_cut(crowd.it, 0, 1, true); /* so that its last word is lost */
    crowd_disconnect(crowd.it, 1, 0, false);
    crowd_run(crowd.it, 10);
    crowd_cut(crowd.it, 0, 1, false);
    crowd_run(crowd.it, 60000);
    EXPECT_EQ(crowd_lost(crowd.it, 0), 1u) << "its endpoint is gone: nobody answers for that";
}

TEST(Busy, a_connection_that_carries_nothing_is_left_only_while_the_program_answers)
{
    crowd_options_t options = options_of(kKinds[5], 6); /* two rails */
    options.keepalive_ms = 500;
    options.peer_timeout_ms = 2000;
    Crowd crowd(options);
    ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
    exchange(crowd.it, 30);
    ASSERT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u);
    crowd_compute(crowd.it, 1, true);
    for (unsigned i = 0; i < 30; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 40000), 0);
    crowd_run(crowd.it, 60000);
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, -1), 2u) << "its silence says nothing about either";
    crowd_compute(crowd.it, 1, false);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_received(crowd.it, 1), 60u);
    EXPECT_EQ(crowd_counter(crowd.it, 0, "link.lanes_lost"), 0u);
    crowd_cut(crowd.it, 0, 1, true); /* of the first net */
    for (unsigned i = 0; i < 30; i++)
        ASSERT_GE(crowd_send(crowd.it, 0, 1, 40000), 0);
    crowd_run(crowd.it, 10000);
    EXPECT_EQ(crowd_received(crowd.it, 1), 90u) << "over the other net";
    EXPECT_EQ(crowd_lanes(crowd.it, 0, 1, 0), 0u);
}

} // namespace
