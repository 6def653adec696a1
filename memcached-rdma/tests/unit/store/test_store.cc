// SPDX-License-Identifier: Apache-2.0
// The store: operations, expiry, flush, and what happens when it is full.
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "store_test.h"

namespace {

TEST_F(StoreTest, AnItemComesBackAsItWasWritten)
{
    open();
    EXPECT_EQ(write("k", "value"), STORE_OK);
    Seen seen;
    ASSERT_TRUE(read("k", &seen));
    EXPECT_EQ(seen.value, "value");
    EXPECT_EQ(seen.key, "k");
    EXPECT_EQ(seen.hit.client_flags, 7u);
    EXPECT_FALSE(seen.hit.fetched);
    ASSERT_TRUE(read("k", &seen));
    EXPECT_TRUE(seen.hit.fetched);
    EXPECT_EQ(value("other"), "(none)");
}

TEST_F(StoreTest, EachModeHasItsCondition)
{
    open();
    EXPECT_EQ(write("k", "x", STORE_REPLACE), STORE_NOT_STORED);
    EXPECT_EQ(write("k", "x", STORE_APPEND), STORE_NOT_STORED);
    EXPECT_EQ(write("k", "x", STORE_CAS, 0, 5), STORE_NOT_FOUND);
    EXPECT_EQ(write("k", "b", STORE_ADD), STORE_OK);
    EXPECT_EQ(write("k", "x", STORE_ADD), STORE_NOT_STORED);
    EXPECT_EQ(write("k", "c", STORE_APPEND), STORE_OK);
    EXPECT_EQ(write("k", "a", STORE_PREPEND), STORE_OK);
    EXPECT_EQ(value("k"), "abc");
    EXPECT_EQ(write("k", "r", STORE_REPLACE), STORE_OK);
    EXPECT_EQ(value("k"), "r");
}

TEST_F(StoreTest, CompareAndSetTakesTheIdThatWasRead)
{
    open();
    write("k", "1");
    Seen seen;
    read("k", &seen);
    EXPECT_EQ(write("k", "x", STORE_CAS, 0, seen.hit.cas + 1000), STORE_EXISTS);
    EXPECT_EQ(write("k", "2", STORE_CAS, 0, seen.hit.cas), STORE_OK);
    EXPECT_EQ(write("k", "x", STORE_CAS, 0, seen.hit.cas), STORE_EXISTS);
    EXPECT_EQ(write("k", "x", STORE_APPEND, 0, seen.hit.cas), STORE_EXISTS);
    EXPECT_EQ(value("k"), "2");
}

TEST_F(StoreTest, AnOlderIdStoresAStaleItemWhereThatIsAsked)
{
    open();
    write("k", "1");
    Seen seen;
    read("k", &seen);
    write("k", "2");
    EXPECT_EQ(write("k", "3", STORE_CAS, 0, seen.hit.cas, true), STORE_OK);
    store_get_t how = {};
    ASSERT_TRUE(read("k", &seen));
    EXPECT_FALSE(seen.hit.win); // who does not ask for it is not told
    how.meta = true;
    ASSERT_TRUE(read("k", &seen, &how));
    EXPECT_TRUE(seen.hit.stale);
    EXPECT_TRUE(seen.hit.win);
    ASSERT_TRUE(read("k", &seen, &how));
    EXPECT_FALSE(seen.hit.win);
    EXPECT_TRUE(seen.hit.won_before);
}

TEST_F(StoreTest, ExpiryAndTouchFollowTheClock)
{
    open();
    write("k", "v", STORE_SET, now + 10);
    now += 9;
    EXPECT_EQ(value("k"), "v");
    store_get_t touch = {};
    touch.touch = true;
    touch.expiry = now + 5000; // beyond the segment's end: the item is copied
    Seen seen;
    ASSERT_TRUE(read("k", &seen, &touch));
    EXPECT_EQ(seen.hit.expiry, 110u);
    EXPECT_EQ(seen.hit.touched, now + 5000);
    check();
    now += 4999;
    EXPECT_EQ(value("k"), "v");
    now += 1;
    EXPECT_EQ(value("k"), "(none)");
    EXPECT_EQ(stats().counters.get_expired, 1u);
    EXPECT_EQ(stats().items, 0u);
}

TEST_F(StoreTest, ExpiredSegmentsGoAsAWhole)
{
    open();
    for (int i = 0; i < 3000; i++)
        write("k" + std::to_string(i), std::string(1000, 'x'), STORE_SET, now + 20);
    store_stats_t before = stats();
    now += 21;
    tick();
    store_stats_t after = stats();
    EXPECT_EQ(after.counters.evictions, 0u);
    EXPECT_LE(after.segments_used, before.segments_used / 2);
    EXPECT_LT(after.items, 300u); // those of the open segments
    check();
}

TEST_F(StoreTest, AFlushHidesWhatIsOlderAndNothingElse)
{
    open();
    write("old", "1");
    store_flush(store, 0);
    write("new", "2");
    EXPECT_EQ(value("old"), "(none)");
    EXPECT_EQ(value("new"), "2");
    store_flush(store, now + 10);
    now += 5;
    write("between", "3");
    EXPECT_EQ(value("new"), "2");
    now += 5;
    write("later", "4");
    EXPECT_EQ(value("new"), "(none)");
    EXPECT_EQ(value("between"), "(none)");
    EXPECT_EQ(value("later"), "4");
    store_flush(store, now + 100); // must not bring back what is gone
    EXPECT_EQ(value("between"), "(none)");
    EXPECT_EQ(value("later"), "4");
    tick();
    EXPECT_EQ(value("later"), "4");
}

TEST_F(StoreTest, FlushesWithinASecondHideWhatIsOlderWhateverItsCasId)
{
    open();
    auto write_with = [&](const std::string &name, uint64_t cas) {
        store_draft_t draft;
        ASSERT_EQ(store_begin(store, key(name), 0, 0, &draft), STORE_OK);
        store_put_t how = {};
        how.cas = cas;
        ASSERT_EQ(store_commit(&draft, &how, nullptr), STORE_OK);
    };
    for (int i = 0; i < 30; i++) {
        write_with("large", UINT64_MAX - 1);
        store_flush(store, 0);
        EXPECT_EQ(value("large"), "(none)");
        write_with("small", 1);
        EXPECT_EQ(value("small"), "");
    }
    store_flush(store, now + 10); // the flushes so far have taken the seconds until then
    write("before", "v");
    now += 10;
    EXPECT_EQ(value("small"), "(none)");
    EXPECT_EQ(value("before"), "(none)");
    write("after", "v");
    EXPECT_EQ(value("after"), "v");
    EXPECT_EQ(value("small"), "(none)");
    tick();
    EXPECT_EQ(value("after"), "v");
}

TEST_F(StoreTest, ACasIdOfAClientDoesNotRaiseThoseThatFollow)
{
    open();
    uint64_t first, second;
    for (uint64_t *cas : {&first, &second}) {
        store_draft_t draft;
        store_put_t how = {};
        ASSERT_EQ(store_begin(store, key("k"), 0, 0, &draft), STORE_OK);
        how.cas = UINT64_MAX;
        how.restores = cas == &second;
        ASSERT_EQ(store_commit(&draft, &how, cas), STORE_OK);
        EXPECT_EQ(*cas, UINT64_MAX);
        ASSERT_EQ(store_begin(store, key("k"), 0, 0, &draft), STORE_OK);
        how = {};
        ASSERT_EQ(store_commit(&draft, &how, cas), STORE_OK);
    }
    EXPECT_LT(first, second);
    EXPECT_LT(second, 1000u);
}

TEST_F(StoreTest, AValueThatComesInPiecesHasItsChecksumWhenItIsWhole)
{
    open();
    std::string name = "pieces", value(300000, 'p');
    for (size_t i = 0; i < value.size(); i++)
        value[i] = static_cast<char>(i * 31 % 251);
    for (size_t step : {size_t(1000), size_t(131072), value.size()}) {
        store_draft_t draft;
        ASSERT_EQ(store_begin(store, key(name), value.size(), 0, &draft), STORE_OK);
        for (size_t done = 0; done < value.size();) {
            size_t piece = std::min(step, value.size() - done);
            memcpy(draft.value + done, value.data() + done, piece);
            done += piece;
            store_sum(&draft, done);
            EXPECT_EQ(draft.summed, done);
        }
        store_put_t how = {};
        ASSERT_EQ(store_commit(&draft, &how, nullptr), STORE_OK);
        EXPECT_EQ(this->value(name), value);
        check(); // compares checksums
    }
}

TEST_F(StoreTest, AFlushWhileAnItemIsWrittenSparesIt)
{
    open();
    store_draft_t draft;
    std::string name = "k";
    ASSERT_EQ(store_begin(store, key(name), 1, 0, &draft), STORE_OK);
    store_flush(store, 0);
    tick();
    *draft.value = 'v';
    store_put_t how = {};
    EXPECT_EQ(store_commit(&draft, &how, nullptr), STORE_OK);
    tick();
    EXPECT_EQ(value("k"), "v");
}

TEST_F(StoreTest, NumbersKeepTheirLengthAndWrap)
{
    open();
    store_delta_t how = {};
    store_number_t number;
    std::string name = "n";
    how.delta = 1;
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_NOT_FOUND);
    write("n", "99");
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_OK);
    EXPECT_EQ(value("n"), "100");
    how.decrement = true;
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_OK);
    EXPECT_EQ(number.value, 99u);
    EXPECT_EQ(value("n"), "99 ");
    how.delta = 1000;
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_OK);
    EXPECT_EQ(value("n"), "0  ");
    write("n", "18446744073709551615");
    how.decrement = false;
    how.delta = 1;
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_OK);
    EXPECT_EQ(number.value, 0u);
    write("n", "xx");
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_NON_NUMERIC);
    write("n", "");
    EXPECT_EQ(store_delta(store, key(name), &how, &number), STORE_NON_NUMERIC);
}

TEST_F(StoreTest, TheLargestItemFitsAndALargerOneDoesNot)
{
    open();
    std::string most((1 << 20) - 100, 'x');
    EXPECT_EQ(write("k", most), STORE_OK);
    EXPECT_EQ(value("k"), most);
    EXPECT_EQ(write("k", most + std::string(101, 'y')), STORE_TOO_LARGE);
    EXPECT_EQ(write("k", std::string(200, 'z'), STORE_APPEND), STORE_TOO_LARGE);
    EXPECT_EQ(value("k"), most);
}

TEST_F(StoreTest, APinnedValueStaysWhileEverythingElseIsWrittenAnew)
{
    open(2 << 20, 1, true, 256 << 10);
    std::string mine(5000, 'p');
    write("mine", mine);
    struct Pinned {
        store_pin_t pin;
        const char *value;
    } pinned = {};
    std::string name = "mine";
    ASSERT_EQ(store_get(
                  store, key(name), nullptr,
                  [](void *arg, const store_hit_t *hit) {
                      auto *to = static_cast<Pinned *>(arg);
                      store_pin(hit, &to->pin);
                      to->value = hit->value;
                  },
                  &pinned),
              STORE_OK);
    store_delete(store, key(name), nullptr);
    for (int i = 0; i < 20000; i++)
        ASSERT_EQ(write("k" + std::to_string(i % 3000), std::string(900, 'x')), STORE_OK);
    EXPECT_EQ(std::string(pinned.value, 5000), mine);
    store_unpin(&pinned.pin);
}

TEST_F(StoreTest, WhatIsReadOftenOutlivesWhatIsNot)
{
    open(4 << 20, 1);
    write("hot", "h");
    write("cold", "c");
    for (int i = 0; i < 40000; i++) {
        ASSERT_EQ(write("k" + std::to_string(i), std::string(500, 'x')), STORE_OK);
        value("hot");
    }
    EXPECT_EQ(value("hot"), "h");
    EXPECT_EQ(value("cold"), "(none)");
    EXPECT_GT(stats().counters.evictions, 0u);
}

TEST_F(StoreTest, DeadBytesAreReclaimedBeforeAnythingIsEvicted)
{
    open(8 << 20, 1);
    for (int i = 0; i < 1000; i++)
        write("still" + std::to_string(i), std::string(1000, 's'));
    for (int i = 0; i < 50000; i++)
        ASSERT_EQ(write("busy" + std::to_string(i % 1000), std::string(1000, 'b')), STORE_OK);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(value("still" + std::to_string(i)), std::string(1000, 's')) << i;
    EXPECT_EQ(stats().counters.evictions, 0u);
}

TEST_F(StoreTest, WithoutEvictionAFullStoreSaysSoAndLosesNothing)
{
    open(4 << 20, 1, false);
    int stored = 0;
    while (write("k" + std::to_string(stored), std::string(1000, 'x')) == STORE_OK)
        stored++;
    EXPECT_GT(stored, 3000);
    for (int i = 0; i < stored; i++)
        ASSERT_NE(value("k" + std::to_string(i)), "(none)") << i;
    for (int i = 0; i < stored; i += 2) {
        std::string name = "k" + std::to_string(i);
        store_delete(store, key(name), nullptr);
    }
    for (int i = 0; i < stored / 3; i++)
        ASSERT_EQ(write("n" + std::to_string(i), std::string(1000, 'y')), STORE_OK) << i;
    for (int i = 1; i < stored; i += 2)
        ASSERT_NE(value("k" + std::to_string(i)), "(none)") << i;
    EXPECT_EQ(stats().counters.evictions, 0u);
}

TEST_F(StoreTest, TheLimitHoldsAlsoWhenItIsLowered)
{
    open(16 << 20, 2);
    for (int i = 0; i < 40000; i++)
        ASSERT_EQ(write("k" + std::to_string(i), std::string(700, 'x')), STORE_OK);
    store_stats_t full = stats();
    EXPECT_LE(full.segments_used * full.segment_bytes, 16u << 20);
    EXPECT_GT(full.bytes, 12u << 20);
    ASSERT_TRUE(store_limit(store, 8 << 20));
    tick();
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(write("n" + std::to_string(i), std::string(700, 'x')), STORE_OK);
    store_stats_t less = stats();
    EXPECT_LE(less.segments_used * less.segment_bytes, 8u << 20);
    EXPECT_FALSE(store_limit(store, 1000));
}

TEST_F(StoreTest, ManySmallItemsAreAllFoundWhileTheIndexGrows)
{
    open(64 << 20, 4);
    for (int i = 0; i < 200000; i++)
        ASSERT_EQ(write("key-" + std::to_string(i), std::to_string(i)), STORE_OK);
    for (int i = 0; i < 200000; i++)
        ASSERT_EQ(value("key-" + std::to_string(i)), std::to_string(i));
    EXPECT_EQ(stats().items, 200000u);
    EXPECT_GT(stats().buckets, 30000u);
}

// Everything at random, against a map: what is read is what was written last, or nothing; nothing at all is lost while nothing
// has been evicted.
TEST_F(StoreTest, RandomOperationsNeverGiveAnotherValue)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        SCOPED_TRACE(seed);
        open(seed % 2 ? 4 << 20 : 32 << 20, seed, true, 512 << 10);
        std::mt19937 random(seed);
        std::map<std::string, std::string> wanted;
        for (int i = 0; i < 30000; i++) {
            std::string name = "key" + std::to_string(random() % 2000);
            unsigned what = random() % 100;
            if (what < 45) {
                size_t length = random() % 50 == 0 ? random() % 200000 : random() % 900;
                std::string bytes(length, static_cast<char>('a' + random() % 26));
                store_status_t status = write(name, bytes, STORE_SET, random() % 3 ? 0 : now + 1 + random() % 4000);
                ASSERT_EQ(status, STORE_OK);
                wanted[name] = bytes;
            } else if (what < 50 && wanted.count(name) && wanted[name].size() < 1000) {
                if (write(name, "++", STORE_APPEND) == STORE_OK)
                    wanted[name] += "++";
            } else if (what < 55) {
                store_delete(store, key(name), nullptr);
                wanted.erase(name);
            } else if (what == 55) {
                now += random() % 5;
                tick();
            } else if (what == 56 && random() % 50 == 0) {
                store_flush(store, 0);
                wanted.clear();
            } else {
                store_get_t how = {};
                how.touch = random() % 10 == 0;
                how.expiry = now + 1 + random() % 100000;
                Seen seen;
                if (read(name, &seen, &how)) {
                    ASSERT_TRUE(wanted.count(name)) << name;
                    ASSERT_EQ(seen.value, wanted[name]) << name;
                }
            }
            if (i % 3000 == 0)
                check();
        }
        check();
        store_close(store);
        store = nullptr;
    }
}

} // namespace
