// SPDX-License-Identifier: Apache-2.0
// Tests of the error record and the status names.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>

extern "C" {
#include "base/status.h"
}

TEST(Status, EveryCodeHasItsOwnName)
{
    EXPECT_STREQ(vbn_status_name(VBN_OK), "VBN_OK");
    EXPECT_STREQ(vbn_status_name(VBN_BUSY), "VBN_BUSY");
    EXPECT_STREQ(vbn_status_name(VBN_ERR_AUTH), "VBN_ERR_AUTH");
    for (int code = VBN_STATUS_LAST + 1; code <= VBN_BUSY; code++)
        EXPECT_STRNE(vbn_status_name((vbn_status_t)code), "VBN_ERR_UNKNOWN") << code;
    EXPECT_STREQ(vbn_status_name((vbn_status_t)-1000), "VBN_ERR_UNKNOWN");
}

TEST(Status, SetReturnsTheCodeAndKeepsTheText)
{
    EXPECT_EQ(err_set(VBN_ERR_RANGE, "offset %d beyond %d", 7, 5), VBN_ERR_RANGE);
    EXPECT_STREQ(err_text(), "offset 7 beyond 5");
    EXPECT_STREQ(vbn_error_text(), "offset 7 beyond 5");
}

TEST(Status, AddAppendsContextAndReturnsTheSameCode)
{
    err_set(VBN_ERR_STALE, "key is gone");
    EXPECT_EQ(err_add(VBN_ERR_STALE, "importing from %s", "peer 3"), VBN_ERR_STALE);
    EXPECT_STREQ(err_text(), "key is gone; importing from peer 3");
}

TEST(Status, TheRecordsOwnTextMayBeAnArgument)
{
    err_set(VBN_ERR_STALE, "inner");
    err_set(VBN_ERR_PEER_LOST, "outer (%s)", err_text());
    EXPECT_STREQ(err_text(), "outer (inner)");
    err_add(VBN_ERR_PEER_LOST, "<%s>", err_text());
    EXPECT_STREQ(err_text(), "outer (inner); <outer (inner)>");
}

TEST(Status, LongTextsEndInDots)
{
    std::string text(5000, 'x');
    err_set(VBN_ERR_INVALID, "%s", text.c_str());
    std::string kept = err_text();
    EXPECT_EQ(kept.size(), 1023u);
    EXPECT_EQ(kept.substr(kept.size() - 4), "x...");
    err_add(VBN_ERR_INVALID, "%s", text.c_str());
    EXPECT_EQ(std::string(err_text()).size(), 1023u);
}

TEST(Status, SystemErrorsMapToTheMatchingCodeAndNameTheReason)
{
    EXPECT_EQ(err_sys(ENOSPC, "allocating"), VBN_ERR_NO_MEMORY);
    EXPECT_EQ(err_sys(ENOMEM, "allocating"), VBN_ERR_NO_MEMORY);
    EXPECT_EQ(err_sys(EPERM, "opening"), VBN_ERR_ACCESS);
    EXPECT_EQ(err_sys(EMFILE, "opening"), VBN_ERR_LIMIT);
    EXPECT_NE(std::string(err_text()).find("ulimit -n"), std::string::npos);
    EXPECT_EQ(err_sys(ENFILE, "opening"), VBN_ERR_LIMIT);
    EXPECT_NE(std::string(err_text()).find("fs.file-max"), std::string::npos);
    EXPECT_EQ(std::string(err_text()).find("ulimit"), std::string::npos);
    EXPECT_EQ(err_sys(EADDRINUSE, "listening"), VBN_ERR_IN_USE);
    EXPECT_EQ(err_sys(ENOENT, "opening %s", "a"), VBN_ERR_SYSTEM);
    EXPECT_STREQ(err_text(), "opening a: No such file or directory");
}

TEST(Status, AnErrorThatNobodyRecordedIsExplainedAndARecordedOneIsKept)
{
    err_set(VBN_ERR_RANGE, "older");
    err_ensure(VBN_ERR_STALE);
    EXPECT_NE(std::string(err_text()).find("VBN_ERR_STALE: the memory of the key was freed"), std::string::npos)
        << err_text();
    err_set(VBN_ERR_LIMIT, "the very reason");
    err_ensure(VBN_ERR_LIMIT);
    EXPECT_STREQ(err_text(), "the very reason");
    for (int status = VBN_BUSY; status > VBN_STATUS_LAST; status--)
        EXPECT_STRNE(status_meaning(static_cast<vbn_status_t>(status)), status_meaning(VBN_STATUS_LAST)) << status;
}

TEST(Status, OneIsNoPlural)
{
    EXPECT_STREQ(plural(0), "s");
    EXPECT_STREQ(plural(1), "");
    EXPECT_STREQ(plural(2), "s");
    EXPECT_STREQ(plural(UINT64_MAX), "s");
}

TEST(Status, ThreadsHaveSeparateRecords)
{
    std::string other;
    err_set(VBN_ERR_INVALID, "mine");
    std::thread([&] {
        other = err_text();
        err_set(VBN_ERR_INVALID, "theirs");
    }).join();
    EXPECT_EQ(other, "no error");
    EXPECT_STREQ(err_text(), "mine");
}
