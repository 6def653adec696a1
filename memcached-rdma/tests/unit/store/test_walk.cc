// SPDX-License-Identifier: Apache-2.0
// The walk over all items.
#include <map>
#include <string>

#include "store_test.h"

namespace {

using Counts = std::map<std::string, unsigned>;

void count_key(void *arg, const store_hit_t *hit)
{
    (*static_cast<Counts *>(arg))[std::string(hit->key, hit->key_bytes)]++;
}

TEST_F(StoreTest, AWalkVisitsEachItemOnceWhileTheIndexGrowsAndItemsAreRewritten)
{
    constexpr unsigned ITEMS = 20000;
    uint64_t at = 0;
    unsigned steps = 0;
    Seen item;
    Counts seen;
    open();
    store_stats_t before, after;
    for (unsigned i = 0; i < ITEMS; i++)
        ASSERT_EQ(write("k" + std::to_string(i), "v"), STORE_OK);
    store_stats(store, &before);
    while (!store_walk(store, &at, 100, count_key, &seen)) {
        ASSERT_NE(at, 0u) << "0 is the start";
        for (unsigned i = 0; i < 100; i++)
            ASSERT_EQ(write("n" + std::to_string(steps * 100 + i), "v"), STORE_OK);
        ASSERT_EQ(write("k" + std::to_string(steps * 61 % ITEMS), "another value"), STORE_OK);
        ASSERT_TRUE(read("k" + std::to_string(steps * 67 % ITEMS), &item));
        steps++;
    }
    store_stats(store, &after);
    EXPECT_GT(steps, 100u);
    EXPECT_GT(after.buckets, before.buckets);
    for (unsigned i = 0; i < ITEMS; i++)
        EXPECT_EQ(seen["k" + std::to_string(i)], 1u) << i;
    for (const auto &[key, count] : seen)
        EXPECT_EQ(count, 1u) << key;
}

TEST_F(StoreTest, AWalkShowsNoItemThatHasExpiredOrWasFlushed)
{
    uint64_t at = 0;
    Counts seen;
    open();
    ASSERT_EQ(write("flushed", "v"), STORE_OK);
    store_flush(store, 0);
    now++;
    ASSERT_EQ(write("expires", "v", STORE_SET, now + 10), STORE_OK);
    ASSERT_EQ(write("stays", "v"), STORE_OK);
    now += 11;
    while (!store_walk(store, &at, 1, count_key, &seen))
        ;
    EXPECT_EQ(seen, (Counts{{"stays", 1}}));
}

} // namespace
