// SPDX-License-Identifier: Apache-2.0
// The reader without the lock: sees what the store has, nothing that is expired, flushed, deleted or evicted, and no page that
// lies.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "reading.h"
#include "store/store.h"
}

namespace {

class ReaderTest : public testing::Test {
protected:
    uint32_t now = 100;
    store_t *store = nullptr;
    reading_t *reading = nullptr;
    std::map<void *, size_t> memories;
    bool mapped = true;
    store_shelf_t shelf = {};

    static bool shelve(void *, const store_hit_t *hit, uint32_t, place_t *place_p)
    {
        *place_p = {1, 1, 0, hit->value_bytes};
        return true;
    }
    static void gone(void *, const place_t *, size_t) {}
    static uint32_t clock(void *arg) { return static_cast<ReaderTest *>(arg)->now; }
    static void *get(void *arg, size_t bytes, void **handle_p)
    {
        size_t whole = (bytes + 4095) / 4096 * 4096;
        *handle_p = aligned_alloc(4096, whole);
        memset(*handle_p, 0, whole);
        static_cast<ReaderTest *>(arg)->memories[*handle_p] = whole;
        return *handle_p;
    }
    static void put(void *arg, void *handle)
    {
        static_cast<ReaderTest *>(arg)->memories.erase(handle);
        free(handle);
    }
    static size_t give_key(void *, void *handle, uint8_t *blob)
    {
        memcpy(blob, &handle, sizeof(handle));
        return sizeof(handle);
    }
    static const char *map(void *arg, uint32_t, const uint8_t *key, size_t bytes, size_t *bytes_p)
    {
        auto *self = static_cast<ReaderTest *>(arg);
        void *handle = nullptr;
        memcpy(&handle, key, sizeof(handle));
        auto found = self->memories.find(handle);
        if (!self->mapped || bytes != sizeof(handle) || found == self->memories.end())
            return nullptr;
        *bytes_p = found->second;
        return static_cast<const char *>(handle);
    }
    void open(size_t bytes = 8 << 20, unsigned shards = 4, size_t item_max = 256 << 10)
    {
        store_config_t config = {};
        config.bytes = bytes;
        config.item_max = item_max;
        config.shards = shards;
        config.evict = true;
        config.shelf = shelf;
        config.source = {get, put, give_key, this};
        config.now = clock;
        config.now_arg = this;
        config.started_ns = UINT64_MAX; // the reader goes by the store's ticks
        config.cas_shown = true;
        ASSERT_EQ(store_open(&config, &store), STORE_OK);
        reading = reading_open(store_page(store), memories.at(store_page(store)), map, this);
        ASSERT_NE(reading, nullptr);
    }
    void TearDown() override
    {
        if (reading != nullptr)
            reading_close(reading);
        if (store != nullptr) {
            EXPECT_STREQ(store_check(store), nullptr);
        }
        store_close(store);
        EXPECT_TRUE(memories.empty());
    }
    store_status_t write(const std::string &name, const std::string &value, uint32_t expiry = 0)
    {
        store_draft_t draft;
        store_put_t how = {};
        how.client_flags = static_cast<uint32_t>(value.size());
        store_status_t status = store_begin(store, {name.data(), name.size()}, value.size(), expiry, &draft);
        if (status != STORE_OK)
            return status;
        memcpy(draft.value, value.data(), value.size());
        return store_commit(&draft, &how, nullptr);
    }
    /* "(ask)", or the value. */
    std::string read(const std::string &name, size_t capacity = 100000)
    {
        std::string buffer(capacity, '\0');
        size_t bytes;
        uint32_t flags;
        uint64_t cas;
        switch (reading_get(reading, name.data(), name.size(), buffer.data(), capacity, &bytes, &flags, &cas)) {
        case READING_HIT:
            EXPECT_EQ(flags, bytes);
            EXPECT_NE(cas, 0u);
            return buffer.substr(0, bytes);
        case READING_TRUNCATED: return "(truncated " + std::to_string(bytes) + ")";
        case READING_DEAD: return "(dead)";
        default: return "(ask)";
        }
    }
    void tick(uint32_t seconds)
    {
        now += seconds;
        store_tick(store);
        while (store_step(store))
            ;
    }
};

TEST_F(ReaderTest, an_item_on_disk_is_asked_for)
{
    shelf = {shelve, gone, nullptr, 512};
    open();
    std::string value(1000, 'x');
    for (unsigned i = 0; i < 20000; i++)
        ASSERT_EQ(write("k" + std::to_string(i), value), STORE_OK);
    unsigned asked = 0;
    for (unsigned i = 0; i < 20000; i++) {
        std::string name = "k" + std::to_string(i), found = read(name);
        place_t place;
        bool on_disk = store_where(store, {name.data(), name.size()}, &place);
        ASSERT_EQ(found, on_disk ? "(ask)" : value);
        asked += on_disk;
    }
    EXPECT_GT(asked, 10000u);
}

TEST_F(ReaderTest, WhatIsThereIsReadAndTheRestIsAskedFor)
{
    open();
    ASSERT_EQ(write("k", "value"), STORE_OK);
    ASSERT_EQ(write("empty", ""), STORE_OK);
    ASSERT_EQ(write("large", std::string(65537, 'x')), STORE_OK);
    EXPECT_EQ(read("k"), "value");
    EXPECT_EQ(read("k", 4), "(truncated 5)");
    EXPECT_EQ(read("empty"), "");
    EXPECT_EQ(read("large"), "(ask)");
    EXPECT_EQ(read("none"), "(ask)");
    ASSERT_EQ(write("k", "other"), STORE_OK);
    EXPECT_EQ(read("k"), "other");
    ASSERT_EQ(store_delete(store, {"k", 1}, nullptr), STORE_OK);
    EXPECT_EQ(read("k"), "(ask)");
}

TEST_F(ReaderTest, ExpiredAndFlushedItemsAreAskedFor)
{
    open();
    ASSERT_EQ(write("short", "v", now + 10), STORE_OK);
    ASSERT_EQ(write("long", "v"), STORE_OK);
    tick(9);
    EXPECT_EQ(read("short"), "v");
    tick(1);
    EXPECT_EQ(read("short"), "(ask)");
    EXPECT_EQ(read("long"), "v");
    store_flush(store, now + 5);
    EXPECT_EQ(read("long"), "v");
    tick(5);
    EXPECT_EQ(read("long"), "(ask)");
    ASSERT_EQ(write("after", "v"), STORE_OK);
    EXPECT_EQ(read("after"), "v");
    store_flush(store, 0);
    EXPECT_EQ(read("after"), "(ask)");
    ASSERT_EQ(write("later", "v"), STORE_OK);
    EXPECT_EQ(read("later"), "v");
}

TEST_F(ReaderTest, AStaleItemIsAskedFor)
{
    open();
    store_delete_t how = {};
    how.stale = true;
    ASSERT_EQ(write("k", "v"), STORE_OK);
    ASSERT_EQ(store_delete(store, {"k", 1}, &how), STORE_OK);
    EXPECT_EQ(read("k"), "(ask)");
}

TEST_F(ReaderTest, MemoryThatIsNotMappedYetIsAskedFor)
{
    open();
    ASSERT_EQ(write("k", "v"), STORE_OK);
    mapped = false;
    EXPECT_EQ(read("k"), "(ask)");
    mapped = true;
    EXPECT_EQ(read("k"), "v");
}

TEST_F(ReaderTest, ItAgreesWithTheStoreWhileTheIndexGrowsAndItemsAreEvicted)
{
    open(8 << 20);
    std::mt19937 random(7);
    unsigned hits = 0, asks = 0;
    struct Seen {
        std::string value;
    };
    for (int i = 0; i < 120000; i++) {
        std::string name = "key" + std::to_string(random() % 90000),
                    value(random() % 300, static_cast<char>('a' + random() % 26));
        if (random() % 10 < 5)
            (void)write(name, value + name, random() % 3 == 0 ? now + 1 + random() % 100 : 0);
        else if (random() % 20 == 0)
            (void)store_delete(store, {name.data(), name.size()}, nullptr);
        if (i % 1000 == 0)
            tick(1);
        std::string other = "key" + std::to_string(random() % 90000), got = read(other);
        store_get_t quiet = {};
        quiet.quiet = quiet.uncounted = true;
        Seen seen;
        bool there = store_get(
                         store, {other.data(), other.size()}, &quiet,
                         [](void *arg, const store_hit_t *hit) {
                             static_cast<Seen *>(arg)->value.assign(hit->value, hit->value_bytes);
                         },
                         &seen) == STORE_OK;
        ASSERT_EQ(got, there ? seen.value : "(ask)") << other << " at " << i;
        hits += there;
        asks += !there;
    }
    EXPECT_GT(hits, 20000u);
    EXPECT_GT(asks, 1000u);
    store_stats_t stats;
    store_stats(store, &stats);
    EXPECT_GT(stats.counters.evictions, 0u);
}

TEST_F(ReaderTest, AReaderKnowsWhichReadsTheStoreIsToBeToldOf)
{
    open(2 << 20, 2, 64 << 10);
    ASSERT_EQ(write("k", "value"), STORE_OK);
    EXPECT_EQ(read("k"), "value");
    EXPECT_FALSE(reading_uncounted(reading)); // there is plenty of memory: it does not matter
    for (int i = 0; i < 5000; i++)
        ASSERT_EQ(write("key" + std::to_string(i), std::string(900, 'x')), STORE_OK);
    ASSERT_EQ(write("k", "value"), STORE_OK);
    EXPECT_EQ(read("k"), "value");
    for (int told = 0; told < 2; told++) { // two reads since its last look are what keeps an item longer
        EXPECT_TRUE(reading_uncounted(reading));
        ASSERT_EQ(store_get(store, {"k", 1}, nullptr, nullptr, nullptr), STORE_OK);
        EXPECT_EQ(read("k"), "value");
    }
    EXPECT_FALSE(reading_uncounted(reading));
}

TEST_F(ReaderTest, APageThatLiesIsRefusedOrReadWithinItsBounds)
{
    open();
    ASSERT_EQ(write("k", "value"), STORE_OK);
    size_t bytes = memories.at(store_page(store));
    std::vector<uint64_t> copy(bytes / 8);
    unsigned refused = 0;
    for (size_t bit = 0; bit < 1200 * 8; bit++) { // constants and the first shards
        memcpy(copy.data(), store_page(store), bytes);
        reinterpret_cast<uint8_t *>(copy.data())[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        reading_t *lied = reading_open(copy.data(), bytes, map, this);
        refused += lied == nullptr;
        if (lied == nullptr)
            continue;
        char buffer[100];
        size_t got;
        uint32_t flags;
        uint64_t cas;
        for (const char *name : {"k", "other", "third", "4th"})
            (void)reading_get(lied, name, strlen(name), buffer, sizeof(buffer), &got, &flags, &cas);
        reading_close(lied);
    }
    EXPECT_GT(refused, 100u);
    EXPECT_EQ(reading_open(store_page(store), 100, map, this), nullptr);
}

TEST_F(ReaderTest, WhenTheThreadThatOpenedTheStoreEndsNothingIsReadAnyMore)
{
    std::thread opener([this] {
        open();
        ASSERT_EQ(write("k", "v"), STORE_OK);
        EXPECT_EQ(read("k"), "v");
    });
    opener.join();
    EXPECT_EQ(read("k"), "(dead)");
}

} // namespace
