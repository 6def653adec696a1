// SPDX-License-Identifier: Apache-2.0
// Tests of the statistics page.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

extern "C" {
#include "counters_helper.h"
}

namespace {

TEST(Counters, NamesAreDistinctAndDotted)
{
    std::set<std::string> names;
    for (unsigned id = 0; id < helper_counter_count(); id++) {
        ASSERT_NE(helper_counter_name(id), nullptr);
        names.insert(helper_counter_name(id));
        EXPECT_NE(std::string(helper_counter_name(id)).find('.'), std::string::npos);
    }
    EXPECT_EQ(names.size(), helper_counter_count());
    EXPECT_EQ(helper_counter_name(helper_counter_count()), nullptr);
}

TEST(Counters, SumCoversAllRowsAndReleasedOnes)
{
    helper_page_t *page = nullptr;
    ASSERT_EQ(helper_stats_open(nullptr, &page), VBN_OK);
    helper_row_t *a = helper_stats_row(page);
    helper_row_t *b = helper_stats_row(page);
    ASSERT_NE(a, b);
    helper_counter_add(a, 3, 10);
    helper_counter_add(b, 3, 5);
    helper_counter_add(b, 4, 1);
    EXPECT_EQ(helper_stats_sum(page, 3), 15u);
    EXPECT_EQ(helper_stats_sum(page, 4), 1u);
    helper_stats_row_release(page, a);
    EXPECT_EQ(helper_stats_sum(page, 3), 15u);
    helper_row_t *c = helper_stats_row(page);
    EXPECT_EQ(c, a) << "a released row is used again";
    helper_counter_add(c, 3, 1);
    EXPECT_EQ(helper_stats_sum(page, 3), 16u);
    EXPECT_EQ(helper_stats_sum(page, helper_counter_count()), 0u);
    helper_stats_row_release(page, nullptr);
    helper_stats_close(page);
    helper_stats_close(nullptr);
}

TEST(Counters, WorkersBeyondTheLastRowShareIt)
{
    helper_page_t *page = nullptr;
    std::set<helper_row_t *> rows;
    helper_row_t *last = nullptr;
    ASSERT_EQ(helper_stats_open("", &page), VBN_OK);
    for (int i = 0; i < HELPER_STATS_ROWS + 5; i++) {
        last = helper_stats_row(page);
        rows.insert(last);
        helper_counter_add(last, 0, 1);
    }
    EXPECT_EQ(rows.size(), (size_t)HELPER_STATS_ROWS);
    EXPECT_EQ(helper_stats_row(page), last);
    EXPECT_EQ(helper_stats_sum(page, 0), HELPER_STATS_ROWS + 5u);
    helper_stats_close(page);
}

TEST(Counters, EachThreadsRowCountsExactly)
{
    helper_page_t *page = nullptr;
    std::vector<std::thread> threads;
    ASSERT_EQ(helper_stats_open(nullptr, &page), VBN_OK);
    for (int t = 0; t < 4; t++)
        threads.emplace_back([page] {
            helper_row_t *row = helper_stats_row(page);
            for (int i = 0; i < 10000; i++)
                helper_counter_add(row, 1, 1);
            helper_stats_row_release(page, row);
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(helper_stats_sum(page, 1), 40000u);
    helper_stats_close(page);
}

TEST(Counters, PageFileIsPrivateAndGoneAfterClose)
{
    char dir[] = "/tmp/vbn-test-XXXXXX";
    ASSERT_NE(mkdtemp(dir), nullptr);
    helper_page_t *page = nullptr;
    ASSERT_EQ(helper_stats_open(dir, &page), VBN_OK);
    int files = 0;
    for (auto &entry : std::filesystem::directory_iterator(dir)) {
        struct stat info = {};
        ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, 0600u);
        EXPECT_EQ(entry.path().filename().string().rfind("stats-", 0), 0u);
        files++;
    }
    EXPECT_EQ(files, 1);
    helper_counter_add(helper_stats_row(page), 2, 9);
    EXPECT_EQ(helper_stats_sum(page, 2), 9u);
    helper_stats_close(page);
    EXPECT_TRUE(std::filesystem::is_empty(dir));
    std::filesystem::remove(dir);
}

TEST(Counters, UnusableDirectoryIsAnErrorThatNamesTheSetting)
{
    helper_page_t *page = nullptr;
    EXPECT_LT(helper_stats_open("/nonexistent/dir", &page), 0);
    EXPECT_NE(std::string(err_text()).find("stats.dir"), std::string::npos);
    EXPECT_EQ(helper_stats_open(std::string(600, 'd').c_str(), &page), VBN_ERR_SETTING);
    EXPECT_EQ(page, nullptr);
}

} // namespace
