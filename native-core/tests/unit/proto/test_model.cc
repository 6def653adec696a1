// SPDX-License-Identifier: Apache-2.0
// test_model.cc - the cost model as pure functions, over random hosts and paths (VBN_TEST_SEED=n repeats one).
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "proto/model.h"
}

namespace {

struct Case {
    model_host_t host;
    model_path_t path;
    unsigned ways;
};

Case draw(std::mt19937_64 &random)
{
    auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
    Case c{};
    c.host = {10 + below(1000), 10 + below(2000), 20 + below(3000), 100 + below(20000)};
    c.path.packet_ns = below(30000);
    c.path.more_ns = below(1 + c.path.packet_ns);
    c.path.byte_ps = below(2000);
    c.path.segment_bytes = 256 + below(300000);
    c.path.whole_max = 64 + below(66000);
    c.path.map = below(2) == 0;
    do
        c.ways = (1 + below(MODEL_BIT(MODEL_WAYS) - 1)) & ~MODEL_BIT(MODEL_NATIVE); /* no way of a message */
    while (c.ways == 0);
    return c;
}

std::vector<uint64_t> sizes(const Case &c)
{
    std::vector<uint64_t> all{
        0,         1, 7, 8, 64, 4095, 4096, 4097, 65536, 1u << 20, uint64_t{1} << 32, uint64_t{1} << 50, UINT64_MAX / 2,
        UINT64_MAX};
    for (uint64_t corner : {uint64_t{c.path.segment_bytes}, c.path.whole_max})
        for (uint64_t size : {corner - 1, corner, corner + 1})
            all.push_back(size);
    return all;
}

void for_each_seed(void (*check)(std::mt19937_64 &))
{
    const char *one = std::getenv("VBN_TEST_SEED");
    uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
    for (uint64_t seed = first; seed < (one != nullptr ? first + 1 : 2001); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        check(random);
        if (testing::Test::HasFailure())
            return;
    }
}

TEST(Model, no_curve_ever_falls)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        model_t model;
        model_message(&model, &c.host, &c.path, c.ways);
        ASSERT_GT(model.count, 0u);
        for (unsigned i = 0; i < model.count; i++)
            for (uint64_t a : sizes(c))
                for (uint64_t b : sizes(c))
                    if (a < b) {
                        ASSERT_LE(model_ns(&model.curves[i], a), model_ns(&model.curves[i], b))
                            << model_way_name(model.curves[i].way) << " from " << a << " to " << b;
                    }
    });
}

TEST(Model, no_way_is_cheaper_than_the_best_and_equal_ways_are_told_apart_by_their_order)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        model_t model;
        model_message(&model, &c.host, &c.path, c.ways);
        for (uint64_t size : sizes(c)) {
            const model_curve_t *best = model_best(&model, size);
            for (unsigned i = 0; i < model.count; i++) {
                uint64_t ns = model_ns(&model.curves[i], size);
                if (best == nullptr) {
                    ASSERT_EQ(ns, MODEL_IMPOSSIBLE);
                    continue;
                }
                ASSERT_GE(ns, model_ns(best, size));
                if (model.curves[i].way < best->way) {
                    ASSERT_GT(ns, model_ns(best, size)) << "an earlier way costs the same";
                }
            }
        }
    });
}

TEST(Model, only_ways_that_are_possible_have_a_curve_each_once_and_in_order)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        model_t model;
        unsigned seen = 0;
        model_message(&model, &c.host, &c.path, c.ways);
        for (unsigned i = 0; i < model.count; i++) {
            ASSERT_TRUE(i == 0 || model.curves[i].way > model.curves[i - 1].way);
            seen |= MODEL_BIT(model.curves[i].way);
        }
        ASSERT_EQ(seen, c.ways);
        for (unsigned way = 0; way < MODEL_WAYS; way++) {
            const model_curve_t *curve = model_find(&model, static_cast<model_way_t>(way));
            ASSERT_EQ(curve != nullptr, (c.ways & MODEL_BIT(way)) != 0);
            ASSERT_TRUE(curve == nullptr || curve->way == way);
        }
    });
}

TEST(Model, the_limit_of_whole_messages_is_where_another_way_becomes_cheaper)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        c.path.more_ns = 0; /* then whole pays more for each byte than the stream: one crossing */
        model_t model;
        model_message(&model, &c.host, &c.path, MODEL_BIT(MODEL_WHOLE) | MODEL_BIT(MODEL_STREAM));
        uint64_t limit = model_whole_limit(&model, 0, c.path.whole_max);
        ASSERT_LE(limit, c.path.whole_max);
        ASSERT_EQ(model_best(&model, limit)->way, MODEL_WHOLE);
        if (limit < c.path.whole_max) {
            ASSERT_EQ(model_best(&model, limit + 1)->way, MODEL_STREAM);
        }
    });
}

TEST(Model, the_limit_stays_within_its_bounds_also_where_nothing_goes_whole)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        model_t model;
        model_message(&model, &c.host, &c.path, c.ways);
        uint64_t limit = model_whole_limit(&model, 100, 5000);
        ASSERT_GE(limit, 100u);
        ASSERT_LE(limit, 5000u);
        ASSERT_EQ(model_whole_limit(&model, 100, 100), 100u);
        if ((c.ways & MODEL_BIT(MODEL_WHOLE)) == 0) {
            ASSERT_EQ(limit, 100u);
        }
    });
}

TEST(Model, a_way_is_the_best_from_its_crossing_on_and_never_before)
{
    for_each_seed([](std::mt19937_64 &random) {
        Case c = draw(random);
        c.path.more_ns = 0;
        c.path.byte_ps = c.host.copy_ps + 30 +
                         static_cast<uint32_t>(random() % 2000); /* dearer than the kernel's copy */
        for (auto [way, other] : {std::pair{MODEL_CMA, MODEL_STREAM}, std::pair{MODEL_BOTH, MODEL_CMA}}) {
            model_t model;
            model_message(&model, &c.host, &c.path, MODEL_BIT(way) | MODEL_BIT(other));
            uint64_t least = random() % 100000, from = model_best_from(&model, way, least);
            ASSERT_GE(from, least);
            if (from == MODEL_IMPOSSIBLE) {
                ASSERT_EQ(model_best(&model, 1u << 30)->way, other);
                continue;
            }
            ASSERT_EQ(model_best(&model, from)->way, way);
            if (from > least) {
                ASSERT_EQ(model_best(&model, from - 1)->way, other);
            }
        }
    });
}

TEST(Model, compressing_pays_on_slow_links_only)
{
    model_host_t host{100, 100, 200, 2500}; /* 400 MB/s */
    auto pays = [&](uint32_t mbytes_per_s) {
        model_path_t path{20000, 600, 200 + 1000000 / mbytes_per_s, 1000000 / mbytes_per_s, 262144, 16384, false};
        return model_packing_pays(&host, &path);
    };
    EXPECT_TRUE(pays(12));
    EXPECT_TRUE(pays(125)) << "1 Gb/s";
    EXPECT_FALSE(pays(312)) << "2.5 Gb/s";
    EXPECT_FALSE(pays(1250)) << "10 Gb/s";
    host.pack_ps = 500;
    EXPECT_TRUE(pays(312));
    EXPECT_FALSE(pays(5000));
}

TEST(Model, a_message_goes_whole_while_copying_it_out_costs_less_than_asking_for_it)
{
    model_host_t host{100, 100, 200, 2500};
    model_path_t shm{200, 100, 200, 0, 8192, 8192, true};
    model_t model;
    model_message(&model, &host, &shm, MODEL_BIT(MODEL_WHOLE) | MODEL_BIT(MODEL_STREAM));
    EXPECT_NEAR(static_cast<double>(model_whole_limit(&model, 0, 8192)), 4000, 10);
    EXPECT_EQ(model_best(&model, 8193)->way, MODEL_STREAM);
    EXPECT_EQ(model_best(&model, uint64_t{1} << 40)->way, MODEL_STREAM);
    model_path_t tcp{20000, 600, 400, 200, 262144, 16384, false};
    model_message(&model, &host, &tcp, MODEL_BIT(MODEL_WHOLE) | MODEL_BIT(MODEL_STREAM));
    EXPECT_EQ(model_whole_limit(&model, 0, 16384), 16384u);
}

TEST(Model, one_copy_beats_two_and_two_processes_beat_one_when_there_is_enough_to_copy)
{
    model_host_t host{100, 100, 200, 2500};
    model_path_t shm{200, 100, 200, 0, 8192, 8192, true};
    unsigned all = MODEL_BIT(MODEL_WAYS) - 1;
    model_t model;
    model_message(&model, &host, &shm, all);
    EXPECT_EQ(model_best(&model, 0)->way, MODEL_WHOLE);
    EXPECT_EQ(model_best(&model, 4000)->way, MODEL_GET);
    EXPECT_EQ(model_best(&model, 1u << 20)->way, MODEL_BOTH);
    model_message(&model, &host, &shm, MODEL_BIT(MODEL_PUT) | MODEL_BIT(MODEL_STREAM));
    EXPECT_EQ(model_best(&model, 1u << 20)->way, MODEL_PUT) << "mapped: one copy";
    shm.map = false;
    model_message(&model, &host, &shm, MODEL_BIT(MODEL_PUT) | MODEL_BIT(MODEL_STREAM));
    EXPECT_EQ(model_best(&model, 1u << 20)->way, MODEL_STREAM) << "a put by packets costs a stream and more";
    model_access(&model, &host, &shm, MODEL_BIT(MODEL_GET));
    EXPECT_EQ(model_best(&model, 8)->way, MODEL_GET);
    model_access(&model, &host, &shm, 0);
    EXPECT_EQ(model_best(&model, 8)->way, MODEL_STREAM);
}

TEST(Model, devices_save_the_copies_and_the_owners_processor)
{
    model_host_t host{100, 100, 200, 2500};
    model_path_t rc{1500, 0, 300, 100, 8064, 8192, false};
    model_t model;
    model_access(&model, &host, &rc, MODEL_BIT(MODEL_NATIVE));
    EXPECT_EQ(model_best(&model, 1)->way, MODEL_NATIVE);
    EXPECT_EQ(model_ns(model_find(&model, MODEL_NATIVE), 1000000), 3000u + 100000u);
    EXPECT_GT(model_ns(model_find(&model, MODEL_STREAM), 1000000), 300000u);
}

} // namespace
