// SPDX-License-Identifier: Apache-2.0
// test_pinned.cc - pinned items: nothing but what a client names removes them, and they leave space for the others.
#include <thread>
#include <vector>

#include "store_test.h"

namespace {

constexpr size_t MIB = 1 << 20;

class PinnedTest : public StoreTest {
protected:
    store_status_t pin(const std::string &name, const std::string &value, store_mode_t mode = STORE_SET,
                       uint32_t expiry = 0)
    {
        store_draft_t draft;
        store_status_t status = store_begin_pinned(store, key(name), value.size(), expiry, &draft);
        if (status != STORE_OK)
            return status;
        memcpy(draft.value, value.data(), value.size());
        store_put_t how = {};
        how.mode = mode;
        return store_commit(&draft, &how, nullptr);
    }
    store_status_t release(const std::string &name)
    {
        store_delete_t how = {};
        how.release = true;
        return store_delete(store, key(name), &how);
    }
    /* Writes several times what the store holds, small and large. */
    void press(int rounds = 4)
    {
        for (int i = 0; i < rounds * 8000; i++)
            ASSERT_EQ(write("small" + std::to_string(i), std::string(1000, 's')), STORE_OK) << i;
        for (int i = 0; i < rounds * 30; i++)
            ASSERT_EQ(write("large" + std::to_string(i), std::string(300000, 'l')), STORE_OK) << i;
    }
    bool is_pinned(const std::string &name)
    {
        Seen seen;
        return read(name, &seen) && seen.hit.pinned;
    }
};

TEST_F(PinnedTest, WhatIsPinnedOutlivesAnyPressureAndGoesAfterItsRelease)
{
    open(16 * MIB, 4);
    const std::vector<size_t> sizes = {0, 1, 1000, 5000, 100000, 1000000};
    for (size_t size : sizes)
        ASSERT_EQ(pin("pin" + std::to_string(size), std::string(size, 'p')), STORE_OK) << size;
    press();
    for (size_t size : sizes) {
        std::string name = "pin" + std::to_string(size);
        EXPECT_EQ(value(name), std::string(size, 'p'));
        EXPECT_TRUE(is_pinned(name));
        EXPECT_EQ(release(name), STORE_OK);
        EXPECT_EQ(value(name), std::string(size, 'p'));
        EXPECT_FALSE(is_pinned(name));
    }
    EXPECT_EQ(release("none"), STORE_NOT_FOUND);
    EXPECT_EQ(stats().pinned_items, 0u);
    EXPECT_EQ(stats().pinned_bytes, 0u);
    check();
    press();
    for (size_t size : sizes)
        EXPECT_EQ(value("pin" + std::to_string(size)), "(none)") << size;
}

TEST_F(PinnedTest, AShareOfTheMemoryIsAllTheyGetAndTheRestStillEvicts)
{
    open(16 * MIB, 4);
    int pinned = 0;
    store_status_t status;
    while ((status = pin("pin" + std::to_string(pinned), std::string(100000, 'p'))) == STORE_OK)
        pinned++;
    EXPECT_EQ(status, STORE_PINS_FULL);
    EXPECT_EQ(stats().counters.store_pins_full, 1u);
    EXPECT_EQ(stats().pinned_items, uint64_t(pinned));
    EXPECT_LE(stats().pinned_bytes, stats().pinned_limit);
    EXPECT_EQ(stats().pinned_limit, 8 * MIB);
    EXPECT_GE(pinned * 102400u, 8 * MIB - 102400u);
    press();
    for (int i = 0; i < pinned; i++)
        EXPECT_EQ(value("pin" + std::to_string(i)), std::string(100000, 'p')) << i;
    ASSERT_EQ(store_delete(store, key("pin0"), nullptr), STORE_OK);
    EXPECT_EQ(pin("again", std::string(100000, 'p')), STORE_OK);
    EXPECT_EQ(pin("more", std::string(100000, 'p')), STORE_PINS_FULL);
}

TEST_F(PinnedTest, ARefusedOneLeavesTheOldValueAndAnotherSetReleases)
{
    open(16 * MIB, 2);
    for (int i = 0; i < 8; i++)
        (void)pin("pin" + std::to_string(i), std::string(1000000, 'p'));
    EXPECT_EQ(pin("pin0", std::string(1000000, 'n')), STORE_PINS_FULL);
    EXPECT_EQ(value("pin0"), std::string(1000000, 'p'));
    uint64_t before = stats().pinned_items;
    EXPECT_EQ(write("pin0", "plain"), STORE_OK);
    EXPECT_FALSE(is_pinned("pin0"));
    EXPECT_EQ(stats().pinned_items, before - 1);
    EXPECT_EQ(pin("pin0", "pinned"), STORE_OK);
    EXPECT_EQ(pin("pin0", "again", STORE_ADD), STORE_NOT_STORED);
    EXPECT_EQ(stats().pinned_items, before);
    check();
}

TEST_F(PinnedTest, AppendedBytesAndArithmeticLeaveItPinned)
{
    open(16 * MIB, 2);
    ASSERT_EQ(pin("text", "ab"), STORE_OK);
    ASSERT_EQ(write("text", "cd", STORE_APPEND), STORE_OK);
    ASSERT_EQ(pin("number", "9"), STORE_OK);
    store_delta_t how = {};
    how.delta = 1;
    store_number_t number;
    ASSERT_EQ(store_delta(store, key("number"), &how, &number), STORE_OK);
    ASSERT_EQ(write("late", "x"), STORE_OK);
    ASSERT_EQ(pin("late", "y", STORE_APPEND), STORE_OK);
    press();
    EXPECT_EQ(value("text"), "abcd");
    EXPECT_EQ(value("number"), "10");
    EXPECT_EQ(value("late"), "xy");
    EXPECT_EQ(stats().pinned_items, 3u);
}

TEST_F(PinnedTest, ExpiryFlushAndDeleteRemoveItAndGiveItsShareBack)
{
    open(16 * MIB, 2);
    ASSERT_EQ(pin("expires", "x", STORE_SET, now + 10), STORE_OK);
    ASSERT_EQ(pin("deleted", std::string(5000, 'x')), STORE_OK);
    ASSERT_EQ(pin("flushed", "x"), STORE_OK);
    ASSERT_EQ(store_delete(store, key("deleted"), nullptr), STORE_OK);
    EXPECT_EQ(stats().pinned_items, 2u);
    now += 20;
    tick();
    EXPECT_EQ(stats().pinned_items, 1u);
    EXPECT_EQ(value("flushed"), "x");
    store_flush(store, 0);
    tick();
    EXPECT_EQ(value("flushed"), "(none)");
    EXPECT_EQ(stats().pinned_items, 0u);
    EXPECT_EQ(stats().pinned_bytes, 0u);
}

TEST_F(PinnedTest, ADraftThatIsAbandonedGivesItsShareBack)
{
    open(16 * MIB, 2);
    store_draft_t draft;
    ASSERT_EQ(store_begin_pinned(store, key("a"), 100000, 0, &draft), STORE_OK);
    EXPECT_GT(stats().pinned_bytes, 100000u);
    EXPECT_EQ(stats().pinned_items, 0u);
    store_abandon(&draft);
    EXPECT_EQ(stats().pinned_bytes, 0u);
}

/* Pins, releases and pressure of several threads: what is pinned is never lost, and every count holds. */
TEST_F(PinnedTest, PinnedItemsOfOneThreadOutliveThePressureOfOthers)
{
    open(16 * MIB, 4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([this, t] {
            std::string mine = "t" + std::to_string(t) + "-";
            for (int i = 0; i < 3000; i++) {
                std::string name = mine + std::to_string(i % 40);
                if (i >= 40) {
                    EXPECT_EQ(value(name).substr(0, 3), "pin");
                    EXPECT_EQ(release(name), STORE_OK);
                }
                EXPECT_EQ(pin(name, "pin" + std::string(size_t(i) * 7 % 9000, 'x')), STORE_OK);
                for (int j = 0; j < 10; j++)
                    EXPECT_EQ(write(mine + "w" + std::to_string(i * 10 + j), std::string(2000, 'w')), STORE_OK);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(stats().pinned_items, 120u);
}

} // namespace
