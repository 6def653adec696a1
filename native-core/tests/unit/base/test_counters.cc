// SPDX-License-Identifier: Apache-2.0
// Tests of the statistics page.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "base/stats_format.h"
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
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
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
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
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
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
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

// Path of this process's only statistics page, "" when there is none.
std::string page_path()
{
    std::string found;
    for (auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone; // the iterator's own descriptor
        std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (target.rfind("/memfd:" STATS_MEMFD_NAME, 0) == 0) {
            EXPECT_EQ(found, "") << "one page per context";
            found = entry.path().string();
        }
    }
    return found;
}

TEST(Counters, OthersReadThePageThroughProcAndItIsGoneAfterClose)
{
    helper_page_t *page = nullptr;
    stats_view_t view;
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
    helper_counter_add(helper_stats_row(page), 2, 9);
    ASSERT_EQ(stats_view_open(page_path().c_str(), &view), VBN_OK) << err_text();
    EXPECT_EQ(view.header.pid, (uint32_t)getpid());
    ASSERT_EQ(view.header.counters, helper_counter_count());
    for (unsigned id = 0; id < helper_counter_count(); id++) {
        EXPECT_STREQ(stats_view_name(&view, id), helper_counter_name(id));
        EXPECT_EQ(stats_view_sum(&view, id), id == 2 ? 9u : 0u);
    }
    EXPECT_EQ(stats_view_name(&view, helper_counter_count()), nullptr);
    EXPECT_EQ(stats_view_sum(&view, helper_counter_count()), 0u);
    struct stat info = {};
    ASSERT_EQ(stat(page_path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    helper_stats_close(page);
    EXPECT_EQ(page_path(), "");
    EXPECT_EQ(stats_view_sum(&view, 2), 9u) << "a reader's mapping outlives the process";
    stats_view_close(&view);
    stats_view_close(&view);
}

TEST(Counters, TrafficIsFoundUnderItsTransportClassAndSize)
{
    helper_page_t *page = nullptr;
    stats_view_t view;
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
    helper_row_t *first = helper_stats_row(page), *second = helper_stats_row(page);
    helper_traffic_add(first, 2, 0, 8, 0);
    helper_traffic_add(second, 2, 0, 64, 90);
    helper_traffic_add(second, 3, 4, 65, 10);
    ASSERT_EQ(stats_view_open(page_path().c_str(), &view), VBN_OK) << err_text();
    EXPECT_STREQ(stats_view_way(&view, 2), "shm");
    EXPECT_STREQ(stats_view_way(&view, view.header.ways - 1u), "ud");
    EXPECT_EQ(stats_view_way(&view, view.header.ways), nullptr);
    EXPECT_STREQ(stats_view_class(&view, 0), "am");
    EXPECT_STREQ(stats_view_class(&view, view.header.classes - 1u), "atomic");
    EXPECT_EQ(stats_view_class(&view, view.header.classes), nullptr);
    uint64_t operations = 0;
    for (unsigned way = 0; way <= view.header.ways; way++)
        for (unsigned kind = 0; kind <= view.header.classes; kind++)
            for (unsigned bucket = 0; bucket <= view.header.buckets; bucket++)
                operations += stats_view_cell(&view, way, kind, bucket).operations;
    EXPECT_EQ(operations, 3u);
    stats_cell_t cell = stats_view_cell(&view, 2, 0, 0);
    EXPECT_EQ(cell.operations, 2u);
    EXPECT_EQ(cell.bytes, 72u);
    EXPECT_EQ(cell.timed, 1u);
    EXPECT_EQ(cell.ns, 90u);
    EXPECT_EQ(stats_view_cell(&view, 3, 4, 1).bytes, 65u);
    stats_view_close(&view);
    helper_stats_close(page);
}

TEST(Counters, EachBucketHoldsFourTimesTheSizeOfTheOneBefore)
{
    helper_page_t *page = nullptr;
    stats_view_t view;
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
    ASSERT_EQ(stats_view_open(page_path().c_str(), &view), VBN_OK) << err_text();
    EXPECT_EQ(helper_traffic_bucket(0), 0u);
    for (unsigned bucket = 0; bucket + 1 < view.header.buckets; bucket++) {
        uint64_t most = stats_view_bucket_bytes(&view, bucket);
        EXPECT_EQ(most, 64u << (2 * bucket));
        EXPECT_EQ(helper_traffic_bucket(most), bucket);
        EXPECT_EQ(helper_traffic_bucket(most + 1), bucket + 1);
    }
    EXPECT_EQ(stats_view_bucket_bytes(&view, view.header.buckets - 1u), UINT64_MAX);
    EXPECT_EQ(helper_traffic_bucket(UINT64_MAX), view.header.buckets - 1u);
    stats_view_close(&view);
    helper_stats_close(page);
}

TEST(Counters, OnlyRowsThatAreUsedHavePages)
{
    helper_page_t *page = nullptr;
    stats_view_t view;
    struct stat info = {};
    ASSERT_EQ(helper_stats_open(&page), VBN_OK);
    ASSERT_EQ(stats_view_open(page_path().c_str(), &view), VBN_OK) << err_text();
    auto resident = [&] {
        EXPECT_EQ(stat(page_path().c_str(), &info), 0);
        return static_cast<size_t>(info.st_blocks) * 512;
    };
    size_t first = resident(), row = view.header.row_bytes;
    EXPECT_LE(first, sizeof(stats_header_t) + view.header.names_bytes + row + 2 * 4096);
    for (unsigned id = 0; id < helper_counter_count(); id++) {
        EXPECT_EQ(stats_view_sum(&view, id), 0u);
        EXPECT_EQ(helper_stats_sum(page, id), 0u);
    }
    EXPECT_EQ(stats_view_cell(&view, view.header.ways - 1u, 0, 0).bytes, 0u);
    EXPECT_EQ(resident(), first) << "looking takes memory";
    helper_counter_add(helper_stats_row(page), 1, 1);
    EXPECT_EQ(resident(), first) << "there is a row from the beginning";
    helper_counter_add(helper_stats_row(page), 1, 1);
    EXPECT_GE(resident(), first + row / 4096 * 4096);
    EXPECT_LE(resident(), first + row + 2 * 4096);
    EXPECT_EQ(stats_view_sum(&view, 1), 2u);
    stats_view_close(&view);
    helper_stats_close(page);
}

std::string content_of_a_page()
{
    helper_page_t *page = nullptr;
    EXPECT_EQ(helper_stats_open(&page), VBN_OK);
    std::ifstream in(page_path(), std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    helper_stats_close(page);
    return content;
}

vbn_status_t open_sealed(const std::string &content, stats_view_t *view)
{
    int fd = memfd_create("changed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(write(fd, content.data(), content.size()), (ssize_t)content.size());
    std::string name = "/proc/self/fd/" + std::to_string(fd);
    EXPECT_EQ(stats_view_open(name.c_str(), view), VBN_ERR_STALE) << "not sealed yet";
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    vbn_status_t status = stats_view_open(name.c_str(), view);
    close(fd);
    return status;
}

// A page file with one header field changed, and what the reader says.
vbn_status_t open_changed(size_t at, uint32_t value, size_t bytes)
{
    stats_view_t view;
    std::string content = content_of_a_page();
    content.replace(at, sizeof(value), reinterpret_cast<const char *>(&value), sizeof(value));
    content.resize(bytes == 0 ? content.size() : bytes);
    vbn_status_t status = open_sealed(content, &view);
    stats_view_close(&view);
    return status;
}

TEST(Counters, NamesOfAnotherProcessChangeNoTerminal)
{
    stats_view_t view;
    std::string content = content_of_a_page();
    content.replace(sizeof(stats_header_t), 6, "\x1b]0;\"\n");
    ASSERT_EQ(open_sealed(content, &view), VBN_OK) << err_text();
    EXPECT_EQ(std::string(stats_view_name(&view, 0)).substr(0, 6), "?]0;??");
    stats_view_close(&view);
}

TEST(Counters, AReaderRefusesLengthsThatDoNotFitThePage)
{
    const size_t bytes = offsetof(stats_header_t, counters);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, pid), 1, 0), VBN_OK);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, used_rows), 0xffffffff, 0), VBN_OK) << "no more than there are";
    EXPECT_EQ(open_changed(0, 0, 0), VBN_ERR_CORRUPT) << "magic";
    EXPECT_EQ(open_changed(bytes, 0, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(bytes, 0xffffffff, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, rows), 65, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, rows), 0xffffffff, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, row_bytes), 8, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, row_bytes), 1 << 30, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, names_bytes), 0xfffffff8, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, traffic_offset), 1 << 20, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, traffic_offset), 0xfffffff8, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, traffic_offset), 4, 0), VBN_ERR_CORRUPT) << "not aligned";
    EXPECT_EQ(open_changed(offsetof(stats_header_t, ways), 0xffffffff, 0), VBN_ERR_CORRUPT);
    EXPECT_EQ(open_changed(offsetof(stats_header_t, ways), 60 << 16 | 60, 0), VBN_ERR_CORRUPT) << "beyond the row";
    EXPECT_EQ(open_changed(offsetof(stats_header_t, pid), 1, 63), VBN_ERR_CORRUPT) << "shorter than a header";
    EXPECT_EQ(open_changed(offsetof(stats_header_t, pid), 1, 4096), VBN_ERR_CORRUPT) << "rows cut off";
    stats_view_t view;
    EXPECT_LT(stats_view_open("/nonexistent/page", &view), 0);
}

} // namespace
