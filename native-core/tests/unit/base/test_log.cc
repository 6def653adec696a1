// SPDX-License-Identifier: Apache-2.0
// Tests of log lines: levels, length, rate limit, default sink.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "base/log.h"
#include "base/os.h"
}

namespace {

class Log : public ::testing::Test {
protected:
    static void take(void *arg, const vbn_log_record_t *record)
    {
        ((Log *)arg)->lines.emplace_back(record->level, record->text);
    }

    size_t suppressed_lines() const
    {
        size_t count = 0;
        for (auto &line : lines)
            count += line.second.rfind("suppressed ", 0) == 0;
        return count;
    }

    std::vector<std::pair<vbn_log_level_t, std::string>> lines;
    log_sink_t sink = {take, this, VBN_LOG_INFO};
};

TEST_F(Log, ALineSaysWhatItIsAbout)
{
    vbn_log_record_t last{};
    log_sink_t copy = {[](void *arg, const vbn_log_record_t *record) { *(vbn_log_record_t *)arg = *record; }, &last,
                       VBN_LOG_INFO};
    LOG_PEER(&copy, VBN_LOG_INFO, 7, "peer %d", 7);
    EXPECT_EQ(last.level, VBN_LOG_INFO);
    EXPECT_EQ(last.category, VBN_LOG_PEER);
    EXPECT_EQ(last.peer, 7u);
    LOG_PEER_LOST(&copy, VBN_LOG_WARN, 8, "peer %d", 8);
    EXPECT_EQ(last.category, VBN_LOG_PEER_LOST);
    EXPECT_EQ(last.peer, 8u);
    LOG_PEER(&copy, VBN_LOG_DEBUG, 9, "above the level");
    EXPECT_EQ(last.peer, 8u);
    LOG_WARN(&copy, "about the process");
    EXPECT_EQ(last.category, VBN_LOG_PROCESS);
    EXPECT_EQ(last.peer, 0u);
}

TEST_F(Log, WritesLinesUpToItsLevelOnly)
{
    LOG_ERROR(&sink, "one %d", 1);
    LOG_INFO(&sink, "two %d", 2);
    LOG_DEBUG(&sink, "three %d", 3);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0], std::make_pair(VBN_LOG_ERROR, std::string("one 1")));
    EXPECT_EQ(lines[1], std::make_pair(VBN_LOG_INFO, std::string("two 2")));
}

TEST_F(Log, CutsLongLinesAt512BytesWithDots)
{
    std::string text(512, 'a');
    LOG_WARN(&sink, "exact %s", text.substr(6).c_str());
    LOG_WARN(&sink, "long %s", text.c_str());
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].second, "exact " + text.substr(6));
    EXPECT_EQ(lines[1].second.size(), 512u);
    EXPECT_EQ(lines[1].second.substr(508), "a...");
}

TEST_F(Log, ControlCharactersCannotForgeLines)
{
    LOG_WARN(&sink, "from peer: %s", "x\nverbena: error: forged\033[1m");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].second, "from peer: x verbena: error: forged [1m");
}

/* Waits for the start of a second of the limiter's clock, so that a burst falls into one. */
void wait_for_new_second()
{
    uint64_t second = os_now_ns() / 1000000000u;
    while (os_now_ns() / 1000000000u == second)
        usleep(1000);
}

TEST_F(Log, ABurstOfOneFormatIsLimitedAndAccountedFor)
{
    const unsigned sent = 5000;
    wait_for_new_second();
    uint64_t first_second = os_now_ns() / 1000000000u;
    for (unsigned i = 0; i < sent; i++)
        LOG_WARN(&sink, "burst %u", i);
    LOG_WARN(&sink, "another format");
    uint64_t seconds = os_now_ns() / 1000000000u - first_second + 1;
    EXPECT_EQ(lines[19].second, "burst 19");
    EXPECT_EQ(lines.back().second, "another format") << "other formats have their own limit";
    EXPECT_LE(lines.size(), seconds * 21 + 1) << "20 lines and one note each second";
    wait_for_new_second();
    for (unsigned i = 0; i < 1; i++)
        LOG_WARN(&sink, "burst %u", sent);
    /* The same text at another call site is the same format. */
    ASSERT_GE(suppressed_lines(), 1u);
    EXPECT_EQ(lines.back().second, "burst 5000");
    unsigned written = 0;
    unsigned kept_back = 0;
    for (auto &line : lines) {
        unsigned n = 0;
        written += line.second.rfind("burst ", 0) == 0;
        if (sscanf(line.second.c_str(), "suppressed %u", &n) == 1)
            kept_back += n;
    }
    EXPECT_EQ(written + kept_back, sent + 1) << "every line is written or counted";
}

TEST_F(Log, ThreadsShareTheLimitOfAFormat)
{
    log_sink_t null_sink = {[](void *arg, const vbn_log_record_t *) { __atomic_add_fetch((int *)arg, 1, 0); }, nullptr,
                            VBN_LOG_INFO};
    int written = 0;
    null_sink.arg = &written;
    wait_for_new_second();
    uint64_t first_second = os_now_ns() / 1000000000u;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; i++)
                LOG_WARN(&null_sink, "from thread line %d", i);
        });
    for (auto &thread : threads)
        thread.join();
    uint64_t seconds = os_now_ns() / 1000000000u - first_second + 1;
    EXPECT_GE(written, 20);
    EXPECT_LE(written, (int)(seconds * 21));
}

/* What one line becomes on stderr. */
std::string on_stderr(const char *text)
{
    log_sink_t plain = {nullptr, nullptr, VBN_LOG_INFO};
    int ends[2];
    char line[1024] = {};
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    LOG_WARN(&plain, "to stderr %s", text);
    dup2(saved, STDERR_FILENO);
    EXPECT_GT(read(ends[0], line, sizeof(line) - 1), 0);
    close(saved);
    close(ends[0]);
    close(ends[1]);
    return line;
}

/* The clock of the lines. time() reads a coarser one, which enters a second up to a tick later. */
time_t now_in_seconds()
{
    struct timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

TEST_F(Log, WithoutAFunctionLinesGoToStderrWithTimeHostAndProcess)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    time_t before = now_in_seconds();
    std::string line = on_stderr("7");
    time_t after = now_in_seconds();
    char when[64], name[256];
    int pid = 0, milliseconds = -1, rest = 0;
    ASSERT_EQ(sscanf(line.c_str(), "%19[0-9T:-].%3dZ %255s verbena[%d]: %n", when, &milliseconds, name, &pid, &rest), 4)
        << line;
    struct tm fields = {};
    ASSERT_NE(strptime(when, "%Y-%m-%dT%H:%M:%S", &fields), nullptr) << line;
    EXPECT_GE(timegm(&fields), before);
    EXPECT_LE(timegm(&fields), after);
    EXPECT_STREQ(name, host);
    EXPECT_EQ(pid, getpid());
    EXPECT_EQ(line.substr((size_t)rest), "warn: to stderr 7\n");
}

TEST_F(Log, ALineOfFullLengthIsWholeOnStderr)
{
    std::string line = on_stderr(std::string(600, 'a').c_str());
    EXPECT_EQ(line.substr(line.size() - 5), "a...\n");
}

TEST_F(Log, AChildsLinesNameTheChild)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(on_stderr("x").find("[" + std::to_string(getpid()) + "]") == std::string::npos);
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST_F(Log, DatesAreThoseOfTheCalendar)
{
    for (int64_t day : {0, 58, 59, 60, 364, 365, 789, 790, 11016, 11017, 19782, 19783, 20780, 24836, 47540, 47541}) {
        time_t seconds = day * 86400 + 86399;
        struct tm fields = {};
        char wanted[32], text[32];
        gmtime_r(&seconds, &fields);
        strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.007Z", &fields);
        log_utc(seconds, 7, text, sizeof(text));
        EXPECT_STREQ(text, wanted);
    }
}

} // namespace
