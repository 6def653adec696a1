// SPDX-License-Identifier: Apache-2.0
// disk_test.h - a disk of files in a folder of the test's own, an owner of its items, and reads that wait.
#ifndef MC_TESTS_DISK_TEST_H
#define MC_TESTS_DISK_TEST_H

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include "ssd/disk.h"
}

constexpr size_t MIB = 1 << 20;

struct Read {
    disk_result_t result;
    std::string key, value;
};

class DiskTest : public testing::Test {
protected:
    disk_t *disk = nullptr;
    std::string folder;
    std::vector<std::string> log;
    std::map<std::string, place_t> places; // of the newest item of each key
    std::set<std::string> hot;             // keys that are wanted when their page is emptied
    bool no_uring = false;

    void SetUp() override
    {
        char name[] = "/tmp/mc_ssd_XXXXXX";
        folder = mkdtemp(name);
    }
    void TearDown() override
    {
        disk_close(disk);
        (void)!system(("rm -rf " + folder).c_str());
    }
    static void logged(void *arg, const char *line) { static_cast<DiskTest *>(arg)->log.push_back(line); }
    std::string path(unsigned number = 0) { return folder + "/items" + std::to_string(number); }
    std::string open_as(const std::vector<disk_file_t> &files, size_t page = MIB, size_t item_max = 64 << 10)
    {
        char error[DISK_ERROR];
        disk_config_t config = {};
        config.files = files.data();
        config.file_count = (unsigned)files.size();
        config.page_bytes = page;
        config.buffer_bytes = MIB / 2;
        config.item_max = item_max;
        config.no_uring = no_uring;
        config.log = logged;
        config.arg = this;
        return disk_open(&config, &disk, error) ? "" : error;
    }
    static disk_file_t file(const std::string &path, uint64_t bytes)
    {
        disk_file_t file = {};
        snprintf(file.path, sizeof(file.path), "%s", path.c_str());
        file.bytes = bytes;
        return file;
    }
    void open(unsigned pages, size_t page = MIB, size_t item_max = 64 << 10)
    {
        ASSERT_EQ(open_as({file(path(), pages * page)}, page, item_max), "");
    }
    bool put(const std::string &key, const std::string &value)
    {
        disk_item_t item = {};
        item.key = key.data();
        item.key_bytes = (uint32_t)key.size();
        item.value = value.data();
        item.value_bytes = (uint32_t)value.size();
        item.cas = 77;
        place_t place;
        if (!disk_put(disk, &item, &place))
            return false;
        if (places.count(key) != 0)
            disk_gone(disk, &places[key], key.size());
        places[key] = place;
        return true;
    }
    // As the disk's own thread does: writes and reclaims until there is nothing to do.
    void work()
    {
        disk_owner_t owner = {wants, moved, this};
        while (disk_write(disk, false) || disk_reclaim(disk, &owner))
            ;
    }
    static disk_answer_t wants(void *arg, const disk_item_t *item, const place_t *place, bool keep)
    {
        auto *test = static_cast<DiskTest *>(arg);
        std::string key(item->key, item->key_bytes);
        auto found = test->places.find(key);
        if (found == test->places.end() || !place_is(&found->second, place))
            return DISK_DEAD;
        if (keep && test->hot.count(key) != 0)
            return DISK_WANTED;
        disk_gone(test->disk, place, key.size());
        test->places.erase(found);
        return DISK_DROPPED;
    }
    static bool moved(void *arg, const disk_item_t *item, const place_t *from, const place_t *to)
    {
        auto *test = static_cast<DiskTest *>(arg);
        std::string key(item->key, item->key_bytes);
        EXPECT_TRUE(place_is(&test->places[key], from));
        disk_gone(test->disk, from, key.size());
        test->places[key] = *to;
        return true;
    }
    static void done(disk_read_t *read) { read->key_bytes = 0; }
    Read read(const std::string &key, const place_t &place)
    {
        disk_reader_t *reader = disk_reader_open(disk);
        EXPECT_NE(reader, nullptr);
        disk_read_t read = {};
        read.place = place;
        read.key_bytes = key.size();
        read.done = done;
        if (!disk_reader_read(reader, &read)) {
            disk_reader_submit(reader);
            while (read.key_bytes != 0) {
                struct pollfd event = {disk_reader_fd(reader), POLLIN, 0};
                EXPECT_EQ(poll(&event, 1, 60000), 1);
                disk_reader_reap(reader);
            }
        }
        Read result = {read.result, "", ""};
        if (read.result == DISK_OK) {
            result.key.assign(read.item.key, read.item.key_bytes);
            result.value.assign(read.item.value, read.item.value_bytes);
        }
        free(read.buffer);
        disk_reader_close(reader);
        return result;
    }
    // The value of a key; "(n)": the result that is not DISK_OK.
    std::string value(const std::string &key)
    {
        Read found = read(key, places.at(key));
        if (found.result != DISK_OK)
            return "(" + std::to_string(found.result) + ")";
        EXPECT_EQ(found.key, key);
        return found.value;
    }
    disk_stats_t stats()
    {
        disk_stats_t stats;
        disk_stats(disk, &stats);
        return stats;
    }
    // A descriptor of this process for the first file is replaced by another one.
    void replace_descriptor(int other)
    {
        for (int fd = 3; fd < 256; fd++) {
            char link[64], target[512] = {};
            snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
            if (readlink(link, target, sizeof(target) - 1) > 0 && path() == target) {
                ASSERT_EQ(dup2(other, fd), fd);
            }
        }
        close(other);
    }
};

#endif
