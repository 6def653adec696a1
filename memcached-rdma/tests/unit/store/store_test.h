// SPDX-License-Identifier: Apache-2.0
// store_test.h - a store whose clock and memory are the test's, and what tests do with it.
#ifndef MC_TESTS_STORE_TEST_H
#define MC_TESTS_STORE_TEST_H

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <string>

extern "C" {
#include "store/store.h"
}

struct Seen {
    std::string key, value;
    store_hit_t hit;
};

inline void see(void *arg, const store_hit_t *hit)
{
    auto *seen = static_cast<Seen *>(arg);
    seen->key.assign(hit->key, hit->key_bytes);
    seen->value = hit->value == nullptr ? "" : std::string(hit->value, hit->value_bytes);
    seen->hit = *hit;
}

class StoreTest : public testing::Test {
protected:
    uint32_t now = 100;
    store_t *store = nullptr;
    unsigned memories = 0;
    bool lazily = false;
    store_shelf_t shelf = {};

    static uint32_t clock(void *arg) { return static_cast<StoreTest *>(arg)->now; }
    static void *get(void *arg, size_t bytes, void **handle_p)
    {
        static_cast<StoreTest *>(arg)->memories++;
        *handle_p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        memset(*handle_p, 0, bytes);
        return *handle_p;
    }
    static void put(void *arg, void *handle)
    {
        static_cast<StoreTest *>(arg)->memories--;
        free(handle);
    }
    /* Memory without pages until it is written, for a store larger than the machine may be. */
    static void *get_lazily(void *arg, size_t bytes, void **handle_p)
    {
        auto *test = static_cast<StoreTest *>(arg);
        *handle_p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (*handle_p == MAP_FAILED)
            return nullptr;
        test->memories++;
        test->lazy_[*handle_p] = bytes;
        return *handle_p;
    }
    static void put_lazily(void *arg, void *handle)
    {
        auto *test = static_cast<StoreTest *>(arg);
        test->memories--;
        munmap(handle, test->lazy_[handle]);
    }
    void open(size_t bytes = 8 << 20, unsigned shards = 2, bool evict = true, size_t item_max = 1 << 20)
    {
        store_config_t config = {};
        config.bytes = bytes;
        config.item_max = item_max;
        config.shards = shards;
        config.pinned_percent = 50;
        config.evict = evict;
        config.source = {lazily ? get_lazily : get, lazily ? put_lazily : put, nullptr, this};
        config.shelf = shelf;
        config.now = clock;
        config.now_arg = this;
        ASSERT_EQ(store_open(&config, &store), STORE_OK);
    }
    void TearDown() override
    {
        if (store != nullptr)
            check();
        store_close(store);
        EXPECT_EQ(memories, 0u);
    }
    void check() { EXPECT_STREQ(store_check(store), nullptr); }
    static store_key_t key(const std::string &name) { return {name.data(), name.size()}; }

    store_status_t write(const std::string &name, const std::string &value, store_mode_t mode = STORE_SET,
                         uint32_t expiry = 0, uint64_t compare = 0, bool invalidate = false)
    {
        store_draft_t draft;
        store_status_t status = store_begin(store, key(name), value.size(), expiry, &draft);
        if (status != STORE_OK)
            return status;
        memcpy(draft.value, value.data(), value.size());
        store_put_t how = {};
        how.mode = mode;
        how.client_flags = 7;
        how.compare = compare;
        how.invalidate = invalidate;
        return store_commit(&draft, &how, nullptr);
    }
    bool read(const std::string &name, Seen *seen, const store_get_t *how = nullptr)
    {
        return store_get(store, key(name), how, see, seen) == STORE_OK;
    }
    std::string value(const std::string &name)
    {
        Seen seen;
        return read(name, &seen) ? seen.value : "(none)";
    }
    /* All that a second's end leaves to do. */
    void tick()
    {
        store_tick(store);
        while (store_step(store))
            ;
    }
    store_stats_t stats()
    {
        store_stats_t stats;
        store_stats(store, &stats);
        return stats;
    }

private:
    std::map<void *, size_t> lazy_;
};

#endif
