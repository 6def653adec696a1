/* SPDX-License-Identifier: Apache-2.0
 * test_properties.cc - what must hold under every fault of the simulated net, over many seeds.
 * usage: sim_properties [--seed N] [--seeds COUNT] [GoogleTest options] */
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "full.h"
#include "pin.h"
#include "world.h"

namespace {

uint64_t first_seed = 1;
uint64_t seed_count = usual_or_full(600, 2400);

TEST(SimProperties, every_message_arrives_once_in_order_and_every_operation_ends_whatever_the_net_does)
{
    world_totals_t totals = {};
    uint64_t violations = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count && violations < 5; seed++) {
        char problem[512] = "";
        if (world_run(seed, &totals, problem, sizeof(problem)))
            continue;
        violations++;
        ADD_FAILURE() << "seed " << seed << " (" << world_kind(seed) << "): " << problem
                      << "\nrepeat it with: sim_properties --seed " << seed;
    }
    printf("%llu seeds from %llu: %llu operations, %llu messages, %llu flushes, %llu put+get, %llu failed, "
           "%llu peers lost, %llu connections, %llu resumed, %llu lanes added, %llu lost, %llu dropped, "
           "%llu packets sent again, %llu doubles, %llu early, %llu virtual s\n",
           (unsigned long long)seed_count, (unsigned long long)first_seed, (unsigned long long)totals.operations,
           (unsigned long long)totals.messages, (unsigned long long)totals.flushes,
           (unsigned long long)totals.transfers, (unsigned long long)totals.failed,
           (unsigned long long)totals.peers_lost, (unsigned long long)totals.connected,
           (unsigned long long)totals.resumes, (unsigned long long)totals.lanes_added,
           (unsigned long long)totals.lanes_lost, (unsigned long long)totals.lanes_dropped,
           (unsigned long long)totals.retransmits, (unsigned long long)totals.duplicates,
           (unsigned long long)totals.reordered, (unsigned long long)(totals.virtual_ms / 1000));
    if (seed_count >= 100) { /* the net did what it should */
        EXPECT_GT(totals.messages, seed_count * 10);
        EXPECT_GT(totals.retransmits, seed_count);
        EXPECT_GT(totals.duplicates, seed_count);
        EXPECT_GT(totals.reordered, seed_count);
        EXPECT_GT(totals.transfers, seed_count);
        EXPECT_GT(totals.flushes, seed_count);
        EXPECT_GT(totals.peers_lost, 0u);
        EXPECT_GT(totals.resumes, seed_count / 4);
        EXPECT_GT(totals.lanes_added, seed_count / 2);
        EXPECT_GT(totals.lanes_lost, seed_count / 20);
        EXPECT_GT(totals.lanes_dropped, seed_count / 20);
    }
}

} // namespace

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], nullptr, 10);
        if (strcmp(argv[i], "--seed") == 0) {
            first_seed = value;
            seed_count = 1;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            seed_count = value;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT]\n", argv[0]);
            return 2;
        }
    }
    int failed = pin_models() ? RUN_ALL_TESTS() : 2;
    unpin_models();
    return failed;
}
