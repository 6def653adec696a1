// SPDX-License-Identifier: Apache-2.0
// Threads that put, forget and read while the disk's own writes and empties pages: what is read is what was put, or nothing.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "disk_test.h"

namespace {

constexpr unsigned KEYS = 64;

// What a thread has put last for each of its keys; the disk's thread takes places away.
struct Owned {
    std::mutex lock;
    bool there[KEYS] = {};
    place_t place[KEYS];
};

struct Threads : DiskTest, testing::WithParamInterface<bool> {
    Owned owned[2];
    std::atomic<bool> ends{false};
    std::atomic<unsigned> right{0}, lost{0};

    static Owned &owner_of(void *arg, const disk_item_t *item, unsigned *number)
    {
        *number = (unsigned)atoi(std::string(item->key + 1, item->key_bytes - 1).c_str());
        return static_cast<Threads *>(arg)->owned[item->key[0] - 'a'];
    }
    static disk_answer_t ask(void *arg, const disk_item_t *item, const place_t *place, bool keep)
    {
        unsigned number;
        Owned &mine = owner_of(arg, item, &number);
        std::lock_guard<std::mutex> hold(mine.lock);
        if (!mine.there[number] || !place_is(&mine.place[number], place))
            return DISK_DEAD;
        if (keep && number % 2 == 0)
            return DISK_WANTED;
        mine.there[number] = false;
        disk_gone(static_cast<Threads *>(arg)->disk, place, item->key_bytes);
        return DISK_DROPPED;
    }
    static bool move(void *arg, const disk_item_t *item, const place_t *from, const place_t *to)
    {
        unsigned number;
        Owned &mine = owner_of(arg, item, &number);
        std::lock_guard<std::mutex> hold(mine.lock);
        if (!mine.there[number] || !place_is(&mine.place[number], from))
            return false;
        disk_gone(static_cast<Threads *>(arg)->disk, from, item->key_bytes);
        mine.place[number] = *to;
        return true;
    }
    void write_and_empty()
    {
        disk_owner_t owner = {ask, move, this};
        while (!ends)
            if (!disk_write(disk, false) && !disk_reclaim(disk, &owner))
                std::this_thread::yield();
    }
    static void finished(disk_read_t *read) { read->key_bytes = 0; }
    void read_one(disk_reader_t *reader, const std::string &key, const place_t &place, const std::string &wanted)
    {
        disk_read_t read = {};
        read.place = place;
        read.key_bytes = key.size();
        read.done = finished;
        if (!disk_reader_read(reader, &read)) {
            disk_reader_submit(reader);
            while (read.key_bytes != 0) {
                struct pollfd event = {disk_reader_fd(reader), POLLIN, 0};
                ASSERT_EQ(poll(&event, 1, 60000), 1);
                disk_reader_reap(reader);
            }
        }
        ASSERT_TRUE(read.result == DISK_OK || read.result == DISK_LOST) << read.result;
        if (read.result == DISK_OK) {
            ASSERT_EQ(std::string(read.item.value, read.item.value_bytes), wanted);
            right++;
        } else {
            lost++;
        }
        free(read.buffer);
    }
    void put_and_read(unsigned thread, unsigned rounds)
    {
        disk_reader_t *reader = disk_reader_open(disk);
        Owned &mine = owned[thread];
        std::string newest[KEYS];
        for (unsigned i = 0; i < rounds; i++) {
            unsigned number = i * 7 % KEYS;
            std::string key = std::string(1, (char)('a' + thread)) + std::to_string(number);
            std::string value = key + ":" + std::to_string(i) + std::string(3000 + i % 5000, 'v');
            disk_item_t item = {};
            item.key = key.data();
            item.key_bytes = (uint32_t)key.size();
            item.value = value.data();
            item.value_bytes = (uint32_t)value.size();
            place_t place, seen;
            bool there = disk_put(disk, &item, &place);
            if (there) {
                std::lock_guard<std::mutex> hold(mine.lock);
                if (mine.there[number])
                    disk_gone(disk, &mine.place[number], key.size());
                mine.there[number] = true;
                mine.place[number] = place;
                newest[number] = value;
            }
            number = i * 13 % KEYS;
            {
                std::lock_guard<std::mutex> hold(mine.lock);
                there = mine.there[number];
                seen = mine.place[number];
            }
            if (there)
                read_one(reader, std::string(1, (char)('a' + thread)) + std::to_string(number), seen, newest[number]);
        }
        disk_reader_close(reader);
    }
};

} // namespace

TEST_P(Threads, put_read_and_forget_while_pages_are_written_and_emptied)
{
    no_uring = GetParam();
    open(4);
    std::thread disk_thread([this] { write_and_empty(); });
    std::thread first([this] { put_and_read(0, 3000); }), second([this] { put_and_read(1, 3000); });
    first.join();
    second.join();
    ends = true;
    disk_thread.join();
    EXPECT_GT(right, 100u);
    EXPECT_EQ(stats().badcrc, 0u);
    EXPECT_FALSE(disk_failed(disk)) << log[0];
}

INSTANTIATE_TEST_SUITE_P(Ways, Threads, testing::Values(false, true),
                         [](const auto &way) { return way.param ? "thread" : "uring"; });
