// SPDX-License-Identifier: Apache-2.0
// test_flush.cc - what a flush of many idle peers costs the network.
#include <gtest/gtest.h>

#include "crowd.h"

namespace {

constexpr unsigned PEERS = 1000;

/* Packets of a flush of each peer; the flushes that had to wait are counted in waited. */
uint64_t flush_each(crowd_t *crowd, unsigned &waited)
{
    uint64_t before = crowd_packets(crowd);
    waited = 0;
    for (unsigned i = 1; i <= PEERS; i++)
        waited += crowd_flush(crowd, 0, i) == 1;
    crowd_run(crowd, 100);
    EXPECT_EQ(crowd_pending(crowd, 0), 0u);
    return crowd_packets(crowd) - before;
}

TEST(SimFlush, of_a_thousand_idle_peers_sends_nothing)
{
    for (bool connections : {true, false}) {
        crowd_options_t options{};
        options.engines = PEERS + 1;
        options.seed = 3;
        options.connections = connections;
        options.keepalive_ms = 600000;
        options.peer_timeout_ms = 3600000;
        crowd_t *crowd = crowd_open(&options);
        unsigned waited;
        for (unsigned i = 1; i <= PEERS; i++) {
            ASSERT_TRUE(crowd_connect(crowd, 0, i));
            ASSERT_GE(crowd_send(crowd, 0, i, 8), 0);
        }
        crowd_run(crowd, 3000);
        /* Over connections a lone packet is not acknowledged before somebody asks: once. */
        EXPECT_EQ(flush_each(crowd, waited), connections ? 2 * PEERS : 0);
        EXPECT_EQ(waited, connections ? PEERS : 0);
        EXPECT_EQ(flush_each(crowd, waited), 0u);
        EXPECT_EQ(waited, 0u);
        EXPECT_EQ(crowd_wrong(crowd, 0), 0u);
        crowd_close(crowd);
    }
}

} // namespace
