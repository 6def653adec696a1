// SPDX-License-Identifier: Apache-2.0
// test_measure.cc - what the cost model learns of the host: bounded work, and a file that is believed only when right.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "pin.h"

extern "C" {
#include "proto/measure.h"
}

namespace {

void expect_possible(const model_host_t &host)
{
    EXPECT_GE(host.copy_ps, 10u);
    EXPECT_LE(host.copy_ps, 2000u);
    EXPECT_GE(host.handover_ns, 10u);
    EXPECT_LE(host.handover_ns, 3000u);
    EXPECT_GE(host.syscall_ns, 20u);
    EXPECT_LE(host.syscall_ns, 5000u);
    EXPECT_GE(host.pack_ps, 100u);
    EXPECT_LE(host.pack_ps, 50000u);
}

void expect_bounded(const measure_steps_t &steps)
{
    EXPECT_EQ(steps.copies, MEASURE_COPIES);
    EXPECT_EQ(steps.packs, MEASURE_PACKS);
    EXPECT_EQ(steps.calls, MEASURE_CALLS);
    EXPECT_LE(steps.rounds, MEASURE_ROUNDS);
    EXPECT_LE(steps.spins, MEASURE_SPINS);
}

TEST(Measure, takes_a_bounded_number_of_steps_and_finds_what_can_be)
{
    for (int i = 0; i < 20; i++) {
        model_host_t host{};
        measure_steps_t steps{};
        measure_host(&host, &steps);
        expect_possible(host);
        expect_bounded(steps);
    }
}

TEST(Measure, gives_up_on_the_other_processor_when_there_is_none)
{
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    model_host_t host{};
    measure_steps_t steps{};
    measure_host(&host, &steps);
    ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
    expect_possible(host);
    EXPECT_EQ(steps.rounds, 0u);
    EXPECT_EQ(steps.spins, 0u);
}

class MeasureFile : public ::testing::Test {
protected:
    std::string folder, path;
    model_host_t host{123, 234, 345, 456};
    std::vector<std::string> lines;
    settings_t settings{};
    log_sink_t log{};
    static void on_line(void *arg, const vbn_log_record_t *record)
    {
        static_cast<MeasureFile *>(arg)->lines.push_back(record->text);
    }
    void SetUp() override
    {
        char name[] = "/tmp/vbn-measure-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder = name;
        path = folder + "/cost";
        settings_defaults(&settings);
        std::snprintf(settings.proto_cost_file, sizeof(settings.proto_cost_file), "%s", path.c_str());
        log = log_sink_t{on_line, this, VBN_LOG_WARN};
    }
    void TearDown() override
    {
        (void)unlink(path.c_str());
        EXPECT_EQ(rmdir(folder.c_str()), 0) << "something is left in " << folder;
    }
    std::string read_all() const
    {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write_all(const std::string &bytes) const
    {
        (void)unlink(path.c_str());
        int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        close(fd);
    }
    bool readable() const
    {
        model_host_t found{};
        return measure_read(path.c_str(), &found) == VBN_OK;
    }
    /* What is wrong with the file is said once, and the file is right afterwards. */
    void expect_rewritten()
    {
        model_host_t found{};
        ASSERT_FALSE(readable());
        lines.clear();
        measure_load(&settings, &log, &found);
        expect_possible(found);
        EXPECT_EQ(lines.size(), 1u) << (lines.empty() ? "" : lines[0]);
        EXPECT_TRUE(readable()) << vbn_error_text();
        lines.clear();
        measure_load(&settings, &log, &found);
        EXPECT_TRUE(lines.empty());
    }
};

/* What each context of a test program finds, as main() of tests/models has chosen it, and a test that needs a certain one. */
TEST_F(MeasureFile, of_the_tests_pins_the_model_and_is_used_without_a_word)
{
    const std::string chosen = std::getenv("VBN_PROTO_COST_FILE");
    const std::string own = chosen.substr(chosen.rfind('/') + 1);
    for (const std::string &name : {own, std::string("near"), std::string("far"), std::string("slow"), own}) {
        model_host_t found{};
        pin_model(name.c_str());
        model_host_t wanted = pinned_model();
        char foreign[256];
        ASSERT_EQ(settings_from_env(&settings, environ, foreign, sizeof(foreign)), VBN_OK) << vbn_error_text();
        measure_load(&settings, &log, &found);
        EXPECT_EQ(std::memcmp(&found, &wanted, sizeof(found)), 0) << name;
        EXPECT_TRUE(lines.empty()) << lines[0];
    }
    EXPECT_EQ(std::getenv("VBN_PROTO_COST_FILE"), chosen);
}

TEST_F(MeasureFile, gives_back_what_was_written)
{
    model_host_t found{};
    ASSERT_EQ(measure_write(path.c_str(), &host), VBN_OK) << vbn_error_text();
    ASSERT_EQ(measure_read(path.c_str(), &found), VBN_OK) << vbn_error_text();
    EXPECT_EQ(found.copy_ps, 123u);
    EXPECT_EQ(found.handover_ns, 234u);
    EXPECT_EQ(found.syscall_ns, 345u);
    EXPECT_EQ(found.pack_ps, 456u);
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(MeasureFile, is_made_by_the_first_start_and_used_by_the_next)
{
    model_host_t first{}, second{};
    measure_load(&settings, &log, &first);
    EXPECT_TRUE(lines.empty()) << lines[0];
    measure_load(&settings, &log, &second);
    EXPECT_EQ(std::memcmp(&first, &second, sizeof(first)), 0);
    ASSERT_EQ(measure_write(path.c_str(), &host), VBN_OK);
    measure_load(&settings, &log, &second);
    EXPECT_EQ(std::memcmp(&host, &second, sizeof(host)), 0) << "the file is not read";
}

TEST_F(MeasureFile, is_not_touched_when_it_is_turned_off)
{
    ASSERT_EQ(measure_write(path.c_str(), &host), VBN_OK);
    std::string before = read_all();
    model_host_t found{};
    for (const char *value : {"", "none"}) {
        std::snprintf(settings.proto_cost_file, sizeof(settings.proto_cost_file), "%s", value);
        measure_load(&settings, &log, &found);
        EXPECT_EQ(read_all(), before);
        expect_possible(found);
    }
    EXPECT_EQ(found.copy_ps, 100u) << "the built-in costs";
    EXPECT_TRUE(lines.empty());
}

TEST_F(MeasureFile, is_refused_with_any_byte_changed_and_at_any_other_length)
{
    ASSERT_EQ(measure_write(path.c_str(), &host), VBN_OK);
    std::string good = read_all();
    for (size_t i = 0; i < good.size(); i++) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x10);
        write_all(bad);
        EXPECT_FALSE(readable()) << "byte " << i;
        write_all(good.substr(0, i));
        EXPECT_FALSE(readable()) << "length " << i;
    }
    write_all(good + "x");
    expect_rewritten();
    write_all("");
    expect_rewritten();
}

TEST_F(MeasureFile, of_somebody_else_or_open_to_others_is_refused)
{
    ASSERT_EQ(measure_write(path.c_str(), &host), VBN_OK);
    for (mode_t mode : {0640u, 0602u, 0644u}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        EXPECT_FALSE(readable());
    }
    expect_rewritten();
    if (chown(path.c_str(), 12345, 12345) == 0)
        expect_rewritten();
    else
        std::cout << "no file can be given away here: one of another user is not tried\n";
}

TEST_F(MeasureFile, that_is_a_link_is_not_followed)
{
    std::string elsewhere = folder + "/elsewhere";
    ASSERT_EQ(measure_write(elsewhere.c_str(), &host), VBN_OK);
    ASSERT_EQ(symlink("elsewhere", path.c_str()), 0);
    expect_rewritten();
    model_host_t found{};
    ASSERT_EQ(measure_read(elsewhere.c_str(), &found), VBN_OK) << "the file behind the link is untouched";
    EXPECT_EQ(found.copy_ps, host.copy_ps);
    ASSERT_EQ(unlink(elsewhere.c_str()), 0);
}

TEST_F(MeasureFile, is_not_written_where_others_may_write)
{
    model_host_t found{};
    ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
    EXPECT_EQ(measure_write(path.c_str(), &host), VBN_ERR_ACCESS);
    measure_load(&settings, &log, &found);
    expect_possible(found);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("must belong to this user"), std::string::npos) << lines[0];
    for (const char *nowhere : {"cost", "/cost", "/nonexistent/folder/cost", "/tmp/"})
        EXPECT_LT(measure_write(nowhere, &host), 0) << nowhere;
}

} // namespace
