// SPDX-License-Identifier: Apache-2.0
// A full store: what goes and what stays, in all its shards together.
#include <random>
#include <vector>

#include "store_test.h"

namespace {

class FullStoreTest : public StoreTest {
protected:
    static std::string name_of(size_t i) { return "key" + std::to_string(i); }
    void fill(size_t count, size_t bytes)
    {
        std::string value(bytes, 'v');
        for (size_t i = 0; i < count; i++)
            ASSERT_EQ(write(name_of(i), value), STORE_OK) << i;
    }
    /* Quietly: no item is read by it. */
    bool has(const std::string &name)
    {
        store_get_t quiet = {};
        quiet.quiet = quiet.uncounted = true;
        return store_get(store, key(name), &quiet, nullptr, nullptr) == STORE_OK;
    }
    size_t kept(size_t from, size_t to)
    {
        size_t count = 0;
        for (size_t i = from; i < to; i++)
            count += has(name_of(i));
        return count;
    }
};

constexpr size_t MIB = 1 << 20;

TEST_F(FullStoreTest, TheNewestValuesAreThereWhateverTheirSize)
{
    struct Row {
        size_t bytes, memory, newest; // as many as memcached 1.6.18 keeps
    };
    for (const Row &row : {Row{1000000, 64 * MIB, 63}, Row{600000, 64 * MIB, 108}, Row{300000, 64 * MIB, 192},
                           Row{100000, 64 * MIB, 640}, Row{40000, 64 * MIB, 1536}, Row{1000, 16 * MIB, 13000}}) {
        SCOPED_TRACE(row.bytes);
        open(row.memory, 4);
        size_t count = 3 * row.memory / (row.bytes + 64), wanted = row.newest * 95 / 100;
        fill(count, row.bytes);
        EXPECT_GE(kept(0, count), wanted);
        EXPECT_GE(kept(count - wanted, count), wanted * 99 / 100); // shards fill their segments at different times
        EXPECT_LE(stats().segments_used * stats().segment_bytes, row.memory);
        check();
        store_close(store);
        store = nullptr;
    }
}

/* Values of zeros that nobody writes: the store takes space for them, and no page of the machine. */
TEST_F(FullStoreTest, AGibibyteKeepsAsManyLargeValuesAsMemcached)
{
    constexpr size_t BYTES = 600000, NEWEST = 1753; // memcached 1.6.18 keeps so many with -m 1024
    lazily = true;
    open(1024 * MIB, 4);
    size_t count = 2 * NEWEST, wanted = NEWEST * 95 / 100;
    for (size_t i = 0; i < count; i++) {
        store_draft_t draft;
        store_put_t how = {};
        std::string name = name_of(i);
        ASSERT_EQ(store_begin(store, key(name), BYTES, 0, &draft), STORE_OK) << i;
        ASSERT_EQ(store_commit(&draft, &how, nullptr), STORE_OK) << i;
    }
    EXPECT_GE(kept(0, count), wanted);
    EXPECT_GE(kept(count - wanted, count), wanted * 99 / 100);
    EXPECT_LE(stats().segments_used * stats().segment_bytes, 1024 * MIB);
}

TEST_F(FullStoreTest, FiftyLargeValuesFitWhicheverShardTheyBelongTo)
{
    open(64 * MIB, 4);
    fill(50, 1000000);
    EXPECT_EQ(kept(0, 50), 50u);
    EXPECT_EQ(stats().counters.evictions, 0u);
}

TEST_F(FullStoreTest, AWorkingSetThatMovesOnIsKept)
{
    open(16 * MIB, 4); // 3 sets of 20
    std::mt19937 random(5);
    std::string value(250000, 'v');
    for (int period = 0; period < 8; period++) {
        int hits = 0;
        for (int i = 0; i < 150; i++) {
            std::string name = "p" + std::to_string(period) + "-" + std::to_string(random() % 20);
            Seen seen;
            if (read(name, &seen))
                hits++;
            else
                ASSERT_EQ(write(name, value), STORE_OK);
        }
        EXPECT_GE(hits, 126) << period; // the 20 first reads miss
    }
}

TEST_F(FullStoreTest, ALargeItemThatIsReadOutlivesOnesThatAreNot)
{
    open(16 * MIB, 2);
    std::string value(300000, 'v');
    write("hot", value);
    write("cold", value);
    for (int i = 0; i < 400; i++) {
        ASSERT_EQ(write(name_of(i), value), STORE_OK);
        EXPECT_NE(this->value("hot"), "(none)") << i;
    }
    EXPECT_FALSE(has("cold"));
}

TEST_F(FullStoreTest, WhatASegmentKeepsIsWhatWasRead)
{
    open(8 * MIB, 4);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(write("read" + std::to_string(i), std::string(100, 'r')), STORE_OK);
    for (int i = 0; i < 60000; i++) {
        ASSERT_EQ(write(name_of(i), std::string(400, 'x')), STORE_OK);
        if (i % 2 == 0) {
            ASSERT_NE(value("read" + std::to_string(i / 2 % 1000)), "(none)") << i;
        }
    }
    EXPECT_GT(stats().counters.evictions, 10000u);
}

/* Small items take the place of large ones, so that the index grows where all memory is taken. What it takes lies otherwise in each
 * store, by the seed of the hash. */
TEST_F(FullStoreTest, WhatIsReadOutlivesAnIndexThatGrows)
{
    auto read = [this](int number) { return value("read" + std::to_string(number)); };
    for (int round = 0; round < 4; round++) {
        open(8 * MIB, 4);
        for (int i = 0; i < 1000; i++) {
            ASSERT_EQ(write("read" + std::to_string(i), std::string(100, 'r')), STORE_OK);
            for (int reads = 0; reads < 3; reads++) { // it stays for as many rounds
                ASSERT_NE(read(i), "(none)");
            }
            for (int more = 0; more < 4; more++) {
                ASSERT_EQ(write("large" + std::to_string(4 * i + more), std::string(2000, 'l')), STORE_OK);
            }
        }
        const uint64_t before = stats().index_bytes;
        for (int i = 0; i < 100000; i++) {
            ASSERT_EQ(write(name_of(i), "s"), STORE_OK);
            ASSERT_NE(read(i % 1000), "(none)") << i;
        }
        EXPECT_GT(stats().index_bytes, before + MIB / 4);
        check();
        store_close(store);
        store = nullptr;
    }
}

TEST_F(FullStoreTest, ANewItemFindsPlaceAlsoWhereEverythingIsRead)
{
    open(8 * MIB, 2);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 20000; i++) {
            ASSERT_EQ(write(name_of(i), std::string(500, 'x')), STORE_OK) << i;
            for (int read = 0; read < 3; read++)
                ASSERT_NE(value(name_of(i)), "(none)");
        }
    check();
}

TEST_F(FullStoreTest, ValuesOfAllSizesAreAlwaysStored)
{
    for (unsigned seed = 1; seed <= 2; seed++) {
        SCOPED_TRACE(seed);
        open(8 * MIB, 4, true, MIB);
        std::mt19937 random(seed);
        for (int i = 0; i < 2000; i++) {
            size_t bytes = random() % 8 == 0 ? random() % (MIB - 1000) : random() % (random() % 4 == 0 ? 60000 : 900);
            std::string name = name_of(random() % 3000), value(bytes, static_cast<char>('a' + i % 26));
            ASSERT_EQ(write(name, value, STORE_SET, random() % 3 ? 0 : now + 1 + random() % 9000), STORE_OK) << i;
            ASSERT_EQ(this->value(name), value) << i;
            if (i % 500 == 0) {
                now += 60;
                tick();
                check();
            }
        }
        EXPECT_LE(stats().segments_used * stats().segment_bytes, 8 * MIB);
        store_close(store);
        store = nullptr;
    }
}

TEST_F(FullStoreTest, TheLargestItemFindsPlaceBesideAnIndexThatHasGrown)
{
    open(8 * MIB, 1, true, 3 * MIB);
    for (int i = 0; i < 67000; i++)
        ASSERT_EQ(write(name_of(i), "v"), STORE_OK);
    EXPECT_GT(stats().index_bytes, MIB);
    for (int i = 0; i < 10; i++)
        ASSERT_EQ(write("large" + std::to_string(i), std::string(3 * MIB - 200, 'x')), STORE_OK) << i;
    EXPECT_TRUE(has("large9"));
    EXPECT_TRUE(has("large8"));
}

TEST_F(FullStoreTest, PinnedValuesStayAndOthersAreStoredBesideThem)
{
    open(16 * MIB, 4);
    fill(20, 200000);
    struct Pinned {
        store_pin_t pin;
        const char *value;
        uint32_t bytes;
    };
    std::vector<Pinned> pinned(20);
    for (size_t i = 0; i < pinned.size(); i++)
        ASSERT_EQ(store_get(
                      store, key(name_of(i)), nullptr,
                      [](void *arg, const store_hit_t *hit) {
                          auto *to = static_cast<Pinned *>(arg);
                          store_pin(hit, &to->pin);
                          *to = {to->pin, hit->value, hit->value_bytes};
                      },
                      &pinned[i]),
                  STORE_OK);
    for (int i = 0; i < 300; i++)
        ASSERT_EQ(write("other" + std::to_string(i), std::string(500000, 'x')), STORE_OK) << i;
    for (Pinned &each : pinned) {
        EXPECT_EQ(std::string(each.value, each.bytes), std::string(200000, 'v'));
        store_unpin(&each.pin);
    }
}

TEST_F(FullStoreTest, ALargeItemThatReadersHoldCountsOnceUntilTheLastGoes)
{
    open(16 * MIB, 2);
    write("large", std::string(500000, 'v'));
    write("small", std::string(5000, 'v'));
    auto pin = [](void *arg, const store_hit_t *hit) { store_pin(hit, static_cast<store_pin_t *>(arg)); };
    store_pin_t pins[3];
    ASSERT_EQ(store_get(store, {"large", 5}, nullptr, pin, &pins[0]), STORE_OK);
    ASSERT_EQ(store_get(store, {"large", 5}, nullptr, pin, &pins[1]), STORE_OK);
    ASSERT_EQ(store_get(store, {"small", 5}, nullptr, pin, &pins[2]), STORE_OK);
    EXPECT_TRUE(store_hold(&pins[0]));
    EXPECT_TRUE(store_hold(&pins[1]));
    EXPECT_FALSE(store_hold(&pins[2]));
    EXPECT_EQ(store_held(store), (500000 / 4096 + 1) * 4096u);
    store_delete(store, {"large", 5}, nullptr);
    store_unpin(&pins[0]);
    EXPECT_GT(store_held(store), 0u);
    store_unpin(&pins[1]);
    store_unpin(&pins[2]);
    EXPECT_EQ(store_held(store), 0u);
}

TEST_F(FullStoreTest, WithoutEvictionDeletedMemoryIsUsedAgain)
{
    for (size_t bytes : {200u, 1000u}) {
        SCOPED_TRACE(bytes);
        open(32 * MIB, 4, false);
        std::string value(bytes, 'v');
        size_t count = 0, deleted = 0, failed = 0;
        while (write(name_of(count), value) == STORE_OK)
            count++;
        for (size_t i = 0; i < count; i += 10, deleted++) {
            std::string name = name_of(i);
            ASSERT_EQ(store_delete(store, key(name), nullptr), STORE_OK);
        }
        for (size_t i = 0; i < deleted; i++)
            failed += write("new" + std::to_string(i), value) != STORE_OK;
        EXPECT_LE(failed, deleted / 5) << "of " << deleted;
        for (size_t i = 0; i < count; i++)
            ASSERT_EQ(has(name_of(i)), i % 10 != 0) << i;
        check();
        store_close(store);
        store = nullptr;
    }
}

TEST_F(FullStoreTest, ALimitThatIsLoweredAndRaisedIsObeyed)
{
    open(32 * MIB, 2);
    fill(35, 1000000);
    ASSERT_TRUE(store_limit(store, 16 * MIB));
    tick();
    EXPECT_LE(stats().segments_used * stats().segment_bytes, 16 * MIB);
    EXPECT_GE(kept(20, 35), 13u); // the newest
    check();
    ASSERT_TRUE(store_limit(store, 48 * MIB));
    fill(43, 1000000);
    EXPECT_EQ(kept(0, 43), 43u);
}

} // namespace
