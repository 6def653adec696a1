// SPDX-License-Identifier: Apache-2.0
// What expires, is flushed, or is above a lower limit goes in small steps; and the counts by TTL bucket and size.
#include "store_test.h"

namespace {

constexpr size_t MIB = 1 << 20;
constexpr unsigned SHARDS = 4;
constexpr uint64_t STEP = SHARDS * STORE_STEP_ITEMS; // items that one step may remove

class UpkeepTest : public StoreTest {
protected:
    static std::string name_of(int i) { return "key" + std::to_string(i); }
    void fill(int count, size_t bytes, uint32_t expiry)
    {
        std::string value(bytes, 'v');
        for (int i = 0; i < count; i++)
            ASSERT_EQ(write(name_of(i), value, STORE_SET, expiry), STORE_OK) << i;
    }
    /* Steps until there is nothing to do; none removes more than it may, and between them the store works. Returns how many. */
    unsigned step_through()
    {
        unsigned steps = 0;
        bool more = true;
        while (more) {
            uint64_t before = stats().items;
            more = store_step(store);
            EXPECT_LE(before - stats().items, STEP) << "step " << steps;
            if (steps++ % 8 == 0) {
                EXPECT_EQ(write("between", std::to_string(steps)), STORE_OK);
                EXPECT_EQ(value("between"), std::to_string(steps));
                check();
            }
        }
        return steps;
    }
};

TEST_F(UpkeepTest, ItemsThatExpireTogetherGoInSteps)
{
    open(16 * MIB, SHARDS);
    fill(60000, 20, now + 20);
    write("later", "l", STORE_SET, now + 25);
    now += 21;
    uint64_t before = stats().items;
    store_tick(store);
    EXPECT_EQ(stats().items, before); // a tick only begins
    EXPECT_GE(step_through(), 60000 / STEP);
    EXPECT_LT(stats().items, 10000u); // those of the open segments
    EXPECT_EQ(value("later"), "l");
    EXPECT_FALSE(store_step(store));
    EXPECT_EQ(stats().counters.evictions, 0u);
}

TEST_F(UpkeepTest, AFlushRemovesNothingItselfAndStepsRemoveAllOfIt)
{
    open(16 * MIB, SHARDS);
    fill(60000, 20, 0);
    uint64_t before = stats().items;
    store_flush(store, 0);
    EXPECT_EQ(stats().items, before);
    EXPECT_EQ(value("key1"), "(none)");
    write("after", "a");
    write("large", std::string(300000, 'l'));
    store_tick(store);
    EXPECT_GE(step_through(), 60000 / STEP);
    EXPECT_EQ(stats().items, 3u); // and "between"
    EXPECT_EQ(value("after"), "a");
    EXPECT_EQ(value("large"), std::string(300000, 'l'));
}

TEST_F(UpkeepTest, AFlushDuringTheStepsOfAnotherIsFollowedToo)
{
    open(16 * MIB, SHARDS);
    fill(40000, 20, 0);
    store_flush(store, 0);
    store_tick(store);
    EXPECT_TRUE(store_step(store));
    fill(20000, 20, 0);
    store_flush(store, 0);
    step_through();
    tick();
    EXPECT_LE(stats().items, 1u);
}

TEST_F(UpkeepTest, LargeItemsThatLiveOnAreLookedAtInSteps)
{
    open(96 * MIB, 1);
    fill(1700, 40000, now + 9000); // their bucket has one that expires before
    write("soon", std::string(40000, 's'), STORE_SET, now + 3700);
    now += 3701;
    store_tick(store);
    unsigned steps = 1;
    while (store_step(store))
        steps++;
    EXPECT_GE(steps, 1701 / STORE_STEP_LOOKS + 1);
    EXPECT_EQ(stats().items, 1700u);
}

TEST_F(UpkeepTest, ASetBetweenTheStepsFindsTheSpaceOfWhatHasExpired)
{
    open(8 * MIB, 1);
    fill(80000, 20, now + 20); // about full
    uint64_t evictions = stats().counters.evictions;
    now += 21;
    store_tick(store);
    EXPECT_TRUE(store_step(store)); // a segment is half emptied
    std::string value(100000, 'v');
    for (int i = 0; i < 40; i++) {
        ASSERT_EQ(write("new" + std::to_string(i), value), STORE_OK);
        check();
    }
    EXPECT_EQ(stats().counters.evictions, evictions);
}

TEST_F(UpkeepTest, ALowerLimitComesInStepsAndSetsGoOn)
{
    open(32 * MIB, SHARDS);
    fill(30000, 1000, 0);
    uint64_t items = stats().items, segment = stats().segment_bytes;
    ASSERT_TRUE(store_limit(store, 8 * MIB));
    EXPECT_EQ(stats().items, items);
    unsigned steps = 0;
    while (store_step(store)) {
        ASSERT_EQ(write("new" + std::to_string(steps++), std::string(1000, 'n')), STORE_OK);
        EXPECT_LE(items - stats().items, 2 * segment / 1000) << "step " << steps;
        items = stats().items;
    }
    EXPECT_GE(steps, 20 * MIB / segment);
    EXPECT_LE(stats().segments_used * segment, 8 * MIB);
    EXPECT_EQ(value("new" + std::to_string(steps - 1)), std::string(1000, 'n'));
}

TEST_F(UpkeepTest, EachTtlBucketCountsWhatHasGoneAndWhy)
{
    open(8 * MIB, 1);
    fill(3000, 1000, now + 20); // bucket 1
    Seen seen;
    for (int i = 0; i < 100; i++)
        ASSERT_TRUE(read(name_of(i), &seen));
    now += 21;
    tick();
    store_ttl_stats_t bucket = stats().ttl[1];
    EXPECT_GT(bucket.reclaimed, 2800u);
    EXPECT_EQ(bucket.expired_unfetched, bucket.reclaimed - 100);
    EXPECT_EQ(bucket.evicted, 0u);
    now += 5;
    fill(12000, 1000, now + 1000); // bucket 3: more than fits
    bucket = stats().ttl[3];
    EXPECT_EQ(bucket.evicted, 12000 - bucket.items);
    EXPECT_EQ(bucket.evicted_nonzero, bucket.evicted);
    EXPECT_EQ(bucket.evicted_unfetched, bucket.evicted);
    EXPECT_EQ(stats().counters.evictions, bucket.evicted);
    now += 7;
    EXPECT_EQ(stats().ttl[3].age, 7u);
    EXPECT_EQ(stats().ttl[0].evicted, 0u);
    store_stats_reset(store);
    EXPECT_EQ(stats().ttl[3].evicted, 0u);
    EXPECT_EQ(stats().ttl[3].items, bucket.items);
}

TEST_F(UpkeepTest, WithoutEvictionTheBucketCountsWhatFoundNoPlace)
{
    open(8 * MIB, 1, false);
    std::string value(1000, 'v');
    unsigned refused = 0;
    for (int i = 0; i < 9000; i++)
        refused += write(name_of(i), value) == STORE_NO_MEMORY;
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(stats().ttl[0].outofmemory, refused);
}

TEST_F(UpkeepTest, ItemsAreCountedBySize)
{
    open();
    uint64_t sizes[STORE_SIZES];
    write("a", "1");
    write("b", "2");
    write("c", std::string(1000, 'c'));
    write("d", std::string(500000, 'd'));
    write("b", std::string(2000, 'b'));
    ASSERT_EQ(store_delete(store, key("c"), nullptr), STORE_OK);
    store_sizes(store, sizes);
    uint64_t count = 0;
    for (uint64_t size : sizes)
        count += size;
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(sizes[STORE_SIZES - 1], 1u);
    EXPECT_EQ(sizes[(40 + 1 + 1 - 1) / STORE_SIZE_STEP], 1u);
    EXPECT_EQ(sizes[(40 + 1 + 2000 - 1) / STORE_SIZE_STEP], 1u);
}

} // namespace
