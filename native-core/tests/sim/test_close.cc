/* SPDX-License-Identifier: Apache-2.0
 * test_close.cc - closing with flush: many peers at once, and a CLOSE that comes while packets are in use. */
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

/* Half of them cannot be closed yet. Each look at a closing peer asks the upper layer once. */
TEST(Close, looks_at_closing_peers_grow_with_their_number_and_not_with_its_square)
{
    constexpr unsigned kPeers = 2000, kLoud = kPeers / 2;
    crowd_options_t options = {};
    options.engines = kPeers + 1;
    options.seed = 1;
    options.connections = true;
    Crowd crowd(options);
    for (unsigned i = 1; i <= kPeers; i++)
        ASSERT_TRUE(crowd_connect(crowd.it, 0, i));
    crowd_run(crowd.it, 100);
    ASSERT_EQ(crowd_counter(crowd.it, 0, "peers.connected"), kPeers);
    crowd_set_loud(crowd.it, kLoud + 1);
    for (unsigned i = 1; i <= kPeers; i++)
        crowd_disconnect(crowd.it, 0, i, true);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_peers(crowd.it, 0), kLoud);
    EXPECT_LE(crowd_quiet_asked(crowd.it), 10 * kPeers);
    crowd_set_loud(crowd.it, 0);
    crowd_run(crowd.it, 1000);
    EXPECT_EQ(crowd_peers(crowd.it, 0), 0u);
    EXPECT_LE(crowd_quiet_asked(crowd.it), 20 * kPeers);
    for (unsigned i = 1; i <= kPeers; i++)
        EXPECT_EQ(crowd_peers(crowd.it, i), 0u) << i;
}

/* Packets are kept; the transport still uses the memory of some when the peer's CLOSE comes, which comes once only. */
TEST(Close, a_close_that_comes_while_packets_are_in_use_is_taken_when_they_are_not)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crowd_options_t options = {};
        options.engines = 2;
        options.seed = seed;
        options.connections = true;
        options.later_ppm = 700000;
        options.later_ms = 50;
        options.resume_ms = 10000;
        Crowd crowd(options);
        ASSERT_TRUE(crowd_connect(crowd.it, 1, 0)); /* who dialled closes */
        crowd_run(crowd.it, 100);
        ASSERT_TRUE(crowd_connect(crowd.it, 0, 1));
        for (int i = 0; i < 20; i++) {
            ASSERT_GE(crowd_send(crowd.it, 0, 1, 1000), 0);
            if (i == static_cast<int>(seed % 20))
                crowd_disconnect(crowd.it, 1, 0, true);
            crowd_turn(crowd.it);
        }
        crowd_run(crowd.it, 2000); /* link.close_timeout is a minute here */
        EXPECT_EQ(crowd_peers(crowd.it, 1), 0u);
        EXPECT_EQ(crowd_pending(crowd.it, 0), 0u);
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
