// SPDX-License-Identifier: Apache-2.0
// Items on disk: written in order, found in the buffer and in the file, pages emptied in their order.
#include <sys/stat.h>

#include "disk_test.h"

TEST_F(DiskTest, an_item_is_read_from_the_buffer_and_from_the_file)
{
    open(4);
    ASSERT_TRUE(put("a", std::string(1000, 'x')));
    EXPECT_EQ(value("a"), std::string(1000, 'x'));
    EXPECT_EQ(stats().bytes_written, 0u);
    ASSERT_TRUE(disk_sync(disk));
    EXPECT_EQ(stats().bytes_written, record_bytes(1, 1000));
    EXPECT_EQ(value("a"), std::string(1000, 'x'));
    EXPECT_TRUE(log.empty()) << log[0];
}

TEST_F(DiskTest, a_thread_reads_where_there_is_no_io_uring_and_one_line_says_so)
{
    no_uring = true;
    open(4);
    ASSERT_TRUE(put("a", "one"));
    ASSERT_TRUE(disk_sync(disk));
    EXPECT_EQ(value("a"), "one");
    EXPECT_EQ(value("a"), "one");
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("a thread reads"), std::string::npos);
}

TEST_F(DiskTest, the_first_page_is_used_and_files_of_one_and_two_pages_are_full_of_items)
{
    for (unsigned pages = 1; pages <= 2; pages++) {
        open(pages);
        unsigned count = 0;
        for (; count < 1000; count++) {
            std::string value(8192 - 64, (char)('a' + count % 26));
            /* a single page is emptied when it is full, and not before */
            bool taken = put(std::to_string(count), value);
            work();
            ASSERT_TRUE(taken || (pages == 1 && put(std::to_string(count), value))) << count;
        }
        EXPECT_EQ(stats().limit_maxbytes, pages * MIB);
        /* a page is emptied when the other one is nearly full */
        EXPECT_GE(places.size(), pages == 1 ? 1u : 90u);
        for (auto &[key, place] : places)
            EXPECT_EQ(value(key), std::string(8192 - 64, (char)('a' + std::stoi(key) % 26)));
        disk_close(disk);
        disk = nullptr;
        places.clear();
    }
}

TEST_F(DiskTest, pages_of_several_files_are_all_used)
{
    ASSERT_EQ(open_as({file(path(0), 2 * MIB), file(path(1), 3 * MIB + 5)}), "");
    EXPECT_EQ(stats().limit_maxbytes, 5 * MIB);
    for (unsigned i = 0; i < 36; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(128 << 10, (char)('a' + i % 26))));
        work();
    }
    ASSERT_TRUE(disk_sync(disk));
    EXPECT_GE(places.size(), 15u); /* of 7 in a page: one is free, and one kept for what is written again */
    std::set<uint32_t> pages;
    for (auto &[key, place] : places) {
        pages.insert(place.page);
        EXPECT_EQ(value(key), std::string(128 << 10, (char)('a' + std::stoi(key) % 26)));
    }
    EXPECT_GE(pages.size(), 3u);
}

TEST_F(DiskTest, what_was_read_meanwhile_is_written_again_and_at_most_half_of_a_page)
{
    open(4);
    for (unsigned i = 0; i < 10; i++)
        hot.insert(std::to_string(i));
    for (unsigned i = 0; i < 2000; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26))));
        work();
    }
    for (const std::string &key : hot)
        EXPECT_EQ(value(key), std::string(10000, (char)('a' + std::stoi(key) % 26))) << key;
    EXPECT_GT(stats().rescues, 0u);
    /* everything is wanted: new items still find a place */
    uint64_t before = stats().bytes_written;
    for (unsigned i = 0; i < 4000; i++)
        hot.insert(std::to_string(i));
    for (unsigned i = 2000; i < 3000; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26))));
        work();
    }
    EXPECT_LE(stats().bytes_written - before, 2 * 1000 * record_bytes(4, 10000) + 2 * MIB);
}

TEST_F(DiskTest, after_many_rounds_over_one_key_it_has_its_last_value_and_no_neighbour_is_lost)
{
    open(6);
    for (unsigned i = 0; i < 20; i++) {
        ASSERT_TRUE(put("n" + std::to_string(i), std::string(5000, (char)('a' + i))));
        hot.insert("n" + std::to_string(i));
    }
    hot.insert("one");
    uint64_t emptied = 0;
    for (unsigned i = 0; emptied < 100; i++) {
        ASSERT_LT(i, 200000u);
        ASSERT_TRUE(put("one", std::string(20000, (char)('a' + i % 26))));
        ASSERT_TRUE(put("other" + std::to_string(i % 400), std::string(20000, 'o')));
        work();
        ASSERT_EQ(value("one"), std::string(20000, (char)('a' + i % 26)));
        emptied = stats().page_evictions;
    }
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(value("n" + std::to_string(i)), std::string(5000, (char)('a' + i)));
}

TEST_F(DiskTest, a_page_without_items_is_free_without_being_read)
{
    open(8);
    for (unsigned i = 0; i < 2000; i++) {
        ASSERT_TRUE(put("one", std::string(20000, (char)('a' + i % 26))));
        work();
    }
    EXPECT_EQ(stats().page_evictions, 0u);
    EXPECT_GT(stats().page_reclaims, 10u);
    EXPECT_EQ(stats().objects_used, 1u);
}

TEST_F(DiskTest, a_late_reader_of_a_page_that_is_written_again_gets_nothing)
{
    open(1);
    ASSERT_TRUE(put("a", "one"));
    ASSERT_TRUE(disk_sync(disk));
    place_t old = places["a"];
    for (unsigned i = 0; i < 100; i++) {
        (void)put("b" + std::to_string(i), std::string(60000, 'b'));
        work();
    }
    EXPECT_FALSE(disk_has(disk, &old));
    EXPECT_EQ(read("a", old).result, DISK_LOST);
    EXPECT_EQ(stats().badcrc, 0u);
}

TEST_F(DiskTest, a_full_buffer_refuses_and_waits_for_nobody)
{
    open(4);
    unsigned taken = 0;
    while (put(std::to_string(taken), std::string(10000, 'x')))
        taken++;
    EXPECT_EQ(taken, MIB / 2 / record_bytes(2, 10000));
    EXPECT_EQ(stats().behind, 1u);
    work();
    EXPECT_TRUE(put("more", std::string(10000, 'x')));
}

TEST_F(DiskTest, the_largest_item_finds_a_place_in_the_buffer)
{
    open(4, 4 * MIB, 4 * MIB);
    for (unsigned i = 0; i < 12; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(4 * MIB - 64, (char)('a' + i)))) << i;
        work();
        EXPECT_EQ(value(std::to_string(i)), std::string(4 * MIB - 64, (char)('a' + i)));
    }
}

TEST_F(DiskTest, a_record_that_is_written_in_part_is_whole_in_the_buffer)
{
    open(4, 4 * MIB, 3 * MIB);
    std::string large(3 * MIB - 100, 'x'); /* more than one write */
    ASSERT_TRUE(put("large", large));
    ASSERT_TRUE(disk_write(disk, true));
    unsigned taken = 0; /* what is put now fills the buffer up to its end, and from its start on */
    while (put(std::to_string(taken), std::string(10000, 'y')))
        taken++;
    EXPECT_EQ(value("large"), large);
    work();
    EXPECT_EQ(value("large"), large);
}

TEST_F(DiskTest, wrong_files_are_refused_with_a_cure)
{
    EXPECT_NE(open_as({file(path(), MIB - 1)}).find("smaller than a page"), std::string::npos);
    EXPECT_NE(open_as({file(folder + "/no/file", MIB)}).find("No such file"), std::string::npos);
    EXPECT_NE(open_as({file(path(), 4 * MIB)}, MIB, 2 * MIB).find("raise ext_page_size"), std::string::npos);
    EXPECT_NE(open_as({file(path(), 4 * MIB), file(path(), 4 * MIB)}).find("another server"), std::string::npos);
    ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
    for (const std::string &loses : {std::string("/dev/null"), std::string("/dev/zero"), folder + "/pipe"}) {
        std::string said = open_as({file(loses, MIB)});
        EXPECT_NE(said.find("neither a file nor a block device"), std::string::npos) << loses << ": " << said;
    }
    EXPECT_NE(open_as({file(folder, MIB)}).find("Is a directory"), std::string::npos);
}

TEST_F(DiskTest, a_restart_finds_the_items_and_frees_pages_without_any)
{
    open(8);
    for (unsigned i = 0; i < 500; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26))));
        work();
    }
    ASSERT_TRUE(disk_sync(disk));
    uint64_t instance = disk_instance(disk);
    std::vector<disk_page_state_t> states;
    for (uint32_t i = 0; i < disk_pages(disk); i++)
        states.push_back(disk_page_state(disk, i));
    disk_close(disk);
    open(8);
    disk_restore(disk, instance, states.data());
    unsigned found = 0;
    for (auto &[key, place] : places)
        if (found++ < 250) {
            EXPECT_TRUE(disk_restore_item(disk, &place, key.size()));
        }
    place_t wrong = places["1"];
    wrong.offset = MIB;
    EXPECT_FALSE(disk_restore_item(disk, &wrong, 1));
    wrong = places["1"];
    wrong.page = 1000;
    EXPECT_FALSE(disk_restore_item(disk, &wrong, 1));
    disk_restored(disk);
    EXPECT_EQ(stats().objects_used, 250u);
    found = 0;
    for (auto &[key, place] : places)
        if (found++ < 250) {
            EXPECT_EQ(value(key), std::string(10000, (char)('a' + std::stoi(key) % 26)));
        }
    /* and new pages get other versions */
    place_t before = places["1"];
    ASSERT_TRUE(put("1", "new"));
    EXPECT_GT(places["1"].version, before.version);
    EXPECT_EQ(value("1"), "new");
}
