// SPDX-License-Identifier: Apache-2.0
// Items for which memory has no place go to a shelf, here a map, and are found there until nobody refers to them.
#include <vector>

#include "store_test.h"

extern "C" {
#include "reading.h"
}

class Shelf : public StoreTest {
protected:
    struct Shelved {
        place_t place;
        std::string key, value;
        uint64_t cas;
        uint32_t created;
    };
    std::map<uint32_t, Shelved> items; // by the offset of their place, each of which is given once
    uint32_t next = 0;
    bool full = false;
    unsigned fetched = 0;

    static bool shelve(void *arg, const store_hit_t *hit, uint32_t created, place_t *place_p)
    {
        auto *test = static_cast<Shelf *>(arg);
        if (test->full)
            return false;
        *place_p = {1, 2, ++test->next, hit->value_bytes};
        test->items[test->next] = {*place_p, std::string(hit->key, hit->key_bytes),
                                   std::string(hit->value, hit->value_bytes), hit->cas, created};
        return true;
    }
    static void gone(void *arg, const place_t *place, size_t key_bytes)
    {
        auto *test = static_cast<Shelf *>(arg);
        auto found = test->items.find(place->offset);
        ASSERT_NE(found, test->items.end()) << "a place was given back twice";
        EXPECT_EQ(found->second.key.size(), key_bytes);
        test->items.erase(found);
    }
    static const char *fetch(void *arg, store_key_t key, const place_t *place)
    {
        auto *test = static_cast<Shelf *>(arg);
        auto found = test->items.find(place->offset);
        if (found == test->items.end() || found->second.key != std::string(key.bytes, key.length))
            return nullptr;
        test->fetched++;
        return found->second.value.data();
    }
    store_get_t fetching()
    {
        store_get_t how = {};
        how.fetch = fetch;
        how.fetch_arg = this;
        return how;
    }
    void open_with_shelf(size_t bytes = 8 << 20, size_t item_max = 1 << 20)
    {
        shelf = {shelve, gone, this, 512};
        open(bytes, 2, true, item_max);
    }
    // The value of a key, wherever it is.
    std::string any(const std::string &name)
    {
        store_get_t how = fetching();
        Seen seen;
        return read(name, &seen, &how) ? seen.value : "(none)";
    }
    static std::string text(unsigned number, size_t bytes = 1000)
    {
        return std::to_string(number) + std::string(bytes, (char)('a' + number % 26));
    }
    void fill(unsigned count, size_t bytes = 1000)
    {
        for (unsigned i = 0; i < count; i++)
            ASSERT_EQ(write("k" + std::to_string(i), text(i, bytes)), STORE_OK) << i;
    }
    // A key whose item is on the shelf.
    std::string on_shelf(unsigned number = 0)
    {
        auto at = items.begin();
        std::advance(at, number);
        return at->second.key;
    }
    // Every place is referred to by one stub, and the other way round.
    void balanced()
    {
        EXPECT_EQ(items.size(), stats().stubs);
        check();
    }
};

TEST_F(Shelf, more_than_memory_holds_is_readable_and_nothing_is_evicted)
{
    open_with_shelf();
    fill(30000);
    EXPECT_EQ(stats().counters.evictions, 0u);
    EXPECT_GT(stats().stubs, 20000u);
    for (unsigned i = 0; i < 30000; i++)
        ASSERT_EQ(any("k" + std::to_string(i)), text(i)) << i;
    EXPECT_EQ(stats().counters.evictions, 0u);
    balanced();
}

TEST_F(Shelf, large_items_are_all_readable)
{
    open_with_shelf(16 << 20);
    fill(100, 900 << 10);
    EXPECT_EQ(stats().counters.evictions, 0u);
    for (unsigned i = 0; i < 100; i++)
        ASSERT_EQ(any("k" + std::to_string(i)), text(i, 900 << 10)) << i;
    balanced();
}

TEST_F(Shelf, small_items_stay_in_memory_and_do_not_push_out_what_is_on_the_shelf)
{
    open_with_shelf();
    fill(20000);
    uint64_t stubs = stats().stubs;
    for (unsigned i = 0; i < 60000; i++)
        ASSERT_EQ(write("small" + std::to_string(i), "x"), STORE_OK);
    EXPECT_GE(stats().stubs, stubs);
    EXPECT_EQ(stats().counters.stubs_evicted, 0u);
    EXPECT_GT(stats().counters.evictions, 0u);
    for (unsigned i = 0; i < 20000; i++)
        ASSERT_EQ(any("k" + std::to_string(i)), text(i)) << i;
    for (const auto &[offset, shelved] : items)
        EXPECT_EQ(shelved.key[0], 'k');
}

TEST_F(Shelf, stubs_take_at_most_about_half_of_the_memory)
{
    open_with_shelf();
    fill(120000, 600);
    EXPECT_GT(stats().stub_bytes, 2u << 20);
    EXPECT_LT(stats().stub_bytes, 5u << 20);
    EXPECT_EQ(stats().counters.evictions, stats().counters.stubs_evicted); /* all items went to the shelf first */
    EXPECT_GT(stats().counters.stubs_evicted, 0u);
    EXPECT_NE(any("k119999"), "(none)");
    balanced();
}

TEST_F(Shelf, all_that_is_known_of_an_item_but_its_value_needs_no_disk)
{
    open_with_shelf();
    fill(20000);
    std::string name = on_shelf();
    store_get_t how = {};
    how.without_value = true;
    Seen seen;
    ASSERT_TRUE(read(name, &seen, &how));
    EXPECT_TRUE(seen.hit.on_disk);
    EXPECT_EQ(seen.hit.value, nullptr);
    EXPECT_EQ(seen.hit.value_bytes, items.begin()->second.value.size());
    EXPECT_EQ(seen.hit.client_flags, 7u);
    EXPECT_EQ(seen.hit.cas, items.begin()->second.cas);
    EXPECT_NE(items.begin()->second.created, 0u);
    EXPECT_EQ(fetched, 0u);
}

TEST_F(Shelf, without_the_value_at_hand_a_get_counts_nothing)
{
    open_with_shelf();
    fill(20000);
    std::string name = on_shelf();
    store_counters_t before = stats().counters;
    Seen seen;
    EXPECT_EQ(store_get(store, key(name), nullptr, see, &seen), STORE_ON_DISK);
    store_counters_t after = stats().counters;
    EXPECT_EQ(memcmp(&before, &after, sizeof(before)), 0);
    EXPECT_EQ(any(name).substr(0, 1), name.substr(1, 1));
    EXPECT_EQ(stats().counters.get_hits, before.get_hits + 1);
    EXPECT_EQ(stats().counters.get_disk, before.get_disk + 1);
}

TEST_F(Shelf, the_second_read_brings_an_item_back_with_its_cas_id)
{
    open_with_shelf();
    fill(20000);
    std::string name = on_shelf(), value = items.begin()->second.value;
    uint64_t cas = items.begin()->second.cas;
    EXPECT_EQ(any(name), value);
    EXPECT_EQ(stats().counters.promoted, 0u);
    EXPECT_EQ(any(name), value);
    EXPECT_EQ(stats().counters.promoted, 1u);
    fetched = 0;
    Seen seen;
    ASSERT_TRUE(read(name, &seen));
    EXPECT_EQ(seen.value, value);
    EXPECT_EQ(seen.hit.cas, cas);
    EXPECT_EQ(fetched, 0u);
    balanced();
}

TEST_F(Shelf, append_and_arithmetic_need_the_value_and_go_on_when_it_is_back)
{
    shelf = {shelve, gone, this, 0};
    open(8 << 20);
    ASSERT_EQ(write("number", "41"), STORE_OK);
    fill(20000);
    store_delta_t delta = {};
    delta.delta = 1;
    store_number_t number;
    place_t place;
    ASSERT_EQ(store_delta(store, key("number"), &delta, &number), STORE_ON_DISK);
    EXPECT_EQ(stats().counters.incr_hits, 0u);
    ASSERT_TRUE(store_where(store, key("number"), &place));
    ASSERT_EQ(store_promote(store, key("number"), &place, fetch(this, key("number"), &place)), STORE_OK);
    ASSERT_EQ(store_delta(store, key("number"), &delta, &number), STORE_OK);
    EXPECT_EQ(number.value, 42u);

    std::string name = on_shelf(), value = items.begin()->second.value;
    store_draft_t draft;
    ASSERT_EQ(store_begin(store, key(name), 3, 0, &draft), STORE_OK);
    memcpy(draft.value, "end", 3);
    store_put_t put = {};
    put.mode = STORE_APPEND;
    uint64_t sets = stats().counters.cmd_set;
    ASSERT_EQ(store_commit(&draft, &put, nullptr), STORE_ON_DISK);
    EXPECT_EQ(stats().counters.cmd_set, sets);
    ASSERT_TRUE(store_where(store, key(name), &place));
    ASSERT_EQ(store_promote(store, key(name), &place, fetch(this, key(name), &place)), STORE_OK);
    ASSERT_EQ(store_commit(&draft, &put, nullptr), STORE_OK);
    EXPECT_EQ(any(name), value + "end");
    balanced();
}

TEST_F(Shelf, what_was_read_too_late_does_not_come_back)
{
    open_with_shelf();
    fill(20000);
    std::string name = on_shelf();
    place_t place;
    ASSERT_TRUE(store_where(store, key(name), &place));
    ASSERT_EQ(write(name, "newer"), STORE_OK);
    EXPECT_EQ(store_promote(store, key(name), &place, "older"), STORE_OK);
    store_lost(store, key(name), &place);
    EXPECT_EQ(store_shelf_ask(store, key(name), &place, true), STORE_SHELF_DEAD);
    EXPECT_FALSE(store_shelf_moved(store, key(name), &place, &place));
    EXPECT_EQ(value(name), "newer");
    balanced();
}

TEST_F(Shelf, every_end_of_an_item_gives_its_place_back)
{
    open_with_shelf();
    fill(20000);
    balanced();
    EXPECT_EQ(store_delete(store, key(on_shelf()), nullptr), STORE_OK);
    balanced();
    ASSERT_EQ(write(on_shelf(), "other"), STORE_OK);
    balanced();
    store_drop(store, key(on_shelf()));
    balanced();
    place_t place;
    std::string name = on_shelf();
    ASSERT_TRUE(store_where(store, key(name), &place));
    store_lost(store, key(name), &place);
    EXPECT_EQ(any(name), "(none)");
    EXPECT_EQ(stats().counters.lost, 1u);
    balanced();
    store_delete_t empty = {};
    empty.empty = true;
    ASSERT_EQ(store_delete(store, key(on_shelf()), &empty), STORE_OK);
    balanced();
    store_get_t touch = {};
    touch.touch = touch.without_value = true;
    touch.expiry = now + 10;
    ASSERT_TRUE(store_get(store, key(on_shelf()), &touch, nullptr, nullptr) == STORE_OK);
    balanced();
    now += 20;
    tick();
    balanced();
    store_flush(store, 0);
    tick();
    EXPECT_EQ(items.size(), 0u);
    balanced();
}

TEST_F(Shelf, stale_and_touched_items_stay_where_they_are_on_disk)
{
    open_with_shelf();
    fill(20000);
    std::string name = on_shelf(), value = items.begin()->second.value;
    store_delete_t stale = {};
    stale.stale = true;
    ASSERT_EQ(store_delete(store, key(name), &stale), STORE_OK);
    store_get_t how = fetching();
    how.touch = true;
    how.expiry = now + 1000000;
    Seen seen;
    ASSERT_TRUE(read(name, &seen, &how));
    EXPECT_EQ(seen.value, value);
    EXPECT_TRUE(seen.hit.stale);
    balanced();
}

TEST_F(Shelf, a_full_shelf_means_eviction)
{
    open_with_shelf();
    full = true;
    fill(20000);
    EXPECT_EQ(items.size(), 0u);
    EXPECT_GT(stats().counters.evictions, 10000u);
    full = false;
    fill(40000);
    EXPECT_GT(items.size(), 20000u);
    balanced();
}

TEST_F(Shelf, a_page_that_is_emptied_keeps_what_was_read)
{
    open_with_shelf();
    fill(20000);
    std::string read_once = on_shelf(0), unread = on_shelf(1);
    std::string value = any(read_once);
    place_t place, other, to = {9, 9, 4000000, 0};
    ASSERT_TRUE(store_where(store, key(read_once), &place));
    ASSERT_TRUE(store_where(store, key(unread), &other));
    EXPECT_EQ(store_shelf_ask(store, key(unread), &other, true), STORE_SHELF_DROPPED);
    EXPECT_EQ(store_shelf_ask(store, key(unread), &other, true), STORE_SHELF_DEAD);
    EXPECT_EQ(store_shelf_ask(store, key(read_once), &place, true), STORE_SHELF_WANTED);
    to.value_bytes = place.value_bytes;
    items[to.offset] = {to, read_once, value, 0, 0};
    EXPECT_TRUE(store_shelf_moved(store, key(read_once), &place, &to));
    balanced();
    /* and only what was read since then is kept the next time */
    EXPECT_EQ(store_shelf_ask(store, key(read_once), &to, true), STORE_SHELF_DROPPED);
    EXPECT_EQ(any(read_once), "(none)");
    balanced();
}

TEST_F(Shelf, room_is_made_ahead_of_who_writes)
{
    open_with_shelf(32 << 20);
    fill(40000);
    while (store_make_room(store))
        ;
    store_stats_t stats = this->stats();
    EXPECT_LE(stats.segments_used, stats.segments_limit - stats.segments_limit / 20);
    EXPECT_EQ(stats.counters.evictions, 0u);
    balanced();
}

TEST_F(Shelf, idle_items_go_though_there_is_memory)
{
    open_with_shelf(32 << 20);
    fill(1000);
    now += 10;
    for (unsigned i = 0; i < 500; i++)
        ASSERT_EQ(any("k" + std::to_string(i)), text(i));
    uint64_t at = 0;
    while (!store_shelve_idle(store, &at, 50, 5))
        ;
    EXPECT_EQ(items.size(), 500u);
    for (unsigned i = 0; i < 1000; i++)
        ASSERT_EQ(any("k" + std::to_string(i)), text(i));
    balanced();
}

TEST_F(Shelf, pinned_items_never_go_there)
{
    open_with_shelf(32 << 20);
    for (unsigned i = 0; i < 100; i++) {
        store_draft_t draft;
        std::string name = "pinned" + std::to_string(i);
        ASSERT_EQ(store_begin_pinned(store, key(name), 1000, 0, &draft), STORE_OK);
        memset(draft.value, 'p', 1000);
        store_put_t put = {};
        ASSERT_EQ(store_commit(&draft, &put, nullptr), STORE_OK);
    }
    fill(60000);
    now += 10;
    uint64_t at = 0;
    while (!store_shelve_idle(store, &at, 50, 5))
        ;
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(value("pinned" + std::to_string(i)), std::string(1000, 'p'));
    balanced();
}

TEST_F(Shelf, a_restored_item_is_on_the_shelf_and_new_cas_ids_are_larger)
{
    open_with_shelf();
    place_t place = {1, 2, ++next, 1000};
    items[next] = {place, "old", std::string(1000, 'o'), 5000, 0};
    store_put_t put = {};
    put.client_flags = 9;
    put.cas = 5000;
    ASSERT_EQ(store_restore(store, key("old"), &place, 0, &put), STORE_OK);
    EXPECT_EQ(any("old"), std::string(1000, 'o'));
    balanced();
    ASSERT_EQ(write("old", "new"), STORE_OK);
    Seen seen;
    ASSERT_TRUE(read("old", &seen));
    EXPECT_GT(seen.hit.cas, 5000u);
    balanced();
}
