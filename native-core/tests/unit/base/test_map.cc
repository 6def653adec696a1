// SPDX-License-Identifier: Apache-2.0
// Tests of the hash map, against std::unordered_map.
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

extern "C" {
#include "base/map.h"
}

namespace {

class Map : public ::testing::Test {
protected:
    void SetUp() override { map_init(&map); }
    void TearDown() override { map_free(&map); }
    static void *value(uint64_t n) { return (void *)(uintptr_t)(n + 1); }

    map_t map;
};

TEST_F(Map, EmptyOneFindsAndRemovesNothing)
{
    size_t cursor = 0;
    EXPECT_EQ(map_get(&map, 1), nullptr);
    EXPECT_EQ(map_remove(&map, 1), nullptr);
    EXPECT_EQ(map_next(&map, &cursor, nullptr), nullptr);
}

TEST_F(Map, PutReplacesAndNullIsRefused)
{
    EXPECT_EQ(map_put(&map, 0, value(1)), VBN_OK);
    EXPECT_EQ(map_put(&map, 0, value(2)), VBN_OK);
    EXPECT_EQ(map.count, 1u);
    EXPECT_EQ(map_get(&map, 0), value(2));
    EXPECT_EQ(map_put(&map, 0, nullptr), VBN_ERR_INVALID);
    EXPECT_EQ(map_get(&map, 0), value(2));
}

TEST_F(Map, BehavesAsTheReferenceUnderRandomOperations)
{
    const unsigned seed = 20240917;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::unordered_map<uint64_t, void *> reference;
    for (int step = 0; step < 200000; step++) {
        uint64_t key = random() % 700; /* few keys: many collisions, replacements and removals */
        if (random() % 5 < 3) {
            ASSERT_EQ(map_put(&map, key, value((uint64_t)step)), VBN_OK);
            reference[key] = value((uint64_t)step);
        } else {
            auto at = reference.find(key);
            ASSERT_EQ(map_remove(&map, key), at == reference.end() ? nullptr : at->second);
            reference.erase(key);
        }
        ASSERT_EQ(map.count, reference.size());
        if (step % 997 == 0) {
            for (uint64_t k = 0; k < 700; k++)
                ASSERT_EQ(map_get(&map, k), reference.count(k) ? reference[k] : nullptr);
        }
    }
}

TEST_F(Map, IterationVisitsEachEntryOnce)
{
    for (uint64_t key = 0; key < 1000; key++)
        ASSERT_EQ(map_put(&map, key << 40, value(key)), VBN_OK);
    std::unordered_map<uint64_t, int> seen;
    size_t cursor = 0;
    uint64_t key = 0;
    while (void *found = map_next(&map, &cursor, &key)) {
        EXPECT_EQ(found, value(key >> 40));
        seen[key]++;
    }
    EXPECT_EQ(seen.size(), 1000u);
    for (auto &entry : seen)
        EXPECT_EQ(entry.second, 1);
}

} // namespace
