// SPDX-License-Identifier: Apache-2.0
// Faults of the disk: nothing wrong is ever returned, and one line of the log says that the files are given up.
#include <csignal>
#include <sys/resource.h>

#include "disk_test.h"

// While it lives no file of this process grows or is written beyond so many bytes: a disk that is full.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes)
    {
        old_action = signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
        const struct rlimit limit = {bytes, old_limit.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    ~FullDisk()
    {
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
        (void)signal(SIGXFSZ, old_action);
    }
    FullDisk(const FullDisk &) = delete;
    FullDisk &operator=(const FullDisk &) = delete;

private:
    struct rlimit old_limit;
    void (*old_action)(int);
};

class DiskFaults : public DiskTest, public testing::WithParamInterface<bool> {
protected:
    void SetUp() override
    {
        DiskTest::SetUp();
        no_uring = GetParam();
    }
    // Lines about the files; the one about the thread is another matter.
    std::vector<std::string> ends()
    {
        std::vector<std::string> lines;
        for (const std::string &line : log)
            if (line.find("a thread reads") == std::string::npos)
                lines.push_back(line);
        return lines;
    }
};

TEST_P(DiskFaults, a_changed_byte_is_never_returned_and_costs_one_item)
{
    open(4);
    ASSERT_TRUE(put("a", std::string(1000, 'x')));
    ASSERT_TRUE(put("b", "two"));
    ASSERT_TRUE(disk_sync(disk));
    int fd = ::open(path().c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, "y", 1, 500), 1);
    close(fd);
    EXPECT_EQ(read("a", places["a"]).result, DISK_BAD);
    EXPECT_EQ(value("b"), "two");
    EXPECT_EQ(stats().badcrc, 1u);
    EXPECT_FALSE(disk_failed(disk));
}

TEST_P(DiskFaults, a_file_that_was_cut_is_given_up_after_some_reads)
{
    open(4);
    ASSERT_TRUE(put("a", std::string(1000, 'x')));
    ASSERT_TRUE(disk_sync(disk));
    ASSERT_EQ(truncate(path().c_str(), 500), 0);
    for (unsigned i = 0; i < DISK_FAILURES; i++)
        EXPECT_EQ(read("a", places["a"]).result, DISK_BAD);
    EXPECT_TRUE(disk_failed(disk));
    EXPECT_EQ(read("a", places["a"]).result, DISK_BAD);
    EXPECT_FALSE(put("b", "two"));
    ASSERT_EQ(ends().size(), 1u);
    EXPECT_NE(ends()[0].find("shorter"), std::string::npos) << ends()[0];
}

TEST_P(DiskFaults, reads_that_fail_end_the_use_of_the_files)
{
    open(4);
    ASSERT_TRUE(put("a", std::string(1000, 'x')));
    ASSERT_TRUE(disk_sync(disk));
    replace_descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
    for (unsigned i = 0; i < DISK_FAILURES; i++)
        EXPECT_EQ(read("a", places["a"]).result, DISK_BAD);
    EXPECT_TRUE(disk_failed(disk));
    ASSERT_EQ(ends().size(), 1u);
    EXPECT_NE(ends()[0].find("Is a directory"), std::string::npos) << ends()[0];
}

TEST_P(DiskFaults, a_full_disk_ends_the_use_of_the_files)
{
    open(4);
    ASSERT_TRUE(put("a", std::string(1000, 'x')));
    EXPECT_EQ(value("a"), std::string(1000, 'x')); /* out of the buffer */
    {
        FullDisk full(500); /* the first write is short, the next one fails */
        EXPECT_FALSE(disk_sync(disk));
    }
    EXPECT_EQ(value("a"), "(" + std::to_string(DISK_BAD) + ")");
    EXPECT_FALSE(put("b", "two"));
    EXPECT_FALSE(disk_has(disk, &places["a"]));
    ASSERT_EQ(ends().size(), 1u);
    EXPECT_NE(ends()[0].find("File too large"), std::string::npos) << ends()[0];
}

TEST_P(DiskFaults, a_page_with_damaged_values_keeps_its_other_items)
{
    open(4);
    for (unsigned i = 0; i < 100; i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26))));
        hot.insert(std::to_string(i));
        work();
    }
    ASSERT_TRUE(disk_sync(disk));
    int fd = ::open(path().c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, "damaged", 7, 300000), 7); /* in a value of the first page */
    close(fd);
    for (unsigned i = 100; stats().page_evictions == 0; i++) {
        ASSERT_LT(i, 1000u);
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26))));
        work();
    }
    unsigned found = 0;
    for (unsigned i = 0; i < 50; i++) { /* half of a page is written again */
        Read item = read(std::to_string(i), places[std::to_string(i)]);
        found += item.result == DISK_OK;
        EXPECT_TRUE(item.result != DISK_OK || item.value == std::string(10000, (char)('a' + i % 26)));
    }
    EXPECT_EQ(found, 49u);
    EXPECT_FALSE(disk_failed(disk));
}

TEST_P(DiskFaults, pages_with_damaged_lengths_end_the_use_of_the_files)
{
    open(3);
    for (unsigned i = 0; i < 1000 && !disk_failed(disk); i++) {
        ASSERT_TRUE(put(std::to_string(i), std::string(10000, (char)('a' + i % 26)))) << i;
        ASSERT_TRUE(disk_sync(disk));
        int fd = ::open(path().c_str(), O_WRONLY);
        for (unsigned at = 0; at < 3; at++)
            ASSERT_EQ(pwrite(fd, "damaged lengths", 15, at * MIB), 15);
        close(fd);
        work();
    }
    for (auto &[key, place] : places)
        EXPECT_NE(read(key, place).result, DISK_OK);
    EXPECT_TRUE(disk_failed(disk));
    EXPECT_EQ(ends().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ways, DiskFaults, testing::Values(false, true),
                         [](const auto &way) { return way.param ? "thread" : "uring"; });
