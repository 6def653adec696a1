// SPDX-License-Identifier: Apache-2.0
// Several threads on one store: under the race detector, too.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "store/store.h"
}

namespace {

std::atomic<uint32_t> second{100};

uint32_t clock_now(void *)
{
    return second;
}

void *get_memory(void *, size_t bytes, void **handle_p)
{
    return *handle_p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

void put_memory(void *, void *handle)
{
    free(handle);
}

// One letter, several times.
std::string value_of(std::mt19937 *random)
{
    size_t length = 10 + (*random)() % ((*random)() % 20 == 0 ? 60000 : 500);
    return std::string(length, static_cast<char>('a' + (*random)() % 26));
}

void check_value(void *arg, const store_hit_t *hit)
{
    auto *wrong = static_cast<bool *>(arg);
    for (uint32_t i = 1; i < hit->value_bytes; i++)
        *wrong = *wrong || hit->value[i] != hit->value[0];
}

struct Pinned {
    store_pin_t pin = {};
    std::string seen;
    const char *value = nullptr;
};

void pin_value(void *arg, const store_hit_t *hit)
{
    auto *pinned = static_cast<Pinned *>(arg);
    store_pin(hit, &pinned->pin);
    pinned->value = hit->value;
    pinned->seen.assign(hit->value, hit->value_bytes);
}

bool work(store_t *store, unsigned seed)
{
    std::mt19937 random(seed);
    bool wrong = false;
    for (int i = 0; i < 4000 && !wrong; i++) {
        std::string name = "key" + std::to_string(random() % 300);
        store_key_t key = {name.data(), name.size()};
        unsigned what = random() % 10;
        if (what < 4) {
            std::string value = value_of(&random);
            store_draft_t draft;
            auto begin = random() % 8 == 0 ? store_begin_pinned : store_begin;
            if (begin(store, key, value.size(), random() % 2 ? 0 : second + random() % 50, &draft) != STORE_OK)
                continue; // all segments may be pinned for a moment, or the share of pinned items is used up
            memcpy(draft.value, value.data(), value.size());
            store_put_t put = {};
            if (random() % 10 == 0)
                store_abandon(&draft);
            else
                (void)store_commit(&draft, &put, nullptr);
        } else if (what == 4) {
            store_delete_t how = {};
            how.release = random() % 2 == 0;
            (void)store_delete(store, key, &how);
        } else if (what == 5 && random() % 50 == 0) {
            second++;
            store_tick(store);
            (void)store_step(store);
        } else if (what == 6) {
            Pinned pinned;
            if (store_get(store, key, nullptr, pin_value, &pinned) == STORE_OK) {
                std::this_thread::yield();
                wrong = memcmp(pinned.value, pinned.seen.data(), pinned.seen.size()) != 0;
                store_unpin(&pinned.pin);
            }
        } else {
            (void)store_get(store, key, nullptr, check_value, &wrong);
        }
    }
    return !wrong;
}

TEST(StoreThreads, ThreadsReadOnlyWholeValuesWhileOthersWriteAndEvict)
{
    store_config_t config = {};
    config.bytes = 4 << 20;
    config.item_max = 128 << 10;
    config.shards = 2;
    config.pinned_percent = 25;
    config.evict = true;
    config.source = {get_memory, put_memory, nullptr, nullptr};
    config.now = clock_now;
    store_t *store;
    ASSERT_EQ(store_open(&config, &store), STORE_OK);
    std::vector<std::thread> threads;
    std::atomic<unsigned> good{0};
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([&, i] { good += work(store, i + 1); });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(good, 4u);
    EXPECT_STREQ(store_check(store), nullptr);
    store_close(store);
}

} // namespace
